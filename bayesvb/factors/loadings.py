"""Posterior of loadings, centre and noise precision of a factor model, jointly.

Row ``i`` of ``[W, mu]`` is ``c_i | tau ~ N(m_i, (tau V_i)^-1)`` with one ``tau ~ Ga(a, b)`` for all
rows. Rows that share their regressors share ``V``: the leading axis of the matrices is then one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import digamma

from bayesvb.factors.gamma import gamma_kl, gamma_log_density
from bayesvb.numerics.arrays import DrawVector
from bayesvb.numerics.linalg import inverse_and_log_det, times
from bayesvb.numerics.special import LOG_2PI


@dataclass(frozen=True)
class Loadings:
    """``N(m_i, (tau V_i)^-1)`` for every variable ``i``, and ``Ga(a, b)`` for ``tau``.

    Attributes
    ----------
    mean : ndarray, shape (dims, columns)
        Loadings, then the centre in the last column.
    precision, covariance : ndarray, shape (dims or 1, columns, columns)
        ``V`` and its inverse.
    log_det : ndarray, shape (dims or 1,)
        Log-determinant of ``V``.
    shape, rate : float
        ``a`` and ``b``.
    """

    mean: Float[np.ndarray, "dims columns"]
    precision: Float[np.ndarray, "matrices columns columns"]
    covariance: Float[np.ndarray, "matrices columns columns"]
    log_det: Float[np.ndarray, " matrices"]
    shape: float
    rate: float

    @classmethod
    def from_precision(
        cls,
        mean: Float[np.ndarray, "dims columns"],
        precision: Float[np.ndarray, "matrices columns columns"],
        shape: float,
        rate: float,
    ) -> Loadings:
        """Loadings with this mean and scaled precision.

        Raises
        ------
        numpy.linalg.LinAlgError
            A precision is not positive definite, or shape or rate are not positive.
        """
        if not (shape > 0.0 and rate > 0.0):
            raise np.linalg.LinAlgError("shape and rate of a gamma distribution must be positive")
        covariance, log_det = inverse_and_log_det(precision)
        return cls(mean, precision, covariance, log_det, float(shape), float(rate))

    @property
    def expected_precision(self) -> float:
        """``E[tau]``."""
        return self.shape / self.rate

    @property
    def expected_log_precision(self) -> float:
        """``E[log tau]``."""
        return float(digamma(self.shape) - np.log(self.rate))

    @property
    def second_moments(self) -> Float[np.ndarray, "dims columns columns"]:
        """``E[tau c_i c_i']`` for every variable."""
        outer = self.mean[:, :, None] * self.mean[:, None, :]
        return np.asarray(self.covariance + self.expected_precision * outer)

    def kl(
        self,
        prior_mean: Float[np.ndarray, "dims columns"],
        prior_precision: Float[np.ndarray, "columns columns"],
        prior_log_det: float,
        shape: float,
        rate: float,
    ) -> float:
        """``E KL(self || prior)`` for a prior ``N(m_i, (tau P)^-1)`` whose ``P`` may be random.

        Parameters
        ----------
        prior_mean : ndarray, shape (dims, columns)
        prior_precision : ndarray, shape (columns, columns)
            ``E[P]``.
        prior_log_det : float
            ``E[log |P|]``.
        shape, rate : float
            Prior of the noise precision.
        """
        n_dims, n_columns = self.mean.shape
        spread = (self.covariance * prior_precision).sum(axis=(1, 2))
        shift = self.mean - prior_mean
        pull = float(((shift @ prior_precision) * shift).sum()) * self.expected_precision
        shared = spread + self.log_det - prior_log_det - n_columns
        normal = 0.5 * (float(shared.sum()) * n_dims / len(shared) + pull)
        return float(normal + gamma_kl(self.shape, self.rate, shape, rate))

    def draws(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "draws dims columns"], DrawVector]:
        """Independent draws of ``[W, mu]`` and of the noise precision."""
        precision = rng.gamma(self.shape, 1.0 / self.rate, size=n)
        noise = rng.standard_normal((n, *self.mean.shape))
        root = np.linalg.cholesky(self.covariance)
        return self.mean + times(root, noise) / np.sqrt(precision)[:, None, None], precision

    def log_density(
        self, value: Float[np.ndarray, "draws dims columns"], precision: DrawVector
    ) -> DrawVector:
        """Log density of each draw."""
        shift = value - self.mean
        n_dims, n_columns = self.mean.shape
        pull = (times(self.precision, shift) * shift).sum(axis=(1, 2))
        log_precision = np.log(precision)
        log_det = float(self.log_det.sum()) * n_dims / len(self.log_det)
        size = n_dims * n_columns
        normal = 0.5 * (log_det + size * (log_precision - LOG_2PI) - precision * pull)
        return np.asarray(normal + gamma_log_density(precision, self.shape, self.rate))
