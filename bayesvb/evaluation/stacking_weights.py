"""Comparison and stacking of fits, whose rows may have weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.case_weights import sum_and_error
from bayesvb.numerics.arrays import RowVector


def weighted_table(pointwise: Mapping[str, RowVector], weights: RowVector) -> pd.DataFrame:
    """Columns for ArviZ's table in which a row of weight w counts as w rows.

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
    rows = [sum_and_error(one, weights, ddof=0) for one in density - density[0]]
    columns = {
        "elpd_diff": [difference for difference, _ in rows],
        "dse": [error for _, error in rows],
        "weight": stacking_weights(density, weights),
    }
    return pd.DataFrame(columns, index=pd.Index(pointwise, name="name"))


def stacking_weights(
    log_density: Float[np.ndarray, "members rows"],
    row_weights: RowVector | None = None,
    *,
    prior_rows: float = 0.0,
) -> Float[np.ndarray, " members"]:
    r"""Weights of the mixture of predictive distributions with the largest held-out density.

    .. math:: \max_w \sum_n \log \sum_s w_s p_s(y_n \mid y_{-n}) + \lambda \sum_s \log w_s,
        \quad w \ge 0, \sum_s w_s = 1.

    The problem is concave. The second term, if there is one, is the log density of a Dirichlet
    distribution, all of whose concentrations are ``1 + \lambda``: the maximum is that a posteriori.

    Parameters
    ----------
    log_density : ndarray, shape (members, rows)
        Held-out log density of each row under each member.
    row_weights : ndarray, shape (rows,), optional
        Case weights.
    prior_rows : float
        ``\lambda``: equivalent to this number of further rows for each member, which it alone
        predicts.

    Returns
    -------
    ndarray, shape (members,)

    References
    ----------
    Yao, Vehtari, Simpson, Gelman (2018), Using stacking to average Bayesian predictive
    distributions, Bayesian Analysis 13(3), doi:10.1214/17-BA1091, eq. 4.

    Examples
    --------
    >>> stacking_weights(np.log([[0.5, 0.5], [0.1, 0.1]])).round(3).tolist()
    [1.0, 0.0]
    >>> stacking_weights(np.log([[0.5, 0.5], [0.1, 0.1]]), prior_rows=1.0).round(2).tolist()
    [0.71, 0.29]
    """
    from scipy.optimize import minimize

    n_members = len(log_density)
    density = np.exp(log_density - log_density.max(axis=0))
    share = np.ones(density.shape[1]) if row_weights is None else row_weights
    if prior_rows > 0.0:
        density = np.concatenate([density, np.eye(n_members)], axis=1)
        share = np.concatenate([share, np.full(n_members, prior_rows)])
    least = prior_rows / share.sum()  # no weight at the maximum is less
    rest = 1.0 - n_members * least
    share = share / share.sum()

    def loss(parts: np.ndarray) -> tuple[float, np.ndarray]:
        mixed = np.maximum((least + rest * parts) @ density, np.finfo(float).tiny)
        return -float(share @ np.log(mixed)), -rest * (density @ (share / mixed))

    even = np.full(n_members, 1.0 / n_members)
    optimum = minimize(
        loss,
        even,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n_members,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    weights = least + rest * np.clip(optimum.x, 0.0, None)
    return np.asarray(weights / weights.sum())
