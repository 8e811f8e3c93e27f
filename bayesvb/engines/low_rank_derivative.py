"""Derivative of one undamped pass where rows are few beside the statistics: a product of few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import block_diag, lu_factor, lu_solve

from bayesvb.data.blocks import Block
from bayesvb.engines.pass_derivative import AbstractPassDerivative, Model, changes_along
from bayesvb.variational.row_derivatives import RowDerivatives, RowScalars

SHARE = 0.5
"""Part of the statistics up to which directions are few."""


@dataclass(frozen=True)
class LowRankDerivative(AbstractPassDerivative):
    r"""``F' = B D (V B)'`` with few columns ``B``.

    The second derivative of the bound in the expectations is a sum of products of the features of
    the rows, ``B D B'``, and ``V`` the covariance of the statistics under the posterior. By the
    identity of Woodbury

    .. math:: (I - B D (V B)')^{-1} = I + B (I - D\, B' V B)^{-1} D (V B)'.

    Attributes
    ----------
    answering : ndarray, shape (entries,)
    directions : ndarray, shape (entries, directions)
        ``B``.
    bends : ndarray, shape (directions, directions)
        ``D``.
    changes : ndarray, shape (entries, directions)
        ``V B``: how the expectations change along them.

    References
    ----------
    Golub, Van Loan (2013), Matrix Computations, section 2.1.4.
    """

    answering: Bool[np.ndarray, " entries"]
    directions: Float[np.ndarray, "entries directions"]
    bends: Float[np.ndarray, "directions directions"]
    changes: Float[np.ndarray, "entries directions"]

    @cached_property
    def _factor(self) -> Any:
        """Triangular factors of ``I - D B' V B``."""
        among = self.bends @ (self.directions.T @ self.changes)
        return lu_factor(np.eye(len(among)) - among)

    def answered(
        self, added: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups entries"]:
        """``(I - F')^-1`` times each of these."""
        bent = self.bends @ (added @ self.changes).T
        return np.asarray(added + lu_solve(self._factor, bent).T @ self.directions.T)

    def answered_back(
        self, slopes: Float[np.ndarray, "values entries"]
    ) -> Float[np.ndarray, "values entries"]:
        """Each of these times ``(I - F')^-1``."""
        through = lu_solve(self._factor, (slopes @ self.directions).T, trans=1)
        return np.asarray(slopes + (self.bends.T @ through).T @ self.changes.T)

    def whole(self) -> Float[np.ndarray, "entries entries"]:
        """The product."""
        return np.asarray(self.directions @ self.bends @ self.changes.T)


@dataclass(frozen=True)
class Directions:
    """Different features of rows, and which of them each row has.

    Attributes
    ----------
    scalars : RowScalars
        Of the rows.
    features : ndarray, shape (features, different)
    number : ndarray, shape (rows,)
    """

    scalars: RowScalars
    features: Float[np.ndarray, "features different"]
    number: Int[np.ndarray, " rows"]

    @classmethod
    def of(cls, scalars: RowScalars) -> Directions:
        """Those of the rows of these scalars."""
        features, number = np.unique(scalars.features, axis=1, return_inverse=True)
        return cls(scalars, features, number.reshape(-1))

    @property
    def size(self) -> int:
        """Number of directions: of each scalar each of the features."""
        return int(len(self.scalars.entries) * self.features.shape[1])


def few_directions(known: RowDerivatives, n_entries: int) -> tuple[Directions, ...] | None:
    """Directions in which rows bend the bound; None unless they are few beside these entries."""
    found = tuple(Directions.of(one) for one in known.scalars)
    n_shared = len(known.shared)
    size = sum(one.size for one in found) + 2 * n_shared
    return found if size <= SHARE * n_entries else None


def low_rank_derivative(
    model: Model,
    stats: Any,
    kept: Bool[np.ndarray, " entries"],
    block: Block,
    each: Sequence[Directions],
    known: RowDerivatives,
) -> LowRankDerivative:
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
    each : sequence of Directions
        Of each group of scalars of the rows, as of ``few_directions``.
    known : RowDerivatives
        Of the rows.
    """
    shared = changes_along(model, stats, _units(known.shared, known.n_entries))
    parts = [_columns(model, stats, one, known, shared) for one in each]
    bends = _bends(each, known, block.weight)
    alone = kept & (np.arange(len(kept)) >= len(kept) - known.n_more)  # rows add nothing to these
    of_prior = model.prior_curvature(model.update(stats), alone)
    if of_prior is not None:
        bent = np.flatnonzero(of_prior.any(axis=0))
        own = np.flatnonzero(alone)[bent]
        parts.append(_unit_columns(model, stats, own, known, shared))
        bends = block_diag(bends, of_prior[np.ix_(bent, bent)])
    directions, changes = (np.concatenate(both, axis=1) for both in zip(*parts, strict=True))
    return LowRankDerivative(np.any(directions != 0.0, axis=1), directions, bends, changes)


def _bends(
    each: Sequence[Directions], known: RowDerivatives, weight: Float[np.ndarray, " rows"] | None
) -> Float[np.ndarray, "directions directions"]:
    """Second derivatives of the rows, summed over those that have the same features."""
    hessian = known.hessian if weight is None else known.hessian * weight
    places, first = [], 0
    for one in each:
        n_scalars = len(one.scalars.entries)
        places += [first + scalar + n_scalars * one.number for scalar in range(n_scalars)]
        first += one.size
    found = np.zeros((first, first))
    for row, left in zip(hessian, places, strict=True):
        for value, right in zip(row, places, strict=True):
            np.add.at(found, (left, right), value)
    return found


def _columns(
    model: Model,
    stats: Any,
    one: Directions,
    known: RowDerivatives,
    shared: Float[np.ndarray, "shared entries"],
) -> tuple[Float[np.ndarray, "entries some"], Float[np.ndarray, "entries some"]]:
    """Directions of some scalars, and changes of the expectations along them.

    Different factors of the posterior change independently of each other, at once.
    """
    entries, size = one.scalars.entries, known.n_entries
    factors = [_factor_of(own, known) for own in entries]
    at_once = len({int(factor[0]) for factor in factors}) == len(factors)
    each = np.arange(len(entries))
    directions = np.zeros((one.features.shape[1], len(entries), size))
    directions[:, each[:, None], entries] = one.features.T[:, None]
    changes = np.zeros_like(directions)
    for some in [each] if at_once else each[:, None]:
        moved = changes_along(model, stats, directions[:, some].sum(axis=1))
        for scalar in some:
            changes[:, scalar, factors[scalar]] = moved[:, factors[scalar]]
    for scalar in each:
        changes[:, scalar, known.shared] = one.features.T @ shared[:, entries[scalar]].T
    return directions.reshape(-1, size).T, changes.reshape(-1, size).T


def _factor_of(
    entries: Int[np.ndarray, " features"], known: RowDerivatives
) -> Int[np.ndarray, " own"]:
    """Entries of the independent factor of the posterior that these are of."""
    return next(own for factors in known.factors for own in factors if entries[0] in own)


def _unit_columns(
    model: Model,
    stats: Any,
    own: Int[np.ndarray, " some"],
    known: RowDerivatives,
    shared: Float[np.ndarray, "shared entries"],
) -> tuple[Float[np.ndarray, "entries some"], Float[np.ndarray, "entries some"]]:
    """Single entries as directions, and changes of the expectations along them."""
    place = {int(entry): row for entry, row in zip(known.shared, shared, strict=True)}
    directions = _units(own, known.n_entries)
    moved, changes = changes_along(model, stats, directions), np.zeros_like(directions)
    for number, entry in enumerate(own.tolist()):
        if entry in place:
            changes[number] = place[entry]
            continue
        factor = _factor_of(np.array([entry]), known)
        changes[number, factor] = moved[number, factor]
        changes[number, known.shared] = shared[:, entry]
    return directions.T, changes.T


def _units(entries: Int[np.ndarray, " some"], size: int) -> Float[np.ndarray, "some entries"]:
    """One in one entry, zero in the others."""
    found = np.zeros((len(entries), size))
    found[np.arange(len(entries)), entries] = 1.0
    return found
