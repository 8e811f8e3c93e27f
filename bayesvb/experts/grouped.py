"""Experts of groups: all rows of a group, as of a subject, are from one component."""

from __future__ import annotations

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
from bayesvb.factors.coupled_normal_gamma import CommonColumns
from bayesvb.numerics.arrays import ExpertTerms
from bayesvb.numerics.segments import segment_sums
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.passed_on import passed_on
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars


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

    prior = passed_on("experts")
    is_conjugate = passed_on("experts")
    learns_scales = passed_on("experts")
    scale_units = passed_on("experts")
    line_laws = passed_on("experts")
    common = passed_on("experts")
    coefficient_squares = passed_on("experts")
    effective_dof = passed_on("experts")
    linear_dof = passed_on("experts")
    drawn_squares = passed_on("experts")
    global_step = passed_on("experts")
    update = passed_on("experts")
    coordinates = passed_on("experts")
    factor_covariance = passed_on("experts")
    expectations_along = passed_on("experts")
    expectations = passed_on("experts")
    component_scores = passed_on("experts")
    kl = passed_on("experts")
    draws = passed_on("experts")
    prior_draws = passed_on("experts")
    supports = passed_on("experts")
    log_density = passed_on("experts")

    @property
    def _regressions(self) -> AnyExperts:
        """The experts, of a model that asks for their coefficients."""
        assert isinstance(self.experts, AbstractRegressionExperts)
        return self.experts

    @property
    def posterior_by_row(self) -> bool:  # type: ignore[override]
        """Whether the experts take statistics of many groups at once."""
        return self.experts.posterior_by_row and self.experts.posterior_by_group

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
        """Groups of experts whose coefficients have these precisions."""
        return replace(self, experts=self._regressions.with_coefficient_precision(precision))

    def with_common_effects(
        self, columns: CommonColumns, precision: Float[np.ndarray, "*many entries"]
    ) -> GroupedExperts:
        """Groups of experts whose coefficients scatter around common ones."""
        return replace(self, experts=self._regressions.with_common_effects(columns, precision))

    def local(self, posterior: object, block: Block) -> GroupedLocalPosterior:
        """Expected log likelihood of all rows of each group."""
        rows = self.experts.local(posterior, _rows(block))
        return GroupedLocalPosterior(self._sums(rows.expected_log_density, block), rows, block)

    def partition_stats(
        self, responsibilities: Float[np.ndarray, "experts groups"], block: Block
    ) -> SufficientStats:
        """Sums over the rows of the groups."""
        return self.experts.partition_stats(_by_member(responsibilities, block), _rows(block))

    def row_scalars(self, block: Block, n_experts: int) -> RowScalars | None:
        """Features of the rows, added over each group: the log likelihood is linear in them."""
        scalars = self.experts.row_scalars(_rows(block), n_experts)
        if scalars is None or block.members is None:
            return scalars
        return replace(scalars, features=segment_sums(scalars.features, block.members.starts))

    def row_derivatives(
        self, posterior: object, block: Block, responsibilities: Float[np.ndarray, "experts groups"]
    ) -> PartDerivatives | None:
        """Derivatives of single rows; None of groups, whose rows have a scalar each."""
        if block.members is not None:
            return None
        return self.experts.row_derivatives(posterior, block, responsibilities)

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

    def with_prior_power(self, power: float) -> GroupedExperts:
        """Groups of experts whose prior is raised to a power."""
        return replace(self, experts=self.experts.with_prior_power(power))

    def collapsed(self, posterior: object, block: Block) -> Bool[np.ndarray, " experts"]:
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

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts groups"]:
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


def _by_member(values: ExpertTerms, block: Block) -> ExpertTerms:
    """Values of the groups for each of their rows."""
    return values if block.members is None else block.members.repeated(values)
