"""Components taken out of a fit, with the lower bound as judge."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bayesvb.argument_checks import check_count, check_positive, checked
from bayesvb.data.blocks import Block
from bayesvb.data.case_weights import sum_and_error
from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import AbstractEngine, Budget, EngineResult
from bayesvb.engines.settled_response import joined, settled_response, warn_if_uphill
from bayesvb.engines.traces import number_before
from bayesvb.errors import DataError, warn
from bayesvb.estimators.rebuilding import rebuilt
from bayesvb.model_selection.merging import merged
from bayesvb.models.mixture import Mixture, MixturePosterior
from bayesvb.numerics.arrays import ExpertRows
from bayesvb.numerics.runtime import processors
from bayesvb.numerics.streams import EngineStreams, Streams
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.criteria import elpd, own_method
from bayesvb.results.importance import with_default_covariance
from bayesvb.results.named_draws import PosteriorDraws, count

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.estimators.fit import Fit

CLEAR_NATS, CLEAR_ERRORS = 4.0, 2.0
"""Nats, and standard errors, above which a difference between leave-one-out estimates is clear.

Sivula, Magnusson, Matamoros, Vehtari (2025), Uncertainty in Bayesian leave-one-out
cross-validation based model comparison, arXiv:2008.10296: below four nats models
predict alike."""


@dataclass(frozen=True)
class _State:
    """A converged run of a model, its components in the order of their labels."""

    model: Any
    core: Any
    stats: SufficientStats
    order: tuple[int, ...]
    score: float
    ascent: EngineResult[SufficientStats]


@dataclass(frozen=True)
class _Climb:
    """Engine, budget, and random streams of runs that continue without a component."""

    engine: AbstractEngine
    budget: Budget
    streams: EngineStreams


@checked
def prune(fit: Fit, *, tol: float = 1e-3, max_iter: int = 2000, n_jobs: int | None = None) -> Fit:
    """Fit without superfluous components, judged by the ELBO.

    One component is taken out at a time, the smallest first, and the others ascend again from
    where they were. The smaller model is kept if its bound is not lower; the fit itself comes back
    if no component can be spared. Where rows are gone, as after ``fit.update``, two components are
    merged by their sums while a lower bound on the ELBO does not fall; intervals are mean-field.

    Parameters
    ----------
    fit : Fit
        Of a ``DensityRegression`` or a ``GaussianMixture``.
    tol, max_iter, n_jobs
        As in ``model.fit``.

    Returns
    -------
    Fit
        Its ``model`` has fewer components, its ``restarts`` a further row, for the last run.

    Raises
    ------
    DataError
        If the model is not a mixture, or the fit is by an engine that does not maximise the ELBO;
        if rows are gone and sums of the experts or of the gate do not add up.

    Warns
    -----
    UserWarning
        If leave-one-out by linear response clearly prefers the fit as it was.

    Notes
    -----
    Bounds are compared as they are. A posterior of K components has K! copies with other labels,
    and log K! may be added to its bound to stand for them. Here it is not: the copies say the
    same, and an empty component would earn log K for nothing. For the gate whose bound misranks,
    the ``score`` of ``fit.restarts`` is compared.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.GaussianMixture("~ .", bvb.datasets.load("faithful"), n_components=6)
    >>> bvb.prune(model.fit(seed=1, restarts=2)).model.n_components
    2
    """
    if fit.members:
        raise DataError(
            f"the fit {fit.combination}, each with separate components",
            hint="prune one: bvb.prune(fit.members[0].fit), or fit with combine='best'",
        )
    if not fit.model.prunable:
        raise DataError(
            f"a fit of {type(fit.model).__name__} has no components to prune",
            hint="bvb.prune is for fits of DensityRegression and GaussianMixture",
        )
    if not fit.engine.bounds_evidence:
        raise DataError(
            f"the ELBO cannot compare components: {fit.engine.title} does not maximise it",
            hint="fit with another method",
        )
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    if not holds_all_rows(fitted_rows(fit.model)):
        return merged(fit, Budget(float(tol), max_iter))
    began = time.perf_counter()
    with fitted_rows(fit.model).with_workers(n_jobs or processors()).shared() as source:
        return _pruned(fit, source, float(tol), max_iter, began)


def _pruned(fit: Fit, source: AbstractSource, tol: float, max_iter: int, began: float) -> Fit:
    """The fit without the components that can be spared, the smallest one first."""
    climb = _Climb(fit.engine, Budget(tol, max_iter), Streams(fit.seed).branch("pruning"))
    score = (
        fit.elbo
        + fit.model.log_jacobian * source.total_weight
        + _bound_gap(fit.core, source, fit.stats)
    )
    best = EngineResult(fit.stats, fit.elbo_trace.to_numpy(), fit.n_iter, fit.converged)
    first = state = _State(fit.model, fit.core, fit.stats, fit.order, score, best)
    while smaller := _smaller(state, source, climb):
        state = smaller
    if state is first:
        return fit
    pruned = _fitted(fit, state, source, began)
    _warn_if_loo_disagrees(fit, pruned)
    return pruned


def _warn_if_loo_disagrees(fit: Fit, pruned: Fit) -> None:
    """Warn if leave-one-out by linear response prefers the components that were taken out."""
    if any(own_method(one) != "linear-response" for one in (fit, pruned)):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that would have to be refitted: here it is a hint
        before, after = (elpd(one) for one in (fit, pruned))
    lost, error = sum_and_error(before.pointwise - after.pointwise, before.weights)
    if lost > max(CLEAR_NATS, CLEAR_ERRORS * error):
        warn(
            f"leave-one-out prefers the {fit.core.n_components} components of the fit to the "
            f"{pruned.core.n_components} that the ELBO keeps, by {lost:.1f} nats (standard "
            f"error {error:.1f}): bvb.select compares numbers of components by leave-one-out"
        )


def _smaller(state: _State, source: AbstractSource, climb: _Climb) -> _State | None:
    """One component less, the smallest one that can be spared; None if none can."""
    if state.core.n_components == 1:
        return None
    model: Any = rebuilt(state.model, **{state.model.size_name: state.core.n_components - 1})
    posterior = state.core.update(state.stats)
    for spared in reversed(range(state.core.n_components)):
        # in the order of the ascent, in which sticks are broken; labels go by share
        kept = [int(label) for label in np.argsort(state.order) if label != spared]
        begin = partial(_begin, model.core, state.core, posterior, kept)
        start = model.core.first_stats(source.map_reduce(begin))
        place = climb.streams.branch(model.core.n_components, spared)
        ascent = climb.engine.run(model.core, source, start, climb.budget, place).whole()
        score = ascent.bound + _bound_gap(model.core, source, ascent.stats)
        if score >= state.score:
            core, stats, order = model.ordered(model.core, ascent.stats)
            return _State(model, core, stats, order, score, ascent)
    return None


def _begin(
    core: Mixture, old: Mixture, posterior: MixturePosterior, kept: Sequence[int], block: Block
) -> SufficientStats:
    """Sums of the partition that is left when a component is gone."""
    shares: ExpertRows = old.responsibilities(posterior, block)[kept]
    # Share of every row that each component left begins with: a row may have been another's alone.
    shares = shares + 1e-8
    return core.partition_stats(block, shares / shares.sum(axis=0))


def _bound_gap(core: Any, source: AbstractSource, stats: object) -> float:
    """Correction of a bound that ranks runs wrongly; see ``bound_gap`` of models."""
    gap = core.bound_gap(core.update(stats))
    return 0.0 if gap is None else float(source.map_reduce(gap).value)


def _fitted(fit: Fit, state: _State, source: AbstractSource, began: float) -> Fit:
    """The fit of the model that is left, with the covariance of the first one."""
    rng = Streams(fit.seed).rng("pruning")
    response = fit.response
    if response.failure is None or response.n_iter:  # it was tried, and may go better or worse now
        place = Streams(fit.seed).branch("pruning", "response")
        result = settled_response(state.core, source, state.stats, rng, fit.engine, place)
        warn_if_uphill([result.uphill])
        response = result.response
        if result.further is not None:
            ascent = joined(state.ascent, result.further)
            state = replace(state, stats=ascent.stats, ascent=ascent)
    q, ascent = state.core.update(state.stats), state.ascent
    draws = state.core.draws(q, count(fit.variational_draws), rng)
    seconds = time.perf_counter() - began
    restarts = _with_row(fit, state, seconds)
    trace = ascent.trace - state.model.log_jacobian * source.total_weight
    pruned = replace(
        fit,
        model=state.model,
        core=state.core,
        stats=state.stats,
        order=state.order,
        given_draws=PosteriorDraws.from_posterior(state.core, q, draws),
        variational_draws=draws,
        response=response,
        restarts=restarts,
        traces={key: one for key, one in fit.traces.items() if key != "final"}
        | {len(restarts): trace},
        converged=ascent.converged,
        n_iter=ascent.n_iter,
        seconds=fit.seconds + seconds,
        robust=None,
    )
    made = with_default_covariance(pruned)
    return cast("Fit", replace(made, make_draws=fit.make_draws))


def _with_row(fit: Fit, state: _State, seconds: float) -> pd.DataFrame:
    """Restarts of the fit, and the run of the remaining components as the best one."""
    import pandas as pd

    from bayesvb.data.former_columns import FormerColumns

    every = fitted_rows(state.model)
    units = state.model.log_jacobian * every.total_weight
    n_before = number_before(fit.restarts) or fit.core.n_components
    row: dict[object, object] = {
        "initialisation": f"{n_before} components, pruned",
        "elbo": state.ascent.bound - units,
        "score": state.score - units,
        "n_iter": state.ascent.n_iter,
        "converged": state.ascent.converged,
        "rows": every.n_rows,
        "seconds": seconds,
        "best": True,
    }
    records = [*fit.restarts.assign(best=False).to_dict(orient="records"), row]
    index = pd.RangeIndex(1, len(records) + 1, name="restart")
    return FormerColumns(records, index, columns=fit.restarts.columns)
