"""From a search to a fit: the best run, or several that are combined."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import pandas as pd

from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import Budget, EngineResult
from bayesvb.engines.restarts import RestartSearch, numbered, warn_if_unfinished
from bayesvb.engines.settled_response import ATTEMPTS, joined, settled_response, warn_if_uphill
from bayesvb.engines.traces import restart_table, traces
from bayesvb.estimators.fit import Fit
from bayesvb.estimators.fit_request import FitRequest
from bayesvb.estimators.weighing import weighed
from bayesvb.numerics.arrays import DrawVector
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.base import AbstractFit, AbstractPublicModel, Member
from bayesvb.results.exact_draws import automatic_draws
from bayesvb.results.importance import of_one_restart, with_default_covariance
from bayesvb.results.named_draws import log_joint
from bayesvb.sensitivity.covariance import (
    INTERRUPTED,
    NOT_ASKED,
    LinearResponse,
    linear_response,
    withheld,
)
from bayesvb.variational.model import AnyModel


def fitted(
    model: AbstractPublicModel,
    search: RestartSearch,
    source: AbstractSource,
    request: FitRequest,
    streams: Streams,
) -> Fit:
    """The fit of a search, its components in the order of their labels."""
    search, count = weighed(search, request, streams, source.n_rows)
    weights, columns = count.weights, dict(count.columns)
    if "elpd_per_row" in columns:
        columns["elpd_per_row"] = columns["elpd_per_row"] - model.log_jacobian
    numbers = sorted(weights, key=lambda number: -weights[number])
    members: list[Member] = []
    labelled: list[_Labelled] = []
    for number in numbers:
        run = _labelled(model, search, number, source, request.budget, members)
        search = _stopped(search, run.ascent.interrupted)
        if not search.interrupted:
            run = _completed(run, source, request, streams, len(search.runs) + 1)
            run = _responding(model, run, source, request, streams, members)
            search = search.advanced(number, run.ascent)
            search = _stopped(search, run.ascent.interrupted or run.response.failure == INTERRUPTED)
        labelled.append(run)
        one = _one(model, search, run, request, streams.draws())
        one = replace(one, held_out=count.held_out.get(number))
        members.append(Member(number=number + 1, weight=weights[number], fit=one))
    ascents = [run.ascent for run in labelled]
    interrupted = search.interrupted or any(ascent.interrupted for ascent in ascents)
    warn_if_unfinished(ascents, request.budget.max_iter, interrupted=interrupted)
    warn_if_uphill([run.uphill for run in labelled if run.ascent.converged])
    table = members[-1].fit.restarts
    table = table.assign(**columns) if columns else table
    asked = "linear-response" if interrupted or len(members) > 1 else request.covariance
    finished = [replace(member, fit=_finished(member.fit, table, asked)) for member in members]
    if len(finished) == 1:
        return cast("Fit", finished[0].fit)
    from bayesvb.results.stacking import stacked

    fit = stacked(finished)
    return cast("Fit", replace(fit, seconds=time.perf_counter() - request.began))


def _stopped(search: RestartSearch, interrupted: bool) -> RestartSearch:
    """The search, in which no further run continues after Ctrl-C."""
    return replace(search, interrupted=True) if interrupted else search


@dataclass(frozen=True)
class _Labelled:
    """One run with its components in the order of their labels, and its linear response."""

    number: int
    ascent: EngineResult[SufficientStats]
    core: AnyModel
    stats: SufficientStats
    order: tuple[int, ...]
    response: LinearResponse = field(default_factory=lambda: withheld(INTERRUPTED))
    uphill: bool = False

    def climbed(
        self,
        model: AbstractPublicModel,
        further: EngineResult[SufficientStats],
        others: list[Member],
    ) -> _Labelled:
        """The run after further iterations, its components in the order of their labels again."""
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
    search: RestartSearch,
    number: int,
    source: AbstractSource,
    budget: Budget,
    others: list[Member],
) -> _Labelled:
    """Components of the first member by the model's rule, of others by their likeness to it.

    Draws of an engine keep the components that they have.
    """
    ascent = search.finished(number, source, budget)
    core, stats, order = model.ordered(search.runs[number].model, ascent.stats)
    if ascent.draws is not None:
        whole = tuple(range(len(order)))
        return _Labelled(number, ascent, search.runs[number].model, ascent.stats, whole)
    if others:
        first = others[0].fit
        core, stats, again = model.aligned(first, core, stats)
        order = tuple(order[k] for k in again)
    return _Labelled(number, ascent, core, stats, order)


def _completed(
    run: _Labelled, source: AbstractSource, request: FitRequest, streams: Streams, number: int
) -> _Labelled:
    """The run after what its engine does once only; after Ctrl-C as far as it came.

    Its progress is reported under this number.
    """
    budget = replace(request.budget, progress=numbered(request.progress, number))
    place = streams.branch("restart", run.number + 1, "completed")
    ascent = replace(run.ascent, stats=run.stats)
    try:
        completed = request.engine.completed(run.core, source, ascent, budget, place)
    except KeyboardInterrupt:
        completed = replace(ascent, interrupted=True, converged=False)
    return replace(run, ascent=completed, stats=completed.stats)


def _one(
    model: AbstractPublicModel,
    search: RestartSearch,
    run: _Labelled,
    request: FitRequest,
    rng: np.random.Generator,
) -> Fit:
    """The fit of one run, by its own posterior."""
    draws, weight = run.ascent.draws, (model.all_rows or model.source).total_weight
    is_own = draws is None
    if draws is None:
        draws = run.core.draws(run.core.update(run.stats), request.n_draws, rng)
    return Fit.from_draws(
        model=model,
        core=run.core,
        stats=run.stats,
        order=run.order,
        variational_draws=draws,
        engine_log_q=None if is_own else _engine_log_q(model, run),
        response=run.response,
        restarts=restart_table(search, model.log_jacobian, best=run.number),
        traces=traces(search, model.log_jacobian, weight, best=run.number, final=run.ascent),
        converged=run.ascent.converged and not search.interrupted,
        n_iter=run.ascent.n_iter,
        seconds=time.perf_counter() - request.began,
        seed=request.seed,
        tol=request.budget.tol,
        max_iter=request.budget.max_iter,
        method=request.method,
        method_options=request.options,
        start_code=request.start_code,
        n_chains=run.ascent.n_chains,
        sample_stats=run.ascent.sample_stats,
        findings=run.ascent.findings,
    )


def _engine_log_q(model: AbstractPublicModel, run: _Labelled) -> DrawVector:
    """Log density of the engine's draws; of the exact posterior unless it returns another."""
    if run.ascent.log_q is not None:
        return run.ascent.log_q
    assert run.ascent.draws is not None
    return log_joint(run.core, fitted_rows(model), run.ascent.draws, model.log_jacobian)


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
        why = f"the draws come from the engine, {request.engine.title}"
        return replace(run, response=withheld(why))
    if request.covariance == "mean-field":
        return replace(run, response=withheld(NOT_ASKED))
    place = streams.branch("restart", run.number + 1, "response")
    rows = streams.response_rows()
    try:
        response = settled_response(
            run.core,
            source,
            run.stats,
            rows,
            request.engine,
            place,
            request.budget,
            ATTEMPTS if run.ascent.converged else 1,
        )
        run = replace(run, response=response.response, uphill=response.uphill)
        if response.further is None:
            return run
        further = replace(response.further, findings=run.ascent.findings)
        before, run = run.order, run.climbed(model, further, others)
        if run.order != before and not response.uphill:
            run = replace(run, response=linear_response(run.core, source, run.stats))
    except KeyboardInterrupt:
        return replace(run, response=withheld(INTERRUPTED))
    return run


def _finished(fit: AbstractFit, table: pd.DataFrame, covariance: str) -> AbstractFit:
    """The fit with the table of all restarts, and draws as requested."""
    if table is not fit.restarts:
        fit = replace(fit, restarts=table.assign(best=fit.restarts["best"]))
    if fit.is_sampled:
        return fit
    if covariance == "exact":
        return of_one_restart(fit, covariance)
    made = with_default_covariance(fit)
    return replace(made, make_draws=automatic_draws) if covariance == "auto" else made
