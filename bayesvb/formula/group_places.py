"""Stage 3, encode: effects of very many groups, which stay apart from the columns of a part.

Each row has the number of its group and the values that the group's effects are multiplied by: as
many numbers as there are effects, however many groups there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesvb.formula.group_columns import GroupColumns
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.numerics.arrays import RowColumns


@dataclass(frozen=True, eq=False)
class GroupPlaces(AbstractTermColumns):
    """A term of groups without columns of its own.

    Attributes
    ----------
    groups : GroupColumns
        The groups, and what varies between them.
    """

    groups: GroupColumns

    @property
    def names(self) -> tuple[str, ...]:
        """None: groups of this kind are not columns."""
        return ()

    @property
    def term_blocks(self) -> tuple[TermBlock, ...]:
        """None: see ``blocks_from``."""
        return ()

    @property
    def together(self) -> tuple[tuple[int, ...], ...]:
        """None: groups of this kind are not columns."""
        return ()

    def matrix(self, data: TermData) -> RowColumns:
        """No columns."""
        n_rows = len(data.columns[0])
        return np.empty((n_rows, 0))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the groups, and of those that were not there."""
        return self.groups.labels

    @property
    def effects(self) -> tuple[str, ...]:
        """Names of the effects, as the formula writes them."""
        return tuple(block.name for block in self.groups.term_blocks)

    @property
    def place_names(self) -> tuple[str, ...]:
        """Names of the columns of ``places``."""
        return (self.groups.grouping, *self.effects)

    @property
    def without_effects(self) -> GroupPlaces:
        """Groups of the same rows, without effects."""
        return GroupPlaces(replace(self.groups, effects=(), centres=np.empty(0), indicators=()))

    def same_groups(self, other: GroupPlaces) -> bool:
        """Whether another term's groups have the same numbers."""
        these, groups = self.groups, other.groups
        return these.grouping == groups.grouping and these.labels == groups.labels

    def blocks_from(self, first: int) -> tuple[TermBlock, ...]:
        """A scale for each effect, after the columns, one position for each."""
        size = len(self.labels)
        return tuple(
            replace(block, columns=(first + j,), size=size)
            for j, block in enumerate(self.groups.term_blocks)
        )

    def places(self, data: TermData) -> RowColumns:
        """Number of each row's group, and what its effects are multiplied by.

        Zeros for a group that was not there, unless its effects are to be drawn.
        """
        groups = self.groups
        place = groups.places(data)
        slopes = [x - centre for x, centre in zip(data.numbers, groups.centres, strict=True)]
        values = [np.ones(len(place)), *slopes] if "1" in groups.effects else slopes
        places = np.column_stack([place, *values]).astype(float)
        if not data.sampled:
            places[place == len(groups.groups), 1:] = 0.0
        return places
