"""Gamma factor: a batch of precisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, poch

from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import BatchArray, DrawValues, Floats
from bayesvb.numerics.special import digamma_excess

Numbers = float | Floats

LEAST_PRECISION = 1e-100
"""Smallest precision drawn from a prior: a product of two still has a finite inverse."""


@dataclass(frozen=True)
class Gamma:
    """``Ga(shape, rate)``.

    Attributes
    ----------
    shape, rate : ndarray, shape (...)
        A prior may have fewer leading axes than the values that it is the prior of.
    """

    shape: BatchArray
    rate: BatchArray

    @property
    def mean(self) -> BatchArray:
        """``E[tau] = a / b``."""
        return np.asarray(self.shape / self.rate)

    @property
    def expected_log(self) -> BatchArray:
        """``E[log tau] = digamma(a) - log b``."""
        return np.asarray(digamma(self.shape) - np.log(self.rate))

    def to_the_power(self, power: float) -> Gamma:
        """The law with this one's density to a power, as densities of ``log tau``."""
        return Gamma(power * self.shape, power * self.rate)

    def kl(self, prior: Gamma) -> float:
        """Sum over the batch of ``KL(self || prior)``; the prior broadcasts over the batch."""
        return float(np.sum(gamma_kl(self.shape, self.rate, prior.shape, prior.rate)))

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, " draws *batch"]:
        """Independent draws; one that underflowed is taken at the smallest float."""
        drawn = rng.gamma(self.shape, size=(n, *self.shape.shape)) / self.rate
        return np.asarray(np.maximum(drawn, np.finfo(float).tiny))

    def log_density(self, value: DrawValues) -> DrawValues:
        """Log density of each value."""
        return gamma_log_density(value, self.shape, self.rate)


def gamma_kl(shape: Numbers, rate: Numbers, prior_shape: Numbers, prior_rate: Numbers) -> Floats:
    """``KL(Ga(shape, rate) || Ga(prior_shape, prior_rate))``, entry by entry.

    Laws that are close keep their digits: differences are taken before logs where that is exact.
    """
    excess = np.subtract(shape, prior_shape)
    growth = np.subtract(rate, prior_rate) / prior_rate
    log_growth = np.where(
        np.abs(growth) < 0.5,
        np.log1p(np.clip(growth, -0.5, 0.5)),
        np.log(rate) - np.log(prior_rate),
    )
    near = (
        excess * digamma(shape)
        - np.log(poch(prior_shape, np.where(np.abs(excess) <= 1.0, excess, 0.0)))
        + shape * (np.subtract(prior_rate, rate) / rate)
    )
    far = (
        digamma_excess(shape)
        - prior_shape * digamma(shape)
        + gammaln(prior_shape)
        + shape * np.divide(prior_rate, rate)
    )
    return np.asarray(np.where(np.abs(excess) <= 1.0, near, far) + prior_shape * log_growth)


def precision_draws(
    shape: Numbers, rate: Numbers, size: int | tuple[int, ...], rng: np.random.Generator
) -> Floats:
    """Draws of precisions under a nearly flat law, at least ``LEAST_PRECISION``."""
    return np.asarray(np.maximum(rng.gamma(shape, size=size) / rate, LEAST_PRECISION))


def gamma_log_density(value: Floats, shape: Numbers, rate: Numbers) -> Floats:
    """Log density of each value under a gamma distribution."""
    constant = shape * np.log(rate) - gammaln(shape)
    xp = namespace(value)
    density: Floats
    density = xp.asarray(constant + (shape - 1.0) * xp.log(value) - rate * value)
    return density
