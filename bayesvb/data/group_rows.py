"""Rows of groups whose effects have no columns: names of their designs.

Such rows are a design of their own, ``GROUP_ROWS`` for the experts and ``GATE_GROUPS`` for the
gate: its first column is the number of the group, the others the values whose coefficients vary
between groups.
"""

from __future__ import annotations

from bayesvb.data.blocks import BLOCK_ROWS
from bayesvb.data.parts import GATING, MEAN

GROUP_ROWS = "groups"
"""Name of the design."""

GATE_GROUPS = "gating groups"
"""Name of the design of the weights."""

GROUP_DESIGNS = {MEAN: GROUP_ROWS, GATING: GATE_GROUPS}
"""Names of the designs of groups, by part: of the parts whose groups may have no columns."""


def rows_at_once(n_groups: int) -> int:
    """Rows of a block for which sums by group are efficient: one for each group."""
    rows = BLOCK_ROWS
    while rows < n_groups:
        rows *= 2
    return rows
