"""Means of scores over held-out rows, and their standard errors."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.case_weights import sum_and_error

Scored = Float[np.ndarray, "repeats rows"]
"""Scores of the same rows in each repetition; NaN where a fit failed."""


def mean_and_error(scores: Scored, clusters: Int[np.ndarray, " rows"]) -> tuple[float, float, int]:
    r"""Mean over rows, its standard error, and the number of rows.

    A row's score is first averaged over the repetitions, which are of the same row and no new
    information. Rows of one cluster may be alike: with the deviations summed by cluster,
    :math:`u_g = \sum_{i \in g} (s_i - \bar s)`,

    .. math:: \mathrm{se}^2 = \frac{G}{G - 1} \sum_g u_g^2 / n^2,

    which is the usual one if every row is its own cluster. It describes new rows from the same
    population predicted by these fits: it excludes the variation with other training rows.

    References
    ----------
    Vehtari, Gelman, Gabry (2017), doi:10.1007/s11222-016-9696-4, section 5, for rows. Cameron,
    Miller (2015), A practitioner's guide to cluster-robust inference, Journal of Human Resources
    50(2), for clusters.

    Examples
    --------
    >>> mean, error, n = mean_and_error(np.array([[1.0, 2.0, 3.0]]), np.array([0, 1, 2]))
    >>> round(mean, 3), round(error, 3), n
    (2.0, 0.577, 3)
    """
    counted = (~np.isnan(scores)).sum(axis=0)
    there = counted > 0
    n = int(there.sum())
    if n == 0:
        return float("nan"), float("nan"), 0
    each = np.nansum(scores[:, there], axis=0) / counted[there]
    mean = float(each.mean())
    if not np.isfinite(mean):
        return mean, float("nan"), n
    sums = np.bincount(clusters[there], each - mean)[np.unique(clusters[there])]
    return mean, sum_and_error(sums)[1] / n, n


def resampled_error(scores: Scored, folds: Int[np.ndarray, "repeats rows"]) -> float:
    r"""Standard error of the mean that other training rows are part of.

    From the variance s² of the means of the J folds of all repetitions, whose training rows
    overlap, corrected as if folds were random splits:

    .. math:: \mathrm{se}^2 = s^2 \left( \frac 1J +
              \frac{n_\mathrm{test}}{n_\mathrm{training}} \right).

    References
    ----------
    Nadeau, Bengio (2003), Inference for the generalization error, Machine Learning 52, eq. 19.
    Bouckaert, Frank (2004), Evaluating the replicability of significance tests for comparing
    learning algorithms, PAKDD, for repeated folds. Bengio, Grandvalet (2004), No unbiased
    estimator of the variance of K-fold cross-validation, JMLR 5.
    """
    means = [
        float(np.mean(own))
        for row, numbers in zip(scores, folds, strict=True)
        for fold in np.unique(numbers)
        if not np.isnan(own := row[numbers == fold]).any()
    ]
    n_folds = int(folds.max()) + 1
    if len(means) < 2 or not np.isfinite(means).all():
        return float("nan")
    spread = float(np.var(means, ddof=1))
    return float(np.sqrt(spread * (1.0 / len(means) + 1.0 / (n_folds - 1.0))))
