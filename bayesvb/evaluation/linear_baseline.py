"""Least squares as a baseline: exact leave-one-out densities of rows, or of groups of rows."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from bayesvb.numerics.arrays import RowIntegers, RowVector
from bayesvb.numerics.linalg import products, unpack
from bayesvb.numerics.pieces import IN_MEMORY
from bayesvb.numerics.segments import segment_sums

FULL_LEVERAGE = 1.0 - 1e-9
"""Leverage from which a row alone determines a coefficient: nothing predicts it."""


def leave_one_out(
    terms: Float[np.ndarray, "rows terms"], response: RowVector, weights: RowVector | None = None
) -> RowVector | None:
    r"""Log predictive density of each row given all others, under a linear model.

    With the flat prior on coefficients and log variance the predictive distribution is a Student
    t, so that with leverage h and residual e of the fit to all rows

    .. math:: \frac{e_i}{1 - h_i} \sim
              t_{n-p-1}\Big(0, \frac{s_{(i)}^2}{1 - h_i}\Big), \quad
              s_{(i)}^2 = \frac{\mathrm{RSS} - e_i^2 / (1 - h_i)}{n - p - 1}.

    A row of weight w represents w rows, of which one is held out.

    Parameters
    ----------
    terms : array, shape (rows, terms)
        A column of ones among them, if the model is to have an intercept.
    response : array, shape (rows,)
    weights : array, shape (rows,), optional
        Case weights.

    Returns
    -------
    array, shape (rows,), or None
        NaN for a row without which the terms cannot be estimated. None without a degree of freedom
        to spare, or if the terms explain the response completely.

    References
    ----------
    Cook, Weisberg (1982), Residuals and Influence in Regression, eqs 2.1.7 to 2.1.9.

    Examples
    --------
    >>> ones = np.ones((4, 1))
    >>> found = leave_one_out(ones, np.array([0.0, 1.0, 2.0, 3.0]))
    >>> scale = np.sqrt(4 / 3)  # three other rows, 1, 2 and 3, with mean 2 and variance 1
    >>> bool(np.isclose(found[0], student_log_density(np.array([2 / scale]), 2)[0] - np.log(scale)))
    True
    """
    given = np.ones(len(response)) if weights is None else weights
    # a unit for the response keeps its squares inside the range of doubles
    unit = float(np.abs(response).max())
    scaled = response / unit
    weighted = terms * np.sqrt(given)[:, None]
    # coefficients may be undetermined, but what they predict is not
    inverse = np.linalg.pinv(weighted)
    leverage = np.einsum("ij,ij->i", terms @ (inverse @ inverse.T), terms)
    free = float(given.sum()) - np.linalg.matrix_rank(weighted) - 1.0
    residual = scaled - terms @ (inverse @ (scaled * np.sqrt(given)))
    left = np.where(leverage < FULL_LEVERAGE, 1.0 - leverage, np.nan)
    squares = float(given @ residual**2)
    if free <= 0.0 or squares <= 1e-24 * float(given.sum()):
        return None
    variance = (squares - residual**2 / left) / free
    variance = np.where(variance > 0.0, variance, np.nan)
    scale = np.sqrt(variance / left)
    return student_log_density(residual / left / scale, free) - np.log(scale * unit)


def student_log_density(z: RowVector, dof: float) -> RowVector:
    """Log density of the Student t distribution.

    Examples
    --------
    >>> student_log_density(np.zeros(1), 1.0).round(4)  # Cauchy: 1 / pi
    array([-1.1447])
    """
    constant = gammaln(0.5 * (dof + 1.0)) - gammaln(0.5 * dof) - 0.5 * np.log(np.pi * dof)
    return np.asarray(constant - 0.5 * (dof + 1.0) * np.log1p(z * z / dof))


SMALLEST = 1e-10
"""Relative size of a direction of the terms that is rounding."""


def leave_groups_out(
    terms: Float[np.ndarray, "rows terms"],
    response: RowVector,
    number: RowIntegers,
    weights: RowVector | None = None,
) -> Float[np.ndarray, " groups"] | None:
    r"""Log predictive density of all rows of each group given the others, under a linear model.

    With the flat prior on coefficients and log variance it is a multivariate Student t, the ratio
    for all rows and the remaining ones of

    .. math:: \Gamma\Big(\frac{n - p}{2}\Big)\, |X'X|^{-1/2}\, (\pi\, \mathrm{RSS})^{-(n-p)/2}.

    A group of weight w represents w groups, of which one is held out.

    Parameters
    ----------
    terms : array, shape (rows, terms)
    response : array, shape (rows,)
    number : array, shape (rows,)
        Group of each row, from 0.
    weights : array, shape (rows,), optional
        Case weights, the same within a group.

    Returns
    -------
    array, shape (groups,), or None
        NaN for a group without which the terms cannot be estimated. None without a degree of
        freedom to spare, or if the terms explain the response completely.

    References
    ----------
    Gelman and others (2013), Bayesian Data Analysis, section 14.2.

    Examples
    --------
    >>> found = leave_groups_out(np.ones((4, 1)), np.array([0.0, 1.0, 2.0, 3.0]), np.arange(4))
    >>> from scipy.stats import t
    >>> bool(np.isclose(found[0], t.logpdf(0.0, 2, loc=2.0, scale=np.sqrt(4 / 3))))
    True
    """
    given = np.ones(len(response)) if weights is None else weights
    unit = float(np.abs(response).max()) or 1.0
    root = np.sqrt(given)[:, None]
    _, size, axes = np.linalg.svd(root * terms, full_matrices=False)
    kept = size > SMALLEST * size[0]
    basis = terms @ (axes[kept].T / size[kept])
    residual = response / unit - basis @ (basis.T @ (given * response / unit))
    squares, total = float(given @ residual**2), float(given.sum())
    n_groups, n_terms = int(number.max()) + 1, int(kept.sum())
    rows = np.bincount(number, minlength=n_groups)
    lowest, log_det, pull = _without_each(basis, residual, number, rows)
    known = (lowest > SMALLEST) & (total - rows - n_terms > 0.0)
    if not known.any() or squares <= 1e-24 * total:
        return None
    left = squares - np.bincount(number, residual**2, n_groups) - pull
    known &= left > 0.0
    before, after = 0.5 * (total - n_terms), 0.5 * (total - rows - n_terms)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_density = gammaln(before) - gammaln(after) - 0.5 * rows * np.log(np.pi)
        log_density += 0.5 * log_det - before * np.log(squares) + after * np.log(left)
    return np.where(known, log_density - rows * np.log(unit), np.nan)


def _without_each(
    basis: Float[np.ndarray, "rows terms"],
    residual: RowVector,
    number: RowIntegers,
    rows: Int[np.ndarray, " groups"],
) -> Float[np.ndarray, "3 groups"]:
    """Smallest eigenvalue and log determinant of moments without each group, and squares gained.

    Moments of all rows are the identity; groups go by in batches.
    """
    order, ends = np.argsort(number, kind="stable"), np.cumsum(rows)
    n_terms = basis.shape[1]
    parts = []
    most = max(IN_MEMORY // n_terms**2, 1)
    for batch in np.array_split(np.arange(len(rows)), -(-len(number) // most)):
        if not len(batch):
            continue
        members = order[ends[batch[0]] - rows[batch[0]] : ends[batch[-1]]]
        starts = ends[batch] - rows[batch] - (ends[batch[0]] - rows[batch[0]])
        x = np.ascontiguousarray(basis[members].T)
        rest = np.eye(n_terms) - unpack(np.moveaxis(segment_sums(products(x), starts), -1, 0))
        cross = segment_sums(x * residual[members], starts).T
        lowest = np.linalg.eigvalsh(rest)[:, 0]
        safe = np.where(lowest[:, None, None] > SMALLEST, rest, np.eye(n_terms))
        solved = np.linalg.solve(safe, cross[:, :, None])[:, :, 0]
        parts.append([lowest, np.linalg.slogdet(safe)[1], (cross * solved).sum(axis=1)])
    return np.concatenate(parts, axis=1)
