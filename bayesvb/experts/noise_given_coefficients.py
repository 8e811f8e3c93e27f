"""Noise precisions after coefficients were updated given them, where both are independent.

In coordinates in which the prior precision of the coefficients is the identity and the sum of
``x x'`` is diagonal, the posterior of each coefficient given the noise is a quotient of numbers.
Turns between coefficients and noise then need no matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.experts.linear import LinearStats
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.normal import Normal
from bayesvb.numerics.linalg import times, unpack


@dataclass(frozen=True)
class NoiseGivenCoefficients:
    r"""The map from noise precisions to the next ones.

    With ``B_0 = L L'`` the prior precision and ``L^-1 X'X L'^-1 = Q diag(d) Q'`` the coefficients
    ``w = Q' L' b`` have, given the precision ``t``, the variances ``v = 1 / (1 + t d)`` and the
    means ``v (w_0 + t r)``, ``r = Q' L^-1 X'y``. The rate of the noise is
    ``b_0 + (y'y - 2 w' r + sum d (w^2 + v)) / 2``.

    Attributes
    ----------
    size : ndarray, shape (experts, 1, terms)
        ``d``.
    before : ndarray, shape (experts, responses, terms)
        ``w_0``, the prior means.
    linear : ndarray, shape (experts, responses, terms)
        ``r``.
    shape, rate : ndarray, shape (experts, responses)
        ``a_0 + N / 2``, and ``b_0 + y'y / 2``.
    """

    size: Float[np.ndarray, "experts 1 terms"]
    before: Float[np.ndarray, "experts responses terms"]
    linear: Float[np.ndarray, "experts responses terms"]
    shape: Float[np.ndarray, "experts responses"]
    rate: Float[np.ndarray, "experts responses"]

    @classmethod
    def of(cls, prior: Normal, noise: Gamma, stats: LinearStats) -> NoiseGivenCoefficients:
        """The map of these priors and sums over rows.

        Raises
        ------
        numpy.linalg.LinAlgError
            The prior precision is not positive definite, or sums are not finite.
        """
        root = np.linalg.inv(np.linalg.cholesky(prior.precision))
        size, basis = np.linalg.eigh(root @ unpack(stats.xx) @ np.swapaxes(root, -1, -2))
        turn = (np.swapaxes(basis, -1, -2) @ root)[:, None]
        return cls(
            size[:, None],
            times(turn, times(prior.precision, prior.mean)),
            times(turn, stats.xy),
            noise.shape + 0.5 * stats.weight[:, None],
            noise.rate + 0.5 * stats.yy,
        )

    def next(
        self, precision: Float[np.ndarray, "experts responses"]
    ) -> Float[np.ndarray, "experts responses"]:
        """Expected precisions after an update of the coefficients, then of the noise.

        Raises
        ------
        numpy.linalg.LinAlgError
            A covariance is not positive definite, or a precision not positive.
        """
        each = precision[..., None]
        posterior = each * self.size
        posterior += 1.0
        if not posterior.min(initial=np.inf) > 0.0:
            raise np.linalg.LinAlgError("a precision of coefficients is not positive definite")
        mean = each * self.linear
        mean += self.before
        mean /= posterior
        fitted = mean * mean
        fitted += 1.0 / posterior
        fitted *= self.size
        mean *= self.linear
        rate = self.rate + (0.5 * fitted - mean).sum(axis=-1)
        if not (self.shape.min(initial=np.inf) > 0.0 and rate.min(initial=np.inf) > 0.0):
            raise np.linalg.LinAlgError("shape and rate of a gamma distribution must be positive")
        return np.asarray(self.shape / rate)
