"""The rows on which models are compared: those that every one of them can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool

from bayesvb.data.frames import as_frame, nearest
from bayesvb.errors import DataError
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.back_transformation import untransformed
from bayesvb.results.comparison import SAME_SCALE
from bayesvb.studies.model_makers import MakesModel, class_codes, quietly_made


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Rows that are complete for every model, and what their folds go by.

    Attributes
    ----------
    frame : pandas.DataFrame
    dropped : int
        Rows that a model cannot use.
    groups : pandas.Series or None
        Label of each row; rows with the same label are held out together.
    strata : ndarray, shape (rows,), or None
        Classes, if classes are explained.
    unit : str or None
        Column of groups that are scored as wholes, because a model has them.
    """

    frame: pd.DataFrame
    dropped: int
    groups: pd.Series | None
    strata: RowIntegers | None
    unit: str | None


def compared_rows(
    models: Mapping[str, object],
    makers: Mapping[str, MakesModel],
    data: object,
    groups: object,
    *,
    jacobian: bool = False,
) -> ComparedRows:
    """Rows of the data that all models can use; of the models' own data if ``data`` is None.

    Raises
    ------
    DataError
        If models explain different things, or their own data are not the same rows.
    """
    frame, lacking = _own_data(models) if data is None else (as_frame(data), 0)
    made = {name: quietly_made(make, frame) for name, make in makers.items()}
    unit = _unit(made)
    labels = _labels(unit if groups is None else groups, frame)
    _check_same_response(made, jacobian=jacobian)
    complete = np.logical_and.reduce([model.design.complete for model in made.values()])
    complete &= True if labels is None else labels.notna().to_numpy()
    if not complete.any():
        raise DataError("no row is complete for every model", hint="look for missing values")
    codes = class_codes(next(iter(made.values())))
    return ComparedRows(
        frame[complete],
        lacking + int((~complete).sum()),
        None if labels is None else labels[complete],
        None if codes is None else codes[complete],
        unit,
    )


def _own_data(models: Mapping[str, object]) -> tuple[pd.DataFrame, int]:
    """Rows that all models have, with the columns of all, and the number of other rows.

    Raises
    ------
    DataError
        If a model brings no data, or they were given other rows.
    """
    data: pd.DataFrame | None = None
    common = _rows_in_all(models)
    for name, model in models.items():
        assert isinstance(model, AbstractEstimator)
        check_all_rows(model, f"models: {name!r} without data=", "fits are made of most of them")
        given = model.design.given[common[model.design.complete]]
        if data is None:
            data = given
            continue
        shared = [column for column in given if column in data]
        if not given.index.equals(data.index) or not given[shared].equals(data[shared]):
            raise DataError(f"models: {name!r} has other data than the first", hint="give data=")
        data = pd.concat([data, given.drop(columns=shared)], axis=1)
    assert data is not None
    return data, int((~common).sum())


def _rows_in_all(models: Mapping[str, object]) -> Bool[np.ndarray, " given"]:
    """Rows first given that every model uses."""
    masks = []
    for name, model in models.items():
        if not isinstance(model, AbstractEstimator):
            raise DataError(
                f"data=None, but models[{name!r}] is a {type(model).__name__} without data",
                hint="give data=, or bayesvb.DensityRegression(...)",
            )
        masks.append(model.design.complete)
    if len({len(mask) for mask in masks}) > 1:
        sizes = ", ".join(str(len(mask)) for mask in masks)
        raise DataError(
            f"models= have data of different lengths: {sizes} rows",
            hint="give data=, the table for all of them",
        )
    return np.asarray(np.logical_and.reduce(masks))


def _unit(made: Mapping[str, AbstractEstimator]) -> str | None:
    """Column whose groups are scored as wholes.

    Raises
    ------
    DataError
        If models group by different columns.
    """
    groupings = {name: model.grouping for name, model in made.items()}
    names = {one.name for one in groupings.values() if one is not None}
    if len(names) > 1:
        columns = " and ".join(sorted(names))
        raise DataError(
            f"models: they assign components by different groups, {columns}",
            hint="give all models the same group=: whole groups are held out together",
        )
    return next(iter(names), None)


def _labels(groups: object, frame: pd.DataFrame) -> pd.Series | None:
    """Label of each row, of a column or as given."""
    if groups is None:
        return None
    if isinstance(groups, str):
        if groups not in frame:
            raise DataError(
                f"groups={groups!r} is not a column of the data",
                hint=nearest(groups, frame.columns),
            )
        return frame[groups]
    try:
        values = np.asarray(groups)
    except ValueError as error:
        raise DataError(f"groups must be one label per row: {error}") from error
    if values.shape != (len(frame),):
        raise DataError(
            f"groups must be a column's name, or one label for each of {len(frame)} rows"
        )
    return pd.Series(values, index=frame.index, name="groups")


def _check_same_response(made: Mapping[str, AbstractEstimator], *, jacobian: bool) -> None:
    """Raise unless all models explain the same thing; with ``jacobian``, once it is undone."""
    (first, reference), *others = ((name, _explains(model)) for name, model in made.items())
    for name, other in others:
        alike = (untransformed(other[0]), other[1]) == (untransformed(reference[0]), reference[1])
        if not (alike if jacobian else other == reference):
            raise DataError(
                f"models: {name!r} explains {', '.join(other[0])}, {first!r} explains "
                f"{', '.join(reference[0])}: their scores describe different responses",
                hint=SAME_SCALE if alike else None,
            )


def _explains(model: AbstractEstimator) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the responses, and of their classes."""
    design = model.design
    names = design.response_names or tuple(sorted(model.observed()))
    return names, design.class_labels
