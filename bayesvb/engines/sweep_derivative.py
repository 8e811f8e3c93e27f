"""Derivative of one undamped pass, from statistics to statistics, at the state of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.variational.model import AbstractVariationalModel

STEP = 1e-5
"""Step of differences, relative to an entry and at least one: errors of its square."""

ROWS_AT_ONCE = 1024
"""Rows whose second derivatives are in memory together: (scalars, scalars, rows)."""

Model = AbstractVariationalModel[Any, Any]


@dataclass(frozen=True)
class Curvature(SufficientStats):
    """Second derivative of the rows' part of the bound in the expectations."""

    value: Float[np.ndarray, "entries entries"]


def sweep_derivative(
    model: Model, source: AbstractSource, stats: SufficientStats
) -> Float[np.ndarray, "entries entries"]:
    r"""``F'(s)`` of the map ``F`` from the statistics of one pass to those of the next.

    Where the rows' part of the bound is a function ``f`` of few scalars per row, linear in the
    expectations, ``F' = f'' V``: the second derivative of ``f`` in the expectations is a sum of
    products of features, and ``V`` the covariance of the sufficient statistics under the
    posterior. For other models ``F'`` is made of differences of two passes per entry.

    Parameters
    ----------
    model : AbstractVariationalModel
    source : AbstractSource
    stats : SufficientStats
        State of a converged fit.

    Returns
    -------
    ndarray, shape (entries, entries)
        Row ``i``, column ``j``: change of entry ``i`` of the next statistics with entry ``j``.

    References
    ----------
    Giordano, Broderick, Jordan (2018), Covariances, robustness, and variational Bayes, JMLR
    19(51), section 3.
    """
    posterior = model.update(stats)
    first = model.row_derivatives(posterior, source.take(np.arange(1)))
    if first is None:
        return _by_differences(model, source, stats)
    curvature = source.map_reduce(partial(_curvature, model, posterior)).value
    of_prior = model.prior_curvature(posterior)
    if of_prior is not None:
        curvature = curvature + of_prior
    return np.asarray(curvature @ _covariance(model, stats, first.factors, first.shared))


def full_step(model: Model, posterior: Any, sums: Any) -> Float[np.ndarray, " entries"]:
    """Statistics of the next posterior, undamped, from the sums of a pass under this one."""
    statistics: SufficientStats = model.gradient_stats(posterior, sums)
    return statistics.to_vector()


def _curvature(model: Model, posterior: Any, block: Block) -> Curvature:
    """Sum over the rows of a block, a part at a time."""
    parts = (
        _known(model, posterior, part).curvature(part.weight) for part in block.split(ROWS_AT_ONCE)
    )
    return Curvature(sum(parts, start=np.zeros(())))


def _known(model: Model, posterior: Any, block: Block) -> Any:
    """Derivatives of the rows of a model that has them."""
    return model.row_derivatives(posterior, block)


def _covariance(
    model: Model,
    stats: SufficientStats,
    factors: Sequence[Int[np.ndarray, "_ _"]],
    shared: Int[np.ndarray, " shared"],
) -> Float[np.ndarray, "entries entries"]:
    """Derivative of the expectations in the statistics, of all factors of a kind at once.

    No row is touched: differences cost as many updates as a factor has statistics.
    """
    centre = stats.to_vector()
    size = STEP * np.maximum(np.abs(centre), 1.0)
    found = np.zeros((centre.size, centre.size))
    for entries in factors:
        for one in entries.T:
            step = np.zeros_like(centre)
            step[one] = size[one]
            change = _change(model, stats, step)
            found[entries, one[:, None]] = change[entries] / size[one][:, None]
    for entry in shared.tolist():
        step = np.zeros_like(centre)
        step[entry] = size[entry]
        found[entry] = found[:, entry] = _change(model, stats, step) / size[entry]
    return found


def _change(
    model: Model, stats: SufficientStats, step: Float[np.ndarray, " entries"]
) -> Float[np.ndarray, " entries"]:
    """Change of the expectations along a step, from both sides of it.

    From one side where the other is of no data, as next to a statistic that is zero; none where
    both are.
    """
    centre = stats.to_vector()
    sides = []
    for side in (1.0, -1.0, 0.0):
        with suppress(np.linalg.LinAlgError):
            posterior = model.update(stats.with_vector(centre + side * step))
            sides.append((side, model.expectations(posterior)))
        if len(sides) == 2:
            (first, ahead), (second, behind) = sides
            return np.asarray((ahead - behind) / (first - second))
    return np.zeros_like(centre)


def _by_differences(
    model: Model, source: AbstractSource, stats: SufficientStats
) -> Float[np.ndarray, "entries entries"]:
    """Two passes for each entry."""
    centre = stats.to_vector()
    size = STEP * np.maximum(np.abs(centre), 1.0)
    found = np.empty((centre.size, centre.size))
    for entry, step in enumerate(size):
        sides = []
        for side in (step, -step):
            moved = centre.copy()
            moved[entry] += side
            posterior = model.update(stats.with_vector(moved))
            sums = source.map_reduce(partial(model.e_step, posterior)).stats
            sides.append(full_step(model, posterior, sums))
        found[:, entry] = (sides[0] - sides[1]) / (2.0 * step)
    return found
