"""Rows of groups whose effects are not columns: the group of each row, and what effects multiply.

Such rows are a design of their own, ``GROUP_ROWS`` for the experts and ``GATE_GROUPS`` for the
gate: its first column is the number of the group, the others the values whose coefficients vary
between groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import BLOCK_ROWS, Block

GROUP_ROWS = "groups"
"""Name of the design."""

GATE_GROUPS = "gating groups"
"""Name of that of the weights."""


@dataclass(frozen=True)
class GroupRows:
    """The groups of some rows.

    Attributes
    ----------
    place : ndarray, shape (rows,)
        Number of each row's group.
    values : ndarray, shape (effects, rows)
        What the effects of its group are multiplied by.
    """

    place: Int[np.ndarray, " rows"]
    values: Float[np.ndarray, "effects rows"]

    @classmethod
    def of(cls, block: Block, name: str = GROUP_ROWS) -> GroupRows:
        """Those of a design of a block."""
        matrix = block.designs[name]
        return cls(np.rint(matrix[0]).astype(np.int64), matrix[1:])

    def at_rows(self, values: Float[np.ndarray, "*axes groups"]) -> Float[np.ndarray, "*axes rows"]:
        """Values of the groups, for each row that of its own."""
        return np.asarray(np.take(values, self.place, axis=-1))

    def linear(
        self, effects: Float[np.ndarray, "*axes effects groups"]
    ) -> Float[np.ndarray, "*axes rows"]:
        """What the effects of its group add to each row."""
        found: Float[np.ndarray, "*axes rows"]
        if not len(self.values):
            return np.zeros((*effects.shape[:-2], len(self.place)))
        found = self.at_rows(effects[..., 0, :]) * self.values[0]
        for j in range(1, len(self.values)):
            found += self.at_rows(effects[..., j, :]) * self.values[j]
        return found

    def sums(
        self, values: Float[np.ndarray, "*axes rows"], n_groups: int
    ) -> Float[np.ndarray, "*axes groups"]:
        """Sums over the rows of each group."""
        found = np.empty((*values.shape[:-1], n_groups))
        for axes in np.ndindex(*values.shape[:-1]):
            found[axes] = np.bincount(self.place, values[axes], n_groups)
        return found


def rows_at_once(n_groups: int) -> int:
    """Rows of a block, so many that sums by group are worth their while: a row for each group."""
    rows = BLOCK_ROWS
    while rows < n_groups:
        rows *= 2
    return rows
