r"""Information of rows on the loadings of a factor model once the scores are integrated out.

A row is ``N(mu, C)`` with ``C = W W' + I / tau``. This is invariant under rotations of the scores,
on which rows have no information; the rotation is fixed by the convention that columns are
orthogonal, and the remaining directions have Fisher's information for ``W``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import null_space

from bayesvb.data.statistics import SufficientStats
from bayesvb.numerics.arrays import EntryVector

ANGLE = np.pi**2 / 12.0
"""Variance of the angle of an axis of which nothing is known, but that it has no sign."""

ROUNDING = 1e-13
"""Least information, relative to the largest, that is not rounding where noise all but vanishes."""

GAP = 2.0
"""Standard deviations by which variances along two axes may be closer than they seem; chosen on
simulated data other than in the table of docs/benchmarks."""


@dataclass(frozen=True)
class LoadingsInformation(SufficientStats):
    """Fisher's information of rows on the entries of ``W``, column by column, and the noise.

    Attributes
    ----------
    loadings : ndarray, shape (entries, entries)
    cross : ndarray, shape (entries,)
        With the variance of the noise.
    noise : ndarray, shape (1,)
        Of the variance of the noise.
    """

    loadings: Float[np.ndarray, "entries entries"]
    cross: EntryVector
    noise: Float[np.ndarray, " 1"]

    @classmethod
    def none(cls, n_entries: int) -> LoadingsInformation:
        """Information of no rows."""
        return cls(np.zeros((n_entries, n_entries)), np.zeros(n_entries), np.zeros(1))

    @classmethod
    def of(
        cls,
        inverse: Float[np.ndarray, "dims dims"],
        loadings: Float[np.ndarray, "dims components"],
        n_rows: float,
    ) -> LoadingsInformation:
        r"""Information of rows with a covariance ``C``: ``tr(C^-1 dC C^-1 dC) / 2`` each.

        With ``dC = e_i w_a' + w_a e_i'`` it is ``(C^-1)_ij w_a' C^-1 w_b +
        (C^-1 w_b)_i (C^-1 w_a)_j`` for the entries ``(i, a)`` and ``(j, b)``.

        Parameters
        ----------
        inverse : ndarray
            ``C^-1``, zero where a variable was not observed.
        loadings : ndarray
            Columns of ``W`` in question.
        n_rows : float
            Rows, or their weight.

        References
        ----------
        Magnus, Neudecker (2019), Matrix Differential Calculus, 3rd ed., section 15.4, on the
        information matrix of a normal covariance.
        """
        n_entries = loadings.size
        pulled = inverse @ loadings
        whole = np.kron(loadings.T @ pulled, inverse) + np.einsum(
            "ib,ja->aibj", pulled, pulled
        ).reshape(n_entries, n_entries)
        cross = (inverse @ pulled).T.ravel()
        noise = np.array([0.5 * float((inverse * inverse).sum())])
        return cls(n_rows * whole, n_rows * cross, n_rows * noise)

    def covariance(
        self,
        loadings: Float[np.ndarray, "dims components"],
        precision: Float[np.ndarray, " components"],
        beyond: float,
    ) -> Float[np.ndarray, "entries entries"]:
        """Covariance of the entries of ``W``, its columns kept at right angles.

        Parameters
        ----------
        loadings : ndarray
        precision : ndarray
            Of the entries of each column, by the prior.
        beyond : float
            Variance where columns leave right angles, of which rows say nothing.
        """
        n_dims, n_columns = loadings.shape
        known = self.loadings - np.outer(self.cross, self.cross) / self.noise[0]
        known = known + np.diag(np.repeat(precision, n_dims))
        allowed = np.eye(loadings.size)
        if n_columns > 1:
            allowed = null_space(_right_angles(loadings))
        values, axes = np.linalg.eigh(allowed.T @ known @ allowed)
        axes = allowed @ axes
        out_of_it = beyond * (np.eye(len(allowed)) - allowed @ allowed.T)
        least = ROUNDING * values[-1]
        return np.asarray(axes / np.maximum(values, least) @ axes.T + out_of_it)


def _pairs(
    loadings: Float[np.ndarray, "dims components"],
    upper: Float[np.ndarray, "pairs dims"],
    lower: Float[np.ndarray, "pairs dims"],
) -> Float[np.ndarray, "pairs entries"]:
    """Linear functions of ``W``, one for each pair of columns, from the parts of the two."""
    n_dims, n_columns = loadings.shape
    rows = np.zeros((len(upper), n_columns, n_dims))
    first, second = np.triu_indices(n_columns, 1)
    each = np.arange(len(upper))
    rows[each, first], rows[each, second] = upper, lower
    return rows.reshape(len(upper), loadings.size)


def _right_angles(
    loadings: Float[np.ndarray, "dims components"],
) -> Float[np.ndarray, "pairs entries"]:
    """Changes of the inner products of columns."""
    first, second = np.triu_indices(loadings.shape[1], 1)
    return _pairs(loadings, loadings[:, second].T, loadings[:, first].T)


def _turns(loadings: Float[np.ndarray, "dims components"]) -> Float[np.ndarray, "pairs entries"]:
    """Angles by which columns turn in the plane of each two."""
    first, second = np.triu_indices(loadings.shape[1], 1)
    length = np.sqrt((loadings**2).sum(axis=0))
    size = (2.0 * length[first] * length[second])[:, None]
    return _pairs(loadings, loadings[:, second].T / size, -loadings[:, first].T / size)


def with_doubtful_angles(
    covariance: Float[np.ndarray, "entries entries"],
    loadings: Float[np.ndarray, "dims components"],
    noise: float,
) -> Float[np.ndarray, "entries entries"]:
    r"""The covariance, wider where columns turn into one another.

    Rows inform the angle of two columns by ``N (l_a - l_b)^2 / (l_a l_b)``, with ``l`` the
    variances along them, which are estimated from the same data and tend to be too far apart. The
    gap is reduced by ``GAP`` standard deviations (of squares), its variance ``2 (l_a^2 + l_b^2) /
    N``; and no angle has more variance than an axis that may have any direction.

    References
    ----------
    Anderson (1963), Asymptotic theory for principal component analysis,
    doi:10.1214/aoms/1177704248, section 2 for both variances.
    """
    first, second = np.triu_indices(loadings.shape[1], 1)
    along_axes = (loadings**2).sum(axis=0) + noise
    for a, b, turn in zip(first, second, _turns(loadings), strict=True):
        along = covariance @ turn
        variance = float(turn @ along)
        ratio = along_axes[a] / along_axes[b]
        information = max(1.0 / variance - 2.0 * GAP**2 * (ratio + 1.0 / ratio), 0.0)
        wider = 1.0 / (information + 1.0 / ANGLE)
        covariance = covariance + np.outer(along, along) * ((wider - variance) / variance**2)
    return covariance
