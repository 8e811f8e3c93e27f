"""Would one more component predict better? One component is split, and held-out rows are compared.

A component that stands for two has rows whose residuals differ in sign, slope or size, or along a
covariate. Each component is split in these ways, a few iterations choose among the splits by the
ELBO, and the best one is run to convergence. Its first-order leave-one-out predictions are compared
with the fit's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.data.case_weights import sum_and_error
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import Budget, EngineResult
from bayesvb.engines.partitions import distinct_columns, features, kmeans_start
from bayesvb.numerics.arrays import ExpertRows, ResponseRows, RowMask, RowVector
from bayesvb.numerics.streams import EngineStreams, Streams
from bayesvb.results.capabilities import HasComponents
from bayesvb.results.checks.base import Check, decided
from bayesvb.results.checks.edits import Edit, Remedy
from bayesvb.results.checks.grading import GRADES, Grade
from bayesvb.results.leave_one_out import Fitted, RowsLeftOut, leave_one_out
from bayesvb.results.limits import LIMITS
from bayesvb.results.pit import randomised
from bayesvb.results.subsampling import left_out_quickly

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit, AbstractPublicModel


Columns = Float[np.ndarray, "_ rows"]

Sides = Bool[np.ndarray, " rows"]

MORE = "One more component"
"""Name of the check."""

FIRST, LAST = Budget(tol=0.05, max_iter=8), Budget(tol=0.05, max_iter=100)
"""Iterations that choose among splits, and that the best split runs on for."""

FEWEST_ROWS = 8.0
"""Effective rows of a component below which it is not split."""

OWN = 0.95
"""Part of a row that goes to its side of the split; the rest goes to the other side."""


@dataclass(frozen=True)
class Split:
    """A model with one component more, after the iterations that chose it."""

    model: AbstractPublicModel
    component: int
    run: EngineResult[SufficientStats]


@dataclass(frozen=True)
class Gain:
    """Gain of a split.

    Attributes
    ----------
    nats, error : float
        Gain in log predictive density of held-out rows, and its standard error.
    component : int
        Label of the component that is split.
    pit : ndarray, shape (responses, rows)
        Leave-one-out PIT values after the split.
    """

    nats: float
    error: float
    component: int
    pit: ResponseRows


def more_component_checks(fit: AbstractFit, gain: Gain | None) -> list[Check]:
    """One check: the gain in log predictive density of held-out rows by splitting a component."""
    if gain is None:
        return []
    least, errors = LIMITS.equal_elpd, GRADES[MORE]
    grade: Grade = "ok"
    if gain.nats > max(least, errors.note * gain.error):
        sure = gain.nats > max(2.0 * least, errors.problem * gain.error)
        grade = "problem" if sure else "note"
    remedy = Remedy.of(
        f"A split of component {gain.component} predicts held-out rows better by {gain.nats:.3g} "
        "nats: fit ", Edit(options={fit.model.size_name: fit.model.size + 1}),
        ", or compare numbers of components with `bvb.select`.",
    )  # fmt: skip
    # a single component has no section
    section = "components" if fit.core.n_components > 1 else "model"
    return [
        decided(MORE, "fit", grade, gain.nats, f"nats gained, se {gain.error:.2g}",
                threshold=f"note: above {least:g} and {errors.note:g} se; problem: above "
                f"{2.0 * least:g} and {errors.problem:g} se", remedy=remedy, section=section)
    ]  # fmt: skip


def _is_affordable(fit: AbstractFit) -> bool:
    """Whether the model is a mixture whose rows are at hand, and few enough.

    Components of a binary response are identified only by groups of rows, of an ordered response
    only by slopes that differ.
    """
    model = fit.model
    if not (isinstance(model, HasComponents) and model.prunable):
        return False
    if fit.members or not fit.engine.maximises_bound:
        return False
    if model.all_rows is not None or model.source.n_rows > LIMITS.subsample:
        return False
    if model.grouping is not None or model.weight_type == "sampling":
        return False
    if model.response.kind in ("binary", "levels"):
        return False
    splits = len(SPLITS) * model.size * FIRST.max_iter + LAST.max_iter
    work = model.source.n_rows * (model.size + 1) * splits
    numbers = fit.stats.to_vector().size * (model.size + 1) / model.size
    if work > LIMITS.work or numbers > LIMITS.split_statistics:
        return False
    return bool(fit.core.draws_complete and left_out_quickly(fit))


def split_gain(fit: AbstractFit) -> Gain | None:
    """The gain by the best split; None where it would take long, or nothing can be split."""
    if not _is_affordable(fit):
        return None
    return fit.cache.once("gain of a split", lambda: _gain_of_best(fit))


def _gain_of_best(fit: AbstractFit) -> Gain | None:
    split = best_split(fit)
    # a prior that couples components, and a gate, may have many more statistics than the fit
    if split is None or split.run.stats.to_vector().size > LIMITS.split_statistics:
        return None
    source, streams = split.model.source, Streams(fit.seed).branch("split")
    fitted = Fitted(split.model.core, source, split.run.stats, fit.engine, streams, 0.0)
    if not fitted.quick or not fitted.affordable:
        return None
    with np.errstate(all="ignore"):
        larger = leave_one_out(fitted, np.arange(source.n_rows))
    nats, error = sum_and_error(_gains(fit.rows_left_out, larger), fit.model.weights)
    label = int(np.argsort(fit.order)[split.component]) + 1
    pit = randomised(fit, larger.at, larger.cdf, np.exp(larger.log_density))
    return Gain(nats, error, label, pit)


def _gains(fit: RowsLeftOut, larger: RowsLeftOut) -> RowVector:
    """Nats gained at each row; none where a first-order prediction may be too good."""
    gain = larger.log_density - fit.log_density
    gain = np.where(np.isfinite(gain), gain, 0.0)
    return np.where(larger.doubtful | fit.doubtful, np.minimum(gain, 0.0), gain)


def best_split(fit: AbstractFit) -> Split | None:
    """The split with the largest ELBO; None if no component has rows enough.

    The ELBOs are of one model, so that they may be compared with each other.
    """
    model: Any = fit.model
    larger = model.with_components(model.size + 1)
    block = model.source.whole()
    shares = fit.mixture.responsibilities(fit.core.update(fit.stats), block)
    streams = Streams(fit.seed).branch("split")
    tried: list[Split] = []
    for component, sides in _sides(block, shares, streams):
        start = _start(larger, _divided(shares, component, sides))
        place = streams.branch(len(tried))
        tried.append(Split(larger, component, _run(fit, larger, start, FIRST, place)))
    if not tried:
        return None
    best = max(tried, key=lambda split: split.run.bound)
    run = _run(fit, larger, best.run.stats, LAST, streams.branch("on", 0))
    return replace(best, run=run)


def _run(
    fit: AbstractFit,
    larger: AbstractPublicModel,
    start: SufficientStats,
    budget: Budget,
    place: EngineStreams,
) -> EngineResult[SufficientStats]:
    """Some iterations of the fit's own engine."""
    run = fit.engine.run(larger.core, larger.source, start, budget, place)
    result: EngineResult[SufficientStats] = run.whole()
    return result


def _start(larger: AbstractPublicModel, shares: ExpertRows) -> SufficientStats:
    """Statistics of a partition of the rows."""
    core = larger.core
    start: SufficientStats = core.first_stats(core.partition_stats(larger.source.whole(), shares))
    return start


def _divided(shares: ExpertRows, component: int, sides: RowMask) -> Float[np.ndarray, "_ rows"]:
    """Responsibilities with one component split, its second half behind all others."""
    part = np.where(sides, OWN, 1.0 - OWN) * shares[component]
    divided = np.concatenate([shares, part[None]])
    divided[component] -= part
    return np.asarray(divided)


def _sides(
    block: Block, shares: ExpertRows, streams: EngineStreams
) -> Iterator[tuple[int, RowMask]]:
    """Ways to split each component, the side of every row."""
    once = replace(block, weight=None)
    points = features(once)[distinct_columns(once)]
    cases = np.ones(block.n_rows) if block.weight is None else block.weight
    n_responses = len(block.response)
    for component, share in enumerate(shares):
        weight = share * cases
        if weight.sum() < FEWEST_ROWS:
            continue
        residual, others = _residual(points, n_responses, weight)
        for make in SPLITS:
            sides = make(residual, others, weight)
            if weight[sides].sum() > 1.0 and weight[~sides].sum() > 1.0:
                yield component, sides
        yield from _clusters(once, component, weight, streams)


def _clusters(
    block: Block, component: int, weight: RowVector, streams: EngineStreams
) -> Iterator[tuple[int, RowMask]]:
    """Two clusters of the rows that mostly belong to a component."""
    rows = np.flatnonzero(weight > 0.5 * weight.max())
    if len(rows) < FEWEST_ROWS:
        return
    sample = block.take(rows)
    partition = kmeans_start(sample, 2, streams.rng(f"clusters {component}"))
    sides = partition.labels(block) == 1
    if weight[sides].sum() > 1.0 and weight[~sides].sum() > 1.0:
        yield component, sides


def _residual(
    points: Float[np.ndarray, "columns rows"], n_responses: int, weight: RowVector
) -> tuple[RowVector, Float[np.ndarray, "_ rows"]]:
    """Weighted least-squares residual of the first variable, and the others, centred."""
    root = np.sqrt(weight)
    n_first = max(n_responses, 1)
    others = points[n_first:]
    columns = np.concatenate([np.ones((1, points.shape[1])), others])
    slope = np.linalg.lstsq((columns * root).T, points[0] * root, rcond=None)[0]
    mean = (others @ weight) / weight.sum()
    return points[0] - slope @ columns, others - mean[:, None]


def _by_sign(residual: RowVector, others: Columns, weight: RowVector) -> Sides:
    """Rows above the regression of the component."""
    return np.asarray(residual > 0.0)


def _by_size(residual: RowVector, others: Columns, weight: RowVector) -> Sides:
    """Rows far from the regression: two spreads."""
    return np.asarray(np.abs(residual) > np.sqrt((weight @ residual**2) / weight.sum()))


def _by_slope(residual: RowVector, others: Columns, weight: RowVector) -> Sides:
    """Rows on either side of two regressions that cross."""
    return np.asarray(residual * _spreading(residual, others, weight) > 0.0)


def _by_covariate(residual: RowVector, others: Columns, weight: RowVector) -> Sides:
    """Rows on either side of the middle of the covariates along which the spread changes most."""
    return np.asarray(_spreading(residual, others, weight) > 0.0)


def _spreading(residual: RowVector, others: Columns, weight: RowVector) -> RowVector:
    """Direction of the covariates whose squares go with the squares of the residuals."""
    if len(others) == 0:
        return np.zeros_like(residual)
    excess = weight * (residual**2 - (weight @ residual**2) / weight.sum())
    values, vectors = np.linalg.eigh((others * excess) @ others.T)
    return np.asarray(vectors[:, np.argmax(np.abs(values))] @ others)


SPLITS = (_by_sign, _by_size, _by_slope, _by_covariate)
"""Ways to split a component, besides two clusters."""
