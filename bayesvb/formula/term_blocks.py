"""Stage 3, encode: the columns of a design matrix whose coefficients share one prior scale."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bayesvb.formula.columns import ColumnRole, roles_in, with_own_names

BlockKind = Literal["covariate", "factor", "smooth", "group"]

CONSTANT = "1"
"""Term of an intercept, as the formula package writes it."""


@dataclass(frozen=True)
class TermBlock:
    """Columns of one part's design matrix whose coefficients share one prior scale.

    The intercept is in no block: its scale is the response's, not an effect's.

    Attributes
    ----------
    name : str
        The term, as the formula writes it.
    columns : tuple of int
        Places in the design matrix, ascending.
    kind : {"covariate", "factor", "smooth", "group"}
        A term of numeric columns; one that reads levels; the wiggly part of a smooth; an effect of
        every level of a grouping column.
    size : int
        Coefficients of each column: one, but of effects that stay apart from the columns, whose
        place is behind all of these, one for each group.
    joint : str
        Term of group effects with a full covariance, the same for all its blocks; empty for blocks
        whose coefficients are independent of other blocks.
    """

    name: str
    columns: tuple[int, ...]
    kind: BlockKind
    size: int = 1
    joint: str = ""

    @property
    def is_penalised(self) -> bool:
        """Whether the formula asks to penalise it: its scale is learned unless all are fixed."""
        return self.kind in ("smooth", "group")


def term_blocks(
    columns_of: Mapping[object, Sequence[int]], levelled: Container[ColumnRole]
) -> tuple[TermBlock, ...]:
    """Blocks of a part: one for each term but the intercept, in the order of the columns.

    Parameters
    ----------
    columns_of : mapping of term to sequence of int
        Terms of the formula package, under the aliases of their columns, with their places.
    levelled : container of ColumnRole
        The columns that have levels.
    """
    blocks = []
    for term, columns in columns_of.items():
        code = str(term)
        if code == CONSTANT or not len(columns):
            continue
        reads_levels = any(role.role != "value" and role in levelled for role in roles_in(code))
        kind: BlockKind = "factor" if reads_levels else "covariate"
        blocks.append(TermBlock(with_own_names(code), tuple(sorted(map(int, columns))), kind))
    return tuple(sorted(blocks, key=lambda block: block.columns))
