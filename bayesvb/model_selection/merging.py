"""Components merged by their sums, of a fit whose rows are gone.

The sums of two conjugate experts add up. The entropy of the memberships does not follow from sums:
of ``N`` rows of a merged component, a share ``s`` of which was another's, it falls by at most
``N h(s)`` (Jensen), with equality where all rows were divided alike. The ELBO of the merged model
is therefore known from below, and exactly if one component is left. A merger that raises this lower
bound raises the ELBO. Softmax gates merge logits whose difference is constant, and their quadratic
form stands for the rows: to second order, and from below where the difference is not constant.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import entr

from bayesvb.data.partly_kept import PartlyKept
from bayesvb.data.parts import GATING
from bayesvb.data.sources import InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import Budget, EngineResult
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.known_rows import BesideKnownRows
from bayesvb.errors import DataError
from bayesvb.estimators.updating import Run, no_row, refreshed
from bayesvb.models.mixture import Mixture, MixtureStats
from bayesvb.numerics.streams import EngineStreams, Streams
from bayesvb.results.all_rows import fitted_rows
from bayesvb.sensitivity.covariance import withheld

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit


@dataclass(frozen=True)
class _State:
    """A posterior by its sums, and the ELBO of all rows or a lower bound on it."""

    model: Any
    core: Mixture
    stats: MixtureStats
    order: tuple[int, ...]
    bound: float
    ascent: EngineResult[SufficientStats] | None = None


def merged(fit: Fit, budget: Budget) -> Fit:
    """The fit without the components that others can take over, judged by sums alone.

    Raises
    ------
    DataError
        If sums of the experts or of the gate do not add up.
    """
    began = time.perf_counter()
    rows = cast(PartlyKept, fitted_rows(fit.model))
    bound = fit.elbo + fit.model.log_jacobian * rows.total_weight
    place = Streams(fit.seed).branch("merging")
    # Shares, by which components are sorted, are of these rows.
    model = fit.model.over(rows.kept)
    _check_sums(fit, model)
    state = _State(model, cast(Mixture, fit.core), fit.stats, fit.order, bound)
    while smaller := _smaller(state, budget, place):
        state = smaller
    if state.ascent is None:
        return fit
    response = withheld("components were merged by their sums, without rows")
    run = Run(state.model.over(rows), state.core, state.order, state.ascent, response)
    seconds = time.perf_counter() - began
    left = cast("Fit", refreshed(fit, run, rows.total_weight, seconds))
    return replace(left, make_draws=fit.make_draws)


def _check_sums(fit: Fit, model: Any) -> None:
    """Refuse models of whose components the sums do not add up."""
    core = cast(Mixture, fit.core)
    stats: MixtureStats = fit.stats
    sizes = {leaf.shape[:1] for _, leaf in stats.experts.leaves()}
    why = None
    one = model.resized(1)
    is_linear = one.core.is_linear_in_rows(one.source)
    if not is_linear or sizes != {(core.n_components,)}:
        why = "its experts are not conjugate, so their sums depend on the posterior"
    elif core.n_components > 2:
        try:
            next(_mergers(_State(fit.model, core, stats, fit.order, 0.0)))
        except NotImplementedError as error:
            why = str(error)
    if why is not None:
        raise DataError(
            f"this fit cannot be pruned without its rows: {why}",
            hint="fit all rows together; superfluous components do no harm to predictions",
        )


def _smaller(state: _State, budget: Budget, place: EngineStreams) -> _State | None:
    """The best model with one component less or with one left; None if each has a lower ELBO."""
    bound, nobody = state.bound, InMemorySource((no_row(state.model.source),))
    best = None
    for model, sums, known in _candidates(state):
        start = model.core.with_first_scales(sums)
        with_known = BesideKnownRows(model.core, start, known)
        ascent = Cavi().run(with_known, nobody, start, budget, place)
        if ascent.bound >= bound:
            best, bound = (model, ascent), ascent.bound
    if best is None:
        return None
    model, ascent = best
    core, stats, order = model.ordered(model.core, ascent.stats)
    return _State(model, core, stats, order, bound, replace(ascent, stats=stats))


def _candidates(state: _State) -> Iterator[tuple[Any, MixtureStats, float]]:
    """Smaller models, with their sums and the part of the ELBO that is not in these."""
    n_components = state.core.n_components
    if n_components > 2:
        model = state.model.resized(n_components - 1)
        yield from ((model, *merger) for merger in _mergers(state))
    if n_components > 1:
        # With one component the ELBO is known; the lower bound of a pair may be far below it.
        model, experts = state.model.resized(1), state.stats.experts
        sums = {name: values.sum(axis=0, keepdims=True) for name, values in experts.leaves()}
        yield model, *_of_one(model, experts.with_leaves(sums))


def _mergers(state: _State) -> Iterator[tuple[MixtureStats, float]]:
    """Sums after each merger of two components, and the part of the ELBO that is not in them."""
    core, stats, q = state.core, state.stats, state.core.update(state.stats)
    known = state.bound + core.kl(q) - core.expected_sum(stats, q)
    labels = [int(label) for label in np.argsort(state.order)]
    weight = np.asarray(stats.experts.weight)
    scales = getattr(state.model, "scales", None)  # of a formula; weights are constant without
    intercept = None if scales is None else scales.parts[GATING].intercept
    for spared in labels:
        kept = [label for label in labels if label != spared]
        for into in kept:
            pair = np.maximum(weight[[into, spared]], np.finfo(float).tiny)
            lost = float(pair.sum() * entr(pair / pair.sum()).sum())
            experts = _added(stats.experts, kept, into, spared)
            gate, more = core.gate.merged(stats.gate, kept, (into, spared), tuple(pair), intercept)
            yield MixtureStats(experts, gate), known + more - lost


def _of_one(model: Any, experts: Any) -> tuple[MixtureStats, float]:
    """Sums of one component, and the part of the ELBO that is not in them, equal for all rows."""
    row = replace(no_row(model.source), weight=np.ones(1))
    gate = model.core.partition_stats(row, np.ones((1, 1))).gate
    sums = MixtureStats(experts, gate)
    q = model.core.update(model.core.with_first_scales(sums))
    step = model.core.e_step(q, row)
    each = step.bound - model.core.expected_sum(step.stats, q)
    return sums, float(each * experts.weight.sum())


def _added(stats: SufficientStats, kept: list[int], into: int, spared: int) -> SufficientStats:
    """Sums of the components that are kept, with another component added to one of them."""
    place = kept.index(into)
    leaves = {}
    for name, values in stats.leaves():
        leaves[name] = values[kept]
        leaves[name][place] += values[spared]
    return stats.with_leaves(leaves)
