"""Columns of a matrix which are sums of others; inner products are enough to see that none is.

The Gram matrix of many rows is cheap but loses half of the digits; it can prove independence. Only
if it cannot, a QR decomposition over blocks of rows decides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.numerics.arrays import TermVector

ROWS = 8_192
"""Rows whose products are summed together."""

# Smallest eigenvalue of the correlation matrix above which no column is a sum of others; its
# rounding error is near 1e-15 times the number of columns.

# Part of a column, relative to its length, below which others explain it: what lm() of R takes.
RELATIVE = 1e-7

Matrix = Float[np.ndarray, "rows terms"]


def dependent_columns(
    matrix: Matrix, *, lowest: TermVector, highest: TermVector
) -> dict[int, list[int]]:
    """Each column that is a sum of earlier ones, with those it is a sum of.

    Parameters
    ----------
    matrix : array, shape (rows, terms)
        Finite values of any scale.
    lowest, highest : array, shape (terms,)
        Smallest and largest value of each column.

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> matrix = np.column_stack([np.ones(6), x, 2 * x + 1])
    >>> dependent_columns(matrix, lowest=matrix.min(axis=0), highest=matrix.max(axis=0))
    {2: [1]}
    """
    centre, scale = _units(lowest, highest)
    blocks = [matrix[start : start + ROWS] for start in range(0, len(matrix), ROWS)]
    scaled = (block / scale - centre for block in blocks)
    gram = sum((block.T @ block for block in scaled), np.zeros((len(scale), len(scale))))
    length = np.sqrt(np.diag(gram))
    length[length == 0] = 1.0
    if _exceeds(gram / np.outer(length, length), 1e-9):
        return {}
    triangle = _triangle(block / scale - centre for block in blocks)
    return {j: found for j, found in _sums(triangle) if found}


def _exceeds(matrix: Float[np.ndarray, "terms terms"], bound: float) -> bool:
    """Whether all eigenvalues of a symmetric matrix are above a bound."""
    try:
        np.linalg.cholesky(matrix - bound * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


def _units(lowest: TermVector, highest: TermVector) -> tuple[TermVector, TermVector]:
    """Centre (in units of the scale) and scale of each column; none overflows near 1e308.

    Columns are centred only if one of them is constant, which then takes up the difference.
    """
    largest = np.maximum(np.abs(lowest), np.abs(highest))
    constant: Bool[np.ndarray, " terms"] = (lowest == highest) & (largest > 0)
    half = highest / 2 - lowest / 2
    if not constant.any():
        return np.zeros(len(largest)), np.where(largest > 0, largest, 1.0)
    scale = np.where(lowest == highest, largest, half)
    scale = np.where(scale > 0, scale, 1.0)
    centre = np.where(lowest == highest, 0.0, lowest / 2 / scale + highest / 2 / scale)
    return centre, scale


def _triangle(blocks: Iterator[Matrix]) -> Float[np.ndarray, "rank terms"]:
    """The R of a QR decomposition, one block of rows after the other."""
    triangle = None
    for block in blocks:
        rows = block if triangle is None else np.vstack([triangle, block])
        triangle = np.asarray(np.linalg.qr(rows, mode="r"))
    assert triangle is not None
    return triangle


def _sums(triangle: Float[np.ndarray, "rank terms"]) -> Iterator[tuple[int, list[int]]]:
    """Columns that are sums of independent ones before them, with these."""
    independent: list[int] = []
    length = np.linalg.norm(triangle, axis=0)
    unit = triangle / np.where(length > 0, length, 1.0)
    directions = np.empty_like(triangle)
    for j in np.flatnonzero(length).tolist():
        known = directions[:, : len(independent)]
        rest = unit[:, j] - known @ (known.T @ unit[:, j])
        rest -= known @ (known.T @ rest)  # once more: the first pass leaves rounding behind
        if np.linalg.norm(rest) > RELATIVE:
            directions[:, len(independent)] = rest / np.linalg.norm(rest)
            independent.append(j)
        else:
            weights = np.linalg.lstsq(unit[:, independent], unit[:, j], rcond=None)[0]
            yield j, [independent[i] for i in np.flatnonzero(np.abs(weights) > RELATIVE)]
