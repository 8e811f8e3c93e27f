"""Expectations and standard coordinates of linear experts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import polygamma

from bayesvb.coordinates import AbstractCoordinates, tilt_rows
from bayesvb.experts.linear_sums import LinearSums
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linalg import quadratic_weights, times


def linear_expectations(posterior: MatrixNormalGamma) -> LinearSums:
    """What each sum is multiplied by in the expected log density of coefficients and precisions.

    ``E log tau / 2``, ``-E[tau b b'] / 2``, ``E[tau b]`` and ``-E[tau] / 2``, the first two summed
    over responses.
    """
    mean, precision = posterior.mean, posterior.expected_precision
    scaled = precision[..., None] * mean
    second = np.swapaxes(scaled, -1, -2) @ mean + mean.shape[-2] * posterior.covariance
    return LinearSums(
        weight=0.5 * posterior.expected_log_precision.sum(axis=-1),
        xx=-0.5 * quadratic_weights(second),
        xy=scaled,
        yy=-0.5 * precision,
    )


LinearDraws = tuple[
    Float[np.ndarray, "draws experts responses terms"], Float[np.ndarray, "draws experts responses"]
]
"""Coefficients and precisions."""


@dataclass(frozen=True)
class LinearCoordinates(AbstractCoordinates):
    r"""``sqrt(tau) P' (b - m)`` with ``P P' = V``, then standardised ``log tau``.

    The stand-ins are ``tau P' (b - m) / sqrt(E tau)`` and ``sqrt(a) (tau / E tau - 1)``.
    """

    posterior: MatrixNormalGamma

    @property
    def n_coordinates(self) -> int:
        """Number of coefficients and precisions."""
        return int(self.posterior.mean.size + self.posterior.rate.size)

    @property
    def root(self) -> Float[np.ndarray, "experts terms terms"]:
        """Cholesky factor of the scaled precision."""
        return np.linalg.cholesky(self.posterior.precision)

    @property
    def spread(self) -> Float[np.ndarray, "experts 1"]:
        """Standard deviation of ``log tau``."""
        return np.asarray(np.sqrt(polygamma(1, self.posterior.shape))[:, None])

    def tilts(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of the coefficients of every expert and response, then of their precisions."""
        posterior, precision = self.posterior, self.posterior.expected_precision
        n_experts, n_responses, n_terms = posterior.mean.shape
        columns = np.swapaxes(self.root, -1, -2)[:, None] / np.sqrt(precision)[..., None, None]
        pull = 2.0 * times(columns, posterior.mean)
        noise = -2.0 * np.sqrt(posterior.shape)[:, None] / precision
        here = np.eye(n_experts * n_responses).reshape(2 * (n_experts, n_responses))
        xy = np.einsum("kijt,kilm->kijlmt", columns, here)
        of_coefficients = np.einsum("kij,kilm->kijlm", pull, here)
        of_precisions = noise[..., None, None] * here
        n_tilts, n_pairs = n_experts * n_responses * (n_terms + 1), n_terms * (n_terms + 1) // 2
        xy = xy.reshape(-1, *posterior.mean.shape)
        padding = np.zeros((n_tilts - len(xy), *posterior.mean.shape))
        pairs = (of_coefficients, of_precisions)
        return tilt_rows(
            np.zeros((n_tilts, n_experts)),
            np.zeros((n_tilts, n_experts, n_pairs)),
            np.concatenate([xy, padding]),
            np.concatenate([pair.reshape(-1, n_experts, n_responses) for pair in pairs]),
        )

    def standard(self, draws: LinearDraws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of coefficients and precisions."""
        coefficients, precision = draws
        upper = np.swapaxes(self.root, -1, -2)[:, None]
        scaled = np.sqrt(precision)[..., None] * times(upper, coefficients - self.posterior.mean)
        noise = (np.log(precision) - self.posterior.expected_log_precision) / self.spread
        n_draws = len(precision)
        return np.concatenate([scaled.reshape(n_draws, -1), noise.reshape(n_draws, -1)], axis=1)

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> LinearDraws:
        """Coefficients and precisions at these coordinates."""
        posterior = self.posterior
        n_draws, n_scaled = len(standard), posterior.mean.size
        noise = standard[:, n_scaled:].reshape(n_draws, *posterior.rate.shape)
        precision = np.exp(posterior.expected_log_precision + self.spread * noise)
        scaled = standard[:, :n_scaled].reshape(n_draws, *posterior.mean.shape)
        upper = np.linalg.inv(np.swapaxes(self.root, -1, -2))[:, None]
        shift = times(upper, scaled) / np.sqrt(precision)[..., None]
        return posterior.mean + shift, precision

    def log_volume(self, draws: LinearDraws) -> Float[np.ndarray, " draws"]:
        """``sum (1 - terms / 2) log tau``."""
        coefficients, precision = draws
        share = 1.0 - 0.5 * coefficients.shape[-1]
        return np.asarray(share * np.log(precision).sum(axis=(1, 2)))
