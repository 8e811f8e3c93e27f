"""Measures of predicted class probabilities: scores, calibration, confusion.

Plain arrays in, frozen records out. ``codes`` are the observed classes 0, 1, ...; probabilities
have one row per observation and one column per class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowIntegers, RowMask, RowVector

SUM_TOLERANCE = 1e-6
"""Rows whose probabilities miss one by more than this are refused."""


def checked_predictions(
    probabilities: ArrayLike, codes: ArrayLike
) -> tuple[Float[np.ndarray, "rows classes"], RowIntegers]:
    """Probabilities and codes as arrays.

    Raises
    ------
    DataError
        If shapes do not match, a row is not a probability distribution, or a code is out of range.
    """
    p, y = np.asarray(probabilities, dtype=np.float64), np.asarray(codes)
    if p.ndim != 2 or y.shape != p.shape[:1] or len(y) == 0:
        raise DataError(
            f"probabilities of shape {p.shape} and codes of shape {y.shape} do not match",
            hint="one row of probabilities, and one code, for each of at least one observation",
        )
    if not ((p >= 0.0).all() and (np.abs(p.sum(axis=1) - 1.0) < SUM_TOLERANCE).all()):
        row = int(
            np.argmax(~((p >= 0.0).all(axis=1) & (np.abs(p.sum(axis=1) - 1.0) < SUM_TOLERANCE)))
        )
        raise DataError(
            f"probabilities of row {row} are {p[row]}: they must be non-negative and sum to one"
        )
    if not np.issubdtype(y.dtype, np.integer) or y.min() < 0 or y.max() >= p.shape[1]:
        raise DataError(
            f"codes of type {y.dtype} from {y.min()} to {y.max()} for {p.shape[1]} classes",
            hint="whole numbers from 0 to the number of classes less one",
        )
    return p, y


@dataclass(frozen=True)
class Scores:
    """Averages over the observations.

    Attributes
    ----------
    accuracy : float
        Share of observations whose most probable class is the observed one; the first of ties.
    log_density : float
        Mean log probability of the observed class; 0 is perfect, ``-log(classes)`` is a guess.
        Minus infinity if an observed class had probability zero.
    brier : float
        Mean of ``sum_c (p_c - [y = c])^2``, between 0 and 2.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather
    Review 78, 1-3, eq. 2. Gneiting, Raftery (2007), doi:10.1198/016214506000001437, section 3.
    """

    accuracy: float
    log_density: float
    brier: float


def scores(probabilities: ArrayLike, codes: ArrayLike) -> Scores:
    """Accuracy, log predictive density and Brier score.

    Parameters
    ----------
    probabilities : array_like, shape (rows, classes)
    codes : array_like of int, shape (rows,)

    Raises
    ------
    DataError
        If shapes do not match, a row is not a probability distribution, or a code is out of range.

    Examples
    --------
    >>> scores(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])).brier
    0.3125
    """
    each = scores_by_row(probabilities, codes)
    return Scores(*(float(np.mean(each[name])) for name in ("accuracy", "log_density", "brier")))


def scores_by_row(probabilities: ArrayLike, codes: ArrayLike) -> dict[str, RowVector]:
    """Hits (one or zero), log probabilities and Brier scores of which ``scores`` are the means.

    Raises
    ------
    DataError
        As ``scores``.
    """
    p, y = checked_predictions(probabilities, codes)
    observed = p[np.arange(len(y)), y]
    with np.errstate(divide="ignore"):
        log_density = np.log(observed)
    return {
        "accuracy": (p.argmax(axis=1) == y).astype(np.float64),
        "log_density": log_density,
        "brier": (p * p).sum(axis=1) - 2.0 * observed + 1.0,
    }


@dataclass(frozen=True)
class CalibrationError:
    """Distance between confidence and accuracy.

    Attributes
    ----------
    error : float
        ``sum_b n_b / n |accuracy_b - confidence_b|`` over the bins.
    debiased : float
        Root of the sum of ``n_b / n`` times the squared distance less its sampling variance; zero
        where the sum is negative. Fair to small samples, for which ``error`` is too large even if
        probabilities are right.
    """

    error: float
    debiased: float


def calibration_error(
    probabilities: ArrayLike, codes: ArrayLike, *, n_bins: int = 20
) -> CalibrationError:
    """Expected calibration error of the most probable class, in bins of equal width.

    Parameters
    ----------
    probabilities : array_like, shape (rows, classes)
    codes : array_like of int, shape (rows,)
    n_bins : int
        20, as in most published tables.

    Raises
    ------
    DataError
        As ``scores``, or if ``n_bins`` is not positive.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, arXiv:1706.04599, eq. 3. Kumar,
    Liang, Ma (2019), Verified uncertainty calibration, arXiv:1909.10155, definition 5.2.
    """
    p, y = checked_predictions(probabilities, codes)
    confidence, hit = p.max(axis=1), p.argmax(axis=1) == y
    edges = _edges(n_bins)
    bins = _binned(confidence, hit, edges)
    used = bins.count > 0
    share = bins.count[used] / len(y)
    distance = bins.frequency[used] - bins.confidence[used]
    variance = np.zeros_like(distance)
    several = bins.count[used] > 1
    frequency = bins.frequency[used][several]
    variance[several] = frequency * (1.0 - frequency) / (bins.count[used][several] - 1.0)
    squared = (share * (distance**2 - variance)).sum()
    return CalibrationError(
        error=float((share * np.abs(distance)).sum()),
        debiased=float(np.sqrt(max(squared, 0.0))),
    )


@dataclass(frozen=True)
class Reliability:
    """Values of a reliability diagram, one entry per bin.

    Attributes
    ----------
    count : ndarray, shape (bins,)
    confidence, frequency : ndarray, shape (bins,)
        Mean predicted probability and observed share; nan in an empty bin.
    band_lower, band_upper : ndarray, shape (bins,)
        Where the observed share would lie with probability ``prob`` if predictions were right;
        nan in an empty bin.
    prob : float
    """

    count: Int[np.ndarray, " bins"]
    confidence: Float[np.ndarray, " bins"]
    frequency: Float[np.ndarray, " bins"]
    band_lower: Float[np.ndarray, " bins"]
    band_upper: Float[np.ndarray, " bins"]
    prob: float


def reliability(
    probability: ArrayLike,
    happened: ArrayLike,
    *,
    rng: np.random.Generator,
    n_bins: int = 10,
    prob: float = 0.9,
    n_draws: int = 1000,
) -> Reliability:
    """Reliability diagram of one event, for instance of one class, with consistency bands.

    The bands are quantiles of the shares in ``n_draws`` sets of events that are drawn with exactly
    the predicted probabilities, in bins of equal width.

    Parameters
    ----------
    probability : array_like, shape (rows,)
        Predicted probability of each event.
    happened : array_like of bool, shape (rows,)
    rng : numpy.random.Generator
    n_bins : int
    prob : float
        Probability that a band covers.
    n_draws : int

    References
    ----------
    Broecker, Smith (2007), Increasing the reliability of reliability diagrams, Weather and
    Forecasting 22, 651-661, section 3.
    """
    p = np.asarray(probability, dtype=np.float64)
    if p.ndim != 1 or p.shape != np.shape(happened) or not ((p >= 0.0) & (p <= 1.0)).all():
        raise DataError("probability must be one number between 0 and 1 for each event")
    edges = _edges(n_bins)
    bins = _binned(p, np.asarray(happened, dtype=bool), edges)
    tail = 0.5 * (1.0 - prob)
    bands = np.full((2, n_bins), np.nan)
    for b in np.flatnonzero(bins.count):
        inside = p[bins.member == b]
        shares = [(rng.random(len(inside)) < inside).mean() for _ in range(n_draws)]
        bands[:, b] = np.quantile(shares, [tail, 1.0 - tail])
    return Reliability(
        count=bins.count,
        confidence=bins.confidence,
        frequency=bins.frequency,
        band_lower=bands[0],
        band_upper=bands[1],
        prob=prob,
    )


def confusion(probabilities: ArrayLike, codes: ArrayLike) -> Int[np.ndarray, "observed predicted"]:
    """Number of observations of each class (row) with each most probable class (column).

    Examples
    --------
    >>> confusion(np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1]))
    array([[1, 0],
           [1, 1]])
    """
    p, y = checked_predictions(probabilities, codes)
    table = np.zeros((p.shape[1], p.shape[1]), dtype=np.int64)
    np.add.at(table, (y, p.argmax(axis=1)), 1)
    return table


@dataclass(frozen=True)
class _Bins:
    """Counts and means per bin, and the bin of each observation."""

    member: RowIntegers
    count: Int[np.ndarray, " bins"]
    confidence: Float[np.ndarray, " bins"]
    frequency: Float[np.ndarray, " bins"]


def _edges(n_bins: int) -> Float[np.ndarray, " edges"]:
    if n_bins < 1:
        raise DataError(f"n_bins={n_bins} must be at least 1")
    return np.linspace(0.0, 1.0, n_bins + 1)


def _binned(values: RowVector, hit: RowMask, edges: Float[np.ndarray, " edges"]) -> _Bins:
    n_bins = len(edges) - 1
    member = np.searchsorted(edges[1:-1], values, side="left")
    count = np.bincount(member, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(member, values, minlength=n_bins) / count
        frequency = np.bincount(member, hit, minlength=n_bins) / count
    return _Bins(member, count, confidence, frequency)
