"""What rows and groups answer to changes of what all rows share, each group's own system solved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GroupRows
from bayesvb.experts.mixed_elimination import MixedElimination
from bayesvb.models.solved_systems import group_inverses, sums_by_group
from bayesvb.variational.row_derivatives import RowDerivatives, RowScalars

ROWS_AT_ONCE = 8192
"""Rows whose groups are solved for together."""

Rows = Float[np.ndarray, "directions entries"]


@dataclass(frozen=True)
class Piece:
    """Some groups with all their rows.

    Attributes
    ----------
    first, stop : int
        Numbers of the groups.
    block : Block
        Their rows, those of a group side by side.
    """

    first: int
    stop: int
    block: Block


@dataclass(frozen=True)
class Coupling:
    """A learned prior precision and squares that it is multiplied by.

    Attributes
    ----------
    scale : int
        Number of the precision.
    entry : int
        Place of ``-E[c^2] / 2`` among the statistics that all rows share; or the number of an
        effect of the groups.
    """

    scale: int
    entry: int


def pieces_of(block: Block, n_groups: int) -> Iterator[Piece]:
    """Rows by group, about ``ROWS_AT_ONCE`` rows or groups at a time."""
    place = GroupRows.of(block).place
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
    """What the rows and groups of a piece answer.

    Attributes
    ----------
    experts : MixedElimination
    entries : ndarray, shape (experts, entries)
        Places of the experts' statistics among those that all rows share.
    scales : slice
        Places of the learned prior precisions among these.
    couplings : tuple of Coupling
        Of precisions and effects.
    gate : tuple of RowScalars
        Scalars of the gate.
    features : ndarray, shape (experts, entries, rows)
        Of the statistics that all rows share, effects following.
    hessian : ndarray, shape (scalars, scalars, rows)
        Second derivatives of the rows' part of the bound.
    own : ndarray, shape (own, rows)
        What rows add to the statistics of their group.
    place : ndarray, shape (rows,)
        Number of each row's group in the piece.
    squares : tuple of ndarray, shape (experts, entries)
        Sums over the groups of the features of the square of each coupling's effect.
    inverse : ndarray, shape (groups, all, all)
        ``(R_g^-1 - H_gg)^-1``, ``all`` the statistics of a group under all experts.
    """

    experts: MixedElimination
    entries: Int[np.ndarray, "experts entries"]
    scales: slice
    couplings: tuple[Coupling, ...]
    gate: tuple[RowScalars, ...]
    features: Float[np.ndarray, "experts entries rows"]
    hessian: Float[np.ndarray, "scalars scalars rows"]
    own: Float[np.ndarray, "own rows"]
    place: Int[np.ndarray, " rows"]
    squares: tuple[Float[np.ndarray, "experts entries"], ...]
    inverse: Float[np.ndarray, "groups all all"]

    @classmethod
    def of(
        cls,
        experts: MixedElimination,
        piece: Piece,
        derivatives: RowDerivatives,
        scales: slice,
        couplings: tuple[Coupling, ...],
    ) -> SolvedGroups:
        """From the derivatives of the rows in their scalars, those of the experts first.

        Raises
        ------
        ConvexGroup
            The bound bends upwards in the effects of a group.
        """
        block, groups = piece.block, slice(piece.first, piece.stop)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        hessian = derivatives.hessian * weight
        place, own = GroupRows.of(block).place - piece.first, experts.group_features(block)
        roots = experts.group_roots(groups)
        features = [experts.effect_features(one.entry)[..., groups] for one in couplings]
        return cls(
            experts,
            derivatives.scalars[0].entries,
            scales,
            couplings,
            derivatives.scalars[1:],
            experts.row_features(block),
            hessian,
            own,
            place,
            tuple(one.sum(axis=2) for one in features),
            group_inverses(roots, hessian[: len(roots), : len(roots)], own, place),
        )

    def add_answers(self, change: Rows, found: Rows) -> None:
        """Add what these rows and groups answer to changes of the expectations."""
        slopes, effects = self._settled(change)
        self._collect(slopes, found)
        for one in self.couplings:
            answer = effects[:, :, self.experts.squares_of(one.entry)].sum(axis=(1, 2))
            found[:, self.scales.start + one.scale] -= 2.0 * answer

    def _settled(
        self, change: Rows
    ) -> tuple[
        Float[np.ndarray, "directions scalars rows"],
        Float[np.ndarray, "directions experts own groups"],
    ]:
        """Changed slopes of rows, and changed expectations of groups, which have settled."""
        moved = self._scalars(change)
        pull = self._pull(np.einsum("stn,dtn->dsn", self.hessian, moved))
        self._pull_of_scales(change, pull)
        flat = pull.reshape(len(change), -1, len(self.inverse))
        effects = np.einsum("gab,dbg->dag", self.inverse, flat, optimize=True).reshape(pull.shape)
        self._follow(moved, effects)
        return np.einsum("stn,dtn->dsn", self.hessian, moved), effects

    def _pull_of_scales(
        self, change: Rows, pull: Float[np.ndarray, "directions experts own groups"]
    ) -> None:
        """Add what changes of the prior precisions add to the statistics of groups."""
        for one in self.couplings:
            squares = pull[:, :, self.experts.squares_of(one.entry)]
            squares -= 2.0 * change[:, self.scales.start + one.scale, None, None]

    def followed(self, change: Rows) -> Float[np.ndarray, "experts own groups"]:
        """Statistics of groups that have settled, for one change of the expectations."""
        slopes, _ = self._settled(change)
        own = self._pull(slopes)
        self._pull_of_scales(change, own)
        return np.asarray(own[0])

    def _scalars(self, change: Rows) -> Float[np.ndarray, "directions scalars rows"]:
        """Changes of the scalars of rows."""
        pairs = zip(self.entries, self.features, strict=True)
        experts = np.stack([change[:, at] @ own for at, own in pairs], axis=1)
        gates = [change[:, one.entries] @ one.features for one in self.gate]
        return np.concatenate([experts, *gates], axis=1)

    def _pull(
        self, slopes: Float[np.ndarray, "directions scalars rows"]
    ) -> Float[np.ndarray, "directions experts own groups"]:
        """Sums by group of changed slopes times what rows add to the group's statistics."""
        n_experts, n_groups = len(self.features), len(self.inverse)
        found = np.empty((len(slopes), n_experts, len(self.own), n_groups))
        flat = slopes[:, :n_experts].reshape(-1, slopes.shape[2])
        for entry, values in enumerate(self.own):
            sums = sums_by_group(flat * values, self.place, n_groups)
            found[:, :, entry] = sums.reshape(len(slopes), n_experts, n_groups)
        return found

    def _follow(
        self,
        moved: Float[np.ndarray, "directions scalars rows"],
        effects: Float[np.ndarray, "directions experts own groups"],
    ) -> None:
        """Add to the scalars of rows what their group answers."""
        n_experts = len(self.features)
        for entry, values in enumerate(self.own):
            moved[:, :n_experts] += effects[:, :, entry][..., self.place] * values

    def _collect(self, slopes: Float[np.ndarray, "directions scalars rows"], found: Rows) -> None:
        """Add the statistics of changed slopes."""
        pairs = zip(self.entries, self.features, strict=True)
        for k, (at, own) in enumerate(pairs):
            found[:, at] += slopes[:, k] @ own.T
        first = len(self.features)
        for one in self.gate:
            for entries in one.entries:
                found[:, entries] += slopes[:, first] @ one.features.T
                first += 1

    def shared_of(
        self, ways: Float[np.ndarray, "groups experts own"]
    ) -> Float[np.ndarray, "groups entries"]:
        """Answers of what all rows share to a change of the expectations of each group alone."""
        n_experts, n_groups = len(self.features), len(ways)
        found = np.zeros((n_groups, self.scales.stop))
        moved = np.einsum("en,nke->kn", self.own, ways[self.place])
        slopes = np.einsum("skn,kn->sn", self.hessian[:, :n_experts], moved)
        for entries, own, slope in zip(self.entries, self.features, slopes, strict=False):
            found[:, entries] += sums_by_group(own * slope, self.place, n_groups).T
        first = n_experts
        for one in self.gate:
            for entries in one.entries:
                sums = sums_by_group(one.features * slopes[first], self.place, n_groups)
                found[:, entries] += sums.T
                first += 1
        for coupling in self.couplings:
            squares = ways[:, :, self.experts.squares_of(coupling.entry)].sum(axis=1)
            found[:, self.scales.start + coupling.scale] -= 2.0 * squares
        return found
