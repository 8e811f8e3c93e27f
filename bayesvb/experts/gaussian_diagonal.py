"""Gaussian experts with diagonal covariance matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.distributions.multivariate_student import IndependentStudents
from bayesvb.experts.base import NO_VARIANCE
from bayesvb.experts.gaussian_base import AbstractGaussianExperts, GaussianStats
from bayesvb.experts.gaussian_coordinates import DiagonalCoordinates
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import BatchArray, DimRows, DrawExperts, DrawVector, ExpertVector
from bayesvb.variational.local import Draws
from bayesvb.variational.supports import AbstractSupport, Positive, Real


@dataclass(frozen=True)
class DiagonalGaussianExperts(AbstractGaussianExperts[MatrixNormalGamma]):
    r"""``x_i ~ N(mu_ki, 1 / tau_ki)``, independent variables with normal-gamma priors.

    The factor is a regression of all variables on a constant term: the scaled precision of its
    coefficients is the weight of the component, ``beta_k = beta_0 + N_k``.

    References
    ----------
    Bishop (2006), sections 2.3.6 and 10.2.
    """

    joint = IndependentStudents

    prior: MatrixNormalGamma
    point: bool = False

    @classmethod
    def from_prior(
        cls,
        mean: Float[np.ndarray, " dims"],
        mean_precision: float,
        dof: float,
        scatter: Float[np.ndarray, "dims dims"],
    ) -> DiagonalGaussianExperts:
        """Experts whose means and variances have the marginal priors of a normal-Wishart.

        Under a Wishart a single variance is inverse gamma with shape ``(dof + 1 - dims) / 2`` and
        rate ``scatter_ii / 2``.
        """
        shape, rate = 0.5 * (dof + 1.0 - len(mean)), 0.5 * np.diagonal(scatter)
        if not (shape > 0.0 and mean_precision > 0.0 and (rate > 0.0).all()):
            raise np.linalg.LinAlgError(
                f"mean_precision and scatter must be positive and dof more than {len(mean) - 1}"
            )
        weight = np.full((1, 1), float(mean_precision))
        return cls(MatrixNormalGamma.prior(mean[:, None], weight, shape, rate))

    def products(self, x: DimRows) -> Float[np.ndarray, "products rows"]:
        """Squares of the variables."""
        return np.asarray(x * x)

    def expected(
        self, posterior: MatrixNormalGamma
    ) -> tuple[
        Float[np.ndarray, "experts dims"],
        Float[np.ndarray, "experts dims"],
        ExpertVector,
    ]:
        """Mean, ``E[tau]`` and ``sum_i E[log tau_i] - D / beta``."""
        mean = posterior.mean[..., 0]
        spread = mean.shape[-1] * posterior.covariance[..., 0, 0]
        log_det = posterior.expected_log_precision.sum(axis=-1) - spread
        return mean, posterior.expected_precision, log_det

    def slopes(
        self, mean: Float[np.ndarray, "*batch dims"], precision: Float[np.ndarray, "*batch dims"]
    ) -> tuple[Float[np.ndarray, "*batch dims"], Float[np.ndarray, "*batch products"]]:
        """Coefficients of ``x`` and of its squares in the exponent."""
        return precision * mean, -0.5 * precision

    def log_det(self, precision: Float[np.ndarray, "draws experts dims"]) -> DrawExperts:
        log_det: DrawExperts = namespace(precision).log(precision).sum(axis=-1)
        return log_det

    def update(self, stats: GaussianStats) -> MatrixNormalGamma:
        """Exact coordinate update of every expert."""
        ones = stats.weight[..., None]
        return self.prior.posterior(stats.weight, ones, stats.x[..., None], stats.xx)

    def kl(self, posterior: MatrixNormalGamma) -> float:
        return posterior.kl(self.prior)

    def with_prior_power(self, power: float) -> DiagonalGaussianExperts:
        """Experts whose prior density is to a power."""
        prior = self.prior if power == 0.0 else self.prior.to_the_power(power)
        return DiagonalGaussianExperts(prior, point=True)

    def coordinates(self, posterior: MatrixNormalGamma) -> DiagonalCoordinates | None:
        """Standard coordinates of means and precisions for small deviations, as of estimates."""
        return DiagonalCoordinates(posterior, self.expectations(posterior)) if self.point else None

    def collapsed(self, posterior: MatrixNormalGamma, block: Block) -> Bool[np.ndarray, " experts"]:
        """Whether some variable has next to no variance."""
        scatter = block.designs["variables"].var(axis=1)
        variance = 1.0 / posterior.expected_precision
        return np.asarray((variance < NO_VARIANCE * scatter).any(axis=1))

    def draws(self, posterior: MatrixNormalGamma, n: int, rng: np.random.Generator) -> Draws:
        """``mean`` and ``precision``, both (draws, experts, dims)."""
        mean, precision = posterior.draws(n, rng)
        return {"mean": mean[..., 0], "precision": precision}

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """``mean`` and ``precision``."""
        shape = (n_components, len(self.prior.mean))
        return {"mean": Real(shape), "precision": Positive(shape)}

    def covariances(self, draws: Draws) -> Float[np.ndarray, "draws experts dims dims"]:
        precision = draws["precision"]
        return np.asarray(np.eye(precision.shape[-1]) / precision[..., None, :])

    def log_density(self, posterior: MatrixNormalGamma | None, draws: Draws) -> DrawVector:
        factor = posterior or self.prior
        density = factor.log_density(draws["mean"][..., None], draws["precision"])
        total: DrawVector = density.sum(axis=(1, 2))
        return total

    def student(
        self, posterior: MatrixNormalGamma
    ) -> tuple[
        Float[np.ndarray, "*batch dims"],
        Float[np.ndarray, "*batch dims"],
        BatchArray,
    ]:
        """Means, scales and degrees of freedom of independent variables."""
        variance = posterior.rate / posterior.shape[..., None]
        variance = variance * (1.0 + posterior.covariance[..., 0])
        return posterior.mean[..., 0], np.sqrt(variance), 2.0 * posterior.shape
