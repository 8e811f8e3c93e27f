"""Derivative of one undamped iteration with few rows relative to the statistics: low rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import lu_factor, lu_solve

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.numerics.arrays import DirectionEntries, RowVector
from bayesvb.sensitivity.operator import (
    AbstractSensitivity,
    changes_along,
    expectations_along,
    units,
)
from bayesvb.sensitivity.row_directions import Directions, RowDirections
from bayesvb.variational.model import AnyModel
from bayesvb.variational.row_derivatives import RowDerivatives

Rows = Float[np.ndarray, "vectors entries"]

SHARE = 0.5
"""Part of the statistics up to which directions are few."""


@dataclass(frozen=True)
class LowRankSensitivity(AbstractSensitivity):
    r"""``F' = B D (V B)'`` with few columns ``B``.

    The second derivative of the bound in the expectations is a sum of products of the features of
    the rows, ``B D B'``, and ``V`` the covariance of the statistics under the posterior. By the
    identity of Woodbury

    .. math:: (I - B D (V B)')^{-1} = I + B (I - D\, B' V B)^{-1} D (V B)'.

    Attributes
    ----------
    answering : ndarray, shape (entries,)
    directions : RowDirections
        ``B``.
    bends : ndarray, shape (directions, directions)
        ``D``.
    among : ndarray, shape (directions, directions)
        ``B' V B``.
    changes : ndarray, shape (directions, entries), or callable
        ``(V B)'``: how the expectations change along each; or what makes ``V v`` of any rows ``v``,
        where that has a closed form.

    References
    ----------
    Golub, Van Loan (2013), Matrix Computations, section 2.1.4.
    """

    answering: Bool[np.ndarray, " entries"]
    directions: RowDirections
    bends: Float[np.ndarray, "directions directions"]
    among: Float[np.ndarray, "directions directions"]
    changes: DirectionEntries | Callable[[Rows], Rows]

    @cached_property
    def _factor(self) -> object:
        """Triangular factors of ``I - D B' V B``."""
        return lu_factor(np.eye(len(self.bends)) - self.bends @ self.among)

    def _seen(self, added: Rows) -> Float[np.ndarray, "vectors directions"]:
        """``(V B)' v`` of each of these."""
        if callable(self.changes):
            return self.directions.products(self.changes(added))
        return np.asarray(added @ self.changes.T)

    def _changed(self, shares: Float[np.ndarray, "vectors directions"]) -> Rows:
        """``V B c`` of each of these."""
        if callable(self.changes):
            return self.changes(self.directions.combined(shares))
        return np.asarray(shares @ self.changes)

    def solve(
        self, added: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups entries"]:
        bent = self.bends @ self._seen(added).T
        return np.asarray(added + self.directions.combined(lu_solve(self._factor, bent).T))

    def solve_transposed(
        self, slopes: Float[np.ndarray, "values entries"]
    ) -> Float[np.ndarray, "values entries"]:
        """Product of each of these slopes with ``(I - F')^-1``."""
        through = lu_solve(self._factor, self.directions.products(slopes).T, trans=1)
        return np.asarray(slopes + self._changed((self.bends.T @ through).T))

    def whole(self) -> Float[np.ndarray, "entries entries"]:
        """The product."""
        shares = self._seen(np.eye(self.n_entries)) @ self.bends.T
        return np.asarray(self.directions.combined(shares).T)


def few_directions(known: RowDerivatives, n_entries: int) -> tuple[Directions, ...] | None:
    """Directions in which rows contribute curvature; None unless they are few for these entries."""
    directions = tuple(Directions.of(one) for one in known.scalars)
    n_shared = len(known.shared)
    size = sum(one.size for one in directions) + 2 * n_shared
    return directions if size <= SHARE * n_entries else None


def low_rank_sensitivity(
    model: AnyModel,
    stats: SufficientStats,
    kept: Bool[np.ndarray, " entries"],
    block: Block,
    each: tuple[Directions, ...],
    known: RowDerivatives,
) -> LowRankSensitivity:
    """Derivative of a pass over the rows of a block.

    Parameters
    ----------
    model : AbstractVariationalModel
    stats : SufficientStats
        State of a converged fit.
    kept : ndarray, shape (entries,)
        Entries to which rows add, or the prior.
    block : Block
        All rows.
    each : tuple of Directions
        Of each group of scalars of the rows, as of ``few_directions``.
    known : RowDerivatives
        Of the rows.
    """
    single, of_prior = _of_prior(model, stats, kept, known)
    directions = RowDirections(each, single, len(kept))
    size = directions.size
    bends, among = np.zeros((2, size, size))
    _add_bends(bends, directions, known, block.weight)
    bends[size - len(single) :, size - len(single) :] = of_prior
    along: Any = partial(expectations_along, model, stats, model.update(stats))
    closed = along(np.zeros((1, len(kept)))) is not None
    changes = np.empty((0 if closed else size, len(kept)))
    for places, moved in _changes(model, stats, directions, known):
        among[places] = directions.products(moved)
        if not closed:
            changes[places] = moved
    kind = along if closed else changes
    return LowRankSensitivity(directions.present(), directions, bends, among, kind)


def _of_prior(
    model: AnyModel, stats: object, kept: Bool[np.ndarray, " entries"], known: RowDerivatives
) -> tuple[Int[np.ndarray, " single"], Float[np.ndarray, "single single"]]:
    """Entries at the end, to which rows add nothing, that the prior bends, and how."""
    alone = kept & (np.arange(len(kept)) >= len(kept) - known.n_more)
    curvature = model.prior_curvature(model.update(stats), alone)
    if curvature is None:
        return np.empty(0, dtype=int), np.zeros((0, 0))
    bent = np.flatnonzero(curvature.any(axis=0))
    return np.flatnonzero(alone)[bent], curvature[np.ix_(bent, bent)]


def _add_bends(
    bends: Float[np.ndarray, "directions directions"],
    directions: RowDirections,
    known: RowDerivatives,
    weight: RowVector | None,
) -> None:
    """Second derivatives of the rows, summed by each row's coefficients of the directions."""
    hessian = known.hessian if weight is None else known.hessian * weight
    scalars = list(directions.scalars())
    for row, (one, _, left) in zip(hessian, scalars, strict=True):
        for value, (other, _, right) in zip(row, scalars, strict=True):
            bends[np.ix_(left, right)] = one.summed(value, other)


def _changes(
    model: AnyModel, stats: SufficientStats, directions: RowDirections, known: RowDerivatives
) -> Iterator[tuple[Int[np.ndarray, " some"], Float[np.ndarray, "some entries"]]]:
    """Changes of expectations along directions, one scalar's at a time, by their numbers.

    Factors of the posterior change independently of each other, except for shared entries:
    directions in several of them are computed together.
    """
    shared = changes_along(model, stats, units(known.shared, known.n_entries))
    for one, places in zip(directions.each, directions.places, strict=True):
        if not one.scalars.entries.size:  # scalars of which no feature is other than zero
            continue
        entries, features = one.scalars.entries, one.features.T
        factors = [_factor_of(scalar_entries, known) for scalar_entries in entries]
        at_once = len({int(factor[0]) for factor in factors}) == len(factors)
        every = np.arange(len(factors))
        for some in [every] if at_once else every[:, None]:
            steps = np.zeros((len(features), known.n_entries))
            steps[:, entries[some]] = features[:, None]
            together = changes_along(model, stats, steps)
            for scalar in some:
                moved = np.zeros_like(together)
                moved[:, factors[scalar]] = together[:, factors[scalar]]
                moved[:, known.shared] = features @ shared[:, entries[scalar]].T
                yield places[scalar], moved
    last = directions.size - len(directions.single)
    single = _along_single(model, stats, directions.single, known, shared)
    yield np.arange(last, directions.size), single


def _factor_of(
    entries: Int[np.ndarray, " features"], known: RowDerivatives
) -> Int[np.ndarray, " own"]:
    """Entries of the independent factor of the posterior that these are of."""
    return next(factor for factors in known.factors for factor in factors if entries[0] in factor)


def _along_single(
    model: AnyModel,
    stats: SufficientStats,
    single: Int[np.ndarray, " single"],
    known: RowDerivatives,
    shared: Float[np.ndarray, "shared entries"],
) -> Float[np.ndarray, "single entries"]:
    """Changes of expectations along single entries, shared or of factors without shared ones."""
    place = {int(entry): row for entry, row in zip(known.shared, shared, strict=True)}
    alone = units(single, known.n_entries)
    moved, changes = changes_along(model, stats, alone), np.zeros_like(alone)
    for number, entry in enumerate(single.tolist()):
        if entry in place:
            changes[number] = place[entry]
            continue
        factor = _factor_of(np.array([entry]), known)
        changes[number, factor] = moved[number, factor]
    return changes
