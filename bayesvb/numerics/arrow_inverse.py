"""Inverses of large matrices that are diagonal but for a border, as precisions of effects are.

No row has two levels of one factor: their coefficients are independent given all others, and are
eliminated at the cost of the border.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import csr_array

FEWEST_TERMS = 96
"""Terms from which zeros are looked for."""

FEWEST_ALONE = 0.4
"""Share of the terms that are to be independent of each other given the rest."""

WIDE = 24
"""Terms of a border beyond which most of its entries are zero too."""

INDEFINITE = "a matrix is not positive definite"


def independent_terms(
    matrix: Float[np.ndarray, "*batch terms terms"],
) -> Int[np.ndarray, " chosen"] | None:
    """Terms between any two of which all matrices are zero; None where that would be no gain.

    Those with the fewest entries first.

    Examples
    --------
    >>> matrix = np.eye(100)
    >>> matrix[3] = matrix[:, 3] = 1.0
    >>> len(independent_terms(matrix)), independent_terms(np.ones((100, 100))) is None
    (99, True)
    """
    n_terms = matrix.shape[-1]
    if n_terms < FEWEST_TERMS:
        return None
    each = matrix.reshape(-1, n_terms, n_terms)
    if np.count_nonzero(each[0]) > 0.5 * n_terms**2 * (2.0 - FEWEST_ALONE):
        return None
    linked: Bool[np.ndarray, "terms terms"] = (each != 0.0).any(axis=0)
    taken, chosen = np.zeros(n_terms, dtype=bool), []
    for term in np.argsort(np.count_nonzero(linked, axis=1), kind="stable").tolist():
        if not taken[term]:
            chosen.append(term)
            taken |= linked[term]
    enough = len(chosen) >= FEWEST_ALONE * n_terms
    return np.sort(np.array(chosen)) if enough else None


def arrow_inverse(
    matrix: Float[np.ndarray, "terms terms"], alone: Int[np.ndarray, " chosen"]
) -> tuple[Float[np.ndarray, "terms terms"], float]:
    """Inverse and log-determinant of a positive definite matrix, diagonal in these terms.

    What is left without them may have such terms again, as with two effects of each group.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is not positive definite.

    References
    ----------
    Golub, Van Loan (2013), Matrix Computations, section 3.2.11.
    """
    rest = np.setdiff1d(np.arange(len(matrix)), alone)
    diagonal = matrix[alone, alone]
    if not (diagonal > 0.0).all():
        raise np.linalg.LinAlgError(INDEFINITE)
    cross = matrix[np.ix_(rest, alone)]
    share: Any = np.ascontiguousarray((cross / diagonal).T)
    if len(rest) > WIDE:
        share = csr_array(share)
    left = matrix[np.ix_(rest, rest)] - cross @ share
    again = independent_terms(left)
    among, log_det = _inverse(left) if again is None else arrow_inverse(left, again)
    through = share @ among
    block = share @ np.ascontiguousarray(through.T)
    block[np.arange(len(alone)), np.arange(len(alone))] += 1.0 / diagonal
    found = np.empty_like(matrix)
    found[np.ix_(rest, rest)] = among
    found[np.ix_(alone, rest)], found[np.ix_(rest, alone)] = -through, -through.T
    found[np.ix_(alone, alone)] = block
    return found, log_det + float(np.log(diagonal).sum())


def _inverse(
    matrix: Float[np.ndarray, "terms terms"],
) -> tuple[Float[np.ndarray, "terms terms"], float]:
    """Inverse and log-determinant of one positive definite matrix."""
    if not len(matrix):
        return matrix, 0.0
    factor, failed = dpotrf(matrix, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError(INDEFINITE)
    log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
    lower, _ = dpotri(factor, lower=1)
    below = np.tril(lower, -1)
    return below + below.T + np.diag(np.diagonal(lower)), log_det
