"""Gaussian experts: what mixtures of vectors share, whatever the form of the covariances.

The log density of a Gaussian is a polynomial in the row. Its expectation for all experts and rows
is therefore one matrix product with the row's own values and one with its products; the sums that
a pass leaves behind are the same two products the other way round.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.multivariate_student import AbstractJointStudent
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.experts.base import AbstractExperts
from bayesvb.numerics.arrays import (
    BatchArray,
    DimRows,
    DrawExpertRows,
    DrawExperts,
    EntryVector,
    ExpertRows,
    ExpertVector,
    Floats,
    RowVector,
)
from bayesvb.numerics.special import LOG_2PI, log_sum_exp
from bayesvb.variational.coordinates import entries
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import RowScalars, consecutive

PosteriorT = TypeVar("PosteriorT")


@dataclass(frozen=True)
class GaussianStats(SufficientStats):
    """Weighted sums over rows, per expert.

    Attributes
    ----------
    weight : ndarray, shape (experts,)
        Sum of the responsibilities.
    x : ndarray, shape (experts, dims)
        Sum of ``x``.
    xx : ndarray, shape (experts, products)
        Sum of the products that the form of the covariance needs: ``x x'`` packed, or squares.
    """

    weight: Float[np.ndarray, "*many experts"]
    x: Float[np.ndarray, "*many experts dims"]
    xx: Float[np.ndarray, "*many experts products"]


@dataclass(frozen=True)
class GaussianLocalPosterior(AbstractLocalPosterior):
    """Expected log likelihood of these rows under every expert, and what statistics are made of."""

    expected_log_density: ExpertRows
    x: DimRows
    products: Float[np.ndarray, "products rows"]

    def sufficient_stats(self, responsibilities: ExpertRows) -> GaussianStats:
        return _sums(responsibilities, self.x, self.products)


class AbstractGaussianExperts(AbstractExperts[PosteriorT, GaussianStats], Generic[PosteriorT]):
    r"""``x ~ N(mu_k, Lambda_k^-1)``, conjugate prior shared by all experts.

    The variables are ``block.designs["variables"]``; the response is absent. Rounding of the
    polynomial is relative to ``E[m' Lambda m]``: data should be centred and of unit size, and the
    prior keeps a component from being narrower than ``sqrt(scatter / rows)``.

    Parameters that are drawn: ``mean`` (draws, experts, dims) and ``precision``, in the shape of
    the covariance's form.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, section 10.2.
    """

    posterior_by_row = True

    joint: ClassVar[Callable[..., AbstractJointStudent]]
    """Mixture of the predictive distributions of the experts."""

    @abc.abstractmethod
    def products(self, x: DimRows) -> Float[np.ndarray, "products rows"]:
        """Products of the variables that enter the log density."""

    @abc.abstractmethod
    def expected(
        self, posterior: PosteriorT
    ) -> tuple[
        Float[np.ndarray, "experts dims"],
        Float[np.ndarray, "experts dims *form"],
        ExpertVector,
    ]:
        """Mean, ``E[Lambda]``, and ``E[log |Lambda|]`` less the spread of the mean (D / beta)."""

    @abc.abstractmethod
    def slopes(
        self, mean: Float[np.ndarray, "*batch dims"], precision: Floats
    ) -> tuple[Float[np.ndarray, "*batch dims"], Float[np.ndarray, "*batch products"]]:
        """Coefficients of ``x`` and of its products in the exponent of the density."""

    @abc.abstractmethod
    def log_det(self, precision: Float[np.ndarray, "draws experts dims *form"]) -> DrawExperts:
        """Log-determinants of drawn precisions."""

    @abc.abstractmethod
    def covariances(self, draws: Draws) -> Float[np.ndarray, "draws experts dims dims"]:
        """Covariance matrices of drawn experts."""

    @abc.abstractmethod
    def student(
        self, posterior: PosteriorT
    ) -> tuple[
        Float[np.ndarray, "*batch dims"],
        Float[np.ndarray, "*batch dims *form"],
        BatchArray,
    ]:
        """Location, scale and degrees of freedom of the predictive Student t of each expert."""

    def joint_predictive(
        self, posterior: PosteriorT, weights: ExpertVector
    ) -> AbstractJointStudent:
        """Predictive distribution of a row, for these expected weights (Bishop 2006, eq. 10.81)."""
        return self.joint(weights, *self.student(posterior))

    def local(self, posterior: PosteriorT, block: Block) -> GaussianLocalPosterior:
        r"""``E log N(x | mu_k, Lambda_k^-1)`` (Bishop 2006, eqs 10.46, 10.64 and 10.65)."""
        x = block.designs["variables"]
        products = self.products(x)
        return GaussianLocalPosterior(
            self._terms(*self.expected(posterior), x, products), x, products
        )

    def row_scalars(self, block: Block, n_experts: int) -> RowScalars:
        """``1``, ``x`` and its products, in the order of ``GaussianStats``."""
        x = block.designs["variables"]
        parts = [np.ones((1, block.n_rows)), x, self.products(x)]
        places = consecutive(n_experts, [len(part) for part in parts])
        return RowScalars.of(np.concatenate(parts), np.concatenate(places, axis=1))

    def expectations(self, posterior: PosteriorT) -> EntryVector:
        """Coefficients of the expected log density as a polynomial of the row."""
        mean, precision, log_det = self.expected(posterior)
        linear, square = self.slopes(mean, precision)
        constant = 0.5 * (log_det - (mean * linear).sum(axis=-1))
        return entries(constant, linear, square)

    def log_predictive(self, posterior: PosteriorT, weights: ExpertRows, block: Block) -> RowVector:
        """Log predictive density of each row, all variables together, for these weights."""
        x = block.designs["variables"]
        with np.errstate(divide="ignore"):  # a weight may vanish
            return log_sum_exp(np.log(weights) + self.log_student(posterior, x))[0]

    def log_student(self, posterior: PosteriorT, x: DimRows) -> ExpertRows:
        """Log predictive density of each row under each expert.

        The posterior is the same for all rows, or has one for each on a leading axis.
        """
        location, scale, dof = self.student(posterior)
        if dof.ndim == 1:
            return self.joint(dof, location, scale, dof).component_log_density(x)
        # Every row has experts of its own: seen from the row, which is then the origin.
        seen = (location - x.T[:, None]).reshape(-1, len(x))
        scale, every = scale.reshape(-1, *scale.shape[2:]), dof.ravel()
        density = self.joint(every, seen, scale, every).component_log_density(np.zeros((len(x), 1)))
        return np.asarray(density.reshape(dof.shape).T)

    def _terms(
        self,
        mean: Float[np.ndarray, "*batch dims"],
        precision: Floats,
        log_det: BatchArray,
        x: DimRows,
        products: Float[np.ndarray, "products rows"],
    ) -> Float[np.ndarray, "*batch rows"]:
        """Log densities as polynomials of the rows."""
        linear, square = self.slopes(mean, precision)
        constant = 0.5 * (log_det - len(x) * LOG_2PI - (mean * linear).sum(axis=-1))
        terms: Float[np.ndarray, "*batch rows"] = square @ products
        terms += linear @ x
        terms += constant[..., None]
        return terms

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> GaussianStats:
        x = block.designs["variables"]
        return _sums(responsibilities, x, self.products(x))

    def predictive(
        self, posterior: PosteriorT, weights: ExpertRows, block: Block, response: int
    ) -> StudentMixture:
        """Predictive distribution of one variable by itself, for every row."""
        n_experts = len(self.expected(posterior)[2])
        even = np.full(n_experts, 1.0 / n_experts)
        one = self.joint_predictive(posterior, even).marginal(response)
        shape = (n_experts, block.n_rows)
        location, scale = np.broadcast_to(one.location, shape), np.broadcast_to(one.scale, shape)
        return StudentMixture(weights, location, scale, one.dof)

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        x, precision = block.designs["variables"], draws["precision"]
        return self._terms(draws["mean"], precision, self.log_det(precision), x, self.products(x))

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws dims rows"]:
        n_draws, n_experts, n_dims = draws["mean"].shape
        noise = rng.standard_normal((n_draws, n_dims, chosen.shape[1]))
        root = np.linalg.cholesky(self.covariances(draws))
        result = np.empty_like(noise)
        for k in range(n_experts):
            drawn = draws["mean"][:, k, :, None] + root[:, k] @ noise
            np.copyto(result, drawn, where=(chosen == k)[:, None, :])
        return result


def _sums(
    responsibilities: ExpertRows, x: DimRows, products: Float[np.ndarray, "products rows"]
) -> GaussianStats:
    weight = responsibilities.sum(axis=1)
    return GaussianStats(weight, responsibilities @ x.T, responsibilities @ products.T)
