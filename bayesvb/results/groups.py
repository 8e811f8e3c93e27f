"""Groups of the rows of a fit, the units that leave-one-out deletes, and predictions for groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.frames import as_frame
from bayesvb.data.grouping import Grouping
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.results.capabilities import HasGroups

if TYPE_CHECKING:
    from bayesvb.distributions.prediction import PredictionOptions
    from bayesvb.formula.design import Design
    from bayesvb.results.base import AbstractFit, AbstractPublicModel


def group_numbers(groups: object, design: Design, *, name: str) -> RowIntegers:
    """Number of the group of each row used, from 0.

    Parameters
    ----------
    groups : str or array of shape (rows,)
        A column that the formula reads, or one label per row: of the rows used, or of all rows
        that were given, in their order.
    design : Design
    name : str
        What messages call the argument.

    Raises
    ------
    DataError
        If the column is not stored, the number of labels and of rows differ, a label is missing, or
        there is one group only.
    """
    labels = _labels(groups, design, name=name)
    if labels.isna().any():
        raise DataError(
            f"{name} has {int(labels.isna().sum())} missing labels",
            hint="give these rows a label of their own",
        )
    numbers, levels = pd.factorize(labels)
    if len(levels) < 2:
        raise DataError(
            f"{name} has a single level: {levels.tolist()[0]!r}",
            hint="at least two groups are needed",
        )
    return np.asarray(numbers, dtype=np.intp)


def row_order(order: object, design: Design, *, name: str) -> RowIntegers:
    """Positions of the rows used, sorted by a column or by one value per row; ties as they stand.

    Parameters
    ----------
    order : str or array of shape (rows,)
        A column that the formula reads, or one value per row: numbers, dates or text.
    design : Design
    name : str
        What messages call the argument.

    Raises
    ------
    DataError
        If the column is not stored, the number of values and of rows differ, or values cannot be
        sorted.
    """
    values = _labels(order, design, name=name)
    if values.isna().any():
        raise DataError(
            f"{name} has {int(values.isna().sum())} missing values",
            hint="an order needs one value per row; remove these rows from the data",
        )
    try:
        return np.argsort(values.to_numpy(), kind="stable")
    except TypeError as error:
        raise DataError(
            f"{name} has values that cannot be sorted: {error}",
            hint="give numbers, dates or text, one per row",
        ) from error


def _labels(given: object, design: Design, *, name: str) -> pd.Series:
    """A column that the formula reads, or one value per row, at the rows used."""
    if isinstance(given, str):
        if given not in design.frame.columns:
            raise DataError(
                f"{name}={given!r} is not a column that the formula reads, and other columns "
                "are not stored",
                hint=f"give the labels themselves: {name}=data[{given!r}]",
            )
        given = design.frame[given]
    try:
        labels = pd.Series(np.asarray(given).ravel())
    except ValueError as error:
        raise DataError(f"{name} must be one label per row: {error}") from error
    if len(labels) == len(design.complete) != design.n_rows:
        labels = labels[design.complete]
    if len(labels) != design.n_rows:
        raise DataError(
            f"{name} has {len(labels)} labels; the fit has {design.n_rows} rows, of "
            f"{len(design.complete)} that were given",
            hint="give one label per row of the data",
        )
    return labels


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
        """Plural name of the units."""
        return "rows" if self.grouping is None else "groups"

    def take(self, at: RowIntegers) -> Units:
        """Some of the units, in this order, which are no longer divided into groups."""
        weights = None if self.weights is None else self.weights[at]
        return Units(self.index[at], weights, None)

    def in_row_order(
        self, values: Float[np.ndarray, "*axes rows"]
    ) -> Float[np.ndarray, "*axes rows"]:
        """Values of the rows as the source goes over them, in the order of the data."""
        return values if self.grouping is None else self.grouping.in_row_order(values)


def units_of(model: AbstractPublicModel) -> Units:
    """The units of a model."""
    grouping = model.grouping
    if grouping is None:
        return Units(model.design.index, model.weights, None)
    weights = None if model.weights is None else model.weights[grouping.first]
    return Units(grouping.labels, weights, grouping)


def places_of_rows(
    fit: AbstractFit, at: RowIntegers
) -> tuple[Int[np.ndarray, " units"], RowIntegers | slice]:
    """Units of these rows, and the positions of the rows among the units."""
    grouping = fit.model.grouping
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
        If a column is absent, or a covariate of the weights differs within a group.
    """
    rows = model.rows(data, response=True)
    if model.grouping is None or not isinstance(model, HasGroups):
        return rows.index, rows.complete, model.block(rows)
    grouping = model.grouping.of_data(as_frame(data), rows.complete)
    every = np.ones(len(grouping.labels), dtype=bool)
    return grouping.labels, every, model.block_of_groups(rows, grouping)


def units_at(fit: AbstractFit, at: Int[np.ndarray, " units"]) -> Block:
    """Some units of a fit on the standardised scale, each counted once."""
    model = fit.model
    if model.grouping is None:
        return model.block(model.design.rows_at(at, response=True))
    return replace(model.source.take(at), weight=None)


def predictive_of_any_group(fit: AbstractFit, rows: object, response: str | None = None) -> Any:
    """Predictive distribution of rows; rows of new groups are integrated over all groups.

    Reference for rows of all groups: nine of ten lie within its central 90% interval, and fewer
    within the interval of the typical group alone.
    """
    if not fit.model.design.groupings:
        return fit.predictive(rows, response=response)
    with_groups: Any = fit
    return with_groups.predictive(rows, response=response, new_groups="marginal")


def predict_with(
    fit: AbstractFit,
    data: object,
    kind: str,
    options: PredictionOptions,
    observed: object,
    *,
    recalibrate: bool | str,
) -> pd.Series | pd.DataFrame:
    """Prediction given rows with responses; see ``Fit.predict``.

    Raises
    ------
    DataError
        If rows do not come in groups, or predictions are to be recalibrated as well.
    """
    model: object = fit.model
    if not isinstance(model, HasGroups) or model.grouping is None:
        raise DataError(
            "observed= is for models of whole groups, and this model has no group=",
            hint="omit observed, or name the column of groups in the model: group='id'",
        )
    if recalibrate is not False:
        raise DataError(
            f"recalibrate={recalibrate!r} cannot be combined with observed=: recalibration is "
            "estimated on groups without observed rows",
            hint="omit observed or recalibrate",
        )
    return model.predict_with(fit, data, kind, options, observed)
