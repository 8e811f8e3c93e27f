"""Logits with effects of groups that are not columns: sums by group, and moments of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GATE_GROUPS, GroupRows
from bayesvb.data.parts import GATING
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.bordered_normal import BorderedNormal
from bayesvb.numerics.linalg import (
    lower_pairs,
    pack,
    products,
    quadratic_weights,
    second_moments,
    times,
    unpack,
)
from bayesvb.numerics.small_blocks import inverse_of_blocks
from bayesvb.variational.coordinates import entries
from bayesvb.variational.row_derivatives import RowScalars, consecutive


@dataclass(frozen=True)
class LogitRows:
    """Rows whose logits have effects of groups.

    Attributes
    ----------
    block : Block
    n_groups : int
    """

    block: Block
    n_groups: int

    @property
    def groups(self) -> GroupRows:
        """The group of each row, and what its effects are multiplied by."""
        return GroupRows.of(self.block, GATE_GROUPS)

    def scalars(self, n_logits: int) -> tuple[RowScalars, RowScalars]:
        """Those of ``-E u^2 / 2`` and ``E u`` in all statistics: for few rows and groups."""
        design, groups = self.block.designs[GATING], self.groups
        across = (groups.values[:, None] * design).reshape(-1, self.block.n_rows)
        parts = [products(design), design]
        for values in (products(groups.values), across, groups.values):
            each = np.zeros((len(values), self.n_groups, self.block.n_rows))
            each[:, groups.place, np.arange(self.block.n_rows)] = values
            parts.append(each.reshape(-1, self.block.n_rows))
        places = consecutive(n_logits, [len(part) for part in parts])
        square, linear = (0, 2, 3), (1, 4)
        curved, straight = (
            RowScalars.of(
                np.concatenate([parts[i] for i in some]),
                np.concatenate([places[i] for i in some], axis=1),
            )
            for some in (square, linear)
        )
        return curved, straight


@dataclass(frozen=True)
class GroupedLogitStats(SufficientStats):
    """What rows add to the natural parameters of logits, that of effects by group.

    Attributes
    ----------
    curvature : ndarray, shape (logits, pairs)
        Sum of ``w x x'``, packed.
    linear : ndarray, shape (logits, terms)
        Sum of ``l x``.
    zz : ndarray, shape (logits, effect_pairs, groups)
        Sum of ``w z z'``, packed.
    zx : ndarray, shape (logits, effects, terms, groups)
        Sum of ``w z x'``.
    zl : ndarray, shape (logits, effects, groups)
        Sum of ``l z``.
    """

    curvature: Float[np.ndarray, "*many logits pairs"]
    linear: Float[np.ndarray, "*many logits terms"]
    zz: Float[np.ndarray, "*many logits effect_pairs groups"]
    zx: Float[np.ndarray, "*many logits effects terms groups"]
    zl: Float[np.ndarray, "*many logits effects groups"]

    @classmethod
    def of_rows(
        cls,
        rows: LogitRows,
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> GroupedLogitStats:
        """Sums from the per-row weights of ``x x'`` and of ``x``."""
        design, groups = rows.block.designs[GATING], rows.groups
        first, second = lower_pairs(len(groups.values))
        weighted = curvature[:, None] * groups.values
        squares = weighted[:, first] * groups.values[second]
        cross = weighted[:, :, None] * design
        own = linear[:, None] * groups.values
        each = (groups.sums(values, rows.n_groups) for values in (squares, cross, own))
        return cls(second_moments(curvature, design), linear @ design.T, *each)

    def times(
        self,
        border: Float[np.ndarray, "logits terms"],
        effects: Float[np.ndarray, "logits effects groups"],
    ) -> tuple[Float[np.ndarray, "logits terms"], Float[np.ndarray, "logits effects groups"]]:
        """The curvature times coefficients of all rows, and effects."""
        own = np.einsum("labg,lbg->lag", self._zz, effects)
        own += np.einsum("lapg,lp->lag", self.zx, border)
        across = np.einsum("lapg,lag->lp", self.zx, effects)
        return times(unpack(self.curvature), border) + across, own

    @property
    def _zz(self) -> Float[np.ndarray, "logits effects effects groups"]:
        """Sums of ``w z z'`` as matrices."""
        return np.moveaxis(unpack(np.moveaxis(self.zz, -2, -1)), -3, -1)

    def permuted(self, order: Sequence[int]) -> GroupedLogitStats:
        """Statistics of the logits in another order."""
        index = np.asarray(order)
        return GroupedLogitStats(*(values[index] for _, values in self.leaves()))

    def posterior(self, prior: BorderedNormal) -> BorderedNormal:
        """Posterior of the coefficients.

        Raises
        ------
        numpy.linalg.LinAlgError
            A precision is not positive definite.
        """
        groups = self._zz, self.zx, self.zl
        return prior.posterior((unpack(self.curvature), self.linear), groups)


def expectations_by_group(posterior: BorderedNormal) -> Float[np.ndarray, " entries"]:
    """``-E[g g'] / 2``, ``E g``, ``-E[u u'] / 2``, ``-E[u g']`` and ``E u`` of all logits."""
    border, effects = posterior.border, posterior.effects
    second_moment = border.covariance + border.mean[:, :, None] * border.mean[:, None]
    through = np.einsum("lpq,laqg->lapg", border.covariance, posterior.regression)
    first, second = lower_pairs(effects.shape[1])
    squares = posterior.within[:, first, second] + effects[:, first] * effects[:, second]
    squares += (through[:, first] * posterior.regression[:, second]).sum(axis=2)
    squares *= (2.0 - (first == second))[:, None]
    cross = through - effects[:, :, None] * border.mean[:, None, :, None]
    return entries(-0.5 * quadratic_weights(second_moment), border.mean, -0.5 * squares, cross,
                   effects)  # fmt: skip


def curvature_of(posterior: BorderedNormal, prior: BorderedNormal) -> GroupedLogitStats:
    """What rows have added to the precision of a prior; nothing to what is linear."""
    zz, _ = inverse_of_blocks(posterior.within)
    zx = np.einsum("labg,lbpg->lapg", zz, posterior.regression)
    zz -= (np.eye(zz.shape[1]) * prior.effect_precision[:, None])[..., None]
    xx = posterior.border.precision - prior.border.precision
    xx = xx + np.einsum("lapg,laqg->lpq", zx, posterior.regression)
    first, second = lower_pairs(zz.shape[1])
    nothing = np.zeros_like(posterior.mean), np.zeros_like(posterior.effects)
    return GroupedLogitStats(pack(xx), nothing[0], zz[:, first, second], zx, nothing[1])


def moments_by_group(
    posterior: BorderedNormal, block: Block
) -> tuple[Float[np.ndarray, "logits rows"], Float[np.ndarray, "logits rows"]]:
    """Means and variances ``z' W_g z + (x - F_g' z)' S (x - F_g' z)`` of the logits of rows."""
    groups, design = GroupRows.of(block, GATE_GROUPS), block.designs[GATING]
    logit = posterior.border.mean @ design + groups.linear(posterior.effects)
    own = design - groups.linear(np.swapaxes(posterior.regression, -3, -2))
    variance = ((posterior.border.covariance @ own) * own).sum(axis=-2)
    for j, value in enumerate(groups.values):
        variance += groups.linear(posterior.within[:, j]) * value
    return logit, variance


def rows_by_group(posterior: Any, block: Block) -> LogitRows | None:
    """Rows of a block whose logits have effects of groups; None where these are columns."""
    return LogitRows(block, posterior.n_groups) if GATE_GROUPS in block.designs else None
