"""Mixtures of Weibull distributions: predictive ones, and those given draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import gammaln

from bayesvb.distributions.gamma_mixture import PositiveLaw
from bayesvb.distributions.predictor_mixture import (
    AbstractDrawnPredictorMixture,
    AbstractPredictorMixture,
)
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import Floats
from bayesvb.numerics.special import LARGEST_EXPONENT


def cumulative_hazard(y: Floats, u: Floats, further: Floats) -> Floats:
    """``(y exp(-u))^c`` of positive numbers, finite, in NumPy or JAX."""
    xp = namespace(u)
    hazard: Floats = xp.exp(xp.minimum(further * (xp.log(y) - u), LARGEST_EXPONENT))
    return hazard


@final
class WeibullLaw(PositiveLaw):
    """``P(Y > y) = exp(-(y exp(-u))^c)``: scale ``exp(u)``, shape ``c``."""

    def log_density(self, y: Floats, u: Floats, further: Floats) -> Floats:
        """``log c - c u + (c - 1) log y - (y exp(-u))^c``."""
        xp = namespace(u)
        known = xp.where(y > 0.0, y, 1.0)
        density = xp.log(further) - further * u + (further - 1.0) * xp.log(known)
        density = density - cumulative_hazard(known, u, further)
        log_density: Floats = xp.where(y > 0.0, density, -np.inf)
        return log_density

    def log_survival(self, y: Floats, u: Floats, further: Floats) -> Floats:
        """Minus the cumulative hazard."""
        xp = namespace(u)
        known = xp.where(y > 0.0, y, 1.0)
        survival: Floats = xp.where(y > 0.0, -cumulative_hazard(known, u, further), 0.0)
        return survival

    def cdf(self, y: Floats, u: Floats, further: Floats) -> Floats:
        """One minus the probability of survival."""
        return np.asarray(-np.expm1(self.log_survival(y, u, further)))

    def log_mass(self, lower: Floats, upper: Floats, u: Floats, further: Floats) -> Floats:
        """Log probability of a value between the two; no difference without an upper limit."""
        first, last = (self.log_survival(y, u, further) for y in (lower, upper))
        with np.errstate(divide="ignore"):
            return np.asarray(first + np.log(-np.expm1(last - first)))

    def moments(self, u: Floats, further: Floats) -> tuple[Floats, Floats]:
        """``exp(u) Gamma(1 + 1 / c)`` and ``exp(2 u) Gamma(1 + 2 / c)``."""
        first, second = (
            np.exp(np.minimum(n * u + gammaln(1.0 + n / further), 2.0 * LARGEST_EXPONENT))
            for n in (1.0, 2.0)
        )
        return first, second

    def draws(self, u: Floats, further: Floats, rng: np.random.Generator) -> Floats:
        """Powers of exponential draws; the smallest positive double where they would be 0."""
        draws = np.exp(np.minimum(u, LARGEST_EXPONENT)) * rng.weibull(further)
        return np.asarray(np.maximum(draws, np.finfo(float).tiny))


WEIBULL = WeibullLaw()


@dataclass(frozen=True)
class WeibullMixture(AbstractPredictorMixture):
    """Predictive distribution of positive numbers with Weibull components."""

    law = WEIBULL
    values = "positive numbers"


@dataclass(frozen=True)
class DrawnWeibullMixture(AbstractDrawnPredictorMixture):
    """Mixtures of Weibull distributions for every draw and row."""

    law = WEIBULL
