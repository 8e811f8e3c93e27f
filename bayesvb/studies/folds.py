"""Fold of each row: the same for every model and method."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from jaxtyping import Int

from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowIntegers


def fold_numbers(
    n_rows: int,
    folds: int,
    rng: np.random.Generator,
    *,
    strata: RowIntegers | None = None,
    groups: pd.Series | None = None,
) -> RowIntegers:
    """Number of the fold of every row, from 0; sizes differ by one at most.

    Parameters
    ----------
    n_rows : int
    folds : int
    rng : numpy.random.Generator
    strata : ndarray, optional
        Classes, each of which is spread evenly over the folds.
    groups : pandas.Series, optional
        Rows that stay together; sizes of folds are then sizes of groups.

    Raises
    ------
    DataError
        If there are more folds than rows or groups.

    Examples
    --------
    >>> numbers = fold_numbers(6, 3, np.random.default_rng(1), strata=np.array([0, 0, 0, 1, 1, 1]))
    >>> sorted(numbers[:3].tolist()), sorted(numbers[3:].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    if groups is not None:
        codes, labels = pd.factorize(groups)
        return fold_numbers(_enough(len(labels), folds, "groups"), folds, rng)[codes]
    order = rng.permutation(_enough(n_rows, folds, "rows"))
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    numbers = np.empty(n_rows, dtype=np.int64)
    numbers[order] = np.arange(n_rows) % folds
    return numbers


def splits(
    numbers: RowIntegers, folds: int
) -> Iterator[tuple[Int[np.ndarray, " training"], Int[np.ndarray, " test"]]]:
    """Positions of the training rows and of the held-out rows, fold by fold."""
    for fold in range(folds):
        yield np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)


def _enough(n: int, folds: int, what: str) -> int:
    if n < folds:
        raise DataError(f"folds={folds} is more than the {n} {what}")
    return n
