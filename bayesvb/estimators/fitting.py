"""From a search to a fit: the best run, or several that are combined."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Float

from bayesvb.data.sources import AbstractSource
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.engines.base import AbstractEngine, Budget, EngineResult, ProgressCallback
from bayesvb.engines.folds import held_out_density
from bayesvb.engines.linear_response import LinearResponse, linear_response, withheld
from bayesvb.engines.restarts import Restart, RestartSearch, warn_if_unfinished
from bayesvb.engines.settled_response import ATTEMPTS, joined, settled_response, warn_if_uphill
from bayesvb.engines.traces import restart_table, traces
from bayesvb.estimators.fit import Fit
from bayesvb.estimators.near_restarts import apart
from bayesvb.evaluation.stacking_weights import stacking_weights
from bayesvb.numerics.streams import Streams
from bayesvb.results.base import Member
from bayesvb.results.importance import of_one_restart
from bayesvb.results.leave_one_out import Fitted, has_log_predictive, leave_one_out
from bayesvb.results.named_draws import log_joint
from bayesvb.results.robust import default_covariance
from bayesvb.results.stacking import distinct, held_out, kept, stacked
from bayesvb.variational.model import AbstractVariationalModel

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit, AbstractPublicModel

INTERRUPTED = "the fit was interrupted"

COMBINATIONS = ("best", "stack", "average")
"""What is made of the restarts."""

WEIGHING_DRAWS = 250
"""Draws behind the held-out densities by which restarts are weighed."""


@dataclass(frozen=True)
class FitRequest:
    """What is asked of a fit.

    Attributes
    ----------
    combine : {"best", "stack", "average"}
    n_draws : int
    covariance : {"linear-response", "mean-field"}
    budget : Budget
    seed : int
    began : float
        When the work began, by ``time.perf_counter``.
    progress : callable, optional
        Called as ``search`` does.
    method : str
        Key of the engine in ``ENGINES``.
    options : Mapping of str to value
        Options of the engine.
    """

    combine: str
    n_draws: int
    covariance: str
    budget: Budget
    seed: int
    began: float
    progress: ProgressCallback | None = None
    method: str = DEFAULT_METHOD
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def engine(self) -> AbstractEngine:
        """What runs."""
        return ENGINES[self.method].with_options(**self.options)

    @property
    def rough(self) -> bool:
        """Whether it is not the best restart alone that counts, and needs to converge."""
        return self.combine != "best"


def fitted(
    model: AbstractPublicModel,
    found: RestartSearch,
    source: AbstractSource,
    request: FitRequest,
    streams: Streams,
) -> Fit:
    """The fit of a search, its components in the order of their labels."""
    try:
        weights, columns, held = weighed(found, request, streams, source.n_rows)
    except KeyboardInterrupt:
        weights, columns, held = {found.best: 1.0}, {}, {}
        found = replace(found, interrupted=True)
    if "elpd_per_row" in columns:
        columns["elpd_per_row"] -= model.log_jacobian
    if request.rough:
        found = found.settled(weights, request.budget, request.progress)
    numbers = sorted(weights, key=lambda number: -weights[number])
    members: list[Member] = []
    labelled: list[_Labelled] = []
    for number in numbers:
        run = _labelled(model, found, number, source, request.budget, members)
        if not found.interrupted:
            run = _completed(run, source, request, streams)
            run = _responding(model, run, source, request, streams, members)
            found = found.advanced(number, run.ascent)
        labelled.append(run)
        one = _one(model, found, run, request, streams.draws())
        one = replace(one, held_out=held.get(number))
        members.append(Member(number + 1, weights[number], one))
    ascents = [run.ascent for run in labelled]
    interrupted = found.interrupted or any(ascent.interrupted for ascent in ascents)
    warn_if_unfinished(ascents, request.budget.max_iter, interrupted=interrupted)
    warn_if_uphill([run.uphill for run in labelled if run.ascent.converged])
    table = members[-1].fit.restarts.assign(**columns)
    finished = [replace(member, fit=_finished(member.fit, table)) for member in members]
    if len(finished) == 1:
        return cast("Fit", finished[0].fit)
    fit = stacked(finished)
    return cast("Fit", replace(fit, seconds=time.perf_counter() - request.began))


def weighed(
    found: RestartSearch, request: FitRequest, streams: Streams, n_rows: int
) -> tuple[
    dict[int, float], dict[str, Float[np.ndarray, " runs"]], dict[int, Float[np.ndarray, " rows"]]
]:
    """Weight of every run that counts, by its number from 0, and columns for the table.

    Then the densities of rows without their folds by the number of the run, if they are of all
    rows. Held-out densities are those of the standardised scale.
    """
    n_runs = len(found.runs)
    if request.combine == "best":
        return {found.best: 1.0}, apart(found), {}
    log_density = np.stack(
        [
            _held_out(run, number, found.screened, request, streams)
            for number, run in enumerate(found.runs, start=1)
        ]
    )
    row_weights = found.screened.weights()
    whole = np.full(n_runs, 1.0 / n_runs)
    if request.combine == "stack":
        numbers = distinct([run.score for run in found.runs], log_density)
        whole = np.zeros(n_runs)
        whole[numbers] = kept(stacking_weights(log_density[numbers], row_weights))
    by_folds = found.runs[0].model.follows_rows and found.screened.n_rows == n_rows
    return (
        {number: float(weight) for number, weight in enumerate(whole) if weight > 0.0},
        {"elpd_per_row": np.average(log_density, axis=1, weights=row_weights), "weight": whole},
        dict(enumerate(log_density)) if by_folds else {},
    )


def _held_out(
    run: Restart, number: int, source: AbstractSource, request: FitRequest, streams: Streams
) -> Float[np.ndarray, " rows"]:
    """Held-out density of every row under one run: from folds, linear response, or draws."""
    stats, place = run.ascent.stats, streams.branch("restart", number)
    own = held_out_density(run.model, source, stats, request.engine, place)
    if own is not None:
        return own
    if request.engine.maximises_bound and has_log_predictive(run.model, source, stats):
        one = Fitted(run.model, source, stats, request.engine, place, 0.0)
        return leave_one_out(one, np.arange(source.n_rows)).log_density
    n_draws = min(request.n_draws, WEIGHING_DRAWS)
    if run.ascent.draws is not None:
        few = {name: values[:n_draws] for name, values in run.ascent.draws.items()}
        return held_out(run.model, source, few)
    posterior = run.model.update(stats)
    draws = run.model.draws(posterior, n_draws, streams.draws())
    return held_out(run.model, source, draws)


@dataclass(frozen=True)
class _Labelled:
    """One run with its components in the order of their labels, and its linear response."""

    number: int
    ascent: EngineResult[Any]
    core: AbstractVariationalModel[Any, Any]
    stats: Any
    order: tuple[int, ...]
    response: LinearResponse = field(default_factory=lambda: withheld(INTERRUPTED))
    uphill: bool = False

    def climbed(
        self, model: AbstractPublicModel, further: EngineResult[Any], others: list[Member]
    ) -> _Labelled:
        """The run after it went on, its components in the order of their labels again."""
        core, stats, again = (
            model.aligned(others[0].fit, self.core, further.stats)
            if others
            else model.ordered(self.core, further.stats)
        )
        order = tuple(self.order[k] for k in again)
        return replace(
            self, ascent=joined(self.ascent, further), core=core, stats=stats, order=order
        )


def _labelled(
    model: AbstractPublicModel,
    found: RestartSearch,
    number: int,
    source: AbstractSource,
    budget: Budget,
    others: list[Member],
) -> _Labelled:
    """Components of the first member by the model's rule, of others by their likeness to it.

    Draws of an engine keep the components that they have.
    """
    ascent = found.finished(number, source, budget)
    core, stats, order = model.ordered(found.runs[number].model, ascent.stats)
    if ascent.draws is not None:
        whole = tuple(range(len(order)))
        return _Labelled(number, ascent, found.runs[number].model, ascent.stats, whole)
    if others:
        first = others[0].fit
        core, stats, again = model.aligned(first, core, stats)
        order = tuple(order[k] for k in again)
    return _Labelled(number, ascent, core, stats, order)


def _completed(
    run: _Labelled, source: AbstractSource, request: FitRequest, streams: Streams
) -> _Labelled:
    """The run after what its engine does once only; after Ctrl-C as it was."""
    place = streams.branch("restart", run.number + 1, "completed")
    ascent = replace(run.ascent, stats=run.stats)
    try:
        found = request.engine.completed(run.core, source, ascent, request.budget, place)
    except KeyboardInterrupt:
        found = replace(ascent, interrupted=True, converged=False)
    return replace(run, ascent=found, stats=found.stats)


def _one(
    model: AbstractPublicModel,
    found: RestartSearch,
    run: _Labelled,
    request: FitRequest,
    rng: np.random.Generator,
) -> Fit:
    """The fit of one run, by its own posterior."""
    draws, own = run.ascent.draws, None
    if draws is None:
        q = run.core.update(run.stats)
        draws = run.core.draws(q, request.n_draws, rng)
        log_q = run.core.log_posterior(q, draws)
    else:
        log_q = own = _engine_log_q(model, run)
    weight = model.source.total_weight
    return Fit(
        model=model,
        core=run.core,
        stats=run.stats,
        order=run.order,
        draws=draws,
        log_q=log_q,
        covariance="mean-field" if own is None else "engine",
        q_draws=draws,
        response=run.response,
        restarts=restart_table(found, model.log_jacobian, best=run.number),
        traces=traces(found, model.log_jacobian, weight, best=run.number, final=run.ascent),
        converged=run.ascent.converged and not found.interrupted,
        n_iter=run.ascent.n_iter,
        seconds=time.perf_counter() - request.began,
        seed=request.seed,
        method=request.method,
        method_options=request.options,
        engine_log_q=own,
        n_chains=run.ascent.n_chains,
        findings=run.ascent.findings,
    )


def _engine_log_q(model: AbstractPublicModel, run: _Labelled) -> Float[np.ndarray, " draws"]:
    """Log density of the engine's draws; that of the exact posterior unless it says another."""
    if run.ascent.log_q is not None:
        return run.ascent.log_q
    assert run.ascent.draws is not None
    return log_joint(run.core, model.source, run.ascent.draws, model.log_jacobian)


def _responding(
    model: AbstractPublicModel,
    run: _Labelled,
    source: AbstractSource,
    request: FitRequest,
    streams: Streams,
    others: list[Member],
) -> _Labelled:
    """The run with its linear response, unless the user does not want to wait for it.

    It is higher up if there was none where it ended.
    """
    if run.ascent.draws is not None:
        why = f"the draws are those of the engine, {request.engine.title}"
        return replace(run, response=withheld(why))
    if request.covariance == "mean-field":
        return replace(run, response=withheld("linear response was not asked for"))
    place = streams.branch("restart", run.number + 1, "response")
    rows = streams.response_rows()
    try:
        found = settled_response(
            run.core,
            source,
            run.stats,
            rows,
            request.engine,
            place,
            request.budget,
            ATTEMPTS if run.ascent.converged else 1,
        )
        run = replace(run, response=found.response, uphill=found.uphill)
        if found.further is None:
            return run
        further = replace(found.further, findings=run.ascent.findings)
        before, run = run.order, run.climbed(model, further, others)
        if run.order != before and not found.uphill:
            run = replace(run, response=linear_response(run.core, source, run.stats))
    except KeyboardInterrupt:
        return replace(run, response=withheld(INTERRUPTED))
    return run


def _finished(fit: AbstractFit, table: pd.DataFrame) -> AbstractFit:
    """The fit with the table of all restarts, and draws that have its linear response."""
    fit = replace(fit, restarts=table.assign(best=fit.restarts["best"]))
    return fit if fit.sampled else of_one_restart(fit, default_covariance(fit))
