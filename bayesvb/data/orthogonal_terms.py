"""Columns of terms, orthogonal to the columns of their margins and to each other.

A term is marginal to another one that reads its variables and more: ``a`` and ``b`` to ``a:b``,
``x`` to ``I(x**2)``. A prior on the coefficients of the columns as they stand depends on where
variables are zero and on which level is the reference. A prior on the part of the columns that the
margins do not explain, in an orthonormal basis, depends on neither: another zero, unit or reference
level adds columns of the margins, and turns the basis.

References
----------
Nelder (1977), A reformulation of linear models, Journal of the Royal Statistical Society A 140(1),
section 2.2 (marginality), doi:10.2307/2344517. Bjorck (1996), Numerical Methods for Least Squares
Problems, section 2.4 (Gram-Schmidt with reorthogonalisation), doi:10.1137/1.9781611971484.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

ROUNDING = 1e-13
"""Share of a column in a combination, relative to the largest, that is rounding."""

Basis = Float[np.ndarray, "columns columns"]

Part = Float[np.ndarray, "_ _"]


@dataclass(frozen=True)
class OrthogonalTerm:
    """Columns of a term that get an orthonormal basis, less what its margins explain.

    Attributes
    ----------
    columns : tuple of int
        Places in the design matrix, ascending.
    margins : tuple of int
        Places of the columns of all terms that are marginal to it, ascending.
    """

    columns: tuple[int, ...]
    margins: tuple[int, ...]


def orthogonal_basis(
    root: Float[np.ndarray, "_ columns"],
    terms: Sequence[OrthogonalTerm],
    smallest: Float[np.ndarray, " columns"],
) -> Basis:
    """Combinations of columns, one for each, of which the terms' combinations are orthogonal.

    Parameters
    ----------
    root : ndarray, shape (_, columns)
        ``root' root`` are the mean products of the columns over the rows.
    terms : sequence of OrthogonalTerm
        Each behind its margins.
    smallest : ndarray, shape (columns,)
        Root mean square of a combination at which it is rounding. Such a combination, zero in all
        rows, keeps its unit: only the prior says something of its coefficient.

    Examples
    --------
    >>> root = np.array([[1.0, 2.0], [0.0, 4.0]])
    >>> orthogonal_basis(root, [OrthogonalTerm((1,), (0,))], np.zeros(2)).tolist()
    [[1.0, -0.5], [0.0, 0.25]]
    """
    basis = np.eye(root.shape[1], order="F")
    root = root[root.any(axis=1)]  # as many as there are data, if these are fewer than columns
    varies = np.abs(root).max(axis=0, initial=0.0) > 0.0
    for term in terms:
        margins = np.array(term.margins, dtype=int)
        # Combinations of levels without rows are zero: most of the columns of a wide interaction.
        columns = np.array([j for j in term.columns if varies[j]], dtype=int)
        # Only these rows of the basis are not zero, of thousands in a wide formula.
        rows = np.flatnonzero(basis[:, np.append(margins, columns)].any(axis=1))
        part = basis[np.ix_(rows, columns)]
        image = root[:, rows]
        _remove_margins(part, image, basis[np.ix_(rows, margins)])
        _orthogonalise(part, image, smallest[columns])
        basis[np.ix_(rows, columns)] = part
    # Columns that are zero in most rows, each level its own, keep their zeros.
    basis[np.abs(basis) < ROUNDING * np.abs(basis).max(axis=0, initial=0.0)] = 0.0
    return np.ascontiguousarray(basis)


def _remove_margins(own: Part, root: Part, margins: Part) -> None:
    """Subtract from the columns of a term their regression on its margins (in place)."""
    if not margins.size:
        return
    known = root @ margins
    for _ in range(2):  # powers far from zero leave a millionth of themselves, and rounding of it
        explained = np.linalg.lstsq(known, root @ own, rcond=None)[0]
        own -= margins @ explained


def _orthogonalise(own: Part, root: Part, smallest: Float[np.ndarray, " own"]) -> None:
    """Make columns orthogonal to those before them, with mean square one (in place)."""
    count = 0
    units, before = np.zeros((len(root), own.shape[1])), np.zeros_like(own)
    for place, column in enumerate(own.T):
        for _ in range(2):
            shares = units[:, :count].T @ (root @ column)
            column -= before[:, :count] @ shares
        rest = root @ column
        size = float(np.linalg.norm(rest))
        if size > smallest[place]:
            column /= size
            units[:, count], before[:, count] = rest / size, column
            count += 1
