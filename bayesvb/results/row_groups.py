"""Groups of the rows of a fit (subjects, sites, blocks, clusters), and an order of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from bayesvb.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.formula.design import Design


def group_numbers(groups: object, design: Design, *, name: str) -> Int[np.ndarray, " rows"]:
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
        If the column is not kept, the number of labels is that of no rows, a label is missing, or
        there is one group only.
    """
    import pandas as pd

    labels = _labels(groups, design, name=name)
    if labels.isna().any():
        raise DataError(
            f"{name} has {int(labels.isna().sum())} missing labels",
            hint="give these rows a label of their own",
        )
    numbers, found = pd.factorize(labels)
    if len(found) < 2:
        raise DataError(
            f"{name} has one label for all rows: {found[0]!r}",
            hint="nothing is left without this group; two groups are needed",
        )
    return np.asarray(numbers, dtype=np.intp)


def row_order(order: object, design: Design, *, name: str) -> Int[np.ndarray, " rows"]:
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
        If the column is not kept, the number of values is that of no rows, or values cannot be
        sorted.
    """
    values = _labels(order, design, name=name)
    if values.isna().any():
        raise DataError(
            f"{name} has {int(values.isna().sum())} missing values",
            hint="an order needs one value per row; leave these rows out of the data",
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
    import pandas as pd

    if isinstance(given, str):
        if given not in design.frame.columns:
            raise DataError(
                f"{name}={given!r} is no column that the formula reads, and no other is kept",
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
