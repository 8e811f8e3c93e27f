"""Overview of a table for a paper: each column in a line or more, by groups of rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from bayesvb.argument_checks import check_choice, checked
from bayesvb.data.column_kinds import column_kinds
from bayesvb.data.frames import as_frame, numbers
from bayesvb.data.line_width import PrintedTable

ALL, MISSING, DIFFERENCE = "all", "missing", "difference"
"""Columns of the overview: all rows, missing values, standardised difference of two groups."""


@checked
def describe(data: object, *, by: str | None = None) -> pd.DataFrame:
    """Describe the columns of a table, as the first table of a paper does.

    Parameters
    ----------
    data : table
        In memory: pandas, polars, pyarrow, or a mapping of columns.
    by : str, optional
        Column whose levels are groups of rows, each with a column of the result.

    Returns
    -------
    pandas.DataFrame
        Text, index (variable, statistic): mean with standard deviation and median with quartiles
        of numbers, the count of each level with its percentage, the range of dates. Columns
        ``all``, the groups, ``missing`` (number of missing values), and for two groups
        ``difference``: of means in units of the root mean square of both standard deviations
        (Austin 2009, doi:10.1002/sim.3697), of a level by its proportions.

    Raises
    ------
    DataError
        If the data are not a table, or ``by`` is not one of its columns.

    Examples
    --------
    >>> table = describe({"dose": [1.0, 2.0, 6.0], "arm": ["a", "b", "b"]})
    >>> table.loc[("dose", "mean (SD)"), "all"], table.loc[("arm", "b"), "all"]
    ('3.0 (2.6)', '2 (67%)')
    """
    frame = as_frame(data)
    groups = {ALL: frame}
    if by is not None:
        check_choice("by", by, tuple(map(str, frame.columns)))
        groups |= {str(level): own for level, own in frame.groupby(by, sort=True, observed=True)}
    kinds = column_kinds(frame)["kind"]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for name in map(str, frame.columns):
        if name != by:
            for statistic, cells in _lines(groups, name, str(kinds[name])).items():
                rows[name, statistic] = cells
    columns = [*groups, MISSING, *([DIFFERENCE] if len(groups) == 3 else [])]
    filled = pd.DataFrame.from_dict(rows, orient="index", columns=columns).fillna("")
    table = PrintedTable(filled)
    table.index = pd.MultiIndex.from_tuples(list(rows), names=["variable", "statistic"])
    rows_of = [f"{len(own):,}" for own in groups.values()]
    table.attrs["rows"] = dict(zip(groups, rows_of, strict=True))
    return table


def _lines(groups: dict[str, pd.DataFrame], name: str, kind: str) -> dict[str, dict[str, str]]:
    """Cells of each statistic of a column, by group."""
    columns = {group: rows[name].dropna() for group, rows in groups.items()}
    n_missing = f"{int(groups[ALL][name].isna().sum()):,}"
    if kind == "number" and columns[ALL].nunique() > 2:
        lines = _numeric(columns, name)
    elif kind in ("number", "levels"):
        lines = _counts(columns)
    else:
        lines = {"range": {group: _range(values) for group, values in columns.items()}}
    first = next(iter(lines))
    return {**lines, first: {**lines[first], MISSING: n_missing}}


def _numeric(columns: dict[str, pd.Series], name: str) -> dict[str, dict[str, str]]:
    """Mean with standard deviation, median with quartiles."""
    values = {group: numbers(column, name) for group, column in columns.items()}
    places = _decimals(float(np.std(values[ALL], ddof=1)) if len(values[ALL]) > 1 else 0.0)
    means, medians = {}, {}
    for group, rows in values.items():
        if len(rows):
            sd = f" ({np.std(rows, ddof=1):,.{places}f})" if len(rows) > 1 else ""
            low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75])
            means[group] = f"{rows.mean():z,.{places}f}{sd}"
            medians[group] = f"{middle:z,.{places}f} [{low:z,.{places}f}, {high:z,.{places}f}]"
    pair = [rows for group, rows in values.items() if group != ALL]
    if len(pair) == 2 and min(map(len, pair)) > 1:
        spread = math.sqrt(sum(float(np.var(rows, ddof=1)) for rows in pair) / 2.0)
        means |= _difference(float(pair[1].mean() - pair[0].mean()), spread)
    return {"mean (SD)": means, "median [quartiles]": medians}


def _counts(columns: dict[str, pd.Series]) -> dict[str, dict[str, str]]:
    """Count and percentage of each level."""
    counts = columns[ALL].value_counts(sort=not isinstance(columns[ALL].dtype, pd.CategoricalDtype))
    # Levels of a column that are counted one by one; the number of more levels is stated.
    if len(counts) > 20:
        return {"levels": {group: f"{rows.nunique():,}" for group, rows in columns.items()}}
    result = {}
    for level in counts.index:
        shares = {
            group: float((rows == level).mean()) for group, rows in columns.items() if len(rows)
        }
        cells = {
            group: f"{int((columns[group] == level).sum()):,} ({share:.0%})"
            for group, share in shares.items()
        }
        pair = [share for group, share in shares.items() if group != ALL]
        if len(pair) == 2 and len(columns) == 3:
            spread = math.sqrt(sum(share * (1.0 - share) for share in pair) / 2.0)
            cells |= _difference(pair[1] - pair[0], spread)
        result[str(level)] = cells
    return result or {"levels": dict.fromkeys(columns, "0")}


def _range(values: pd.Series) -> str:
    """Smallest and largest value, where they have an order."""
    try:
        return f"{values.min()} to {values.max()}" if len(values) else ""
    except TypeError:
        return ""


def _difference(difference: float, spread: float) -> dict[str, str]:
    """Cell of a standardised difference, where there is a spread."""
    return {DIFFERENCE: f"{difference / spread:.2f}"} if spread > 0.0 else {}


def _decimals(sd: float) -> int:
    """Decimals with which a standard deviation has two significant digits."""
    if not (math.isfinite(sd) and sd > 0.0):
        return 0
    return max(0, 1 - math.floor(math.log10(sd)))
