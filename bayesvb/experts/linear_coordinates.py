"""Standard coordinates of linear experts: coefficients and noise precisions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import polygamma

from bayesvb.factors.coefficient_basis import ExpertBasis, JointBasis
from bayesvb.factors.coupled_normal_gamma import CoupledNormalGamma
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.numerics.linalg import quadratic_weights
from bayesvb.variational.coordinates import AbstractCoordinates, entries, perturbation_rows
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class LinearCoordinates(AbstractCoordinates):
    r"""``sqrt(tau) P' (b - m)`` with ``P P' = V``, then standardised ``log tau``.

    The stand-ins are ``tau P' (b - m) / sqrt(E tau)`` and ``sqrt(a) (tau / E tau - 1)``. Components
    with common coefficients have one ``P`` for all of them.

    Attributes
    ----------
    posterior : MatrixNormalGamma or CoupledNormalGamma
    coupled : bool
        Whether coefficients scatter with the noise of their own draw, or with the expected one.
    """

    posterior: MatrixNormalGamma | CoupledNormalGamma
    coupled: bool = True

    def uncoupled(self) -> LinearCoordinates:
        """Coefficients that scatter with the expected noise."""
        return LinearCoordinates(self.posterior, coupled=False)

    def _root_precision(
        self, precision: Float[np.ndarray, "draws experts responses"]
    ) -> Float[np.ndarray, "_ experts responses"]:
        """Roots of the precisions with which coefficients scatter."""
        known = precision if self.coupled else self.posterior.expected_precision[None]
        return np.asarray(np.sqrt(known))

    @property
    def orthonormal(self) -> bool:
        """Whether stand-ins are uncorrelated, with variance one, to rounding.

        The noise of a component and the common coefficients depend on each other a little.
        """
        return isinstance(self.basis, ExpertBasis)

    @cached_property
    def basis(self) -> ExpertBasis | JointBasis:
        """Basis of the coefficients."""
        return self.posterior.basis

    @property
    def size(self) -> int:
        """Number of coefficients and precisions."""
        return int(self.posterior.mean.size + self.posterior.rate.size)

    @property
    def spread(self) -> Float[np.ndarray, "experts 1"]:
        """Standard deviation of ``log tau``."""
        return np.asarray(np.sqrt(polygamma(1, self.posterior.shape))[:, None])

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Expectations that the statistics are multiplied by, in the order of ``LinearStats``.

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

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of the coefficients of every expert and response, then of their precisions."""
        n_experts, _, n_terms = self.posterior.mean.shape
        untouched = n_experts * (1 + n_terms * (n_terms + 1) // 2)
        touched = self.touched()
        return np.concatenate([np.zeros((len(touched), untouched)), touched], axis=1)

    def touched(self) -> Float[np.ndarray, "coordinates touched"]:
        """What tilts add to sums of ``y_i x`` and of ``y_i^2``: they touch no others."""
        posterior, precision = self.posterior, self.posterior.expected_precision
        n_experts, n_responses, n_terms = posterior.mean.shape
        xy = self.basis.tilts()
        of_coefficients = 2.0 * np.vecdot(xy, posterior.mean)
        noise = -2.0 * np.sqrt(posterior.shape)[:, None] / precision
        here = np.eye(n_experts * n_responses).reshape(2 * (n_experts, n_responses))
        of_precisions = noise[..., None, None] * here
        n_tilts = n_experts * n_responses * (n_terms + 1)
        padding = np.zeros((n_tilts - len(xy), *posterior.mean.shape))
        pairs = (of_coefficients, of_precisions)
        return perturbation_rows(
            np.concatenate([xy, padding]),
            np.concatenate([pair.reshape(-1, n_experts, n_responses) for pair in pairs]),
        )

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of coefficients and precisions."""
        coefficients, precision = draws["coefficients"], draws["precision"]
        shift = coefficients - self.posterior.mean
        scaled = self.basis.standard(shift * self._root_precision(precision)[..., None])
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
        if not scaled.any():  # the centre, which is asked for of many posteriors
            return {"coefficients": posterior.mean + scaled, "precision": precision}
        shift = self.basis.scaled(scaled) / self._root_precision(precision)[..., None]
        return {"coefficients": posterior.mean + shift, "precision": precision}

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """``sum (1 - terms / 2) log tau``; ``sum log tau`` if they are not coupled."""
        coefficients, precision = draws["coefficients"], draws["precision"]
        share = 1.0 - 0.5 * coefficients.shape[-1] * self.coupled
        return np.asarray(share * np.log(precision).sum(axis=(1, 2)))

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Of means ``E[tau b] / E tau``, and of ``E log tau``.

        Of these sums over responses are known, and that shapes are the same for all of them: so
        ``E log tau - log E tau`` changes with all alike.
        """
        posterior, n = self.posterior, len(change)
        mean, precision = posterior.mean, posterior.expected_precision
        n_experts, n_responses, _ = mean.shape
        weight = change[:, :n_experts]
        by_response = change[:, -mean.size - precision.size :]
        relative = -2.0 * by_response[:, mean.size :].reshape(n, *precision.shape) / precision
        shift = by_response[:, : mean.size].reshape(n, *mean.shape) / precision[..., None]
        shift -= relative[..., None] * mean
        alike = (2.0 * weight - relative.sum(axis=-1)) / n_responses
        noise = (relative + alike[..., None]) / self.spread
        noise_root = self._root_precision(np.exp(posterior.expected_log_precision)[None])
        scaled = self.basis.standard(shift * noise_root[..., None])
        return np.concatenate([scaled.reshape(n, -1), noise.reshape(n, -1)], axis=1)
