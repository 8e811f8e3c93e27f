"""Derivative of one undamped pass, from statistics to statistics, at the state of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import lu_factor, lu_solve

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import EntryVector
from bayesvb.sensitivity.curvature import (
    ROWS_AT_ONCE,
    Curving,
    curvature_of_rows,
    derivatives_of_rows,
)
from bayesvb.sensitivity.krylov import Deflation, KrylovSensitivity
from bayesvb.sensitivity.low_rank import (
    SHARE,
    few_directions,
    low_rank_sensitivity,
)
from bayesvb.sensitivity.operator import (
    STEP,
    AbstractSensitivity,
    changes_along,
    difference,
    expectations_along,
    units,
)
from bayesvb.sensitivity.row_directions import Directions
from bayesvb.sensitivity.row_sensitivity import RowSensitivity
from bayesvb.sensitivity.row_space import MOST_FACTORISED, RowSpace, count_scalars
from bayesvb.variational.model import AnyModel
from bayesvb.variational.row_derivatives import RowDerivatives

MOST_NUMBERS = 1 << 28
"""Numbers of a derivative at most: 2 GiB, and as much again on the way."""

FEW_ENTRIES = 500
"""Entries of the statistics of which all are taken to be added to by some row."""

LONGER = 8.0
"""Scalars of all rows, relative to statistics, up to which solutions are found in their space.

Conjugate gradients in all statistics take about ten products for each row, in the space of rows two
or three. With 2,930 rows, 66 columns and three components (2.5 scalars for each statistic) it takes
1/12 of the time, and would be level at about 30; beyond eight its arrays exceed some 300 MB.
"""


@dataclass(frozen=True)
class Presence(SufficientStats):
    """Number of blocks of rows that contribute to each entry of the statistics."""

    parts: EntryVector


@dataclass(frozen=True)
class DenseSensitivity(AbstractSensitivity):
    """Derivative of a pass in the statistics, the rows that are not zero.

    Attributes
    ----------
    answering : ndarray, shape (entries,)
        Entries of the next statistics that answer to these at all.
    rows : ndarray, shape (answering, entries)
        How each of them changes with every entry.
    """

    answering: Bool[np.ndarray, " entries"]
    rows: Float[np.ndarray, "answering entries"]

    @cached_property
    def _factor(self) -> object:
        """Triangular factors of ``I - F'`` in the entries that answer."""
        among = self.rows[:, self.answering]
        return lu_factor(np.eye(len(among)) - among)

    def solve(
        self, added: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups entries"]:
        answering, rows = self.answering, self.rows
        moved = added[:, answering]
        if (rest := added[:, ~answering]).any():
            moved = moved + rest @ rows[:, ~answering].T
        solution = np.array(added, dtype=float)
        solution[:, answering] = lu_solve(self._factor, moved.T).T
        return solution

    def solve_transposed(
        self, slopes: Float[np.ndarray, "values entries"]
    ) -> Float[np.ndarray, "values entries"]:
        """Product of each of these slopes with ``(I - F')^-1``."""
        answering, rows = self.answering, self.rows
        solution = np.array(slopes, dtype=float)
        solution[:, answering] = lu_solve(self._factor, slopes[:, answering].T, trans=1).T
        solution[:, ~answering] += solution[:, answering] @ rows[:, ~answering]
        return solution

    def whole(self) -> Float[np.ndarray, "entries entries"]:
        """Derivative as a matrix, with rows of zeros for the entries that do not change."""
        matrix = np.zeros((self.n_entries, self.n_entries))
        matrix[self.answering] = self.rows
        return matrix


def choose_solver(
    model: AnyModel, source: AbstractSource, stats: SufficientStats
) -> AbstractSensitivity:
    r"""``F'(s)`` of the map ``F`` from the statistics of one iteration to the next.

    If the rows' part of the ELBO is a function ``f`` of few scalars per row, linear in the
    expectations, ``F' = f'' V``: the second derivative of ``f`` in the expectations is a sum of
    products of features, and ``V`` the covariance of the sufficient statistics under the posterior.
    Entries to which no row contributes have no indirect effect: with many groups these are most of
    them, products of the indicators of two groups. For other models ``F'`` consists of differences
    of two iterations per entry. With few rows relative to the entries, ``F'`` is stored as a
    product of the directions of curvature of ``f``; with very many statistics, it is applied and
    never formed.

    Parameters
    ----------
    model : AbstractVariationalModel
    source : AbstractSource
    stats : SufficientStats
        State of a converged fit.

    Raises
    ------
    DataError
        If it has more than ``MOST_NUMBERS`` numbers.

    References
    ----------
    Giordano, Broderick, Jordan (2018), Covariances, robustness, and variational Bayes, JMLR
    19(51), section 3.
    """
    posterior = model.update(stats)
    first = model.row_derivatives(posterior, source.take(np.arange(1)))
    if first is None:
        n_entries = stats.to_vector().size
        _check_size(n_entries, n_entries)
        differences = _by_differences(model, source, stats)
        return DenseSensitivity(np.ones(len(differences), dtype=bool), differences)
    rows = row_sensitivity(model, source, stats, LONGER)
    if rows is not None:
        return rows
    kept = _answering(model, posterior, source, first.n_entries)
    few = _few(model, posterior, source, int(kept.sum()), first)
    if few is not None:
        _check_size(sum(one.size for one in few[1]), first.n_entries)
        return low_rank_sensitivity(model, stats, kept, *few)
    if int(kept.sum()) > MOST_FACTORISED:
        krylov = krylov_sensitivity(model, source, stats)
        if krylov is not None:
            return krylov
    _check_size(int(kept.sum()), first.n_entries)
    curvature = source.map_reduce(partial(curvature_of_rows, model, posterior, kept)).value
    of_prior = model.prior_curvature(posterior, kept)
    if of_prior is not None:
        curvature = curvature + of_prior
    covariance = expectation_changes(model, stats, first.factors, first.shared, kept)
    return DenseSensitivity(kept, _by_factor(curvature, covariance, first, kept))


def row_sensitivity(
    model: AnyModel, source: AbstractSource, stats: SufficientStats, longer: float
) -> RowSensitivity | None:
    """The solver in the space of rows; None where another takes less time, as ``count_scalars``."""
    if count_scalars(model, source, stats, longer) is None:
        return None
    posterior, block = model.update(stats), source.take(np.arange(source.n_rows))
    known = derivatives_of_rows(model, posterior, block)
    space = RowSpace.from_rows(model, posterior, block, known)
    along: Any = partial(expectations_along, model, stats, posterior)
    return RowSensitivity(np.ones(known.n_entries, dtype=bool), along, space, known)


def krylov_sensitivity(
    model: AnyModel, source: AbstractSource, stats: SufficientStats
) -> KrylovSensitivity | None:
    """The iterative solver; None where changes of expectations have no closed form.

    None also where tilts of all coordinates would not fit into memory.
    """
    posterior = model.update(stats)
    coordinates, n_entries = model.coordinates(posterior), stats.to_vector().size
    along: Any = partial(expectations_along, model, stats, posterior)
    if coordinates is None or along(np.zeros((1, n_entries))) is None:
        return None
    if coordinates.size * n_entries > MOST_NUMBERS:
        return None
    curved = Curving(model, source, posterior).times
    deflation = Deflation.from_tilts(coordinates.perturbations(), along, curved)
    return KrylovSensitivity(np.ones(n_entries, dtype=bool), along, curved, deflation)


def _check_size(n_answering: int, n_entries: int) -> None:
    """Refuse a derivative that would not fit into memory."""
    if n_answering * n_entries > MOST_NUMBERS:
        raise DataError(
            f"indirect effects of other rows need a derivative of {n_answering:,} x {n_entries:,} "
            f"statistics, {8e-9 * n_answering * n_entries:.0f} GB of memory",
            hint="bayesvb.cross_validate(...) fits again without each fold; a formula with fewer "
            "columns has it",
        )


def n_answering(model: AnyModel, source: AbstractSource, stats: SufficientStats) -> int | None:
    """Entries of the statistics that answer to others; None where rows have no derivatives.

    The derivative of a pass takes as many updates, and solving with it the cube of it. Where rows
    are few it is made of the directions in which they bend the bound: their number.
    """
    posterior = model.update(stats)
    first = model.row_derivatives(posterior, source.take(np.arange(1)))
    if first is None:
        return None
    n_scalars = count_scalars(model, source, stats, LONGER)
    if n_scalars is not None:
        return n_scalars
    n_kept = int(_answering(model, posterior, source, first.n_entries).sum())
    few = _few(model, posterior, source, n_kept, first)
    return n_kept if few is None else sum(one.size for one in few[1])


def _few(
    model: AnyModel,
    posterior: object,
    source: AbstractSource,
    n_entries: int,
    first: RowDerivatives,
) -> tuple[Block, tuple[Directions, ...], RowDerivatives] | None:
    """All rows, the directions in which they bend the bound, and derivatives; None if many.

    None also where a few copies of their features, of which each scalar of a kind has the same,
    would take too much memory.
    """
    if source.n_rows > SHARE * n_entries:  # each has a direction at least, unless rows repeat
        return None
    n_features = n_entries // min(len(one.entries) for one in first.scalars)
    # Arrays of the features of all rows that are in memory at once where directions are found.
    if 4 * source.n_rows * n_features > MOST_NUMBERS:
        return None
    block = source.take(np.arange(source.n_rows))
    known = derivatives_of_rows(model, posterior, block)
    each = few_directions(known, n_entries)
    return None if each is None else (block, each, known)


def is_affordable(model: AnyModel, source: AbstractSource, stats: SufficientStats) -> bool:
    """Whether the derivative of a pass has at most ``MOST_NUMBERS`` numbers, or is never made."""
    n_entries = stats.to_vector().size
    if n_entries**2 <= MOST_NUMBERS or count_scalars(model, source, stats, LONGER):
        return True
    return (n_answering(model, source, stats) or n_entries) * n_entries <= MOST_NUMBERS


def full_step(model: AnyModel, posterior: object, sums: object) -> EntryVector:
    """Statistics of the next posterior, undamped, from the sums of a pass under this one."""
    statistics: SufficientStats = model.gradient_stats(posterior, sums)
    return statistics.to_vector()


def _answering(
    model: AnyModel, posterior: object, source: AbstractSource, n_entries: int
) -> Bool[np.ndarray, " entries"]:
    """Entries to which some row adds; all, if they are few."""
    if n_entries <= FEW_ENTRIES:
        return np.ones(n_entries, dtype=bool)
    mask: Bool[np.ndarray, " entries"]
    mask = source.map_reduce(partial(_presence, model, posterior)).parts > 0.0
    return mask


def _by_factor(
    curvature: Float[np.ndarray, "kept kept"],
    covariance: Float[np.ndarray, "kept entries"],
    known: RowDerivatives,
    kept: Bool[np.ndarray, " entries"],
) -> Float[np.ndarray, "kept entries"]:
    """Product of both, a factor of the posterior at a time, as factors are independent.

    What several factors share varies with all of them.
    """
    place, shared = np.cumsum(kept) - 1, known.shared[kept[known.shared]]
    product = curvature[:, place[shared]] @ covariance[place[shared]]
    for entries in known.factors:
        for scalar_entries in entries:
            at = np.setdiff1d(place[scalar_entries[kept[scalar_entries]]], place[shared])
            product[:, scalar_entries] += curvature[:, at] @ covariance[np.ix_(at, scalar_entries)]
    product[:, known.shared] = curvature @ covariance[:, known.shared]
    return np.asarray(product)


def _presence(model: AnyModel, posterior: object, block: Block) -> Presence:
    """Entries to which rows of a block add, a part at a time."""
    parts = (
        derivatives_of_rows(model, posterior, part).present() for part in block.split(ROWS_AT_ONCE)
    )
    return Presence(sum((part.astype(float) for part in parts), start=np.zeros(())))


def expectation_changes(
    model: AnyModel,
    stats: SufficientStats,
    factors: Sequence[Int[np.ndarray, "_ _"]],
    shared: Int[np.ndarray, " shared"],
    kept: Bool[np.ndarray, " entries"],
) -> Float[np.ndarray, "kept entries"]:
    """Covariance of these sufficient statistics with all of them: how expectations change.

    The derivative of all expectations in these statistics, of all factors of a kind at once. No row
    is used: differences, where no closed form is known, cost as many updates as a factor has
    statistics.
    """
    centre, posterior = stats.to_vector(), model.update(stats)
    size, place = np.maximum(np.abs(centre), 1.0), np.cumsum(kept) - 1
    result = np.zeros((int(kept.sum()), centre.size))
    for kind, entries in enumerate(factors):
        some = np.flatnonzero(kept[entries].any(axis=0))
        known = model.factor_covariance(posterior, kind, some)
        if known is not None:
            for scalar_entries, change in zip(entries, known, strict=True):
                there = kept[scalar_entries[some]]
                result[place[scalar_entries[some[there]]][:, None], scalar_entries] = change[there]
            continue
        steps = np.zeros((len(some), centre.size))
        for scalar_entries in entries:
            steps[np.arange(len(some)), scalar_entries[some]] = size[scalar_entries[some]]
        moved = changes_along(model, stats, steps)
        for scalar_entries in entries:
            there = kept[scalar_entries[some]]
            changes = moved[there][:, scalar_entries] / size[scalar_entries[some[there]], None]
            result[place[scalar_entries[some[there]]][:, None], scalar_entries] = changes
    moved = changes_along(model, stats, units(shared, centre.size))
    result[:, shared] = moved[:, kept].T
    result[place[shared[kept[shared]]]] = moved[kept[shared]]
    return result


def _by_differences(
    model: AnyModel, source: AbstractSource, stats: SufficientStats
) -> Float[np.ndarray, "entries entries"]:
    """Two passes for each entry."""
    centre = stats.to_vector()
    size = STEP * np.maximum(np.abs(centre), 1.0)

    def at(side: float, entry: int) -> EntryVector:
        moved = centre.copy()
        moved[entry] += side * size[entry]
        posterior = model.update(stats.with_vector(moved))
        sums = source.map_reduce(partial(model.e_step, posterior)).stats
        return full_step(model, posterior, sums)

    changes = [difference(partial(at, entry=k), centre.size) for k in range(centre.size)]
    return np.asarray(np.stack(changes, axis=1) / size)
