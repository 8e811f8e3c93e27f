"""Sensitivity of rows and groups to changes of shared statistics, by each group's own system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise, product

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.linear.designs import GroupRows
from bayesvb.numerics.arrays import DirectionEntries, RowIntegers
from bayesvb.variational.row_derivatives import RowScalars

ROWS_AT_ONCE = 8192
"""Rows whose groups are solved for together."""


@dataclass(frozen=True)
class Piece:
    """Some groups with all their rows.

    Attributes
    ----------
    first, stop : int
        Numbers of the groups.
    block : Block
        Their rows, with the rows of a group next to one another.
    """

    first: int
    stop: int
    block: Block


@dataclass(frozen=True)
class GroupScalars:
    """Scalars of rows, one of each expert or logit, as linear functions of the expectations.

    Attributes
    ----------
    entries : ndarray, shape (members, entries)
        Places among the statistics that all rows share, of each expert or logit.
    features : ndarray, shape (members, entries, rows)
        Multipliers of these in a row, with the group effects that follow them.
    own : ndarray, shape (own, rows)
        Multipliers of the group's statistics in a row.
    at : ndarray, shape (members, own)
        Places of these among all statistics of a group.
    """

    entries: Int[np.ndarray, "members entries"]
    features: Float[np.ndarray, "members entries rows"]
    own: Float[np.ndarray, "own rows"]
    at: Int[np.ndarray, "members own"]

    @classmethod
    def without_groups(cls, scalars: RowScalars) -> GroupScalars:
        """Scalars that know of no group."""
        features, n_members = scalars.features, len(scalars.entries)
        every = np.broadcast_to(features, (n_members, *features.shape))
        nothing = np.empty((0, features.shape[1])), np.empty((n_members, 0), dtype=int)
        return cls(scalars.entries, every, *nothing)


@dataclass(frozen=True)
class Coupling:
    """A learned prior precision and a square of a coefficient that it is multiplied by.

    Attributes
    ----------
    scale : int
        Place of the precision among the statistics that all rows share.
    entry : int
        Place of ``-E[c^2] / 2``.
    """

    scale: int
    entry: int


@dataclass(frozen=True)
class EffectCoupling:
    """A learned prior precision and the squares of an effect of all groups.

    Attributes
    ----------
    scale : int
        Place of the precision among the statistics that all rows share.
    entries : ndarray, shape (members, entries)
        Places of what ``-E[u^2] / 2`` follows, under each expert or logit.
    features : ndarray, shape (members, entries, groups)
        How it does so.
    squares : ndarray, shape (members,)
        Where it stands among all statistics of a group.
    """

    scale: int
    entries: Int[np.ndarray, "members entries"]
    features: Float[np.ndarray, "members entries groups"]
    squares: Int[np.ndarray, " members"]


def groups_of(block: Block) -> GroupRows:
    """Return the groups of rows that have effects on the lines."""
    return GroupRows.from_matrix(block.designs[GROUP_ROWS])


def pieces_of(block: Block, n_groups: int) -> Iterator[Piece]:
    """Rows by group, about ``ROWS_AT_ONCE`` rows or groups at a time."""
    place = groups_of(block).place
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=n_groups))
    first = 0
    while first < n_groups:
        before = ends[first - 1] if first else 0
        stop = int(np.searchsorted(ends, before + ROWS_AT_ONCE, side="right"))
        stop = min(max(stop, first + 1), first + ROWS_AT_ONCE, n_groups)
        yield Piece(first, stop, block.take(order[before : ends[stop - 1]]))
        first = stop


@dataclass(frozen=True)
class SolvedGroups:
    """Sensitivities of the rows and groups of a piece.

    Attributes
    ----------
    scalars : tuple of GroupScalars
    couplings : tuple of EffectCoupling
        Of precisions and effects.
    hessian : ndarray, shape (scalars, scalars, rows)
        Second derivatives of the rows' part of the bound.
    place : ndarray, shape (rows,)
        Number of each row's group in the piece.
    inverse : ndarray, shape (groups, all, all)
        ``(R_g^-1 - H_gg)^-1``, ``all`` the statistics of a group under all experts and logits.
    """

    scalars: tuple[GroupScalars, ...]
    couplings: tuple[EffectCoupling, ...]
    hessian: Float[np.ndarray, "scalars scalars rows"]
    place: RowIntegers
    inverse: Float[np.ndarray, "groups all all"]

    @classmethod
    def of(
        cls,
        scalars: tuple[GroupScalars, ...],
        couplings: tuple[EffectCoupling, ...],
        hessian: Float[np.ndarray, "scalars scalars rows"],
        place: RowIntegers,
        roots: Float[np.ndarray, "groups all all"],
    ) -> SolvedGroups:
        """From the second derivatives of the rows, and roots of ``R_g``.

        Raises
        ------
        ConvexGroup
            The bound bends upwards in the effects of a group.
        """
        bend, placed = np.zeros_like(roots), _with_places(scalars)
        for number, (one, rows) in enumerate(placed):
            for other, columns in placed[number:]:
                _add_bend(bend, (one, other), hessian[rows, columns], place)
        return cls(scalars, couplings, hessian, place, group_inverses(roots, bend))

    def add_answers(self, change: DirectionEntries, answers: DirectionEntries) -> None:
        """Add what these rows and groups answer to changes of the expectations."""
        slopes, effects = self._settled(change)
        for one, at in _with_places(self.scalars):
            pairs = zip(one.entries, one.features, slopes[:, at].swapaxes(0, 1), strict=True)
            for entries, features, slope in pairs:
                answers[:, entries] += slope @ features.T
        for coupling in self.couplings:
            answers[:, coupling.scale] -= 2.0 * effects[:, coupling.squares].sum(axis=(1, 2))

    def _settled(
        self, change: DirectionEntries
    ) -> tuple[
        Float[np.ndarray, "directions scalars rows"], Float[np.ndarray, "directions all groups"]
    ]:
        """Changed slopes of rows, and changed expectations of groups, which have settled."""
        moved = self._moved(change)
        pull = self._pull(np.einsum("stn,dtn->dsn", self.hessian, moved), change)
        effects = np.einsum("gab,dbg->dag", self.inverse, pull, optimize=True)
        for one, rows in _with_places(self.scalars):
            for at, values in zip(one.at.T, one.own, strict=True):
                moved[:, rows] += effects[:, at][..., self.place] * values
        return np.einsum("stn,dtn->dsn", self.hessian, moved), effects

    def followed(self, change: DirectionEntries) -> Float[np.ndarray, "all groups"]:
        """Statistics of groups that have settled, for one change of the expectations."""
        slopes, _ = self._settled(change)
        return np.asarray(self._pull(slopes, change)[0])

    def _moved(self, change: DirectionEntries) -> Float[np.ndarray, "directions scalars rows"]:
        """Changes of the scalars of rows."""
        each = [
            change[:, entries] @ features
            for one in self.scalars
            for entries, features in zip(one.entries, one.features, strict=True)
        ]
        return np.stack(each, axis=1)

    def _pull(
        self, slopes: Float[np.ndarray, "directions scalars rows"], change: DirectionEntries
    ) -> Float[np.ndarray, "directions all groups"]:
        """Changed statistics of groups: of changed slopes of rows, and prior precisions."""
        n_groups, size, _ = self.inverse.shape
        pull = np.zeros((len(slopes), size, n_groups))
        for one, rows in _with_places(self.scalars):
            flat = slopes[:, rows].reshape(-1, slopes.shape[2])
            for at, values in zip(one.at.T, one.own, strict=True):
                sums = sums_by_group(flat * values, self.place, n_groups)
                pull[:, at] += sums.reshape(len(slopes), len(at), n_groups)
        for coupling in self.couplings:
            pull[:, coupling.squares] -= 2.0 * change[:, coupling.scale, None, None]
        return pull

    def shared_of(
        self, ways: Float[np.ndarray, "groups all"], n_shared: int
    ) -> Float[np.ndarray, "groups entries"]:
        """Sensitivities of shared statistics to a change of expectations of each group alone."""
        shared, n_groups = np.zeros((len(ways), n_shared)), len(ways)
        moved = np.concatenate([
            np.einsum("en,nme->mn", one.own, ways[:, one.at][self.place]) for one in self.scalars
        ])  # fmt: skip
        slopes = np.einsum("stn,tn->sn", self.hessian, moved)
        for one, rows in _with_places(self.scalars):
            each = zip(one.entries, one.features, slopes[rows], strict=True)
            for entries, features, slope in each:
                shared[:, entries] += sums_by_group(features * slope, self.place, n_groups).T
        for coupling in self.couplings:
            shared[:, coupling.scale] -= 2.0 * ways[:, coupling.squares].sum(axis=1)
        return shared


def _with_places(scalars: tuple[GroupScalars, ...]) -> list[tuple[GroupScalars, slice]]:
    """Scalars, and where they are among all."""
    ends = list(accumulate((len(one.entries) for one in scalars), initial=0))
    return [(one, slice(*at)) for one, at in zip(scalars, pairwise(ends), strict=True)]


def _add_bend(
    bend: Float[np.ndarray, "groups all all"],
    pair: tuple[GroupScalars, GroupScalars],
    hessian: Float[np.ndarray, "left right rows"],
    place: RowIntegers,
) -> None:
    """Add second derivatives of two kinds of scalars, times what both add to their group.

    Entries of the second kind in the first are the same.
    """
    one, other = pair
    products = (one.own[:, None] * other.own).reshape(-1, len(place))
    for (i, at), (j, across) in product(enumerate(one.at), enumerate(other.at)):
        if one is other and j > i:
            continue
        sums = sums_by_group(products * hessian[i, j], place, len(bend))
        own = sums.T.reshape(len(bend), len(at), len(across))
        bend[:, at[:, None], across] += own
        if one is not other or j < i:
            bend[:, across[:, None], at] += own.swapaxes(1, 2)


class ConvexGroup(np.linalg.LinAlgError):
    """The bound bends upwards in the effects of a group.

    Attributes
    ----------
    group : int
    way : ndarray, shape (all,)
        Change of its statistics along which it does so.
    """

    def __init__(self, group: int, way: Float[np.ndarray, " all"]) -> None:
        super().__init__("the bound bends upwards in the effects of a group")
        self.group, self.way = group, way


def sums_by_group(
    values: Float[np.ndarray, "several rows"], place: RowIntegers, n_groups: int
) -> Float[np.ndarray, "several groups"]:
    """Sums by group of rows that are in the order of their groups; some groups have none."""
    there, starts = np.unique(place, return_index=True)
    sums = np.zeros((len(values), n_groups))
    if len(there):
        sums[:, there] = np.add.reduceat(values, starts, axis=1)
    return sums


def joined_roots(
    parts: list[Float[np.ndarray, "_ groups _own _own"]],
) -> Float[np.ndarray, "groups all all"]:
    """Block-diagonal roots of every group, from the roots of each expert or logit of all parts."""
    each = [root for part in parts for root in part]
    size, first = sum(root.shape[-1] for root in each), 0
    roots = np.zeros((each[0].shape[0], size, size))
    for root in each:
        at = slice(first, first + root.shape[-1])
        roots[:, at, at], first = root, at.stop
    return roots


def group_inverses(
    roots: Float[np.ndarray, "groups all all"], bend: Float[np.ndarray, "groups all all"]
) -> Float[np.ndarray, "groups all all"]:
    """``(R^-1 - H)^-1 = L (I - L' H L)^-1 L'`` of every group, ``L L' = R``.

    Raises
    ------
    ConvexGroup
        A system is not positive definite.
    """
    turned = np.swapaxes(roots, -1, -2)
    systems = np.eye(roots.shape[-1]) - turned @ bend @ roots
    try:
        factor = np.linalg.cholesky(systems)
    except np.linalg.LinAlgError as error:
        raise _convex(roots, systems) from error
    half = np.linalg.solve(factor, turned)
    return np.asarray(np.swapaxes(half, -1, -2) @ half)


def _convex(
    roots: Float[np.ndarray, "groups all all"], systems: Float[np.ndarray, "groups all all"]
) -> ConvexGroup:
    """The group whose system is the furthest from positive definite."""
    values, axes = np.linalg.eigh(systems)
    group = int(values[:, 0].argmin())
    return ConvexGroup(group, np.linalg.solve(roots[group].T, axes[group, :, 0]))
