"""Inverses of many matrices at once that are diagonal but for one border, the same in all.

Where only few vectors are multiplied with each inverse, it is not made: ``inverse_products``.

Precisions of effects of groups with some rows left out are such: one matrix for each row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

Matrices = Float[np.ndarray, "*batch terms terms"]

FEWEST_TERMS = 16
"""Terms from which a border is looked for."""

FEWEST_MATRICES = 16
"""Matrices from which it is: fewer are inverted as they are."""

WIDEST = 0.25
"""Share of the terms that the border may have."""


def border_of(matrix: Matrices) -> Int[np.ndarray, " border"] | None:
    """Terms without which all matrices are diagonal; None where that would be no gain.

    Examples
    --------
    >>> matrix = np.tile(np.eye(20), (16, 1, 1))
    >>> matrix[:, 3] = matrix[:, :, 3] = 0.1
    >>> border_of(matrix), border_of(np.ones((16, 20, 20))) is None
    (array([3]), True)
    """
    n_terms = matrix.shape[-1]
    each = matrix.reshape(-1, n_terms, n_terms)
    if n_terms < FEWEST_TERMS or len(each) < FEWEST_MATRICES:
        return None
    if np.count_nonzero(each[0]) > 2.0 * WIDEST * n_terms**2:
        return None
    return _border((each != 0.0).any(axis=0))


def border_of_packed(packed: Float[np.ndarray, "*batch pairs"]) -> Int[np.ndarray, " _"] | None:
    """The same of packed lower triangles, however few; whatever is on the diagonals.

    Examples
    --------
    >>> packed = np.zeros((2, 136))
    >>> packed[0, -16:] = 0.1
    >>> border_of_packed(packed), border_of_packed(np.ones((2, 136))) is None
    (array([15]), True)
    """
    n_terms = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2 + 0.5)
    if n_terms < FEWEST_TERMS:
        return None
    present = np.asarray(packed.reshape(-1, packed.shape[-1]).any(axis=0))
    if np.count_nonzero(present) > 2.0 * WIDEST * len(present):
        return None
    every = np.arange(n_terms)
    linked = present[_packed_place(every[:, None], every)]
    linked[every, every] = True
    return _border(linked)


def _border(linked: Bool[np.ndarray, "terms terms"]) -> Int[np.ndarray, " _"] | None:
    """Terms without which this pattern is diagonal; None where that would be no gain."""
    n_terms = len(linked)
    wide = np.count_nonzero(linked, axis=1) > 0.5 * n_terms
    rest = ~wide
    alone = np.count_nonzero(linked[np.ix_(rest, rest)]) <= np.count_nonzero(rest)
    return np.flatnonzero(wide) if alone and 0.0 < wide.mean() <= WIDEST else None


def bordered_inverse(
    matrix: Matrices,
    border: Int[np.ndarray, " border"],
    inverse_and_log_det: Callable[[Matrices], tuple[Matrices, Float[np.ndarray, "*batch"]]],
) -> tuple[Matrices, Float[np.ndarray, "*batch"]]:
    r"""Inverses and log-determinants of matrices that are diagonal without the border.

    With ``D`` the diagonal, ``C`` the rows of the border and ``S`` what the border has less
    :math:`C D^{-1} C'`, the inverse is :math:`D^{-1}` plus :math:`W S^{-1} W'`, where ``W`` is the
    identity in the border and :math:`-D^{-1} C'` elsewhere.

    Parameters
    ----------
    matrix : ndarray, shape (..., terms, terms)
        Positive definite.
    border : ndarray, shape (border,)
    inverse_and_log_det : callable
        The same of ``S``.

    Raises
    ------
    numpy.linalg.LinAlgError
        A matrix is not positive definite.

    References
    ----------
    Golub, Van Loan (2013), Matrix Computations, section 3.2.11.
    """
    n_terms = matrix.shape[-1]
    alone = np.setdiff1d(np.arange(n_terms), border)
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)[..., alone]
    if not (diagonal > 0.0).all():
        raise np.linalg.LinAlgError("a matrix is not positive definite")
    columns = matrix[..., border]
    cross = columns[..., alone, :]
    through = np.zeros(columns.shape)
    through[..., alone, :] = cross / -diagonal[..., None]
    through[..., border, np.arange(len(border))] = 1.0
    left = columns[..., border, :] + _transposed(cross) @ through[..., alone, :]
    among, log_det = inverse_and_log_det(left)
    found = (through @ among) @ _transposed(through)
    found[..., alone, alone] += 1.0 / diagonal
    return found, np.asarray(log_det + np.log(diagonal).sum(axis=-1))


def inverse_products(
    packed: Float[np.ndarray, "*batch pairs"],
    added: Float[np.ndarray, "*added terms"],
    vectors: Float[np.ndarray, "*batch vectors terms"],
    border: Int[np.ndarray, " border"],
) -> Float[np.ndarray, "*batch vectors vectors"]:
    r"""``u' A^-1 v`` of some vectors of each matrix ``A``, diagonal without the border.

    With ``D`` the diagonal, ``C`` the rows of the border and ``S`` what the border has less
    :math:`C D^{-1} C'`, they are :math:`u_D' D^{-1} v_D + \tilde u' S^{-1} \tilde v`, where
    :math:`\tilde u` is what ``u`` has in the border less :math:`C D^{-1} u_D`.

    Parameters
    ----------
    packed : ndarray, shape (..., pairs)
        Lower triangles of the matrices, packed.
    added : ndarray, shape (..., terms)
        What is added to their diagonals; leading axes broadcast.
    vectors : ndarray, shape (..., vectors, terms)
    border : ndarray, shape (border,)

    Raises
    ------
    numpy.linalg.LinAlgError
        A matrix is not positive definite.

    References
    ----------
    Golub, Van Loan (2013), Matrix Computations, section 3.2.11.
    """
    n_terms = vectors.shape[-1]
    alone = np.setdiff1d(np.arange(n_terms), border)
    diagonal = packed[..., _packed_place(alone, alone)] + added[..., alone]
    if not (diagonal > 0.0).all():
        raise np.linalg.LinAlgError("a matrix is not positive definite")
    cross = packed[..., _packed_place(border[:, None], alone)]
    through = cross / diagonal[..., None, :]
    left = packed[..., _packed_place(border[:, None], border)] - through @ _transposed(cross)
    at = np.arange(len(border))
    left[..., at, at] += added[..., border]
    outer = vectors[..., alone]
    inner = vectors[..., border] - outer @ _transposed(through)
    half = np.linalg.solve(np.linalg.cholesky(left), np.swapaxes(inner, -1, -2))
    found = (outer / diagonal[..., None, :]) @ _transposed(outer)
    return np.asarray(found + _transposed(half) @ half)


def _packed_place(
    first: Int[np.ndarray, "..."], second: Int[np.ndarray, "..."]
) -> Int[np.ndarray, "..."]:
    """Places of entries in packed lower triangles."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.asarray(high * (high + 1) // 2 + low)


def _transposed(matrix: Float[np.ndarray, "*batch _ _"]) -> Float[np.ndarray, "*batch _ _"]:
    """Copies: products with views of other strides go number by number."""
    return np.ascontiguousarray(np.swapaxes(matrix, -1, -2))
