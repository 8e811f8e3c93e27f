"""What our predictive distributions are measured against, each with the design of our formula."""

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats
from statsmodels.nonparametric.kernel_density import KDEMultivariateConditional

from bayesvb import DensityRegression

LEAST_DENSITY = 1e-10
"""Per standard deviation; smaller densities of the kernels count as this, which favours them."""


def both_designs(model: DensityRegression, test: pd.DataFrame) -> tuple[np.ndarray, ...]:
    """Columns and response of the rows of the model, and of other rows."""
    rows = model.rows(test, response=True)
    return (
        np.asarray(model.design.matrices["mean"]),
        np.ravel(model.design.response),
        np.asarray(rows.matrices["mean"]),
        np.ravel(rows.response),
    )


def least_squares(
    model: DensityRegression, test: pd.DataFrame, probs: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Log density and quantiles of Gaussian least squares: Student's t with n - p degrees."""
    x, y, new, observed = both_designs(model, test)
    beta, _, rank, _ = np.linalg.lstsq(x, y)
    dof = len(y) - rank
    variance = ((y - x @ beta) ** 2).sum() / dof
    leverage = ((new @ np.linalg.pinv(x)) ** 2).sum(axis=1)
    law = stats.t(dof, new @ beta, np.sqrt(variance * (1.0 + leverage)))
    return law.logpdf(observed), law.ppf(np.reshape(probs, (-1, 1)))


def quantile_regression(
    model: DensityRegression, test: pd.DataFrame, probs: Sequence[float]
) -> np.ndarray:
    """Quantiles of statsmodels' quantile regression, each fitted by itself."""
    x, y, new, _ = both_designs(model, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations: the last one is taken
        return np.stack([new @ sm.QuantReg(y, x).fit(q=q, max_iter=2000).params for q in probs])


def kernel_density(model: DensityRegression, test: pd.DataFrame) -> np.ndarray:
    """Log of the kernel conditional density of Li and Racine, bandwidths by likelihood."""
    train, names, kinds = model.design.frame, model.design.covariates, ""
    columns: list[list[np.ndarray]] = [[], []]
    for name in names:
        is_text = not pd.api.types.is_numeric_dtype(train[name])
        levels = pd.Index(train[name].unique())
        for given, frame in zip(columns, (train, test), strict=True):
            values = levels.get_indexer(frame[name]) if is_text else frame[name]
            given.append(np.asarray(values, dtype=float))
        kinds += "u" if is_text else "c"
    _, y, _, observed = both_designs(model, test)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = KDEMultivariateConditional([y], columns[0], "c", kinds, "cv_ml")
        density = found.pdf([observed], np.stack(columns[1], axis=1))
    least = LEAST_DENSITY / y.std()
    return np.log(np.fmax(np.nan_to_num(density, nan=0.0), least))
