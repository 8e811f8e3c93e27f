"""Rows that belong together: which rows each group has, and groups as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from bayesvb.argument_checks import shown
from bayesvb.data.blocks import BLOCK_ROWS, Block, Members
from bayesvb.data.frames import columns_of, missing_rows, nearest
from bayesvb.data.parts import GATING, MEAN, PARTS
from bayesvb.data.response_columns import coarsened, with_response_columns
from bayesvb.data.sources import InMemorySource
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.numerics.linalg import products, unpack
from bayesvb.numerics.segments import segment_sums

SUMMARY = "summary"
"""Design of a block of groups with the coefficients of each group's own regression, shrunken."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rows divided into groups, in the order in which these first appear.

    Attributes
    ----------
    name : str
        Column with the labels.
    labels : pandas.Index
        Of the groups.
    number : ndarray, shape (rows,)
        Group of each row, from 0.
    """

    name: str
    labels: pd.Index
    number: RowIntegers

    @classmethod
    def of(cls, column: pd.Series, name: str) -> Grouping:
        """Groups of rows with one label.

        Raises
        ------
        DataError
            If a label is missing.
        """
        absent = missing_rows(column)
        if absent.any():
            raise DataError(
                f"group={name!r} is missing in {int(absent.sum())} rows, the first "
                f"{column.index[int(absent.argmax())]!r}",
                hint="remove these rows, or give each of them a new label",
            )
        numbers, labels = pd.factorize(column)
        return cls(name, pd.Index(labels, name=name), np.asarray(numbers, dtype=np.intp))

    def of_data(self, frame: pd.DataFrame, used: Bool[np.ndarray, " given"]) -> Grouping:
        """Grouping of the usable rows of another table, by the column of the same name.

        Raises
        ------
        DataError
            If the column is absent, or a label is missing.
        """
        column = columns_of(frame, [self.name], whose="the new data")[self.name]
        return Grouping.of(column[used], self.name)

    @property
    def order(self) -> RowIntegers:
        """Positions of the rows, group after group."""
        return np.asarray(np.argsort(self.number, kind="stable"))

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """Rows of each group."""
        return np.asarray(np.bincount(self.number, minlength=len(self.labels)))

    @property
    def first(self) -> Int[np.ndarray, " groups"]:
        """Position of the first row of each group."""
        return np.asarray(self.order[np.cumsum(self.sizes) - self.sizes])

    def in_row_order(
        self, values: Float[np.ndarray, "*axes rows"]
    ) -> Float[np.ndarray, "*axes rows"]:
        """Values of the rows group after group, put in the order of the data."""
        ordered = np.empty_like(values)
        ordered[..., self.order] = values
        return ordered

    def constant(
        self, values: Float[np.ndarray, "rows columns"], names: tuple[str, ...], what: str
    ) -> Float[np.ndarray, "groups columns"]:
        """Values that all rows of a group share.

        Raises
        ------
        DataError
            If they differ within a group.
        """
        firsts = values[self.first]
        differs = values != firsts[self.number]
        if differs.any():
            row, column = np.argwhere(differs)[0]
            raise DataError(
                f"`{names[column]}` {what}, and differs within the group "
                f"{shown(self.labels[self.number[row]])} of `{self.name}`: "
                f"{firsts[self.number[row], column]:g} and {values[row, column]:g}",
                hint="covariates of the class of a group are constant within the group: give the "
                "value at the first row, or omit the covariate, as in `| gating(1)`",
            )
        return np.asarray(firsts)

    @property
    def text(self) -> str:
        """Number of groups and their name, for the middle of a sentence."""
        return f"{len(self.labels):,} groups of `{self.name}`"


def group_column(group: object, data: pd.DataFrame) -> str | None:
    """Name of the column of groups, if there is one.

    Raises
    ------
    DataError
        If it is not a column of the data.
    """
    if group is None:
        return None
    if not isinstance(group, str) or group not in data.columns:
        raise DataError(
            f"group={group!r} is not a column of the data",
            hint=nearest(str(group), [str(name) for name in data.columns])
            or "the columns are " + ", ".join(map(str, data.columns[:8])),
        )
    return group


def grouped_source(rows: Block, grouping: Grouping) -> InMemorySource:
    """Groups of rows as blocks; none is cut.

    Parameters
    ----------
    rows : Block
        All rows, standardised. ``"gating"``, which one component lacks, and the case weights are
        constant within a group.
    grouping : Grouping
    """
    sizes, order, first = grouping.sizes, grouping.order, grouping.first
    of_rows = tuple(name for name, part in PARTS.items() if not part.of_weights)
    ends = np.cumsum(sizes)
    blocks = []
    for groups in _cut(ends):
        own = rows.take(order[ends[groups.start] - sizes[groups.start] : ends[groups.stop - 1]])
        starts = np.cumsum(sizes[groups]) - sizes[groups]
        members = Members(
            replace(own, designs=with_response_columns(own, of_rows), weight=None), starts
        )
        known = rows.take(first[groups])
        designs = {part: x for part, x in known.designs.items() if part == GATING}
        designs |= {SUMMARY: own_coefficients(members)}
        none = np.empty((0, len(starts)))
        blocks.append(Block(designs, none, known.weight, members=members))
    return InMemorySource(tuple(blocks))


def regrouped(block: Block, response: Float[np.ndarray, "responses members"]) -> Block:
    """Grouping of the same groups with other responses of their rows."""
    if block.members is None:
        raise ValueError("the rows of the block are in no groups")
    members = replace(block.members, rows=coarsened(block.members.rows, response))
    return replace(
        block, designs={**block.designs, SUMMARY: own_coefficients(members)}, members=members
    )


def own_coefficients(members: Members) -> Float[np.ndarray, "coefficients groups"]:
    """Coefficients of a regression of each group's rows alone, drawn to zero.

    Groups of one component are near one another in them: starts divide the groups by these.
    """
    design, response = members.rows.designs[MEAN], members.rows.response
    second = np.moveaxis(segment_sums(products(design), members.starts), -1, 0)
    cross = segment_sums(response[:, None] * design, members.starts)
    # A precision of one row draws the coefficients of a group to zero.
    precision = unpack(second) + np.eye(len(design))
    coefficients = np.linalg.solve(precision, np.moveaxis(cross, -1, 0).swapaxes(-1, -2))
    return np.ascontiguousarray(coefficients.reshape(len(coefficients), -1).T)


def _cut(ends: Int[np.ndarray, " groups"]) -> Iterator[slice]:
    """Consecutive groups with about as many rows as a block has."""
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, before + BLOCK_ROWS, side="right")), start + 1)
        yield slice(start, stop)
        start = stop
