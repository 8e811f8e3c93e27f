"""Gaussian factor: a batch of vectors with one precision matrix each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.linalg import (
    diagonal,
    inverse_and_log_det,
    quadratic_weights,
    times,
    times_each,
    trace_of_product,
)
from bayesvb.numerics.special import LOG_2PI


@dataclass(frozen=True)
class Normal:
    """``N(mean, precision^-1)``, with everything that the updates read.

    A prior may share one precision among many means: the matrices then have fewer leading axes.

    Attributes
    ----------
    mean : ndarray, shape (..., terms)
    precision, covariance : ndarray, shape (..., terms, terms)
    log_det : ndarray, shape (...)
        Log-determinant of ``precision``.
    """

    mean: Float[np.ndarray, "*batch terms"]
    precision: Float[np.ndarray, "*matrices terms terms"]
    covariance: Float[np.ndarray, "*matrices terms terms"]
    log_det: Float[np.ndarray, "*matrices"]

    @classmethod
    def from_precision(
        cls,
        mean: Float[np.ndarray, "*batch terms"],
        precision: Float[np.ndarray, "*matrices terms terms"],
    ) -> Normal:
        """Gaussian with this mean and precision.

        Raises
        ------
        numpy.linalg.LinAlgError
            A precision is not positive definite.
        """
        covariance, log_det = inverse_and_log_det(precision)
        return cls(mean, precision, covariance, log_det)

    @classmethod
    def from_covariance(
        cls,
        mean: Float[np.ndarray, "*batch terms"],
        covariance: Float[np.ndarray, "*matrices terms terms"],
    ) -> Normal:
        """Gaussian with this mean and covariance."""
        precision, log_det = inverse_and_log_det(covariance)
        return cls(mean, precision, covariance, -log_det)

    @classmethod
    def from_natural(
        cls,
        linear: Float[np.ndarray, "*batch terms"],
        precision: Float[np.ndarray, "*batch terms terms"],
    ) -> Normal:
        """Gaussian with density proportional to ``exp(linear' x - x' precision x / 2)``."""
        covariance, log_det = inverse_and_log_det(precision)
        return cls(times(covariance, linear), precision, covariance, log_det)

    def to_the_power(self, power: float) -> Normal:
        """The normal law whose density is this one's to a power, up to a constant."""
        return Normal.from_precision(self.mean, power * self.precision)

    @property
    def precisions(self) -> Float[np.ndarray, "*matrices terms"]:
        """Those of the entries, of a prior in which these are independent."""
        return np.diagonal(self.precision, axis1=-2, axis2=-1)

    def with_mean(self, mean: Float[np.ndarray, "*batch terms"]) -> Normal:
        """The law with other means."""
        return replace(self, mean=mean)

    def with_precision(self, precision: Float[np.ndarray, "*many terms"]) -> Normal:
        """The law with these means whose entries are independent, with these precisions.

        Of precisions by row a matrix for each, which their axes lead, before one of vectors.
        """
        return Normal(self.mean, *diagonal(precision))

    def start(self, more: float) -> Normal:
        """A law of each vector where ascents set out: with so much more precision than this."""
        precision = self.precision + more * np.eye(self.mean.shape[-1])
        shape = (*self.mean.shape, self.mean.shape[-1])
        return Normal.from_precision(self.mean, np.broadcast_to(precision, shape))

    def squares(self) -> Float[np.ndarray, "*batch terms"]:
        """``E[x_j^2]``."""
        return np.asarray(self.mean**2 + np.diagonal(self.covariance, axis1=-2, axis2=-1))

    def expectations_along(
        self,
        linear: Float[np.ndarray, "many *batch terms"],
        precision: Float[np.ndarray, "many *batch terms terms"],
    ) -> tuple[Float[np.ndarray, "many *batch pairs"], Float[np.ndarray, "many *batch terms"]]:
        """Changes of ``-E[x x'] / 2``, packed, and of ``E[x]`` with natural parameters.

        Directional derivatives, exact, in many directions at once.
        """
        shift = times_each(self.covariance, linear - times(precision, self.mean))
        half = shift[..., :, None] * self.mean[..., None, :]
        second = half + np.swapaxes(half, -1, -2) - self.covariance @ precision @ self.covariance
        return -0.5 * quadratic_weights(second), shift

    def kl(self, prior: Normal) -> float:
        """Sum over the batch of ``KL(self || prior)``; the prior broadcasts over the batch."""
        shift = self.mean - prior.mean
        quadratic = np.vecdot(times(prior.precision, shift), shift)
        trace = trace_of_product(prior.precision, self.covariance)
        return float(
            0.5 * np.sum(quadratic + trace - shift.shape[-1] + self.log_det - prior.log_det)
        )

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "draws *batch terms"]:
        """Independent draws."""
        noise = rng.standard_normal((n, *self.mean.shape))
        return np.asarray(self.mean + times_each(np.linalg.cholesky(self.covariance), noise))

    def log_density(
        self, value: Float[np.ndarray, "draws *batch terms"]
    ) -> Float[np.ndarray, " draws *batch"]:
        """Log density of each vector."""
        shift = value - self.mean
        quadratic = (times_each(self.precision, shift) * shift).sum(axis=-1)
        density: Float[np.ndarray, " draws *batch"]
        density = 0.5 * (self.log_det - shift.shape[-1] * LOG_2PI - quadratic)
        return density
