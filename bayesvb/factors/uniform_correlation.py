r"""Uniform distribution of correlation matrices, in terms of partial correlations.

A correlation matrix of ``q`` effects has a Cholesky factor with the rows

.. math:: c_{i1},\; c_{i2} (1 - c_{i1}^2)^{1/2},\; \dots,\; \prod_{j < i} (1 - c_{ij}^2)^{1/2},

of canonical partial correlations ``c``. The density of the matrix is constant if these are
independent and ``(1 + c_ij) / 2`` is beta with both shapes ``b_j = (q + 1 - j) / 2``. The numbers
``z = atanh(c)`` are unbounded, and have the density ``(1 - c^2)^b`` up to a constant.

References
----------
Lewandowski, Kurowicka, Joe (2009), Generating random correlation matrices based on vines and
extended onion method, Journal of Multivariate Analysis 100(9), theorem 1 with ``eta = 1``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import betaln

STEEPEST = 9.0
"""Largest ``|z|`` of a factor, where ``1 - c^2`` is 6e-8: beyond it precisions of effects, their
inverses, would exceed sums over rows so far that these are lost by rounding."""


@dataclass(frozen=True)
class UniformCorrelation:
    """Uniform distribution of the correlation matrix of some effects.

    Attributes
    ----------
    n_effects : int

    Examples
    --------
    >>> prior = UniformCorrelation(2)
    >>> prior.correlations(np.arctanh(np.array([[0.5]]))).round(6).tolist()
    [[0.5]]
    """

    n_effects: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs ``(i, j)`` of effects, ``j < i``, in the order of the numbers ``z``."""
        return [(i, j) for i in range(self.n_effects) for j in range(i)]

    @property
    def _shapes(self) -> Float[np.ndarray, " pairs"]:
        """Shapes ``b_j`` of the partial correlations."""
        return np.array([0.5 * (self.n_effects - j) for _, j in self.pairs])

    def root(
        self, z: Float[np.ndarray, "*many pairs"]
    ) -> Float[np.ndarray, "*many effects effects"]:
        """Return Cholesky factors of correlation matrices."""
        z = np.clip(z, -STEEPEST, STEEPEST)
        partial, rest = np.tanh(z), 1.0 / np.cosh(z)  # sqrt(1 - c^2) without cancellation
        root = np.zeros((*z.shape[:-1], self.n_effects, self.n_effects))
        left = np.ones((*z.shape[:-1], self.n_effects))
        for k, (i, j) in enumerate(self.pairs):
            root[..., i, j] = partial[..., k] * left[..., i]
            left[..., i] *= rest[..., k]
        at = np.arange(self.n_effects)
        root[..., at, at] = left
        return root

    def correlations(self, z: Float[np.ndarray, "*many pairs"]) -> Float[np.ndarray, "*many pairs"]:
        """Return the correlations of the pairs."""
        root = self.root(z)
        first, second = np.array(self.pairs).T
        return np.asarray((root[..., first, :] * root[..., second, :]).sum(axis=-1))

    def matrix(
        self, correlations: Float[np.ndarray, "*many pairs"]
    ) -> Float[np.ndarray, "*many effects effects"]:
        """Return correlation matrices from the correlations of the pairs."""
        matrix = np.zeros((*correlations.shape[:-1], self.n_effects, self.n_effects))
        first, second = np.array(self.pairs).T
        matrix[..., first, second] = matrix[..., second, first] = correlations
        at = np.arange(self.n_effects)
        matrix[..., at, at] = 1.0
        return matrix

    def log_density(self, z: Float[np.ndarray, "*many pairs"]) -> Float[np.ndarray, "*many"]:
        """Return the log density of the numbers ``z``."""
        return np.asarray(self.log_jacobian(z) + self.log_constant)

    def log_jacobian(self, z: Float[np.ndarray, "*many pairs"]) -> Float[np.ndarray, "*many"]:
        """Return ``log |d r / d z|`` of the correlations ``r`` of the pairs."""
        away = np.abs(z)
        log_rest = 2.0 * (np.log(2.0) - away - np.log1p(np.exp(-2.0 * away)))  # log(1 - tanh^2)
        return np.asarray((self._shapes * log_rest).sum(axis=-1))

    @property
    def log_constant(self) -> float:
        """Log density of every correlation matrix, with respect to the correlations of pairs."""
        shape = self._shapes
        return float(-(betaln(shape, shape) + (2.0 * shape - 1.0) * np.log(2.0)).sum())

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n pairs"]:
        """Draw numbers ``z``."""
        shape = self._shapes
        return np.asarray(np.arctanh(2.0 * rng.beta(shape, shape, (n, len(shape))) - 1.0))
