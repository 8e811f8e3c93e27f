"""Methods of experts: expected log likelihood of rows, and the statistics of an iteration."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.data.blocks import Block, Members
from bayesvb.data.response_columns import upper_ends
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.factors.normal import Normal
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawResponseRows,
    DrawVector,
    EntryVector,
    ExpertRows,
    ExpertTerms,
    RowVector,
)
from bayesvb.numerics.segments import segment_sums
from bayesvb.numerics.special import log_total
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars
from bayesvb.variational.supports import AbstractSupport

PosteriorT = TypeVar("PosteriorT")

StatsT = TypeVar("StatsT", bound=SufficientStats)


NO_VARIANCE = 1e-8
"""Residual variance relative to all rows, at a point estimate, of an expert with a few rows only:
a standard deviation of 1e-4 of the total one."""


class AbstractExperts(abc.ABC, Generic[PosteriorT, StatsT]):
    """Distribution of a row under each component.

    Experts are frozen and hold the prior that all components share; their posterior holds all
    components.
    """

    prior: PosteriorT
    """Law of one expert's parameters before any data are seen, the same for all."""

    posterior_by_row: ClassVar[bool] = False
    """Whether ``update`` takes statistics of many rows, on a leading axis, and predictions do."""

    is_conjugate: ClassVar[bool] = True
    """Whether the statistics of a row depend on the posterior by its responsibilities only.

    Where they do not, first-order changes of the centre without a row are closer to a refit than
    updates with first-order changes of the statistics, in which curvatures may nearly vanish.
    """

    posterior_by_group: ClassVar[bool] = False
    """Whether ``log_predictive_of_groups`` takes a posterior for each group."""

    learns_scales: ClassVar[bool] = False
    """Whether precisions of the prior of coefficients can be learned: of a linear regression."""

    @abc.abstractmethod
    def local(self, posterior: PosteriorT, block: Block) -> AbstractLocalPosterior:
        """Expected log likelihood of these rows under every expert."""

    @abc.abstractmethod
    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> SufficientStats:
        """Sums over these rows for given (weighted) responsibilities, before any posterior."""

    def global_step(self, posterior: PosteriorT | None, stats: Any) -> StatsT:
        """Statistics of the next posterior, from the statistics of an iteration under this one.

        The same statistics if one update of all parameters is exact. The posterior is None for
        statistics of a partition, from which a fit starts.
        """
        return cast(StatsT, stats)

    @abc.abstractmethod
    def update(self, stats: StatsT) -> PosteriorT:
        """Posterior given statistics.

        Raises
        ------
        numpy.linalg.LinAlgError
            The statistics are of no data.
        """

    def coordinates(self, posterior: PosteriorT) -> AbstractCoordinates | None:
        """Standard coordinates of the parameters; None if intervals are to stay mean-field."""
        return None

    def row_scalars(self, block: Block, n_experts: int) -> RowScalars | None:
        """Features in which the expected log likelihood is linear, one scalar per expert.

        The statistics are their sums, weighted by responsibility, and their coefficients are
        ``expectations``. None if the expected log likelihood is not linear in expectations;
        leave-one-out then uses differences of complete iterations.
        """
        return None

    def row_derivatives(
        self, posterior: PosteriorT, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives | None:
        """Derivatives of the expected log likelihood of these rows, in scalars of ``expectations``.

        Of experts without ``row_scalars``; None where they are not at hand.
        """
        return None

    def expectations(self, posterior: PosteriorT) -> EntryVector:
        """Expected sufficient statistics, in the order of the statistics of a pass."""
        expectations = self.coordinates(posterior)
        if expectations is None:
            raise NotImplementedError(f"{type(self).__name__} has row_scalars, no expectations")
        return expectations.expectations()

    def factor_covariance(
        self, posterior: PosteriorT, some: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "experts some entries"] | None:
        """Covariance of some of the sufficient statistics of each expert with all of them.

        By their numbers, the same of each expert: how ``expectations`` change with statistics.
        None where differences take its place.
        """
        return None

    def expectations_along(
        self,
        posterior: PosteriorT,
        change: StatsT,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> tuple[StatsT, Float[np.ndarray, "many entries"]] | None:
        """Changes of ``expectations`` with many changes of the statistics, as records of many.

        With ``precision`` precisions of the prior's coefficients change too. Also returns the
        changes of ``coefficient_squares``. None where differences take its place.
        """
        return None

    def forms(
        self, posterior: PosteriorT, block: Block, blocks: Float[np.ndarray, "blocks entries"]
    ) -> Forms | None:
        """Forms of the scalars of rows, and of sums of squares of blocks of coefficients.

        None where their covariances have no closed form.
        """
        return None

    def log_predictive(self, posterior: PosteriorT, weights: ExpertRows, block: Block) -> RowVector:
        """Log predictive density of each row, all responses together, for these weights.

        The posterior is the same for all rows or, of experts with ``row_scalars``, has one for
        each row on a leading axis. The same holds of ``predictive``.
        """
        each = [self.predictive(posterior, weights, block, i) for i in range(len(block.response))]
        return log_scores(self, each, block)

    def component_scores(
        self, laws: Sequence[AbstractComponentMixture], block: Block
    ) -> ExpertRows:
        """Log densities of all responses of each row under each component of their laws."""
        pairs = zip(laws, block.response, strict=True)
        each = [law.component_log_density(observed) for law, observed in pairs]
        return np.asarray(np.sum(each, axis=0))

    def predictive_without(
        self, posterior: PosteriorT, weights: ExpertRows, block: Block, left_out: ExpertRows
    ) -> Sequence[AbstractComponentMixture] | None:
        """``predictive`` of each response, so much of each row taken out of each expert.

        None if rows are held out by derivatives of iterations.
        """
        return None

    def log_predictive_of_groups(
        self, posterior: PosteriorT, members: Members, n_experts: int
    ) -> Float[np.ndarray, "experts groups"]:
        """Log predictive density of all rows of each group under each expert.

        Here the product over the rows, which neglects that rows of a group inform one another
        through the parameters: a small error if an expert has many groups. Experts that know the
        joint density override it; see ``posterior_by_group`` too.
        """
        block = members.rows
        every = np.full((n_experts, block.n_rows), 1.0 / n_experts)
        laws = [self.predictive(posterior, every, block, i) for i in range(len(block.response))]
        return segment_sums(self.component_scores(laws, block), members.starts)

    @abc.abstractmethod
    def kl(self, posterior: PosteriorT) -> float:
        """``KL(posterior || prior)``, summed over experts."""

    def with_prior_power(self, power: float) -> AbstractExperts[PosteriorT, StatsT]:
        """Experts whose prior is this one's to a power; see ``AbstractVariationalModel``.

        Raises
        ------
        NotImplementedError
            If point estimates are not available; the message gives the reason.
        """
        raise NotImplementedError(f"{type(self).__name__} have no point estimates")

    def collapsed(self, posterior: PosteriorT, block: Block) -> Bool[np.ndarray, " experts"]:
        """Experts with negligible residual variance relative to these rows."""
        raise NotImplementedError(f"{type(self).__name__} have no point estimates")

    @abc.abstractmethod
    def predictive(
        self, posterior: PosteriorT, weights: ExpertRows, block: Block, response: int
    ) -> AbstractComponentMixture:
        """Predictive distribution of one response at every row, for these expected weights."""

    @abc.abstractmethod
    def draws(self, posterior: PosteriorT, n: int, rng: np.random.Generator) -> Draws:
        """Draws of the parameters of every expert."""

    def line_laws(self, posterior: PosteriorT | None) -> Sequence[Normal]:
        """Laws of the coefficients of each response under the posterior, or the prior (None).

        In units of the noise. Of experts whose draws lack effects of groups; none otherwise.
        """
        return ()

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        """Draws of the parameters of ``n_components`` experts, independent, from the prior."""
        drawn = self.draws(self.prior, n * n_components, rng)
        return {
            name: values.reshape(n, n_components, *values.shape[1:])
            for name, values in drawn.items()
        }

    def effective_dof(self, posterior: PosteriorT) -> ExpertTerms | None:
        """Effective degrees of freedom of each coefficient; None if they are not available."""
        return None

    def linear_dof(self, posterior: PosteriorT) -> float | None:
        """Degrees of freedom of the Student t distribution of linear functions of coefficients.

        None if they have another distribution.
        """
        return None

    def supports(self, n_components: int) -> Mapping[str, AbstractSupport] | None:
        """Supports of the parameters of ``n_components`` experts by name, for one draw.

        None if they are not available. Experts that define them can be fitted by engines that need
        derivatives: ``log_lik`` and ``log_density`` then accept arrays of JAX as well.
        """
        return None

    @abc.abstractmethod
    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Log likelihood of each row under each drawn expert."""

    @abc.abstractmethod
    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        """One response per draw and row, from the chosen expert."""

    @abc.abstractmethod
    def log_density(self, posterior: PosteriorT | None, draws: Draws) -> DrawVector:
        """Log density of each draw under the posterior, or under the prior (None)."""


def log_scores(
    experts: AbstractExperts[PosteriorT, StatsT],
    laws: Sequence[AbstractComponentMixture],
    block: Block,
) -> RowVector:
    """Log densities of all responses of each row, independent given the component."""
    with np.errstate(divide="ignore"):  # a weight may vanish far out
        terms = np.log(laws[0].weights)
    return np.asarray(log_total(terms + experts.component_scores(laws, block), axis=0))


def scores_and_cdfs(
    experts: AbstractExperts[PosteriorT, StatsT],
    laws: Sequence[AbstractComponentMixture],
    block: Block,
) -> Float[np.ndarray, "values rows"]:
    """Log density of all responses of each row, then the distribution function of each.

    Distribution functions are at the upper ends of intervals.
    """
    cdfs = [law.cdf(ends) for law, ends in zip(laws, upper_ends(block), strict=True)]
    return np.stack([log_scores(experts, laws, block), *cdfs])
