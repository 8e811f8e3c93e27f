"""Comparison of fits to weighted rows, which ArviZ does not know."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.case_weights import sum_and_error

SETTLED = 1e-7
"""Log density per row, at most, that the shares give away."""

STEPS = 10_000


def weighted_table(
    pointwise: Mapping[str, Float[np.ndarray, " rows"]], weights: Float[np.ndarray, " rows"]
) -> pd.DataFrame:
    """What ArviZ's table has of it if a row of weight w were w rows.

    Parameters
    ----------
    pointwise : mapping of str to ndarray, shape (rows,)
        Log densities of the rows, the best fit first.
    weights : ndarray, shape (rows,)

    Returns
    -------
    pandas.DataFrame
        Columns elpd_diff, dse and weight, one row per fit.
    """
    density = np.stack(list(pointwise.values()))
    found = [sum_and_error(one, weights, ddof=0) for one in density - density[0]]
    columns = {
        "elpd_diff": [difference for difference, _ in found],
        "dse": [error for _, error in found],
        "weight": stacked(density, weights),
    }
    return pd.DataFrame(columns, index=pd.Index(pointwise, name="name"))


def stacked(
    log_density: Float[np.ndarray, "fits rows"], weights: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, " fits"]:
    """Shares of the mixture of the fits with the largest log score, by expectation-maximisation.

    The score is concave: it cannot rise by more than the log of its largest gradient.

    References
    ----------
    Yao, Vehtari, Simpson, Gelman (2018), Using stacking to average Bayesian predictive
    distributions, doi:10.1214/17-BA1091, equation (4).
    """
    density = np.exp(log_density - log_density.max(axis=0))
    by_row = weights / weights.sum()
    shares = np.full(len(density), 1.0 / len(density))
    for _ in range(STEPS):
        gradient = density @ (by_row / (shares @ density))
        shares = shares * gradient
        if gradient.max() < 1.0 + SETTLED:
            break
    return np.asarray(shares / shares.sum())
