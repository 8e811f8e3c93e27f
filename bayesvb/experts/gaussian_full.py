"""Gaussian experts with full covariance matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.distributions.multivariate_student import JointStudent
from bayesvb.experts.base import NO_VARIANCE
from bayesvb.experts.gaussian_base import AbstractGaussianExperts, GaussianStats
from bayesvb.experts.gaussian_coordinates import FullCoordinates
from bayesvb.factors.normal_wishart import NormalWishart
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import BatchArray, DimRows, DrawExperts, DrawVector, ExpertVector
from bayesvb.numerics.linalg import inverse_and_log_det, products, quadratic_weights, times, unpack
from bayesvb.variational.local import Draws
from bayesvb.variational.supports import AbstractSupport, PositiveDefinite, Real


@dataclass(frozen=True)
class FullGaussianExperts(AbstractGaussianExperts[NormalWishart]):
    r"""``x ~ N(mu_k, Lambda_k^-1)`` with a normal-Wishart prior.

    References
    ----------
    Bishop (2006), section 10.2, eqs 10.59 to 10.65; the degrees of freedom are ``nu_0 + N_k``.
    """

    joint = JointStudent

    prior: NormalWishart
    point: bool = False

    @classmethod
    def from_prior(
        cls,
        mean: Float[np.ndarray, " dims"],
        mean_precision: float,
        dof: float,
        scatter: Float[np.ndarray, "dims dims"],
    ) -> FullGaussianExperts:
        """Experts with this normal-Wishart prior."""
        return cls(NormalWishart.prior(mean, mean_precision, dof, scatter))

    def products(self, x: DimRows) -> Float[np.ndarray, "products rows"]:
        """All distinct products of two variables."""
        return products(x)

    def expected(
        self, posterior: NormalWishart
    ) -> tuple[
        Float[np.ndarray, "experts dims"],
        Float[np.ndarray, "experts dims dims"],
        ExpertVector,
    ]:
        """Mean, ``nu W`` and ``E[log |Lambda|] - D / beta``."""
        log_det = posterior.expected_log_det - posterior.n_dims / posterior.mean_precision
        return posterior.mean, posterior.expected_precision, log_det

    def slopes(
        self,
        mean: Float[np.ndarray, "*batch dims"],
        precision: Float[np.ndarray, "*batch dims dims"],
    ) -> tuple[Float[np.ndarray, "*batch dims"], Float[np.ndarray, "*batch products"]]:
        return times(precision, mean), -0.5 * quadratic_weights(precision)

    def log_det(self, precision: Float[np.ndarray, "draws experts dims dims"]) -> DrawExperts:
        log_det: DrawExperts
        log_det = namespace(precision).linalg.slogdet(precision).logabsdet
        return log_det

    def update(self, stats: GaussianStats) -> NormalWishart:
        """Exact coordinate update of every expert."""
        return self.prior.posterior(stats.weight, stats.x, unpack(stats.xx))

    def kl(self, posterior: NormalWishart) -> float:
        return posterior.kl(self.prior)

    def with_prior_power(self, power: float) -> FullGaussianExperts:
        """Experts whose prior density is to a power."""
        prior = self.prior if power == 0.0 else self.prior.to_the_power(power)
        return FullGaussianExperts(prior, point=True)

    def coordinates(self, posterior: NormalWishart) -> FullCoordinates | None:
        """Standard coordinates of means and precisions for small deviations, as of estimates."""
        return FullCoordinates(posterior, self.expectations(posterior)) if self.point else None

    def collapsed(self, posterior: NormalWishart, block: Block) -> Bool[np.ndarray, " experts"]:
        """Whether some combination of the variables has next to no variance."""
        sd = block.designs["variables"].std(axis=1)
        covariance = posterior.scatter / posterior.dof[:, None, None]
        smallest = np.linalg.eigvalsh(covariance / np.outer(sd, sd))[:, 0]
        return np.asarray(smallest < NO_VARIANCE)

    def draws(self, posterior: NormalWishart, n: int, rng: np.random.Generator) -> Draws:
        """``mean`` (draws, experts, dims) and ``precision`` (draws, experts, dims, dims)."""
        mean, precision = posterior.draws(n, rng)
        return {"mean": mean, "precision": precision}

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """``mean`` and ``precision``."""
        shape = (n_components, self.prior.n_dims)
        return {"mean": Real(shape), "precision": PositiveDefinite((*shape, self.prior.n_dims))}

    def covariances(self, draws: Draws) -> Float[np.ndarray, "draws experts dims dims"]:
        return inverse_and_log_det(draws["precision"])[0]

    def log_density(self, posterior: NormalWishart | None, draws: Draws) -> DrawVector:
        density = (posterior or self.prior).log_density(draws["mean"], draws["precision"])
        total: DrawVector = density.sum(axis=1)
        return total

    def student(
        self, posterior: NormalWishart
    ) -> tuple[
        Float[np.ndarray, "*batch dims"],
        Float[np.ndarray, "*batch dims dims"],
        BatchArray,
    ]:
        """Means, squared scales and degrees of freedom (Bishop 2006, eq. 10.81)."""
        return posterior.mean, *posterior.student
