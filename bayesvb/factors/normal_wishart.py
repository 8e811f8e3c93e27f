"""Normal-Wishart factor: means and precision matrices of Gaussians.

``Lambda ~ W(scale, dof)`` and ``mu | Lambda ~ N(mean, (mean_precision Lambda)^-1)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln

from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import BatchArray
from bayesvb.numerics.linalg import inverse_and_log_det, times
from bayesvb.numerics.special import LOG_2PI


@dataclass(frozen=True)
class NormalWishart:
    """Conjugate factor of a Gaussian sample with unknown mean and covariance.

    Attributes
    ----------
    mean : ndarray, shape (..., dims)
        ``m``.
    mean_precision : ndarray, shape (...)
        ``beta``: rows' worth of evidence on the mean.
    dof : ndarray, shape (...)
        ``nu``, more than ``dims - 1``.
    scale, scatter : ndarray, shape (..., dims, dims)
        ``W`` and its inverse; the scatter is a sum of squares.
    log_det : ndarray, shape (...)
        Log-determinant of ``W``.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, section 10.2 and appendix B.

    Examples
    --------
    >>> prior = NormalWishart.prior(np.zeros(2), 1.0, 4.0, np.eye(2))
    >>> prior.expected_precision
    array([[4., 0.],
           [0., 4.]])
    """

    mean: Float[np.ndarray, "*batch dims"]
    mean_precision: BatchArray
    dof: BatchArray
    scale: Float[np.ndarray, "*batch dims dims"]
    scatter: Float[np.ndarray, "*batch dims dims"]
    log_det: BatchArray

    @classmethod
    def prior(
        cls,
        mean: Float[np.ndarray, " dims"],
        mean_precision: float,
        dof: float,
        scatter: Float[np.ndarray, "dims dims"],
    ) -> NormalWishart:
        """Prior shared by all experts.

        Raises
        ------
        numpy.linalg.LinAlgError
            The scatter is not positive definite, ``mean_precision`` not positive, or ``dof`` not
            more than ``dims - 1``.
        """
        one, many = np.asarray(float(mean_precision)), np.asarray(float(dof))
        return cls._from_scatter(mean, one, many, scatter)

    @classmethod
    def _from_scatter(
        cls,
        mean: Float[np.ndarray, "*batch dims"],
        mean_precision: BatchArray,
        dof: BatchArray,
        scatter: Float[np.ndarray, "*batch dims dims"],
    ) -> NormalWishart:
        """Factor with everything that follows from the scatter."""
        if not ((mean_precision > 0.0).all() and (dof > mean.shape[-1] - 1.0).all()):
            raise np.linalg.LinAlgError(
                f"mean_precision must be positive and dof more than {mean.shape[-1] - 1}"
            )
        scale, log_det = inverse_and_log_det(scatter)
        return cls(mean, mean_precision, dof, scale, scatter, np.asarray(-log_det))

    def posterior(
        self,
        weight: BatchArray,
        x: Float[np.ndarray, "*batch dims"],
        xx: Float[np.ndarray, "*batch dims dims"],
    ) -> NormalWishart:
        """Posterior given weighted sums of ``1``, ``x`` and ``x x'``.

        The scatter is the sum of the rows' scatter about the new mean and the shrinkage of the
        prior, both positive semi-definite, without a division by a weight. The first is computed
        from sums, so its rounding is relative to ``xx``: data should be centred.

        Raises
        ------
        numpy.linalg.LinAlgError
            The statistics are of no data: the scatter is not positive definite, say.

        References
        ----------
        Bishop (2006), eqs 10.60 to 10.63.
        """
        mean_precision = self.mean_precision + weight
        mean = (self.mean_precision * self.mean + x) / mean_precision[..., None]
        cross = mean[..., :, None] * x[..., None, :]
        about = xx - cross - np.swapaxes(cross, -1, -2)
        about += weight[..., None, None] * _square(mean)
        pull = self.mean_precision * _square(mean - self.mean)
        dof = self.dof + weight
        return self._from_scatter(mean, mean_precision, dof, self.scatter + about + pull)

    def to_the_power(self, power: float) -> NormalWishart:
        """The law with this one's density to a power.

        Densities of the mean and of the precision matrix are with respect to the measure
        ``|Lambda|^{-(D + 1) / 2} dLambda``, in one dimension the measure of ``log tau``.
        """
        dof = np.asarray(power * (self.dof + 1.0) - 1.0)
        mean_precision = np.asarray(power * self.mean_precision)
        return self._from_scatter(self.mean, mean_precision, dof, power * self.scatter)

    @property
    def n_dims(self) -> int:
        """Number of variables."""
        return int(self.mean.shape[-1])

    @property
    def expected_precision(self) -> Float[np.ndarray, "*batch dims dims"]:
        """``E[Lambda] = nu W``."""
        return np.asarray(self.dof[..., None, None] * self.scale)

    @property
    def _halves(self) -> Float[np.ndarray, "*batch dims"]:
        """``(nu + 1 - i) / 2``."""
        return np.asarray(0.5 * (self.dof[..., None] - np.arange(self.n_dims)))

    @cached_property
    def expected_log_det(self) -> BatchArray:
        """``E[log |Lambda|] = sum_i digamma((nu + 1 - i) / 2) + D log 2 + log |W|``."""
        log_two = self.n_dims * np.log(2.0)
        return np.asarray(digamma(self._halves).sum(axis=-1) + log_two + self.log_det)

    @cached_property
    def log_normaliser(self) -> BatchArray:
        """Log of the constant ``B(W, nu)`` of the Wishart density (Bishop 2006, eq. B.79)."""
        n_dims = self.n_dims
        gamma = gammaln(self._halves).sum(axis=-1) + 0.25 * n_dims * (n_dims - 1) * np.log(np.pi)
        return np.asarray(-0.5 * self.dof * (self.log_det + n_dims * np.log(2.0)) - gamma)

    @property
    def student(self) -> tuple[Float[np.ndarray, "*batch dims dims"], BatchArray]:
        """Scale matrix and degrees of freedom of the predictive Student t about the mean.

        ``(1 + beta) / (beta (nu + 1 - D)) W^-1`` and ``nu + 1 - D`` (Bishop 2006, eq. 10.81).
        """
        dof = self.dof + 1.0 - self.n_dims
        factor = (1.0 + self.mean_precision) / (self.mean_precision * dof)
        return np.asarray(factor[..., None, None] * self.scatter), np.asarray(dof)

    def kl(self, prior: NormalWishart) -> float:
        """Sum over the batch of ``KL(self || prior)``; the prior broadcasts over the batch."""
        n_dims, ratio = self.n_dims, prior.mean_precision / self.mean_precision
        shift = self.mean - prior.mean
        pull = (times(self.scale, shift) * shift).sum(axis=-1)
        trace = (prior.scatter * self.scale).sum(axis=(-2, -1))
        normal = n_dims * (ratio - 1.0 - np.log(ratio)) + prior.mean_precision * self.dof * pull
        wishart = (self.dof - prior.dof) * self.expected_log_det + self.dof * (trace - n_dims)
        constant = self.log_normaliser - prior.log_normaliser
        return float(np.sum(0.5 * (normal + wishart) + constant))

    def draws(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "draws *batch dims"], Float[np.ndarray, "draws *batch dims dims"]]:
        """Independent draws of the means and of the precision matrices (Bartlett's decomposition).

        References
        ----------
        Smith, Hocking (1972), Algorithm AS 53: Wishart variate generator, doi:10.2307/2346290.
        """
        dims = np.arange(self.n_dims)
        root = np.tril(rng.standard_normal((n, *self.scale.shape)), -1)
        dof = np.broadcast_to(self.dof[..., None] - dims, self.mean.shape)
        root[..., dims, dims] = np.sqrt(rng.chisquare(dof, size=(n, *self.mean.shape)))
        root = np.linalg.cholesky(self.scale) @ root
        noise = rng.standard_normal((n, *self.mean.shape, 1))
        shift = np.linalg.solve(np.swapaxes(root, -1, -2), noise)[..., 0]
        mean = self.mean + shift / np.sqrt(self.mean_precision)[..., None]
        return mean, root @ np.swapaxes(root, -1, -2)

    def log_density(
        self,
        mean: Float[np.ndarray, "draws *batch dims"],
        precision: Float[np.ndarray, "draws *batch dims dims"],
    ) -> Float[np.ndarray, " draws *batch"]:
        """Log density of each mean and precision matrix."""
        log_det = namespace(precision).linalg.slogdet(precision).logabsdet
        shift = mean - self.mean
        pull = self.mean_precision * (times(precision, shift) * shift).sum(axis=-1)
        normal = self.n_dims * (np.log(self.mean_precision) - LOG_2PI) + log_det - pull
        trace = (self.scatter * precision).sum(axis=(-2, -1))
        wishart = (self.dof - self.n_dims - 1.0) * log_det - trace
        density: Float[np.ndarray, " draws *batch"]
        density = 0.5 * (normal + wishart) + self.log_normaliser
        return density


def _square(vector: Float[np.ndarray, "*batch dims"]) -> Float[np.ndarray, "*batch dims dims"]:
    """Outer product of each vector with itself."""
    return np.asarray(vector[..., :, None] * vector[..., None, :])
