"""Entries of a table that a fit without them predicts from the rest of their row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from bayesvb.errors import ignoring_user_warnings
from bayesvb.results.capabilities import HasScores

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

FOLDS = 5
"""Sets of entries, each of which is held out once."""

FEWEST_ROWS = 20
"""Rows from which on a share has a standard error."""

MOST_ENTRIES = 50_000
"""Entries up to which the refits take a second at most."""

PASSES = 200
"""Iterations of each refit at most."""

TAIL = 0.05
"""Probability beyond either end of an interval."""

Table = Float[np.ndarray, "rows columns"]


@dataclass(frozen=True, kw_only=True)
class HeldOutEntries:
    """Accuracy with which held-out entries are predicted.

    Attributes
    ----------
    n : int
        Entries that were held out.
    inside : float
        Share of them in their 90% intervals.
    standard_error : float
        Of ``inside``, from shares by row: entries of a row are held out together or in turn.
    explained : float
        Share of the variance of the entries, in standard deviations of their columns, that is
        predicted.
    """

    n: int
    inside: float
    standard_error: float
    explained: float


def held_out_entries(fit: AbstractFit) -> HeldOutEntries | None:
    """Predict each entry by a fit without a fifth of the entries; None where that is not possible.

    It is not where variables are transformed in the formula, or entries are too many or too few.
    """
    if not isinstance(fit.model, HasScores):
        return None
    frame, names = fit.model.design.frame, fit.model.moments(fit)[0].index.to_list()
    known = set(names) <= set(frame.columns) and len(frame) >= FEWEST_ROWS
    if not known or len(names) < 2 or len(frame) * len(names) > MOST_ENTRIES:
        return None
    values = frame[names].to_numpy(dtype=float)
    fold = (np.arange(len(values))[:, None] + np.arange(len(names))) % FOLDS
    mean, variance = np.full_like(values, np.nan), np.full_like(values, np.nan)
    refittable: Any = fit
    weights = {} if fit.model.weights is None else {"weights": fit.model.weights}
    for number in range(FOLDS):
        out = fold == number
        data = frame.assign(**dict(zip(names, np.where(out, np.nan, values).T, strict=True)))
        with ignoring_user_warnings():  # a run that stops early predicts well enough
            refit = refittable.refit(data=data, restarts=1, max_iter=PASSES, **weights)
        assert isinstance(refit.model, HasScores)  # as it is the same model
        centre, covariance = refit.model.moments(refit)
        if centre.index.to_list() != names:  # the other entries of a variable are all the same
            return None
        seen = np.where(out, np.nan, values)
        given = _given(seen, centre.to_numpy(), covariance.to_numpy())
        for into, one in zip((mean, variance), given, strict=True):
            into[out] = one[out]
    return _summary(values, mean, variance)


def _given(
    values: Table,
    mean: Float[np.ndarray, " columns"],
    covariance: Float[np.ndarray, "columns columns"],
) -> tuple[Table, Table]:
    """Mean and variance of the missing entries of each row, given its other entries."""
    gaps = np.isnan(values)
    means, variances = np.full_like(values, np.nan), np.full_like(values, np.nan)
    patterns, whose = np.unique(gaps, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(whose.ravel() == number)
        out, seen = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        weights = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, out)])
        at = np.ix_(rows, out)
        means[at] = mean[out] + (values[np.ix_(rows, seen)] - mean[seen]) @ weights
        variances[at] = np.diag(covariance)[out] - (weights * covariance[np.ix_(seen, out)]).sum(0)
    return means, variances


def _summary(values: Table, mean: Table, variance: Table) -> HeldOutEntries:
    """Share inside the intervals and share of the variance, of the entries that are observed."""
    error = values - mean
    known = np.isfinite(error)
    within = np.where(known, np.abs(error) <= -ndtri(TAIL) * np.sqrt(variance), np.nan)
    by_row = np.nanmean(within[known.any(axis=1)], axis=1)
    spread = np.nanvar(values, axis=0)
    return HeldOutEntries(
        n=int(known.sum()),
        inside=float(np.nanmean(within)),
        standard_error=float(by_row.std(ddof=1) / np.sqrt(len(by_row))),
        explained=1.0 - float(np.nanmean(error**2 / spread)),
    )
