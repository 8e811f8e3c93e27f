"""Bases in which regression coefficients have mean zero, variance one and no correlation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import ExpertVector
from bayesvb.numerics.linalg import times_each

Coefficients = Float[np.ndarray, "draws experts responses terms"]


@dataclass(frozen=True)
class ExpertBasis:
    """Basis of each component by itself: ``z = P' u`` with ``P P' = V``.

    ``u`` are deviations times the root of the noise precision.

    Attributes
    ----------
    precision : ndarray, shape (experts, terms, terms)
        Scaled precision ``V``.
    noise : ndarray, shape (experts, responses)
        ``E[tau]``.
    """

    precision: Float[np.ndarray, "experts terms terms"]
    noise: Float[np.ndarray, "experts responses"]

    @cached_property
    def _upper(self) -> Float[np.ndarray, "experts 1 terms terms"]:
        """``P'``."""
        return np.swapaxes(np.linalg.cholesky(self.precision), -1, -2)[:, None]

    @cached_property
    def _inverse(self) -> Float[np.ndarray, "experts 1 terms terms"]:
        """Inverse of ``P'``."""
        return np.linalg.inv(self._upper)

    def standard(self, scaled: Coefficients) -> Coefficients:
        """Coordinates of scaled deviations."""
        return times_each(self._upper, scaled)

    def scaled(self, standard: Coefficients) -> Coefficients:
        """Scaled deviations at coordinates."""
        return times_each(self._inverse, standard)

    def tilts(self) -> Float[np.ndarray, "coordinates experts responses terms"]:
        """Change of sums of ``y_i x`` by a unit perturbation of each coordinate."""
        columns = self._upper / np.sqrt(self.noise)[..., None, None]
        n_experts, n_responses, n_terms = columns.shape[:-1]
        here = np.eye(n_experts * n_responses).reshape(2 * (n_experts, n_responses))
        tilts = np.einsum("kijt,kilm->kijlmt", columns, here)
        return np.asarray(tilts.reshape(-1, n_experts, n_responses, n_terms))


@dataclass(frozen=True)
class JointBasis:
    """Basis of all components together, whose coefficients are correlated; one response.

    Attributes
    ----------
    root : ndarray, shape (coefficients, coefficients)
        Cholesky factor of the covariance of scaled deviations.
    stand_in : ndarray, shape (coefficients, coefficients)
        The stand-in of each coordinate as a combination of ``tau_k (beta_k - m_k) /
        sqrt(E[tau_k])``.
    noise : ndarray, shape (experts, 1)
    """

    root: Float[np.ndarray, "coefficients coefficients"]
    stand_in: Float[np.ndarray, "coefficients coefficients"]
    noise: Float[np.ndarray, "experts 1"]

    @classmethod
    def of(
        cls,
        own: Float[np.ndarray, "experts terms terms"],
        slope: Float[np.ndarray, "experts terms columns"],
        common: Float[np.ndarray, "columns columns"],
        noise: Float[np.ndarray, "experts 1"],
        shape: ExpertVector,
    ) -> JointBasis:
        """Basis of ``W_k b`` plus independent deviations with covariance ``own``, scaled.

        The variance of the noise precision, ``E[tau]^2 / a``, adds to the stand-ins' variance.
        """
        n_experts, n_terms, _ = own.shape
        stacked = slope.reshape(n_experts * n_terms, -1)
        covariance = stacked @ common @ stacked.T
        of_noise = np.zeros_like(covariance)
        for k in range(n_experts):
            at = slice(k * n_terms, (k + 1) * n_terms)
            of_noise[at, at] = covariance[at, at] / shape[k]
            covariance[at, at] += own[k]
        root = np.linalg.cholesky(covariance)
        inverse = np.linalg.inv(root)
        values, axes = np.linalg.eigh(np.eye(len(root)) + inverse @ of_noise @ inverse.T)
        return cls(root, axes / np.sqrt(values) @ axes.T @ inverse, noise)

    def standard(self, scaled: Coefficients) -> Coefficients:
        """Coordinates of scaled deviations."""
        flat = np.linalg.solve(self.root, scaled.reshape(len(scaled), -1).T).T
        return np.asarray(flat.reshape(scaled.shape))

    def scaled(self, standard: Coefficients) -> Coefficients:
        """Scaled deviations at coordinates."""
        return np.asarray(
            (standard.reshape(len(standard), -1) @ self.root.T).reshape(standard.shape)
        )

    def tilts(self) -> Float[np.ndarray, "coordinates experts 1 terms"]:
        """Change of sums of ``y x`` by a unit perturbation of each coordinate."""
        rows = self.stand_in.reshape(len(self.root), len(self.noise), 1, -1)
        return np.asarray(rows / np.sqrt(self.noise)[..., None])
