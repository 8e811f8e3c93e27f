"""Many small symmetric matrices at a time, each entry a vector over all of them.

A stack of ``h x h`` matrices is its packed lower triangle with the stack on the last axes,
``(h (h + 1) / 2, ...)``. One step of elimination is then a handful of long vector operations, and
a whole inverse takes about ``h^3`` of them, where LAPACK would be called once per matrix.

A linear system carries its right side as one more row of the triangle, the border: the triangle of
``[[P, b], [b', .]]`` holds ``P`` first and then ``b`` and one entry that is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import Floats


def row_of(triangle: Float[np.ndarray, "pairs ..."], i: int) -> Float[np.ndarray, "_ ..."]:
    """Entries ``(i, 0)`` to ``(i, i)``, a view."""
    start = i * (i + 1) // 2
    return triangle[start : start + i + 1]


def diagonal_numbers(size: int) -> list[int]:
    """Indices of the diagonal entries in a packed triangle."""
    return [i * (i + 3) // 2 for i in range(size)]


def solve_and_invert(
    bordered: Float[np.ndarray, "pairs ..."], size: int
) -> Float[np.ndarray, "terms ..."]:
    """Pivots of the elimination; in place ``[[P, b], [b', .]]`` becomes ``[[P^-1, P^-1 b], ...]``.

    The sweep operator, without pivoting, which positive definite matrices do not need. The product
    of the pivots is the determinant. The last entry of the border is left alone; a triangle
    without border (``size`` rows) is inverted all the same.

    Parameters
    ----------
    bordered : ndarray, shape (pairs, ...)
        Packed triangle of ``size`` or ``size + 1`` rows, overwritten.
    size : int
        Number of rows of ``P``.

    Raises
    ------
    numpy.linalg.LinAlgError
        A matrix is not positive definite.

    References
    ----------
    Goodnight (1979), A tutorial on the SWEEP operator, The American Statistician 33, 149-158,
    section 3.

    Examples
    --------
    >>> triangle = np.array([[2.0], [1.0], [1.0], [3.0], [2.0], [0.0]])
    >>> solve_and_invert(triangle, 2).ravel()
    array([2. , 0.5])
    >>> triangle.ravel()
    array([ 1., -1.,  2.,  1.,  1.,  0.])
    """
    entries = list(bordered)
    pivots = np.empty((size, *bordered.shape[1:]))
    scratch = np.empty((2, *bordered.shape[1:]))
    n_rows = round((np.sqrt(8 * len(entries) + 1) - 1) / 2)
    arrays = [*entries, *pivots, *scratch, 1.0, -1.0]
    for operation, first, second, result in _sweep_steps(size, n_rows):
        operation(arrays[first], arrays[second], arrays[result])
    if not pivots.min(initial=np.inf) > 0.0:
        raise np.linalg.LinAlgError("a small matrix is not positive definite")
    return pivots


Step = tuple[np.ufunc, int, int, int]
"""An operation, the positions of its two arguments and of its result."""

PRODUCT, MULTIPLIER, ONE, MINUS_ONE = -4, -3, -2, -1
"""Positions after the entries and the pivots."""


@lru_cache(maxsize=64)
def _sweep_steps(size: int, n_rows: int) -> tuple[Step, ...]:
    """The steps of ``solve_and_invert``, made once: they take as long as steps of short arrays."""
    n_entries = n_rows * (n_rows + 1) // 2
    steps: list[Step] = []
    for k in range(size):
        pivot = _place(k, k)
        steps.append((np.multiply, pivot, ONE, n_entries + k))
        steps.append((np.divide, ONE, pivot, pivot))
        for i in range(size, n_rows):  # the border, whose own entry of the column none needs
            at = _place(i, k)
            steps.append((np.multiply, at, pivot, at))
            steps += _elimination(i, range(size), k, at, np.subtract)
        for i in reversed(range(size)):
            if i != k:
                at, add = _place(i, k), np.add if i < k else np.subtract
                steps.append((np.multiply, at, pivot, MULTIPLIER))
                steps += _elimination(i, range(i + 1), k, MULTIPLIER, add)
                steps.append((np.multiply, MULTIPLIER, MINUS_ONE if i < k else ONE, at))
    return tuple(steps)


def _place(i: int, j: int) -> int:
    """Index of an entry in a packed triangle, from either side of the diagonal."""
    return max(i, j) * (max(i, j) + 1) // 2 + min(i, j)


def _elimination(i: int, columns: range, k: int, multiplier: int, add: np.ufunc) -> Iterator[Step]:
    """Add a multiple of row ``k`` to row ``i``, or subtract it, except in column ``k``."""
    for j in columns:
        if j != k:
            yield np.multiply, _place(j, k), multiplier, PRODUCT
            yield add, _place(i, j), PRODUCT, _place(i, j)


Entries = list[Floats]


def _entries(triangle: Float[np.ndarray, "pairs ..."]) -> list[Entries]:
    """Every entry of the triangle as a view, row by row."""
    flat = list(triangle)
    starts = [0, *(at + 1 for at in diagonal_numbers(len(flat)) if at < len(flat))]
    return [flat[start:stop] for start, stop in pairwise(starts)]


def solve(bordered: Float[np.ndarray, "pairs ..."], size: int) -> Float[np.ndarray, "terms ..."]:
    """Pivots of the elimination; in place the border ``b`` becomes ``P^-1 b``.

    A third of the work of ``solve_and_invert``. The triangle is left as ``L D`` of the factors
    ``L D L'``.

    Raises
    ------
    numpy.linalg.LinAlgError
        A matrix is not positive definite.
    """
    rows = _entries(bordered)
    product = np.empty(bordered.shape[1:])
    for k in range(size):
        for i in range(k + 1, size + 1):
            share = rows[i][k] / rows[k][k]
            for j in range(k + 1, min(i + 1, size)):
                np.multiply(share, rows[j][k], out=product)
                np.subtract(rows[i][j], product, out=rows[i][j])
    border = rows[size]
    for k in reversed(range(size)):
        for i in range(k + 1, size):
            np.multiply(rows[i][k], border[i], out=product)
            np.subtract(border[k], product, out=border[k])
        np.divide(border[k], rows[k][k], out=border[k])
    pivots = bordered[diagonal_numbers(size)]
    if not pivots.min(initial=np.inf) > 0.0:
        raise np.linalg.LinAlgError("a small matrix is not positive definite")
    return pivots


def log_det(pivots: Float[np.ndarray, "terms ..."]) -> Floats:
    """Log-determinants from the pivots of ``solve_and_invert``."""
    first, *others = np.log(pivots)
    for logs in others:
        first += logs
    return np.asarray(first)


def add_outer(bordered: Float[np.ndarray, "pairs ..."], size: int) -> None:
    """Replace ``[[S, m], [m', .]]`` in place by ``E[u u']`` of ``u = [x, 1]``, ``x ~ N(m, S)``."""
    mean = row_of(bordered, size)
    mean[size] = 1.0
    product = np.empty_like(mean)
    for i in range(size):
        np.multiply(mean[: i + 1], mean[i], out=product[: i + 1])
        row = row_of(bordered, i)
        row += product[: i + 1]
