"""What is left out at a time and has a likelihood of its own: a row, or a group of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.frames import as_frame
from bayesvb.data.grouping import Grouping
from bayesvb.results.capabilities import HasGroups

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit, AbstractPublicModel


@dataclass(frozen=True, eq=False)
class Units:
    """Cases of a fit, as its source counts them.

    Attributes
    ----------
    index : pandas.Index
        Labels: of the rows used, or of the groups.
    weights : ndarray, shape (units,), or None
        Case weights.
    grouping : Grouping or None
        Groups, if they are the units.
    """

    index: pd.Index
    weights: Float[np.ndarray, " units"] | None
    grouping: Grouping | None

    @property
    def plural(self) -> str:
        """What they are called."""
        return "rows" if self.grouping is None else "groups"

    def in_row_order(
        self, values: Float[np.ndarray, "*axes rows"]
    ) -> Float[np.ndarray, "*axes rows"]:
        """Values of the rows as the source goes over them, in the order of the data."""
        return values if self.grouping is None else self.grouping.in_row_order(values)


def grouping_of(model: AbstractPublicModel) -> Grouping | None:
    """Groups of rows that share one component; None where each row has its own."""
    return model.grouping if isinstance(model, HasGroups) else None


def units_of(model: AbstractPublicModel) -> Units:
    """The units of a model."""
    grouping = grouping_of(model)
    if grouping is None:
        return Units(model.design.index, model.weights, None)
    weights = None if model.weights is None else model.weights[grouping.first]
    return Units(grouping.labels, weights, grouping)


def places_of_rows(
    fit: AbstractFit, at: Int[np.ndarray, " rows"]
) -> tuple[Int[np.ndarray, " units"], Int[np.ndarray, " rows"] | slice]:
    """Units that these rows are of, and where the rows are among those of the units."""
    grouping = grouping_of(fit.model)
    if grouping is None:
        return at, slice(None)
    groups = np.unique(grouping.number[at])
    order = grouping.order
    members = order[np.isin(grouping.number[order], groups)]
    place = np.empty(len(grouping.number), dtype=np.intp)
    place[members] = np.arange(len(members))
    return groups, place[at]


def observed_units(
    model: AbstractPublicModel, data: object
) -> tuple[pd.Index, Bool[np.ndarray, " units"], Block]:
    """Labels of the units of other data, which of them have all values, and these as a block.

    Raises
    ------
    DataError
        If a column is absent, or what the weights depend on differs within a group.
    """
    rows = model.rows(data, response=True)
    if not isinstance(model, HasGroups) or model.grouping is None:
        return rows.index, rows.complete, model.block(rows)
    grouping = model.grouping.of_data(as_frame(data), rows.complete)
    every = np.ones(len(grouping.labels), dtype=bool)
    return grouping.labels, every, model.block_of_groups(rows, grouping)


def units_at(fit: AbstractFit, at: Int[np.ndarray, " units"]) -> Block:
    """Some units of a fit on the standardised scale, each counted once."""
    model = fit.model
    if grouping_of(model) is None:
        return model.block(model.design.rows_at(at, response=True))
    return replace(model.source.take(at), weight=None)
