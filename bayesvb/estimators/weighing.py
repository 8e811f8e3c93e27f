"""Weights of the restarts of a search: the best alone, or several by held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from jaxtyping import Float

from bayesvb.engines.base import Budget
from bayesvb.engines.folds import FEW_PASSES, FOLDS, PASSES, extrapolated_density, held_out_density
from bayesvb.engines.restarts import Restart, RestartSearch
from bayesvb.engines.side_by_side import processes, side_by_side
from bayesvb.estimators.fit_request import FitRequest
from bayesvb.evaluation.stacking_weights import stacking_weights
from bayesvb.evaluation.unseen_optima import SAME
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.streams import Streams
from bayesvb.results.base import PREDICTION_DISTANCE
from bayesvb.results.limits import LIMITS
from bayesvb.variational.model import AnyModel

PRIOR_ROWS = 0.3
"""Rows of a prior that shrinks the weights of networks towards equality, for each restart:
cross-validation has little information about which of several good restarts is best."""

LARGE_WEIGHT = 0.2
"""Weight from which a run continues to the tolerance; with less weight it would change little, and
take most of the iterations."""

UNCERTAIN = 0.5
"""Mean loss of held-out rows, in nats, from which these two constants and the tolerance are used as
they are. If classes are nearly certain, and the loss is smaller, they shrink with it."""

LITTLE_WORK = 1e6
"""Rows x experts x iterations up to which full cross-validation runs at once, some tenths of a
second; with more of them it runs when ``fit.loo()`` needs it."""


@dataclass(frozen=True)
class Count:
    """Stacking weights of the restarts, and the densities from which they come.

    Attributes
    ----------
    weights : Mapping of int to float
        By the number of the run, from 0; those that are not there do not count.
    columns : Mapping of str to ndarray, shape (runs,)
        Statement on all of them, on the standardised scale.
    held_out : Mapping of int to ndarray, shape (rows,)
        Densities of rows without their folds by the number of the run, if they are of all rows.
    uncertainty : float
        Loss of a held-out row over ``UNCERTAIN``, at most one; one without classes.
    """

    weights: Mapping[int, float]
    columns: Mapping[str, Float[np.ndarray, " runs"]] = field(default_factory=dict)
    held_out: Mapping[int, RowVector] = field(default_factory=dict)
    uncertainty: float = 1.0

    @property
    def large(self) -> list[int]:
        """Runs whose weight is large, at least the one with the largest."""
        least = min(LARGE_WEIGHT * self.uncertainty, max(self.weights.values()))
        return [number for number, weight in self.weights.items() if weight >= least]

    def tolerated(self, budget: Budget) -> Budget:
        """The budget with a tolerance per row as small as the loss of a row."""
        return replace(budget, per_row=self.uncertainty * budget.per_row)


def passes_to_weigh(model: AnyModel, n_rows: int, restarts: int, request: FitRequest) -> float:
    """Most iterations for weighting this number of restarts; none if the best one is kept."""
    if not (request.rough and model.follows_rows and request.engine.maximises_bound):
        return 0.0
    whole = FOLDS * PASSES
    if request.combine == "average":
        return float(restarts * whole)
    with_care = min(restarts, LITTLE_WORK // (n_rows * model.n_components * whole))
    return restarts * FOLDS * 2.0 * FEW_PASSES + with_care * whole


def weighed(
    search: RestartSearch, request: FitRequest, streams: Streams, n_rows: int
) -> tuple[RestartSearch, Count]:
    """The search after the runs that count met the tolerance, and how much each of them counts.

    After Ctrl-C as much counts as was known before: the best run alone, if it was nothing.
    """
    count, n_runs = Count({search.best: 1.0}), len(search.runs)
    try:
        if not request.rough:
            return search, replace(count, columns=apart(search))
        if search.interrupted:
            return search, count
        if request.combine == "average":
            even = np.full(n_runs, 1.0 / n_runs)
            count = Count(dict(enumerate(even.tolist())), {"weight": even})
            search = search.settled(count.weights, request.budget, request.progress)
            if not search.interrupted:
                count = _counted(search, request, streams, range(n_runs))
        else:
            count = _counted(search, request, streams, range(n_runs), short=_in_short(search))
            search = search.settled(count.large, count.tolerated(request.budget), request.progress)
            if _in_short(search) and not search.interrupted:
                count = _with_care(search, request, streams, count)
    except KeyboardInterrupt:
        search = replace(search, interrupted=True)
    seen = search.runs[0].model.follows_rows and search.screened.n_rows == n_rows
    return search, count if seen else replace(count, held_out={})


def _with_care(search: RestartSearch, request: FitRequest, streams: Streams, count: Count) -> Count:
    """Weights of the weighted restarts from full runs without each fold, if that is little work."""
    each = search.screened.n_rows * search.runs[0].model.n_components * FOLDS * PASSES
    if each * len(count.weights) > LITTLE_WORK:
        return count
    whole = _counted(search, request, streams, count.weights)
    return replace(whole, columns={**count.columns, "weight": whole.columns["weight"]})


def _in_short(search: RestartSearch) -> bool:
    """Whether short runs select the weighted restarts, as full runs would dominate the time."""
    return search.runs[0].model.follows_rows and search.engine.maximises_bound


def _counted(
    search: RestartSearch,
    request: FitRequest,
    streams: Streams,
    numbers: Iterable[int],
    *,
    short: bool = False,
) -> Count:
    """Weights of these runs; with ``short`` by extrapolated densities, of which none is kept."""
    from bayesvb.results.stacking import distinct, kept

    density = _densities(search, request, streams, sorted(numbers), short=short)
    chosen, row_weights = np.array(list(density)), search.screened.weights()
    log_density = np.stack(list(density.values()))
    each, weight = np.full(len(search.runs), np.nan), np.zeros(len(search.runs))
    each[chosen] = np.average(log_density, axis=1, weights=row_weights)
    model, uncertainty = search.runs[0].model, 1.0
    if model.predicts_classes:
        uncertainty = float(np.clip(-np.nanmax(each) / UNCERTAIN, 0.0, 1.0))
    even = np.full(len(chosen), 1.0 / len(chosen))
    if request.combine == "stack":
        optima = distinct([search.runs[number].score for number in density], log_density)
        even = np.zeros(len(chosen))
        prior_rows = PRIOR_ROWS * uncertainty if model.follows_rows else 0.0
        best = stacking_weights(log_density[optima], row_weights, prior_rows=prior_rows)
        even[optima] = kept(best)
    weight[chosen] = even
    return Count(
        {number: float(weight[number]) for number in density if weight[number] > 0.0},
        {"elpd_per_row": each, "weight": weight},
        {} if short else density,
        uncertainty,
    )


def _densities(
    search: RestartSearch,
    request: FitRequest,
    streams: Streams,
    numbers: Sequence[int],
    *,
    short: bool,
) -> dict[int, RowVector]:
    """Densities of held-out rows under each of these runs, in parallel if folds need runs."""
    left_out = _short if short else _held_out

    def task(number: int, _: object) -> RowVector:
        return left_out(search, number, request, streams)

    model = search.runs[0].model
    passes = len(numbers) * FOLDS * (2 * FEW_PASSES if short else PASSES)
    ascents = model.follows_rows and search.engine.maximises_bound
    places = processes(model, search.screened, passes) if ascents else 1
    each = side_by_side([partial(task, number) for number in numbers], places)
    return dict(zip(numbers, each, strict=True))


def _short(search: RestartSearch, number: int, request: FitRequest, streams: Streams) -> RowVector:
    """Approximate held-out density of every row under one run, from short runs."""
    run, place = search.runs[number], streams.branch("restart", number + 1)
    return extrapolated_density(run.model, search.screened, run.ascent.stats, request.engine, place)


def _held_out(
    search: RestartSearch, number: int, request: FitRequest, streams: Streams
) -> RowVector:
    """Held-out density of every row under one run: from folds, linear response, or draws."""
    from bayesvb.results.leave_one_out import Fitted, has_log_predictive, leave_one_out
    from bayesvb.results.stacking import held_out

    run, source = search.runs[number], search.screened
    stats, place = run.ascent.stats, streams.branch("restart", number + 1)
    density = held_out_density(run.model, source, stats, request.engine, place)
    if density is not None:
        return density
    if request.engine.maximises_bound and has_log_predictive(run.model, source, stats):
        one = Fitted(run.model, source, stats, request.engine, place, 0.0)
        return leave_one_out(one, np.arange(source.n_rows)).log_density
    # Draws behind the held-out densities by which restarts are weighed.
    n_draws = min(request.n_draws, 250)
    if run.ascent.draws is not None:
        few = {name: values[:n_draws] for name, values in run.ascent.draws.items()}
        return held_out(run.model, source, few)
    posterior = run.model.update(stats)
    draws = run.model.draws(posterior, n_draws, streams.draws())
    return held_out(run.model, source, draws)


def apart(search: RestartSearch) -> dict[str, Float[np.ndarray, " runs"]]:
    """Column of the table of restarts: distance of their predictions from the best one.

    Mean absolute difference of the log predictive density at observed rows, in nats; zero for runs
    to the same optimum, NaN for runs whose bound is far from it. No column where there is one
    optimum only, one run, or no closed predictive density.
    """
    best = search.runs[search.best]
    if len(search.runs) == 1 or best.model.n_components == 1:
        return {}
    if np.isneginf(best.score):
        return {}
    gap = np.abs(best.score - np.array([run.score for run in search.runs]))
    rival = np.flatnonzero((gap > SAME) & (gap <= LIMITS.rival))
    distance = np.where(gap <= SAME, 0.0, np.nan)
    if len(rival):
        kept = _log_density(search, best)
        if kept is None:
            return {}
        for number in rival:
            other = _log_density(search, search.runs[number])
            distance[number] = np.nan if other is None else np.abs(other - kept).mean()
    return {PREDICTION_DISTANCE: distance}


def _log_density(log_density: RestartSearch, run: Restart) -> RowVector | None:
    """Log predictive density of one run at rows that it has seen, evenly chosen."""
    n_rows = log_density.screened.n_rows
    # Rows at which predictions are compared.
    at = np.unique(np.linspace(0, n_rows - 1, min(n_rows, 2000)).astype(np.intp))
    posterior = run.model.update(run.ascent.stats)
    return run.model.log_predictive(posterior, log_density.screened.take(at))
