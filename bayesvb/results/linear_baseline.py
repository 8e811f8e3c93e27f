"""Least squares on the terms of the mean part, judged by exact leave-one-out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student

from bayesvb.data.parts import MEAN
from bayesvb.errors import DataError
from bayesvb.results.grouped_baseline import leave_groups_out
from bayesvb.results.units import grouping_of

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

FULL_LEVERAGE = 1.0 - 1e-9
"""Leverage from which a row alone determines a coefficient: nothing predicts it."""


def linear_baseline(fit: AbstractFit) -> Float[np.ndarray, " rows"] | None:
    """Leave-one-out log density of each row under least squares, summed over the responses.

    None if nothing can be left out, or the response is discrete; NaN for a row without which the
    terms cannot be estimated. See ``leave_one_out``. Of a model with groups, that of all rows of
    each group.

    Parameters
    ----------
    fit : Fit
        Of a model with terms and numeric responses; its case weights count.

    Raises
    ------
    DataError
        If the model is no regression of numbers.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> fit = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1).fit(seed=1)
    >>> mean = linear_baseline(fit).mean()
    >>> bool(abs(mean - bvb.evaluation.elpd.read_elpd(fit.loo()).elpd / len(data)) < 0.01)
    True
    """
    return fit.cache.once("linear baseline", lambda: _linear_baseline(fit))


def _linear_baseline(fit: AbstractFit) -> Float[np.ndarray, " rows"] | None:
    """The same, found anew; nothing writes into it."""
    design, response = fit.model.design, fit.model.response
    if response is not None and response.is_discrete:  # its probabilities are no densities
        return None
    if MEAN not in design.matrices or design.levels:
        raise DataError(
            f"a fit of {type(fit.model).__name__} has no linear model beside it",
            hint="fits of numeric responses given terms have, as of DensityRegression",
        )
    grouping, terms = grouping_of(fit.model), design.matrices[MEAN]
    total = np.zeros(design.n_rows if grouping is None else len(grouping.labels))
    for one in fit.model.observed().values():
        one = one if design.offset is None else one - design.offset
        if grouping is None:
            found = leave_one_out(terms, one, fit.model.weights)
        else:
            found = leave_groups_out(terms, one, grouping.number, fit.model.weights)
        if found is None:
            return None
        total += found
    total.flags.writeable = False
    return total


def leave_one_out(
    terms: Float[np.ndarray, "rows terms"],
    response: Float[np.ndarray, " rows"],
    weights: Float[np.ndarray, " rows"] | None = None,
) -> Float[np.ndarray, " rows"] | None:
    r"""Log predictive density of each row given all others, under a linear model.

    With the flat prior on coefficients and log variance the predictive distribution is a Student
    t, so that with leverage h and residual e of the fit to all rows

    .. math:: \frac{e_i}{1 - h_i} \sim
              t_{n-p-1}\Big(0, \frac{s_{(i)}^2}{1 - h_i}\Big), \quad
              s_{(i)}^2 = \frac{\mathrm{RSS} - e_i^2 / (1 - h_i)}{n - p - 1}.

    A row of weight w stands for w rows, of which one is left out.

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
    >>> bool(np.isclose(found[0], student.logpdf(0.0, 2, loc=2.0, scale=np.sqrt(4 / 3))))
    True
    """
    from statsmodels.regression.linear_model import WLS

    given = np.ones(len(response)) if weights is None else weights
    # a unit for the response keeps its squares inside the range of doubles
    unit = float(np.abs(response).max())
    with warnings.catch_warnings():
        # coefficients may be undetermined, but what they predict is not
        warnings.filterwarnings("ignore", "The design matrix is rank-deficient")
        fitted = WLS(response / unit, terms, weights=given).fit()
    inverse = np.asarray(fitted.normalized_cov_params)
    leverage = np.einsum("ij,ij->i", terms @ inverse, terms)
    free = float(given.sum()) - np.linalg.matrix_rank(np.asarray(fitted.model.wexog)) - 1.0
    residual = np.asarray(fitted.resid)
    left = np.where(leverage < FULL_LEVERAGE, 1.0 - leverage, np.nan)
    squares = float(given @ residual**2)
    if free <= 0.0 or squares <= 1e-24 * float(given.sum()):
        return None
    variance = (squares - residual**2 / left) / free
    variance = np.where(variance > 0.0, variance, np.nan)
    scale = np.sqrt(variance / left)
    return np.asarray(student.logpdf(residual / left, free, scale=scale) - np.log(unit))
