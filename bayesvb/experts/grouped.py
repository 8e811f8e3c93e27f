"""Experts of groups: all rows of a group, as of a subject, are from one component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import logsumexp

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.experts.base import AbstractExperts
from bayesvb.experts.regression import AbstractRegressionExperts, AnyExperts
from bayesvb.factors.coupled_normal_gamma import CommonColumns, CommonEffectPrior
from bayesvb.factors.normal import Normal
from bayesvb.numerics.segments import segment_sums
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars
from bayesvb.variational.supports import AbstractSupport


@dataclass(frozen=True)
class GroupedLocalPosterior(AbstractLocalPosterior):
    """Expected log likelihood of all rows of each group, and of the rows."""

    expected_log_density: Float[np.ndarray, "experts groups"]
    rows: AbstractLocalPosterior
    block: Block

    def sufficient_stats(
        self, responsibilities: Float[np.ndarray, "experts groups"]
    ) -> SufficientStats:
        """Sums over the rows, each with the responsibilities of its group."""
        return self.rows.sufficient_stats(_by_member(responsibilities, self.block))


@dataclass(frozen=True)
class GroupedExperts(AbstractExperts[object, SufficientStats]):
    r"""``p(y_g | x_g, k) = prod_{n in g} p(y_n | x_n, k)``: the density of a group's rows.

    Blocks are blocks of groups (``Block.members``); in a block without them each row is a group.
    Responsibilities of a mixture then belong to groups,

    .. math:: r_{gk} \propto \exp\Bigl(\ell_{gk} + \sum_{n \in g} E_{nk}\Bigr),

    and everything that a model says of a row it says of a group.

    Attributes
    ----------
    experts : AbstractExperts
        Likelihood of a row in a component.
    log_unit : float
        Log of the unit of a row's response. Groups differ in size, so that their densities are in
        the unit of the response.

    References
    ----------
    Muthen, Shedden (1999), Finite mixture modeling with mixture outcomes using the EM algorithm,
    Biometrics 55(2). Gruen, Leisch (2008), FlexMix version 2, Journal of Statistical Software
    28(4), section 2.1, for mixtures whose components belong to groups.
    """

    experts: AbstractExperts[Any, Any]
    log_unit: float = 0.0

    @property
    def _regressions(self) -> AnyExperts:
        """The experts, of a model that asks for their coefficients."""
        assert isinstance(self.experts, AbstractRegressionExperts)
        return self.experts

    @property
    def prior(self) -> object:  # type: ignore[override]
        """Law of one expert's parameters."""
        return self.experts.prior

    @property
    def posterior_by_row(self) -> bool:  # type: ignore[override]
        """Whether the experts take statistics of many groups at once."""
        return self.experts.posterior_by_row and self.experts.posterior_by_group

    @property
    def is_conjugate(self) -> bool:  # type: ignore[override]
        """Whether the experts are."""
        return self.experts.is_conjugate

    @property
    def learns_scales(self) -> bool:  # type: ignore[override]
        """Whether scales of the experts can be learned."""
        return self.experts.learns_scales

    def line_laws(self, posterior: object | None) -> Sequence[Normal]:
        """Laws of the coefficients of the experts."""
        return self.experts.line_laws(posterior)

    def predictive_without(
        self,
        posterior: object,
        weights: Float[np.ndarray, "experts groups"],
        block: Block,
        left_out: Float[np.ndarray, "experts groups"],
    ) -> None:
        """None: groups are held out by derivatives of iterations."""
        return

    def forms(
        self, posterior: object, block: Block, blocks: Float[np.ndarray, "blocks entries"]
    ) -> None:
        """None: the scalars of the rows of a group have no closed form."""
        return

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, "*many terms"]
    ) -> GroupedExperts:
        """The same groups of experts whose coefficients have these precisions."""
        return replace(self, experts=self._regressions.with_coefficient_precision(precision))

    def with_common_effects(
        self, columns: CommonColumns, precision: Float[np.ndarray, "*many entries"]
    ) -> GroupedExperts:
        """The same groups of experts whose coefficients scatter around common ones."""
        return replace(self, experts=self._regressions.with_common_effects(columns, precision))

    @property
    def common_prior(self) -> CommonEffectPrior:
        """Common prior of the experts."""
        return self._regressions.common_prior

    def coefficient_squares(self, posterior: object) -> Float[np.ndarray, " terms"]:
        """Squares of the experts."""
        return self._regressions.coefficient_squares(posterior)

    def effective_dof(self, posterior: object) -> Float[np.ndarray, "experts _"] | None:
        """Degrees of freedom of the experts."""
        return self.experts.effective_dof(posterior)

    def drawn_squares(self, draws: Draws) -> Float[np.ndarray, "draws terms"]:
        """Squares of the experts' draws."""
        return self._regressions.drawn_squares(draws)

    def local(self, posterior: object, block: Block) -> GroupedLocalPosterior:
        """Expected log likelihood of all rows of each group."""
        rows = self.experts.local(posterior, _rows(block))
        return GroupedLocalPosterior(self._sums(rows.expected_log_density, block), rows, block)

    def partition_stats(
        self, responsibilities: Float[np.ndarray, "experts groups"], block: Block
    ) -> SufficientStats:
        """Sums over the rows of the groups."""
        return self.experts.partition_stats(_by_member(responsibilities, block), _rows(block))

    def global_step(self, posterior: object, stats: SufficientStats) -> SufficientStats:
        """Step of the experts."""
        following: SufficientStats = self.experts.global_step(posterior, stats)
        return following

    def update(self, stats: SufficientStats) -> object:
        """Posterior given sums over the rows."""
        return self.experts.update(stats)

    def coordinates(self, posterior: object) -> AbstractCoordinates | None:
        """Coordinates of the experts."""
        return self.experts.coordinates(posterior)

    def row_scalars(self, block: Block, n_experts: int) -> RowScalars | None:
        """Features of the rows, added over each group: the log likelihood is linear in them."""
        found = self.experts.row_scalars(_rows(block), n_experts)
        if found is None or block.members is None:
            return found
        return replace(found, features=segment_sums(found.features, block.members.starts))

    def row_derivatives(
        self,
        posterior: object,
        block: Block,
        responsibilities: Float[np.ndarray, "experts groups"],
    ) -> PartDerivatives | None:
        """Derivatives of single rows; None of groups, whose rows have a scalar each."""
        if block.members is not None:
            return None
        return self.experts.row_derivatives(posterior, block, responsibilities)

    def factor_covariance(
        self, posterior: object, some: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "experts some entries"] | None:
        """Covariance of the experts."""
        return self.experts.factor_covariance(posterior, some)

    def expectations_along(
        self,
        posterior: object,
        change: SufficientStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> tuple[SufficientStats, Float[np.ndarray, "many entries"]] | None:
        """Expectations of the experts."""
        return self.experts.expectations_along(posterior, change, precision)

    def expectations(self, posterior: object) -> Float[np.ndarray, " entries"]:
        """Expectations of the experts."""
        return self.experts.expectations(posterior)

    def log_predictive(
        self, posterior: object, weights: Float[np.ndarray, "experts groups"], block: Block
    ) -> Float[np.ndarray, " groups"]:
        """Log density of all responses of each group."""
        if block.members is None:
            return self.experts.log_predictive(posterior, weights, block) - self.log_unit
        each = self.experts.log_predictive_of_groups(posterior, block.members, len(weights))
        with np.errstate(divide="ignore"):  # a weight may vanish far out
            whole = logsumexp(np.log(weights) + each, axis=0)
        return np.asarray(whole - block.members.sizes * self.log_unit)

    def component_scores(
        self, laws: Sequence[AbstractComponentMixture], block: Block
    ) -> Float[np.ndarray, "experts rows"]:
        """Log densities of rows, in the unit of the experts."""
        return self.experts.component_scores(laws, block)

    def log_scores(
        self, laws: Sequence[AbstractComponentMixture], block: Block
    ) -> Float[np.ndarray, " rows"]:
        """Log densities of rows, in the unit of the experts."""
        return self.experts.log_scores(laws, block)

    def cdfs(
        self, laws: Sequence[AbstractComponentMixture], block: Block
    ) -> Float[np.ndarray, "responses rows"]:
        """Distribution functions at the responses of rows."""
        return self.experts.cdfs(laws, block)

    def kl(self, posterior: object) -> float:
        """Divergence of the experts."""
        return self.experts.kl(posterior)

    def with_prior_power(self, power: float) -> GroupedExperts:
        """The same groups of experts whose prior is to a power."""
        return replace(self, experts=self.experts.with_prior_power(power))

    def collapsed(self, posterior: object, block: Block) -> Bool[np.ndarray, " experts"]:
        """Experts with negligible residual variance relative to the rows."""
        return self.experts.collapsed(posterior, _rows(block))

    def predictive(
        self,
        posterior: object,
        weights: Float[np.ndarray, "experts groups"],
        block: Block,
        response: int,
    ) -> AbstractComponentMixture:
        """Predictive distribution of every row, with the weights of its group."""
        members = _by_member(weights, block)
        return self.experts.predictive(posterior, members, _rows(block), response)

    def draws(self, posterior: object, n: int, rng: np.random.Generator) -> Draws:
        """Draws of the experts."""
        return self.experts.draws(posterior, n, rng)

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        """Prior draws of the experts."""
        return self.experts.prior_draws(n, n_components, rng)

    def supports(self, n_components: int) -> Mapping[str, AbstractSupport] | None:
        """Supports of the experts."""
        return self.experts.supports(n_components)

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts groups"]:
        """Log likelihood of all rows of each group under each drawn expert."""
        return self._sums(self.experts.log_lik(draws, _rows(block)), block)

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws groups"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws responses _"]:
        """One response per draw and row, from the expert that is chosen for its group."""
        if block.members is not None:
            chosen = np.repeat(chosen, block.members.sizes, axis=-1)
        return self.experts.responses(draws, chosen, _rows(block), rng)

    def log_density(self, posterior: object, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Log density of the experts."""
        return self.experts.log_density(posterior, draws)

    def permuted(self, order: list[int], stats: SufficientStats) -> SufficientStats:
        """Statistics after a new labelling."""
        permuted: SufficientStats = self.experts.permuted(order, stats)
        return permuted

    def _sums(
        self, values: Float[np.ndarray, "*axes _"], block: Block
    ) -> Float[np.ndarray, "*axes _"]:
        """Sums over the rows of each group, in the unit of the response."""
        if block.members is None:
            return values - self.log_unit
        return segment_sums(values, block.members.starts) - block.members.sizes * self.log_unit


def _rows(block: Block) -> Block:
    """Rows of the groups of a block; the block itself if it is of rows."""
    return block if block.members is None else block.members.rows


def _by_member(
    values: Float[np.ndarray, "experts _"], block: Block
) -> Float[np.ndarray, "experts _"]:
    """Values of the groups for each of their rows."""
    return values if block.members is None else block.members.repeated(values)
