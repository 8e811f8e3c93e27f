"""Rows at which effects are evaluated: a grid of covariates, rows that are given, or the fit's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from bayesvb.argument_checks import shown
from bayesvb.data.frames import as_frame, columns_of, missing_rows, nearest
from bayesvb.effects.covariates import column_like, covariate, crossed, held_value, quantiles
from bayesvb.effects.curve_settings import CURVES
from bayesvb.errors import DataError

if TYPE_CHECKING:
    from bayesvb.formula.design import Design
    from bayesvb.results.base import AbstractFit

RANK_TOLERANCE = 1e-8
"""Size, relative to the largest, below which a direction of a design matrix counts as absent."""

Conditional = str | Sequence[str] | Mapping[str, object] | None


@dataclass(frozen=True, eq=False)
class EvaluationGrid:
    """Rows, and their settings.

    Attributes
    ----------
    frame : pandas.DataFrame
        The columns that the formula reads, and any others that were given.
    by : tuple of str
        Covariates that identify a row in tables: the grid's, or all.
    held : mapping of str to value
        Values of the other covariates; empty for given rows.
    weight : ndarray, shape (rows,), or None
        Case weights of the rows of the fit, for averages.
    gridded : bool
        Whether the rows are a grid.
    """

    frame: pd.DataFrame
    by: tuple[str, ...]
    held: Mapping[str, object]
    weight: Float[np.ndarray, " rows"] | None
    gridded: bool

    def with_column(self, name: str, values: object) -> pd.DataFrame:
        """The rows with another value, or other values, of one covariate."""
        column_values = self.frame[name]
        if isinstance(values, np.ndarray):
            column = column_like(column_values, list(values))
        else:
            column = column_like(column_values, [values]).repeat(len(self.frame))
        return self.frame.assign(**{name: column.set_axis(self.frame.index)})

    def without(self, name: str) -> EvaluationGrid:
        """Grid of the same rows, without one covariate as an identifier."""
        held = {other: value for other, value in self.held.items() if other != name}
        return replace(self, by=tuple(one for one in self.by if one != name), held=held)


def setting(fit: AbstractFit, conditional: Conditional, data: object) -> EvaluationGrid:
    """Rows of a request.

    Raises
    ------
    DataError
        If both a grid and rows are given, a name is unknown, rows are missing, or have missing
        values.
    """
    design = fit.model.design
    if conditional is not None and data is not None:
        raise DataError("conditional and data are both given", hint="omit one of them")
    if conditional is not None:
        return _grid(design, conditional)
    if data is None:
        return EvaluationGrid(design.frame, design.covariates, {}, fit.model.weights, False)
    frame = as_frame(data)
    if not len(frame):
        raise DataError("data has no rows", hint="omit data for the rows of the fit")
    columns = columns_of(frame, design.covariates, whose="the new data")
    _require_values(frame, columns)
    return EvaluationGrid(frame, design.covariates, {}, None, False)


def _require_values(frame: pd.DataFrame, columns: Mapping[str, pd.Series]) -> None:
    lacking = np.zeros(len(frame), dtype=bool)
    for column in columns.values():
        lacking |= missing_rows(column)
    if lacking.any():
        first = frame.index[lacking][0]
        raise DataError(
            f"{int(lacking.sum())} rows of the data have missing values, the first is "
            f"{shown(first)}",
            hint=f"data.dropna(subset={list(columns)})",
        )


def _grid(design: Design, conditional: object) -> EvaluationGrid:
    """Every combination of the covariates asked for; others at their mean or most frequent."""
    frame, covariates = design.frame, design.covariates
    request = _wanted(conditional)
    check_covariates("conditional", list(request), covariates)
    grids = {
        name: _values(design, name, first=place == 0)
        if values is None
        else design.in_days(name, _given(name, values))
        for place, (name, values) in enumerate(request.items())
    }
    held = {
        name: held_value(design, name, centre="mean") for name in covariates if name not in grids
    }
    rows = crossed(frame, grids, held) if covariates else frame.iloc[:1]
    return EvaluationGrid(rows, tuple(grids), held, None, True)


def _wanted(conditional: object) -> dict[str, object]:
    """Names with the values that are given for them, None where none are."""
    if isinstance(conditional, str):
        return {conditional: None}
    if isinstance(conditional, Mapping):
        return dict(conditional)
    if isinstance(conditional, Sequence) and all(isinstance(one, str) for one in conditional):
        return dict.fromkeys(conditional)
    raise DataError(
        f"conditional={conditional!r} is not a name, a list of names, or a mapping of values",
        hint='write conditional=["x", "group"] or conditional={"x": [1, 2, 3]}',
    )


def check_covariates(argument: str, names: Sequence[object], covariates: Sequence[str]) -> None:
    """Raise unless the formula reads all of these columns."""
    for name in names:
        if name not in covariates:
            raise DataError(
                f"{argument} names {name!r}, which the formula does not use as a covariate",
                hint=nearest(str(name), list(covariates)) if covariates else "there is none",
            )


def _values(design: Design, name: str, *, first: bool) -> list[object]:
    """All levels; of a number a curve if it comes first, else three of its quantiles."""
    one = covariate(design, name)
    if first or one.discrete:
        return one.grid(CURVES.grid_points)
    result = quantiles(design, name, CURVES.grid_quantiles)
    return [float(value) for value in dict.fromkeys(result)]


def _given(name: str, values: object) -> list[object]:
    if isinstance(values, str) or np.ndim(values) == 0:  # type: ignore[arg-type]
        return [values]
    result: list[object] = list(values)  # type: ignore[call-overload]
    if not result:
        raise DataError(f"`{name}` needs at least one value", hint=f'write {{"{name}": [1, 2]}}')
    return result


def _check_columns(rows: EvaluationGrid, names: Sequence[str]) -> None:
    """Raise unless the rows differ in the columns within which they are to be averaged."""
    frame, held = rows.frame, [name for name in names if name in rows.held]
    if held:
        raise DataError(
            f"average_by={held[0]!r}: predictions are made at a single value of `{held[0]}`, so "
            "they cannot be averaged by it",
            hint=f"vary it as well: conditional={[*rows.by, held[0]]}",
        )
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise DataError(
            f"average_by={absent[0]!r} is not a column of the rows",
            hint="average_by=True averages over all rows"
            if absent == ["all"]
            else f"{nearest(absent[0], frame.columns)} Rows with other columns are given as data=",
        )


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows that are averaged together, and their weights.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per group: its identifying columns.
    codes : ndarray, shape (rows,)
        Group of each row.
    share : ndarray, shape (rows,)
        Weight of each row in the average of its group.
    """

    table: pd.DataFrame
    codes: Int[np.ndarray, " rows"]
    share: Float[np.ndarray, " rows"]

    @classmethod
    def of(cls, rows: EvaluationGrid, average_by: object) -> Groups | None:
        """Groups of rows alike in these columns; one of all rows for True, None for None."""
        if average_by is None or average_by is False:
            return None
        weight = np.ones(len(rows.frame)) if rows.weight is None else rows.weight
        if average_by is True:
            codes = np.zeros(len(weight), dtype=np.intp)
            return cls(pd.DataFrame(index=pd.RangeIndex(1)), codes, weight / weight.sum())
        names = [average_by] if isinstance(average_by, str) else list(average_by)  # type: ignore
        _check_columns(rows, names)
        columns = columns_of(rows.frame, names, whose="the rows")
        _require_values(rows.frame, columns)
        grouped = rows.frame.groupby(names, sort=True, observed=True)
        codes = grouped.ngroup().to_numpy().astype(np.intp)
        first = pd.Series(np.arange(len(codes))).groupby(codes).first().to_numpy()
        table = pd.DataFrame({name: column.iloc[first] for name, column in columns.items()})
        total = np.bincount(codes, weight)
        counted = total > 0.0  # a group whose rows all have weight zero has no average
        share = np.divide(weight, total[codes], out=np.zeros_like(weight), where=counted[codes])
        number = np.where(counted, np.cumsum(counted) - 1, 0)
        return cls(table[counted].reset_index(drop=True), number[codes], share)

    def shares(
        self, rows: slice
    ) -> tuple[Int[np.ndarray, " groups"], Float[np.ndarray, "rows groups"]]:
        """Groups that some rows are of, and the weight of each of these rows in each."""
        present, place = np.unique(self.codes[rows], return_inverse=True)
        share = np.zeros((len(place), len(present)))
        share[np.arange(len(share)), place] = self.share[rows]
        return present, share


def rows_without_data(
    design: Design, frames: Sequence[pd.DataFrame]
) -> list[Bool[np.ndarray, " rows"]]:
    """Whether, at rows of each table, only the prior determines predictions, not the fitted rows.

    That is where a row of the design matrix is not in the space that the rows of the fit span, as
    for a combination of interacting levels that no row has (``nonest`` of emmeans). Of rows that
    are not all in memory this is not known, and False.
    """
    lacking = [np.zeros(len(frame), dtype=bool) for frame in frames]
    if design.is_sample:
        return lacking
    tables = [design.of_typical_groups.new(frame).matrices for frame in frames]
    for part, matrix in design.covariate_matrices.items():
        size = np.abs(matrix).max(axis=0, initial=0.0)
        scale = np.where(size > 0.0, size, 1.0)
        triangle = np.linalg.qr(matrix / scale, mode="r")  # as few rows as the matrix has columns
        _, values, basis = np.linalg.svd(triangle, full_matrices=True)
        rank = int((values > RANK_TOLERANCE * values.max(initial=0.0)).sum())
        for lacks, matrices in zip(lacking, tables, strict=True):
            rows = matrices[part] / scale
            outside = np.linalg.norm(rows @ basis[rank:].T, axis=1)
            lacks |= outside > RANK_TOLERANCE * np.linalg.norm(rows, axis=1)
    return lacking
