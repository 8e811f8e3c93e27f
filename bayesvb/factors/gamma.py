"""Gamma factor: a batch of precisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln


@dataclass(frozen=True)
class Gamma:
    """``Ga(shape, rate)``.

    Attributes
    ----------
    shape, rate : ndarray, shape (...)
        A prior may have fewer leading axes than the values that it is the prior of.
    """

    shape: Float[np.ndarray, "*batch"]
    rate: Float[np.ndarray, "*batch"]

    @property
    def mean(self) -> Float[np.ndarray, "*batch"]:
        """``E[tau] = a / b``."""
        return np.asarray(self.shape / self.rate)

    @property
    def expected_log(self) -> Float[np.ndarray, "*batch"]:
        """``E[log tau] = digamma(a) - log b``."""
        return np.asarray(digamma(self.shape) - np.log(self.rate))

    def kl(self, prior: Gamma) -> float:
        """Sum over the batch of ``KL(self || prior)``; the prior broadcasts over the batch."""
        a, b, a0, b0 = self.shape, self.rate, prior.shape, prior.rate
        return float(
            np.sum(
                (a - a0) * digamma(a)
                - gammaln(a)
                + gammaln(a0)
                + a0 * (np.log(b) - np.log(b0))
                + a * (b0 - b) / b
            )
        )

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, " draws *batch"]:
        """Independent draws; one that underflowed is taken at the smallest float."""
        drawn = rng.gamma(self.shape, size=(n, *self.shape.shape)) / self.rate
        return np.asarray(np.maximum(drawn, np.finfo(float).tiny))

    def log_density(self, value: Float[np.ndarray, "draws ..."]) -> Float[np.ndarray, "draws ..."]:
        """Log density of each value."""
        a, b = self.shape, self.rate
        constant = a * np.log(b) - gammaln(a)
        return np.asarray(constant + (a - 1.0) * np.log(value) - b * value)
