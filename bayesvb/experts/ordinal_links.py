"""Links of cumulative models: probabilities of ordered levels between two thresholds."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit, ndtr

from bayesvb.numerics.array_library import namespace, special
from bayesvb.numerics.arrays import SameShape
from bayesvb.numerics.logistic_normal import softplus_moments
from bayesvb.numerics.special import LOG_2PI, softplus

__all__ = ["LOGIT", "PROBIT", "AbstractOrdinalLink", "LevelTerms"]


Pairs = Float[np.ndarray, "two *shape"]
"""First and second derivatives."""

SMALLEST = 1e-10
"""Distance between thresholds below which its derivatives are cut off."""

FLAT = 1e-4
"""Standard deviation of a predictor below which its second derivative hardly varies."""

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(10)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
"""Gauss-Hermite rule: expected log probabilities are exact to 1e-8 for a variance up to 0.5."""


@dataclass(frozen=True)
class LevelTerms:
    """Expected log probabilities of levels, with derivatives in predictor and thresholds.

    Attributes
    ----------
    value, slope, curvature : ndarray
        Derivatives in the mean of the predictor, the second with a minus.
    upper, lower : ndarray, shape (2, ...)
        First derivative in the upper threshold, and minus the first in the lower one; second
        derivatives with a minus. Zero where a level has no such threshold.
    cross : ndarray
        Mixed second derivative in both thresholds, with a minus.
    """

    value: SameShape
    slope: SameShape
    curvature: SameShape
    upper: Pairs
    lower: Pairs
    cross: SameShape


class AbstractOrdinalLink(abc.ABC):
    """``P(lower < z <= upper)`` of a standard law ``z`` whose log density is concave.

    Thresholds at infinity are infinite.
    """

    name: ClassVar[str]
    """Name of the scale of the predictor."""

    @abc.abstractmethod
    def expected(
        self, lower: SameShape, upper: SameShape, mean: SameShape, variance: SameShape
    ) -> LevelTerms:
        """Expected log probabilities of levels between thresholds, the predictor normal."""

    @abc.abstractmethod
    def log_mass(self, lower: SameShape, upper: SameShape) -> SameShape:
        """Log probability of an interval, in NumPy or JAX."""

    @abc.abstractmethod
    def beyond(self, mean: SameShape, variance: SameShape) -> SameShape:
        """Expected probability of ``z <= v``, ``v`` normal."""

    @abc.abstractmethod
    def cdf(self, v: SameShape) -> SameShape:
        """Probability of ``z <= v``."""


class LogitLink(AbstractOrdinalLink):
    """Logistic law.

    With thresholds ``a < b`` a level has ``P = sigma(b - u) sigma(u - a) (1 - exp(a - b))``: the
    first two factors have expectations of the softplus.
    """

    name = "log odds"

    def expected(
        self, lower: SameShape, upper: SameShape, mean: SameShape, variance: SameShape
    ) -> LevelTerms:
        """Expectations exact to 1e-8."""
        has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
        below = _softplus(lower, has_lower, 1.0, mean, variance)
        above = _softplus(upper, has_upper, -1.0, mean, variance)
        inner = has_lower & has_upper
        width = np.where(inner, np.maximum(np.where(inner, upper - lower, 1.0), SMALLEST), np.inf)
        pull = 1.0 / np.expm1(width)  # derivative of log(1 - exp(-width))
        bend = pull * (1.0 + pull)
        return LevelTerms(
            np.log(-np.expm1(-width)) - above[0] - below[0],
            below[1] - above[1],
            below[2] + above[2],
            np.stack([above[1] + pull, above[2] + bend]),
            np.stack([below[1] + pull, below[2] + bend]),
            -bend,
        )

    def log_mass(self, lower: SameShape, upper: SameShape) -> SameShape:
        """Log probability, whose digits do not cancel in either tail."""
        xp = namespace(lower)
        log_mass: SameShape = xp.log(-xp.expm1(lower - upper)) - softplus(-upper) - softplus(lower)
        return log_mass

    def beyond(self, mean: SameShape, variance: SameShape) -> SameShape:
        """Expectation exact to 1e-9."""
        return softplus_moments(mean, variance, 1)[1]

    def cdf(self, v: SameShape) -> SameShape:
        """Logistic function."""
        return np.asarray(expit(v))


class ProbitLink(AbstractOrdinalLink):
    """Normal law; expectations by quadrature, see ``NODES``."""

    name = "probit scale"

    def expected(
        self, lower: SameShape, upper: SameShape, mean: SameShape, variance: SameShape
    ) -> LevelTerms:
        """Averages over the nodes of the predictor."""
        lower, upper = np.broadcast_to(lower, mean.shape), np.broadcast_to(upper, mean.shape)
        terms: list[np.ndarray] = []
        sd, along = np.sqrt(variance), np.zeros(mean.shape)
        for node, weight in zip(NODES, NODE_WEIGHTS, strict=True):
            at = mean + node * sd
            each = self._derivatives(lower - at, upper - at)
            along = along + weight * node * (each[2] - each[1])
            if not terms:
                terms = [weight * one for one in each]
                continue
            for total, one in zip(terms, each, strict=True):
                total += weight * one
        value, up, down, up_bend, down_bend, cross = terms
        # E f'' = E[x f'] / sd by parts: this form is the derivative of the rule itself in the
        # variance, so that steps raise the bound as it is computed.
        bent = up_bend + down_bend + 2.0 * cross
        curvature = np.where(sd > FLAT, -along / np.maximum(sd, FLAT), bent)
        return LevelTerms(
            value, down - up, curvature, np.stack([up, up_bend]), np.stack([down, down_bend]), cross
        )

    def _derivatives(self, a: SameShape, b: SameShape) -> tuple[SameShape, ...]:
        """Log probability, and derivatives in its ends as of ``LevelTerms``."""
        value = self.log_mass(a, b)
        down, up = (np.exp(-0.5 * (end**2 + LOG_2PI) - value) for end in (a, b))
        a, b = (np.where(np.isfinite(end), end, 0.0) for end in (a, b))
        return value, up, down, up * (b + up), down * (down - a), -up * down

    def log_mass(self, lower: SameShape, upper: SameShape) -> SameShape:
        """Log probability from the smaller tail, in which digits do not cancel."""
        xp, log_ndtr = namespace(lower), special(lower).log_ndtr
        flipped = lower + upper > 0.0
        near, far = xp.where(flipped, -lower, upper), xp.where(flipped, -upper, lower)
        whole = log_ndtr(near)
        share = xp.minimum(log_ndtr(far) - whole, -SMALLEST)
        log_mass: SameShape = whole + xp.log(-xp.expm1(share))
        return log_mass

    def beyond(self, mean: SameShape, variance: SameShape) -> SameShape:
        """Exact: a normal law of the sum."""
        return np.asarray(ndtr(mean / np.sqrt(1.0 + variance)))

    def cdf(self, v: SameShape) -> SameShape:
        """Normal distribution function."""
        return np.asarray(ndtr(v))


def _softplus(
    threshold: SameShape,
    known: Bool[np.ndarray, "*shape"],
    sign: float,
    mean: SameShape,
    variance: SameShape,
) -> Pairs:
    """Moments of the softplus of ``sign * (threshold - u)``; zero where the threshold is absent."""
    at = np.where(known, threshold, 0.0)
    return np.asarray(np.stack(softplus_moments(sign * (at - mean), variance)) * known)


LOGIT = LogitLink()

PROBIT = ProbitLink()
