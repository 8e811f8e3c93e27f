"""Calibration of predictive distributions: PIT values, coverage, ECDF with its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import betainc, gammaln, xlogy

from bayesvb.distributions.base import AbstractRowDistribution
from bayesvb.errors import DataError
from bayesvb.evaluation.crps import crps
from bayesvb.numerics.arrays import Floats, PointVector, ProbVector, RowVector


@dataclass(frozen=True)
class Coverage:
    """Share of the observations inside their central predictive intervals.

    Parameters
    ----------
    prob : array, shape (probs,)
        Probabilities of the intervals.
    observed : array, shape (probs,)
        Shares of the rows inside.
    standard_error : array, shape (probs,)
        Binomial standard error of the share if the distribution is right, sqrt(p (1 - p) / rows).
    """

    prob: ProbVector
    observed: ProbVector
    standard_error: ProbVector


@dataclass(frozen=True)
class PitEcdf:
    """ECDF of the PIT values minus the uniform one, with a simultaneous band.

    Parameters
    ----------
    points : array, shape (points,)
        Values of the PIT, from 1/points to 1.
    difference, lower, upper : array, shape (points,)
        ECDF minus ``points``, and the band around 0 that uniform values leave nowhere with
        probability ``prob`` (or slightly more: the counts are discrete).
    prob : float
        Probability of the band.
    gamma : float
        One minus the probability of the interval at each single point.
    inside : bool
        Whether the difference stays inside the band.
    """

    points: PointVector
    difference: PointVector
    lower: PointVector
    upper: PointVector
    prob: float
    gamma: float
    inside: bool


@dataclass(frozen=True)
class Calibration:
    """All that a report says about the calibration of one response.

    Parameters
    ----------
    pit, crps : array, shape (rows,)
        Probability integral transform, and CRPS in the units of the response.
    coverage : Coverage
    ecdf : PitEcdf
    p_value : float
        See `uniformity_p_value`.
    """

    pit: RowVector
    crps: RowVector
    coverage: Coverage
    ecdf: PitEcdf
    p_value: float


def calibration(
    distribution: AbstractRowDistribution,
    observed: RowVector,
    *,
    pit: RowVector | None = None,
    probs: Sequence[float] = (0.5, 0.8, 0.9),
    band: float = 0.95,
) -> Calibration:
    """Every measure of calibration of the distributions against the observed responses.

    Parameters
    ----------
    distribution : AbstractRowDistribution
        Predictive distributions of the rows, which CRPS are of.
    observed : array, shape (rows,)
    pit : array, shape (rows,), optional
        PIT values of each row without itself; by default from the distributions.
    probs : sequence of float
        Probabilities of the central intervals.
    band : float
        Probability of the band of the ECDF.

    Raises
    ------
    DataError
        If no row is given, or an observation is not finite.
    """
    pit = pit_values(distribution, observed) if pit is None else pit
    return Calibration(
        pit=pit,
        crps=crps(distribution, observed),
        coverage=coverage(pit, probs),
        ecdf=pit_ecdf(pit, prob=band),
        p_value=uniformity_p_value(pit),
    )


def pit_values(distribution: AbstractRowDistribution, observed: RowVector) -> RowVector:
    """Predictive probabilities of a value up to the observed one; uniform if calibrated."""
    _check_finite("observed", observed)
    return distribution.cdf(observed)


def randomised_pit(
    cdf: Float[np.ndarray, "*responses rows"], mass: RowVector, uniform: RowVector
) -> Float[np.ndarray, "*responses rows"]:
    """PIT values ``F(y) - (1 - v) P(y)`` of a discrete response, uniform if calibrated.

    Parameters
    ----------
    cdf, mass : ndarray
        Predictive distribution function and probability at the observed values.
    uniform : ndarray, shape (rows,)
        Independent uniform numbers v. With ``v = 1`` the values would be too large.

    References
    ----------
    Dunn and Smyth (1996), Randomized quantile residuals, section 2.

    Examples
    --------
    >>> randomised_pit(np.array([1.0]), np.array([0.3]), np.array([0.5]))
    array([0.85])
    """
    return np.asarray(np.clip(cdf - (1.0 - uniform) * mass, 0.0, 1.0))


def coverage(pit: RowVector, probs: Sequence[float] = (0.5, 0.8, 0.9)) -> Coverage:
    """Coverage of the central intervals of probability ``probs``.

    The central interval of probability p holds an observation if its PIT value is between
    (1 - p) / 2 and (1 + p) / 2, so that no quantile is needed.

    Examples
    --------
    >>> coverage(np.array([0.1, 0.4, 0.5, 0.7]), [0.5]).observed
    array([0.75])
    """
    _check_finite("pit", pit)
    prob = np.array(probs, dtype=np.float64)
    bad = ~((prob > 0.0) & (prob < 1.0))
    if bad.any():
        raise DataError(f"probs = {prob[bad][0]:g} is not between 0 and 1", hint="write 0.9")
    share = inside_central(pit, prob).mean(axis=1)
    return Coverage(prob, share, np.sqrt(prob * (1.0 - prob) / pit.size))


def inside_central(pit: RowVector, prob: ProbVector) -> Bool[np.ndarray, "probs rows"]:
    """Whether central intervals of each probability hold observations with these PIT values."""
    return np.asarray(np.abs(pit - 0.5) <= 0.5 * prob[:, None])


def pit_ecdf(pit: RowVector, *, prob: float = 0.95) -> PitEcdf:
    r"""Difference of the ECDF from the uniform one, with a band of simultaneous probability.

    At each of min(rows, 100) equally spaced points z the count of values up to z is binomial, and
    the band is its interval of probability 1 - γ. The γ for which uniform values stay inside at
    all points with probability ``prob`` is found by bisection; that probability is exact, from
    the recursion over the counts, so nothing is simulated and no seed is needed.

    References
    ----------
    Säilynoja, Bürkner, Vehtari (2022), Graphical test for discrete uniformity and its
    applications, Statistics and Computing 32:32, doi:10.1007/s11222-022-10090-6, section 2.2
    (optimisation of γ).
    """
    if not 0.0 < prob < 1.0:
        raise DataError(f"prob = {prob:g} is not between 0 and 1", hint="write 0.95 for 95%")
    counts, points = _counts(pit)
    gamma = _simultaneous_gamma(pit.size, prob)
    lower, upper = _band(gamma, pit.size, points)
    return PitEcdf(
        points=points,
        difference=counts / pit.size - points,
        lower=lower / pit.size - points,
        upper=upper / pit.size - points,
        prob=prob,
        gamma=gamma,
        inside=bool(((counts >= lower) & (counts <= upper)).all()),
    )


def uniformity_p_value(pit: RowVector) -> float:
    """Probability that uniform values stray from the diagonal at least as far as these.

    The distance is measured as in `pit_ecdf`: by the smallest binomial tail probability over the
    points. The value is below 0.05 exactly when the ECDF leaves its band of 95%, up to the steps of
    the counts. In-sample PIT values are too regular: it is then conservative.
    """
    counts, points = _counts(pit)
    below = _binomial_cdf(counts, pit.size, points)
    above = _binomial_cdf(pit.size - counts, pit.size, 1.0 - points)
    gamma = 2.0 * float(np.minimum(below, above).min())
    if gamma == 0.0 or gamma >= 1.0:
        return min(gamma, 1.0)
    # strictly inside: the counts observed do not belong to the band
    lower, upper = _band(gamma * (1.0 + 1e-9), pit.size, points)
    strays = 1.0 - _stay_probability(lower, upper, pit.size, points)
    # the point itself, and Bonferroni: where the difference from one has lost its digits
    return float(np.clip(strays, 0.5 * gamma, min(points.size * gamma, 1.0)))


def _counts(pit: RowVector) -> tuple[Int[np.ndarray, " points"], PointVector]:
    """Numbers of values up to each of the equally spaced points."""
    _check_finite("pit", pit)
    points = _points(pit.size)
    return np.searchsorted(np.sort(pit), points, side="right"), points


def _points(rows: int) -> PointVector:
    """Equally spaced points at which this number of values is compared."""
    # Points at which the ECDF is compared; more make the band wider, not the picture clearer.
    n_points = min(rows, 100)
    return np.arange(1, n_points + 1) / n_points


def _band(
    gamma: float, rows: int, points: PointVector
) -> tuple[Int[np.ndarray, " points"], Int[np.ndarray, " points"]]:
    """Smallest and largest counts inside the binomial intervals of probability 1 - gamma."""
    lower = _binomial_quantile(0.5 * gamma, rows, points)
    return lower, rows - _binomial_quantile(0.5 * gamma, rows, 1.0 - points)


def _binomial_cdf(
    counts: Int[np.ndarray, " points"], rows: int, points: PointVector
) -> PointVector:
    """Probability of at most these numbers of successes in ``rows`` trials."""
    usual = np.clip(counts, 0, rows - 1)
    cdf = np.where(counts < rows, betainc(rows - usual, usual + 1.0, 1.0 - points), 1.0)
    return np.asarray(np.where(counts < 0, 0.0, cdf))


def _binomial_quantile(
    probability: float, rows: int, points: PointVector
) -> Int[np.ndarray, " points"]:
    """Smallest counts whose distribution function reaches a probability, by bisection."""
    low, high = np.full(points.size, -1), np.full(points.size, rows)
    for _ in range((rows + 1).bit_length()):
        middle = (low + high) // 2
        reached = _binomial_cdf(middle, rows, points) >= probability
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


@lru_cache(maxsize=32)
def _simultaneous_gamma(rows: int, prob: float) -> float:
    """Largest γ with which uniform values stay inside at all points with probability prob."""
    points = _points(rows)
    low, high = np.log((1.0 - prob) / points.size), 0.0  # Bonferroni's is always wide enough
    # Bisections of the logarithm of γ: it is then known to 1e-5, finer than the steps it makes.
    for _ in range(20):
        middle = 0.5 * (low + high)
        band = _band(float(np.exp(middle)), rows, points)
        if _stay_probability(*band, rows, points) >= prob:
            low = middle
        else:
            high = middle
    return float(np.exp(low))


def _stay_probability(
    lower: Int[np.ndarray, " points"],
    upper: Int[np.ndarray, " points"],
    rows: int,
    points: PointVector,
) -> float:
    """Probability that the counts of uniform values are inside at every point.

    The counts are a Poisson process given that it ends at ``rows``; its independent steps make
    the recursion a convolution.
    """
    if (lower > upper).any():
        return 0.0
    step = _poisson(np.arange(rows + 1), rows / points.size)
    inside, first = np.ones(1), 0
    for low, high in zip(lower, upper, strict=True):
        reach = step[: high - first + 1]
        # Products up to which a sum of them is faster than Fourier transforms.
        direct = inside.size * reach.size <= 2e5
        reached = np.convolve(inside, reach) if direct else _fourier_convolve(inside, reach)
        inside, first = reached[low - first : high - first + 1], low
    return float(inside[0] / _poisson(np.array(rows), float(rows)))


def _poisson(counts: Int[np.ndarray, "..."], mean: float) -> Floats:
    """Probabilities of counts."""
    return np.asarray(np.exp(xlogy(counts, mean) - gammaln(counts + 1.0) - mean))


def _fourier_convolve(
    first: Float[np.ndarray, " a"], second: Float[np.ndarray, " b"]
) -> Float[np.ndarray, " c"]:
    """Convolution of many numbers."""
    size = first.size + second.size - 1
    padded = 1 << (size - 1).bit_length()
    spectrum = np.fft.rfft(first, padded) * np.fft.rfft(second, padded)
    return np.asarray(np.fft.irfft(spectrum, padded)[:size])


def _check_finite(name: str, values: RowVector) -> None:
    """Refuse no rows, and values that are not finite."""
    if values.size == 0:
        raise DataError(f"{name} is empty", hint="calibration needs at least one complete row")
    (bad,) = np.nonzero(~np.isfinite(values))
    if bad.size:
        raise DataError(
            f"{name}[{bad[0]}] = {values[bad[0]]} is not finite",
            hint="give the complete rows only",
        )
