"""Five-fold cross-validation by runs that continue without each fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import AbstractEngine, Budget, ProgressCallback
from bayesvb.engines.point_estimates import PointEstimates
from bayesvb.engines.side_by_side import processes, side_by_side
from bayesvb.numerics.arrays import Indices, RowIntegers, RowVector
from bayesvb.numerics.runtime import processors
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.model import AnyModel, ModelOf, StatsT

FoldT = TypeVar("FoldT")

FOLDS = 5
"""Folds of cross-validation."""

PASSES = 50
"""Passes over the rows that remain. With few the fold is not forgotten, the less so the wider the
prior is; fifty find nearly all that hundreds would."""

TOLERANCE = 1e-5
"""Remaining gain of the bound per row at which a fold is finished."""

FEW_PASSES = 5
"""Iterations from which a density is extrapolated; without it wide priors look better."""

DOUBLINGS = 3.0
"""Number of imagined doublings of the iterations, from twice ``FEW_PASSES`` to more than
``PASSES``."""

DENSITY = 3e-3
"""Nats per row by which held-out densities may err as the ELBO is not at its maximum."""


def held_out_density(
    model: AnyModel,
    source: AbstractSource,
    stats: SufficientStats,
    engine: AbstractEngine,
    streams: EngineStreams,
) -> RowVector | None:
    """Log predictive density of every row from a run that continued without its fold.

    Likelihood ratios over draws would need no run, but are unreliable if the posterior is much
    narrower than the exact one: every draw depends on the row. None for models whose draws are
    suitable.
    """
    if not model.follows_rows:
        return None

    def density(
        stats: SufficientStats, rows: Int[np.ndarray, " fold"]
    ) -> Float[np.ndarray, " fold"]:
        return np.asarray(model.log_predictive(model.update(stats), source.take(rows)))

    (result,) = without_folds([Ascended(model, stats, streams)], source, engine)
    return by_fold(source, result, density)


def extrapolated_density(
    model: AnyModel,
    source: AbstractSource,
    stats: SufficientStats,
    engine: AbstractEngine,
    streams: EngineStreams,
) -> RowVector:
    """Approximation of ``held_out_density`` from runs with a tenth of the iterations.

    A fold is forgotten evenly on the scale of the logarithm of the passes: the second
    ``FEW_PASSES`` change the density of a row as much as each of the next doublings will.
    """
    quick, density = model.within(DENSITY), np.empty(source.n_rows)
    for number, (rows, rest) in enumerate(folds(source)):
        place, left_out = streams.branch("fold", number), source.take(rows)
        early = continued(quick, rest, stats, engine, place, FEW_PASSES)
        budget = Budget(TOLERANCE * rest.total_weight, FEW_PASSES)
        late = engine.run(quick, rest, early, budget, place.branch("on")).whole().stats
        before, after = (
            np.asarray(quick.log_predictive(quick.update(log_densities), left_out))
            for log_densities in (early, late)
        )
        # What one doubling of the passes changed, for each doubling that is not made.
        density[rows] = after + DOUBLINGS * (after - before)
    return density


@dataclass(frozen=True)
class Ascended:
    """Final statistics of one run, and its random streams."""

    model: AnyModel
    stats: SufficientStats
    streams: EngineStreams


def without_folds(
    runs: Sequence[Ascended], source: AbstractSource, engine: AbstractEngine
) -> list[tuple[SufficientStats, ...]]:
    """Statistics of each run for each fold, after it continued without it; all in parallel."""
    places = fold_rows(source)

    def without(run: Ascended, number: int, progress: ProgressCallback | None) -> SufficientStats:
        rest, place = source.without(places[number]), run.streams.branch("fold", number)
        stats: SufficientStats = continued(run.model, rest, run.stats, engine, place)
        return stats

    tasks = [partial(without, run, number) for run in runs for number in range(len(places))]
    rest = source.without(places[0]).with_workers(processors())
    passes = len(runs) * FOLDS * PASSES
    workers = processes(runs[0].model, rest, passes) if engine.maximises_bound else 1
    results, each = list(side_by_side(tasks, workers)), len(places)
    return [tuple(results[at : at + each]) for at in range(0, len(results), each)]


def by_fold(
    source: AbstractSource,
    each: Sequence[FoldT],
    density: Callable[[FoldT, Int[np.ndarray, " fold"]], Float[np.ndarray, "... fold"]],
    at: Indices | None = None,
) -> Float[np.ndarray, "... chosen"]:
    """Density of every row, or of these, from the statistics of the run without its fold.

    Of several numbers for each row, rows are on the last axis.
    """
    at = np.arange(source.n_rows) if at is None else at
    places = [np.flatnonzero(np.isin(at, rows)) for rows in fold_rows(source)]
    densities = [
        density(fitted, at[one]) for fitted, one in zip(each, places, strict=True) if len(one)
    ]
    return np.asarray(np.concatenate(densities, axis=-1)[..., np.argsort(np.concatenate(places))])


def folds(source: AbstractSource) -> Iterator[tuple[Int[np.ndarray, " fold"], AbstractSource]]:
    """Positions of the rows of each fold, and the rows that remain."""
    for rows in fold_rows(source):
        yield rows, source.without(rows)


def fold_rows(source: AbstractSource) -> list[Int[np.ndarray, " _"]]:
    """Positions of the rows of each fold."""
    fold = assigned(source)
    return [np.flatnonzero(fold == number) for number in range(fold.max() + 1)]


def assigned(source: AbstractSource) -> RowIntegers:
    """Fold of each row, the same each time; each fold has its share of all responses.

    Of groups, which have many responses, by chance alone.
    """
    chance = np.random.default_rng(FOLDS).random(source.n_rows)
    # Sorted by response and dealt in turn: folds of the same distribution vary least.
    order = np.lexsort((chance, source.map_rows(_first_response)))
    fold = np.empty(source.n_rows, dtype=int)
    fold[order] = np.arange(source.n_rows) % min(FOLDS, source.n_rows)
    return fold


def _first_response(block: Block) -> RowVector:
    """First response of each row; zeros where there is none."""
    return block.response[0] if len(block.response) else np.zeros(block.n_rows)


def continued(
    model: ModelOf[StatsT],
    rest: AbstractSource,
    stats: StatsT,
    engine: AbstractEngine,
    streams: EngineStreams,
    passes: int = PASSES,
) -> StatsT:
    """Statistics of a run that continues with these rows alone, for at most ``passes`` iterations.

    Maximum likelihood without a closed step starts again, from the memberships of these rows: where
    it fits all labels its gradient is zero, with or without the others.
    """
    posterior = model.update(stats)
    budget = Budget(TOLERANCE * rest.total_weight, passes)
    if not isinstance(model, PointEstimates) or model.likelihood() is None:
        sweep = rest.map_reduce(partial(model.e_step, posterior))
        first = model.global_step(posterior, sweep.stats)
    else:
        memberships = partial(_divided, model, posterior)
        first = model.first_stats(rest.map_reduce(memberships))
        # Passes of a fold whose run starts again.
        budget = replace(budget, max_iter=500)
    return engine.run(model, rest, first, budget, streams).whole().stats


def _divided(model: AnyModel, posterior: object, block: Block) -> SufficientStats:
    """Statistics of these rows for their memberships under the posterior."""
    responsibilities = model.responsibilities(posterior, block)  # type: ignore[attr-defined]
    stats: SufficientStats = model.partition_stats(block, responsibilities)
    return stats
