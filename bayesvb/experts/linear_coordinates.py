"""Expectations and standard coordinates of linear experts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import polygamma

from bayesvb.coordinates import AbstractCoordinates, entries, tilt_rows
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linalg import quadratic_weights, times
from bayesvb.parts import Draws


@dataclass(frozen=True)
class LinearCoordinates(AbstractCoordinates):
    r"""``sqrt(tau) P' (b - m)`` with ``P P' = V``, then standardised ``log tau``.

    The stand-ins are ``tau P' (b - m) / sqrt(E tau)`` and ``sqrt(a) (tau / E tau - 1)``.
    """

    posterior: MatrixNormalGamma

    @property
    def root(self) -> Float[np.ndarray, "experts terms terms"]:
        """Cholesky factor of the scaled precision."""
        return np.linalg.cholesky(self.posterior.precision)

    @property
    def spread(self) -> Float[np.ndarray, "experts 1"]:
        """Standard deviation of ``log tau``."""
        return np.asarray(np.sqrt(polygamma(1, self.posterior.shape))[:, None])

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Expectations that the sums are multiplied by, in the order of ``LinearSums``.

        ``E log tau / 2``, ``-E[tau b b'] / 2``, ``E[tau b]`` and ``-E[tau] / 2``, the first two
        summed over responses.
        """
        posterior, precision = self.posterior, self.posterior.expected_precision
        mean = posterior.mean
        scaled = precision[..., None] * mean
        second = np.swapaxes(scaled, -1, -2) @ mean + mean.shape[-2] * posterior.covariance
        log_precision = posterior.expected_log_precision.sum(axis=-1)
        return entries(
            0.5 * log_precision, -0.5 * quadratic_weights(second), scaled, -0.5 * precision
        )

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

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of coefficients and precisions."""
        coefficients, precision = draws["coefficients"], draws["precision"]
        upper = np.swapaxes(self.root, -1, -2)[:, None]
        scaled = np.sqrt(precision)[..., None] * times(upper, coefficients - self.posterior.mean)
        noise = (np.log(precision) - self.posterior.expected_log_precision) / self.spread
        n_draws = len(precision)
        return np.concatenate([scaled.reshape(n_draws, -1), noise.reshape(n_draws, -1)], axis=1)

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Draws:
        """Coefficients and precisions at these coordinates."""
        posterior = self.posterior
        n_draws, n_scaled = len(standard), posterior.mean.size
        noise = standard[:, n_scaled:].reshape(n_draws, *posterior.rate.shape)
        precision = np.exp(posterior.expected_log_precision + self.spread * noise)
        scaled = standard[:, :n_scaled].reshape(n_draws, *posterior.mean.shape)
        upper = np.linalg.inv(np.swapaxes(self.root, -1, -2))[:, None]
        shift = times(upper, scaled) / np.sqrt(precision)[..., None]
        return {"coefficients": posterior.mean + shift, "precision": precision}

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """``sum (1 - terms / 2) log tau``."""
        coefficients, precision = draws["coefficients"], draws["precision"]
        share = 1.0 - 0.5 * coefficients.shape[-1]
        return np.asarray(share * np.log(precision).sum(axis=(1, 2)))
