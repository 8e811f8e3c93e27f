"""Mixtures of gamma distributions: predictive ones, and those given draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import gammainc

from bayesvb.distributions.predictor_mixture import (
    AbstractDrawnPredictorMixture,
    AbstractPredictorMixture,
    ContinuousLaw,
)
from bayesvb.numerics.array_library import namespace, special
from bayesvb.numerics.arrays import Floats
from bayesvb.numerics.special import LARGEST_EXPONENT


def decay(u: Floats) -> Floats:
    """``exp(-u)``, finite for any finite predictor, in NumPy or JAX."""
    xp = namespace(u)
    factor: Floats = xp.exp(-xp.maximum(u, -LARGEST_EXPONENT))
    return factor


class PositiveLaw(ContinuousLaw):
    """A law of positive numbers, whose logarithm is the scale of quantiles."""

    support = (0.0, np.inf)

    def to_line(self, y: Floats) -> Floats:
        """``log y``."""
        return np.asarray(np.log(y))

    def from_line(self, x: Floats) -> Floats:
        """``exp(x)``."""
        return np.asarray(np.exp(np.minimum(x, 2.0 * LARGEST_EXPONENT)))


@final
class GammaLaw(PositiveLaw):
    """``Ga(alpha, alpha exp(-u))``: mean ``exp(u)``, coefficient of variation ``alpha^-1/2``."""

    def log_density(self, y: Floats, u: Floats, further: Floats) -> Floats:
        """Log gamma density; the shape is ``alpha``."""
        xp = namespace(u)
        known = xp.where(y > 0.0, y, 1.0)
        log_mass = further * (xp.log(further) - u - known * decay(u)) - special(u).gammaln(further)
        log_mass = log_mass + (further - 1.0) * xp.log(known)
        log_density: Floats = xp.where(y > 0.0, log_mass, -np.inf)
        return log_density

    def cdf(self, y: Floats, u: Floats, further: Floats) -> Floats:
        """Regularised incomplete gamma function."""
        return np.asarray(gammainc(further, further * np.maximum(y, 0.0) * decay(u)))

    def moments(self, u: Floats, further: Floats) -> tuple[Floats, Floats]:
        """``exp(u)`` and ``exp(2 u) (1 + 1 / alpha)``."""
        mean = np.exp(np.minimum(u, LARGEST_EXPONENT))
        return mean, mean**2 * (1.0 + 1.0 / further)

    def draws(self, u: Floats, further: Floats, rng: np.random.Generator) -> Floats:
        """Gamma draws; the smallest positive double where they would be rounded to 0."""
        draws = rng.standard_gamma(further) / further * np.exp(np.minimum(u, LARGEST_EXPONENT))
        return np.asarray(np.maximum(draws, np.finfo(float).tiny))


GAMMA = GammaLaw()


@dataclass(frozen=True)
class GammaMixture(AbstractPredictorMixture):
    """Predictive distribution of positive numbers with gamma components."""

    law = GAMMA
    values = "positive numbers"


@dataclass(frozen=True)
class DrawnGammaMixture(AbstractDrawnPredictorMixture):
    """Mixtures of gamma distributions for every draw and row."""

    law = GAMMA
