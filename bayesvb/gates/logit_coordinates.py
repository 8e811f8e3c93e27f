"""Expectations and standard coordinates of Gaussian logit coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.coordinates import AbstractCoordinates, entries, tilt_rows
from bayesvb.factors.normal import Normal
from bayesvb.linalg import quadratic_weights, times


@dataclass(frozen=True)
class LogitCoordinates(AbstractCoordinates):
    """``A' (g - m)`` with ``A A'`` the precision; linear in the coefficients already."""

    posterior: Normal

    @property
    def root(self) -> Float[np.ndarray, "logits terms terms"]:
        """Cholesky factor of the precision."""
        return np.linalg.cholesky(self.posterior.precision)

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """``-E[g g'] / 2`` and ``E[g]``, in the order of ``LogitSums``."""
        mean = self.posterior.mean
        second = self.posterior.covariance + mean[..., :, None] * mean[..., None, :]
        return entries(-0.5 * quadratic_weights(second), mean)

    def tilts(self) -> Float[np.ndarray, "coordinates entries"]:
        """Columns of the root, each at the logit to which it belongs."""
        n_logits, n_terms = self.posterior.mean.shape
        columns = np.swapaxes(self.root, -1, -2)
        linear = np.einsum("ljt,lm->ljmt", columns, np.eye(n_logits))
        linear = linear.reshape(n_logits * n_terms, n_logits, n_terms)
        no_curvature = np.zeros((len(linear), n_logits, n_terms * (n_terms + 1) // 2))
        return tilt_rows(no_curvature, linear)

    def standard(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, "draws coordinates"]:
        """``A' (g - m)``."""
        shift = draws - self.posterior.mean
        return times(np.swapaxes(self.root, -1, -2), shift).reshape(len(draws), -1)

    def parameters(
        self, standard: Float[np.ndarray, "draws coordinates"]
    ) -> Float[np.ndarray, "draws logits terms"]:
        """``m + A'^-1 z``."""
        shape = (len(standard), *self.posterior.mean.shape)
        upper = np.linalg.inv(np.swapaxes(self.root, -1, -2))
        return np.asarray(self.posterior.mean + times(upper, standard.reshape(shape)))

    def log_volume(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, " draws"]:
        """Constant."""
        return np.zeros(len(draws))
