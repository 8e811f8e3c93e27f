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
from bayesvb.numerics.arrays import DrawCoordinates, DrawVector, EntryVector
from bayesvb.variational.coordinates import AbstractCoordinates, entries, perturbation_rows
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class LinearCoordinates(AbstractCoordinates):
    r"""``sqrt(tau) P' (b - m)`` with ``P P' = V``, then standardised ``log tau``.

    The stand-ins are ``tau P' (b - m) / sqrt(E tau)`` and ``sqrt(a) (tau / E tau - 1)``. Components
    with common coefficients have one ``P`` for all of them, and their stand-ins are slightly
    correlated with the stand-ins of the noise.

    Attributes
    ----------
    posterior : MatrixNormalGamma or CoupledNormalGamma
    coupled : bool
        Whether coefficients scatter with the noise of their own draw, or with the expected one.
    """

    posterior: MatrixNormalGamma | CoupledNormalGamma
    coupled: bool = True

    @cached_property
    def law(self) -> MatrixNormalGamma | CoupledNormalGamma:
        """Marginal law of the coefficients that all rows share: effects of groups follow them."""
        law: MatrixNormalGamma | CoupledNormalGamma = self.posterior.shared
        return law

    def uncoupled(self) -> LinearCoordinates:
        """Coefficients that scatter with the expected noise."""
        return LinearCoordinates(self.posterior, coupled=False)

    def _root_precision(
        self, precision: Float[np.ndarray, "draws experts responses"]
    ) -> Float[np.ndarray, "_ experts responses"]:
        """Roots of the precisions with which coefficients scatter."""
        known = precision if self.coupled else self.posterior.expected_precision[None]
        return np.asarray(np.sqrt(known))

    @cached_property
    def basis(self) -> ExpertBasis | JointBasis:
        """Basis of the coefficients."""
        return self.law.basis

    @property
    def size(self) -> int:
        """Number of coefficients and precisions."""
        return int(self.law.mean.size + self.posterior.rate.size)

    @property
    def spread(self) -> Float[np.ndarray, "experts 1"]:
        """Standard deviation of ``log tau``."""
        return np.asarray(np.sqrt(polygamma(1, self.posterior.shape))[:, None])

    def expectations(self) -> EntryVector:
        """Expectations that the statistics are multiplied by, in the order of ``LinearStats``.

        ``E log tau / 2``, ``-E[tau b b'] / 2``, ``E[tau b]`` and ``-E[tau] / 2``, the first two
        summed over responses.
        """
        posterior, precision = self.posterior, self.posterior.expected_precision
        log_precision = posterior.expected_log_precision.sum(axis=-1)
        scaled = precision[..., None] * posterior.mean
        squares = -0.5 * posterior.second_moments()
        return entries(0.5 * log_precision, squares, scaled, -0.5 * precision)

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of the coefficients of every expert and response, then of their precisions."""
        touched = self.touched()
        untouched = self.expectations().size - touched.shape[1]
        return np.concatenate([np.zeros((len(touched), untouched)), touched], axis=1)

    def touched(self) -> Float[np.ndarray, "coordinates touched"]:
        """Changes of sums of ``y_i x`` and of ``y_i^2`` by perturbations; others do not change."""
        posterior, precision = self.law, self.law.expected_precision
        n_experts, n_responses, n_terms = posterior.mean.shape
        xy = self.basis.tilts()
        of_coefficients = 2.0 * np.vecdot(xy, posterior.mean)
        noise = -2.0 * np.sqrt(posterior.shape)[:, None] / precision
        here = np.eye(n_experts * n_responses).reshape(2 * (n_experts, n_responses))
        of_precisions = noise[..., None, None] * here
        n_tilts = n_experts * n_responses * (n_terms + 1)
        n_effects = self.posterior.mean.shape[-1] - n_terms
        padding = [(0, n_tilts - len(xy)), *[(0, 0)] * 2, (0, n_effects)]
        pairs = (of_coefficients, of_precisions)
        return perturbation_rows(
            np.pad(xy, padding),
            np.concatenate([pair.reshape(-1, n_experts, n_responses) for pair in pairs]),
        )

    def linear_perturbations(self) -> Float[np.ndarray, "coordinates experts more"]:
        """Perturbations of the weight, of sums of ``y x`` and ``y^2``, by expert; one response."""
        n_experts, _, n_terms = self.law.mean.shape
        xy, yy = np.split(self.touched(), [n_experts * n_terms], axis=1)
        each = [xy.reshape(-1, n_experts, n_terms), yy[..., None]]
        return np.concatenate([np.zeros_like(each[1]), *each], axis=2)

    def standard(self, draws: Draws) -> DrawCoordinates:
        """Coordinates of coefficients and precisions."""
        coefficients, precision = draws["coefficients"], draws["precision"]
        shift = coefficients - self.law.mean
        scaled = self.basis.standard(shift * self._root_precision(precision)[..., None])
        noise = (np.log(precision) - self.posterior.expected_log_precision) / self.spread
        n_draws = len(precision)
        return np.concatenate([scaled.reshape(n_draws, -1), noise.reshape(n_draws, -1)], axis=1)

    def parameters(self, standard: DrawCoordinates) -> Draws:
        """Coefficients and precisions at these coordinates."""
        posterior = self.law
        n_draws, n_scaled = len(standard), posterior.mean.size
        noise = standard[:, n_scaled:].reshape(n_draws, *posterior.rate.shape)
        precision = np.exp(posterior.expected_log_precision + self.spread * noise)
        scaled = standard[:, :n_scaled].reshape(n_draws, *posterior.mean.shape)
        if not scaled.any():  # the centre, which is asked for of many posteriors
            return {"coefficients": posterior.mean + scaled, "precision": precision}
        shift = self.basis.scaled(scaled) / self._root_precision(precision)[..., None]
        return {"coefficients": posterior.mean + shift, "precision": precision}

    def log_volume(self, draws: Draws) -> DrawVector:
        """``sum (1 - terms / 2) log tau``; ``sum log tau`` if they are not coupled."""
        coefficients, precision = draws["coefficients"], draws["precision"]
        share = 1.0 - 0.5 * coefficients.shape[-1] * self.coupled
        return np.asarray(share * np.log(precision).sum(axis=(1, 2)))

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Derivatives of the means ``E[tau b] / E tau``, and of ``E log tau``.

        Of these sums over responses are known, and that shapes are the same for all of them: so
        ``E log tau - log E tau`` changes with all alike.
        """
        n, whole, rate = len(change), self.posterior.mean, self.posterior.rate
        by_response = change[:, -whole.size - rate.size :]
        xy = by_response[:, : whole.size].reshape(n, *whole.shape)
        yy = by_response[:, whole.size :].reshape(n, *rate.shape)
        return self._centre(change[:, : len(rate)], xy[..., : self.law.mean.shape[-1]], yy)

    def centre_along(
        self, change: Float[np.ndarray, "changes experts more"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Changes of the centre with expectations of weights, ``y x`` and ``y^2``; one response."""
        return self._centre(change[..., 0], change[:, :, None, 1:-1], change[..., -1:])

    def _centre(
        self,
        weight: Float[np.ndarray, "changes experts"],
        xy: Float[np.ndarray, "changes experts responses terms"],
        yy: Float[np.ndarray, "changes experts responses"],
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Changes of the centre with the expectations that these statistics are multiplied by."""
        posterior, n = self.law, len(weight)
        precision = posterior.expected_precision
        relative = -2.0 * yy / precision
        shift = xy / precision[..., None] - relative[..., None] * posterior.mean
        alike = (2.0 * weight - relative.sum(axis=-1)) / precision.shape[-1]
        noise = (relative + alike[..., None]) / self.spread
        noise_root = self._root_precision(np.exp(posterior.expected_log_precision)[None])
        scaled = self.basis.standard(shift * noise_root[..., None])
        return np.concatenate([scaled.reshape(n, -1), noise.reshape(n, -1)], axis=1)
