"""Mixture of experts: a gate and experts that speak the same verbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import softmax

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.dyadic_sums import partial_sums, total
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import BoundGap, LocalStep, SufficientStats, with_known
from bayesvb.distributions.base import AbstractComponentMixture, AbstractDrawnMixture
from bayesvb.experts.base import AbstractExperts, scores_and_cdfs
from bayesvb.experts.drawn_lines import check_draws_hold_effects
from bayesvb.experts.regression import AbstractRegressionExperts
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.gates.base import AbstractGate, AnyGate, drawn_components, expectations_of
from bayesvb.linear.precisions import with_complete_draws
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.models.compiled_mixture import LearnedScales, compile_mixture
from bayesvb.models.drawn_effects import EffectLaws, with_gate_keys, with_line_keys
from bayesvb.models.ensemble import matching
from bayesvb.numerics.arrays import (
    BlockVector,
    DrawExpertRows,
    DrawExpertTerms,
    DrawResponseRows,
    DrawRows,
    DrawTerms,
    DrawVector,
    EntryVector,
    ExpertRows,
    ExpertTerms,
    RowVector,
)
from bayesvb.numerics.special import log_sum_exp, log_total
from bayesvb.variational.coordinates import JoinedCoordinates
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.model import CompiledSweep
from bayesvb.variational.parameter_space import ParameterSpace
from bayesvb.variational.point_model import AbstractPointModel
from bayesvb.variational.reduced_space import AbstractReducedSpace
from bayesvb.variational.row_derivatives import RowDerivatives, RowScalars
from bayesvb.variational.streamed_model import AbstractStreamedModel

if TYPE_CHECKING:
    from bayesvb.models.grouped_response import GroupedResponse

UNDECIDED = 0.1
"""Sum over rows of the variances of their components, given covariates, below which the components
of all rows are as good as known: at least ten rows in doubt by one per cent would be more."""


@dataclass(frozen=True)
class MixtureStats(SufficientStats):
    """Sums of the experts and of the gate."""

    experts: Any
    gate: Any


@dataclass(frozen=True)
class MixturePosterior:
    """Posterior of the experts and of the gate, independent of each other."""

    experts: Any
    gate: Any


@dataclass(frozen=True)
class Mixture(
    AbstractPointModel[MixturePosterior, MixtureStats],
    AbstractStreamedModel[MixturePosterior, MixtureStats],
):
    r"""``p(y | x) = sum_k pi_k(x) p_k(y | x)``: weights by a gate, densities by experts.

    Linear experts make density regression, Gaussian experts with constant weights the Gaussian
    mixture.

    With the responsibilities at their optimum the lower bound is

    .. math:: \sum_n \log \sum_k \exp(E_{nk} + \ell_{nk}) - KL_{experts} - KL_{gate},

    ``E`` the expected log likelihood and ``l`` the gate's bounded expected log weight. The log
    normaliser of a softmax gate enters each row once, with weight one.

    Attributes
    ----------
    experts : AbstractExperts
    gate : AbstractGate
    effect_laws : EffectLaws or None
        Distributions of the group effects of which draws hold keys: from the posterior of the
        draws. None: the prior.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression, eqs 11-13 and 37-43, as
    corrected in ``LinearExperts`` and the gates. Bishop (2006), section 10.2, for Gaussian experts.
    """

    experts: AbstractExperts[Any, Any]
    gate: AnyGate
    effect_laws: EffectLaws | None = field(default=None, kw_only=True)

    @property
    def n_components(self) -> int:
        return self.gate.n_components

    def compiled(self, source: AbstractSource) -> CompiledSweep | None:
        """The compiled sweep over these rows, where the core covers experts and gate."""
        return compile_mixture(self.experts, self.gate, LearnedScales.of(self), source)

    def e_step(self, posterior: MixturePosterior, block: Block) -> LocalStep:
        """One pass: responsibilities, then the statistics that they weight."""
        if GROUP_ROWS in block.designs:
            return self._by_pieces(posterior, block)
        experts = self.experts.local(posterior.experts, block)
        gate = self.gate.local(posterior.gate, block)
        norm, responsibilities = log_sum_exp(
            experts.expected_log_density + gate.expected_log_density
        )
        responsibilities = block.weighted(responsibilities)
        bound = norm.sum() if block.weight is None else norm @ block.weight
        stats = MixtureStats(
            experts.sufficient_stats(responsibilities), gate.sufficient_stats(responsibilities)
        )
        return LocalStep(float(bound), stats)

    def row_stats(self, posterior: MixturePosterior, block: Block) -> MixtureStats | None:
        """Row statistics of experts and gate, if both define them."""
        once = replace(block, weight=None)
        experts = self.experts.local(posterior.experts, once)
        gate = self.gate.local(posterior.gate, once)
        terms = experts.expected_log_density + gate.expected_log_density
        responsibilities = log_sum_exp(terms)[1]
        parts = experts.row_stats(responsibilities), gate.row_stats(responsibilities)
        return None if None in parts else MixtureStats(*parts)

    def _by_pieces(self, posterior: MixturePosterior, block: Block) -> LocalStep:
        """Iteration over a block with very many groups, of which sums by group are taken once.

        All else is of few rows at a time, whose arrays stay in cache.
        """
        bound = 0.0
        shares: list[ExpertRows] = []
        locals_: list[AbstractLocalPosterior] = []
        sums: list[SufficientStats] = []
        for piece in block.split(BLOCK_ROWS):
            experts = self.experts.local(posterior.experts, piece)
            gate = self.gate.local(posterior.gate, piece)
            norm, responsibilities = log_sum_exp(
                experts.expected_log_density + gate.expected_log_density
            )
            responsibilities = piece.weighted(responsibilities)
            bound += float(norm.sum() if piece.weight is None else norm @ piece.weight)
            shares.append(responsibilities)
            locals_.append(experts)
            sums.append(gate.sufficient_stats(responsibilities))
        whole = locals_[0].joined(locals_[1:]).sufficient_stats(np.concatenate(shares, axis=1))
        return LocalStep(bound, MixtureStats(whole, total(partial_sums(sums))))

    def update(self, stats: MixtureStats) -> MixturePosterior:
        """Experts and gate, each from its own statistics."""
        return MixturePosterior(self.experts.update(stats.experts), self.gate.update(stats.gate))

    def global_step(
        self, posterior: MixturePosterior, stats: MixtureStats, before: MixtureStats | None = None
    ) -> MixtureStats:
        """Statistics of both after their steps; most are as they were."""
        experts, gate = (None, None) if before is None else (before.experts, before.gate)
        return MixtureStats(
            self.experts.global_step(posterior.experts, with_known(stats.experts, experts)),
            self.gate.global_step(posterior.gate, stats.gate, gate),
        )

    def bound_gap(self, posterior: MixturePosterior) -> Callable[[Block], BoundGap] | None:
        """Gap of the gate, if it has one: its bound enters a row as a constant."""
        if type(self.gate).bound_gap is AbstractGate.bound_gap:
            return None
        return partial(self._bound_gap, posterior)

    def _bound_gap(self, posterior: MixturePosterior, block: Block) -> BoundGap:
        """Gap of the gate at these rows; responsibilities stay."""
        per_row = self.gate.bound_gap(posterior.gate, block)
        return BoundGap(float(block.weighted(per_row[None]).sum()))

    def gradient_stats(
        self, posterior: MixturePosterior, stats: MixtureStats, before: MixtureStats | None = None
    ) -> MixtureStats:
        """Sums of the experts after their step; for the gate, derivatives of its bound."""
        experts, gate = (None, None) if before is None else (before.experts, before.gate)
        return MixtureStats(
            self.experts.global_step(posterior.experts, with_known(stats.experts, experts)),
            self.gate.gradient_stats(posterior.gate, stats.gate, gate),
        )

    def expected_sum(self, before: MixtureStats, posterior: MixturePosterior) -> float:
        """Statistics times expectations: linear, as responsibilities of these rows stay."""
        earlier = MixtureStats(before.experts, before.gate).to_vector()
        return float(earlier @ Mixture.expectations(self, posterior))

    def is_linear_in_rows(self, source: AbstractSource) -> bool:
        """Whether one component has a log likelihood that is linear in its statistics."""
        if self.n_components > 1 or not source.rows_at_hand:
            return False
        return self.experts.row_scalars(source.take(np.arange(1)), 1) is not None

    def coordinates(self, posterior: MixturePosterior) -> JoinedCoordinates | None:
        """Standard coordinates of all parameters, if both parts have them."""
        experts = self.experts.coordinates(posterior.experts)
        gate = self.gate.coordinates(posterior.gate)
        return None if experts is None or gate is None else JoinedCoordinates(experts, gate)

    def row_derivatives(self, posterior: MixturePosterior, block: Block) -> RowDerivatives | None:
        """Derivatives of ``log sum_k exp(E_nk + l_nk)``, if both parts define theirs."""
        responsibilities = self.responsibilities(posterior, block)
        known = posterior.experts, block, responsibilities
        linear = self.experts.row_scalars(block, self.n_components)
        experts = self.experts.row_derivatives(*known) if linear is None else None
        if linear is None and experts is None:
            return None
        gate = self.gate.row_derivatives(posterior.gate, block, responsibilities)
        if gate is None:
            return None
        if experts is not None:
            return RowDerivatives.of_parts(experts, gate, responsibilities)
        return RowDerivatives.of_mixture(cast(RowScalars, linear), gate, responsibilities)

    def row_forms(
        self, posterior: MixturePosterior, block: Block
    ) -> tuple[tuple[Forms, ...], BlockVector] | None:
        """Forms of both parts, if both have them; without learned precisions."""
        return self._forms(posterior, block, (), np.empty(0))

    def _forms(
        self,
        posterior: MixturePosterior,
        block: Block,
        blocks: Sequence[Float[np.ndarray, "_ _"]],
        scale: BlockVector,
    ) -> tuple[tuple[Forms, ...], BlockVector] | None:
        """Forms of both parts with these blocks of coefficients."""
        of_experts, of_gate = blocks or (np.empty((0, 0)),) * 2
        experts = self.experts.forms(posterior.experts, block, of_experts)
        gate = self.gate.forms(posterior.gate, block, of_gate)
        return None if experts is None or gate is None else ((experts, gate), scale)

    def factor_covariance(
        self, posterior: MixturePosterior, kind: int, some: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "factors some entries"] | None:
        """Covariance of the experts, which come first."""
        return None if kind else self.experts.factor_covariance(posterior.experts, some)

    def known_response(
        self, posterior: MixturePosterior, source: AbstractSource
    ) -> Float[np.ndarray, "coordinates coordinates"] | None:
        """Linear response of the posterior itself, for one component with a conjugate prior.

        The rows' part of the bound is then linear in the expectations, ``f'' = 0``: no statistic
        depends on the posterior, which is exact.
        """
        if not (self.draws_complete and self.is_linear_in_rows(source)):
            return None
        coordinates = self.coordinates(posterior)
        return None if coordinates is None else np.eye(coordinates.size)

    def expectations_along(
        self, posterior: MixturePosterior, change: MixtureStats
    ) -> MixtureStats | None:
        """Expectations of the experts and of the gate, if both are known."""
        experts = self.experts.expectations_along(posterior.experts, change.experts)
        gate = self.gate.expectations_along(posterior.gate, change.gate)
        return None if experts is None or gate is None else MixtureStats(experts[0], gate)

    def response_of_shared(
        self, stats: MixtureStats, posterior: MixturePosterior, source: AbstractSource
    ) -> GroupedResponse | None:
        """Response of experts with very many group effects, if the gate has derivatives."""
        if not self._eliminates_groups(posterior, source):
            return None
        from bayesvb.models.grouped_response import GroupedResponse

        none = Gamma(np.empty(0), np.empty(0))
        gate = (self.gate, stats.gate)
        return GroupedResponse.of((self, posterior, source), gate, none, ()).if_few()

    def _eliminates_groups(self, posterior: MixturePosterior, source: AbstractSource) -> bool:
        """Whether there are very many groups, and derivatives of the weights of a row."""
        by_group = isinstance(posterior.experts, MatrixNormalGamma) and not self.draws_complete
        return by_group and self._has_row_derivatives(posterior, source)

    def _has_row_derivatives(self, posterior: MixturePosterior, source: AbstractSource) -> bool:
        """Whether the gate has derivatives of the weights of a row."""
        one = source.take(np.arange(1))
        share = np.full((self.n_components, 1), 1.0 / self.n_components)
        return self.gate.row_derivatives(posterior.gate, one, share) is not None

    def expectations(self, posterior: MixturePosterior) -> EntryVector:
        """Expectations of the experts, then of the gate."""
        experts = self.experts.expectations(posterior.experts)
        return np.concatenate([experts, expectations_of(self.gate, posterior.gate)])

    @property
    def is_conjugate(self) -> bool:
        """Whether the experts are."""
        return self.experts.is_conjugate

    @property
    def posterior_by_row(self) -> bool:
        """Whether both parts take many statistics at once."""
        return self.experts.posterior_by_row and self.gate.posterior_by_row

    def log_predictive(self, posterior: MixturePosterior, block: Block) -> RowVector:
        """Log density of all responses of each row, the weights those that are expected."""
        weights = self.mean_weights(posterior, block)
        return self.experts.log_predictive(posterior.experts, weights, block)

    def row_predictions(
        self, posterior: MixturePosterior, block: Block
    ) -> Float[np.ndarray, "values rows"]:
        if not len(block.response):
            return self.log_predictive(posterior, block)[None]
        weights = self.mean_weights(posterior, block)
        each = [
            self.experts.predictive(posterior.experts, weights, block, i)
            for i in range(len(block.response))
        ]
        return scores_and_cdfs(self.experts, each, block)

    def row_predictions_without(
        self, posterior: MixturePosterior, block: Block, copies: RowVector
    ) -> Float[np.ndarray, "values rows"] | None:
        """Predictions of experts and weights without the contribution of each row.

        Components stay unchanged unless effects of the row's group are among their coefficients.
        """
        share = self.responsibilities(posterior, block)
        law = None if self.effect_laws is None else self.effect_laws.logits
        weights = self.gate.weights_without(posterior.gate, block, share, copies, law)
        left_out = copies * share
        each = self.experts.predictive_without(posterior.experts, weights, block, left_out)
        if each is None:
            return None
        return scores_and_cdfs(self.experts, each, block)

    @property
    def draws_complete(self) -> bool:
        """Whether the experts' draws are; the weights have very many groups only if these do."""
        return not self.experts.line_laws(None)

    def kl(self, posterior: MixturePosterior) -> float:
        """Sum of both divergences."""
        return self.experts.kl(posterior.experts) + self.gate.kl(posterior.gate)

    def effective_dof(self, posterior: MixturePosterior) -> ExpertTerms | None:
        """Effective degrees of freedom of the experts' coefficients, if they are available."""
        return self.experts.effective_dof(posterior.experts)

    def linear_dof(self, posterior: MixturePosterior) -> float | None:
        """Degrees of freedom of the experts' coefficients, if each is Student t."""
        return self.experts.linear_dof(posterior.experts)

    def with_prior_power(self, power: float) -> Mixture:
        """The mixture with the priors of both parts to a power.

        Raises
        ------
        NotImplementedError
            If a part has no point estimates, or draws do not hold the effects of all groups.
        """
        if not self.draws_complete:
            raise NotImplementedError(
                "point estimates ('em') need a column for each group, with at most 500 groups"
            )
        return Mixture(self.experts.with_prior_power(power), self.gate.with_prior_power(power))

    def collapsed(
        self, posterior: MixturePosterior, block: Block
    ) -> Bool[np.ndarray, " components"]:
        """Components whose experts have next to no variance."""
        return self.experts.collapsed(posterior.experts, block)

    def separated(self, posterior: MixturePosterior, block: Block) -> bool:
        """Whether the weights that belong to covariates are zero or one in all these rows."""
        if self.n_components == 1:
            return False
        weights = self.mean_weights(posterior, block)
        return float((weights * (1.0 - weights)).sum()) < UNDECIDED

    def partition_stats(self, block: Block, responsibilities: ExpertRows) -> MixtureStats:
        """Sums of a given partition, with the gate at its starting point."""
        weighted = block.weighted(responsibilities)
        gate = self.gate.local(self.gate.start(), block)
        return MixtureStats(
            self.experts.partition_stats(weighted, block), gate.sufficient_stats(weighted)
        )

    def first_stats(self, stats: MixtureStats) -> MixtureStats:
        return MixtureStats(
            self.experts.global_step(None, stats.experts),
            self.gate.global_step(self.gate.start(), stats.gate),
        )

    def responsibilities(self, posterior: MixturePosterior, block: Block) -> ExpertRows:
        """Posterior probability of each component, given the row's response."""
        if self.n_components == 1:  # whose expectations would take half the time of derivatives
            return np.ones((1, block.n_rows))
        experts = self.experts.local(posterior.experts, block)
        gate = self.gate.local(posterior.gate, block)
        return log_sum_exp(experts.expected_log_density + gate.expected_log_density)[1]

    def with_first_scales(self, sums: MixtureStats) -> MixtureStats:
        """Statistics of experts and gate: no scales are learned."""
        return sums

    def permuted(self, order: Sequence[int], stats: MixtureStats) -> tuple[Mixture, MixtureStats]:
        """Model and statistics after a new labelling: component ``order[0]`` comes first."""
        gate, gate_sums = self.gate.permuted(order, stats.gate)
        experts = stats.experts.permuted(order)
        return Mixture(self.experts, gate), MixtureStats(experts, gate_sums)

    def predictive(
        self, posterior: MixturePosterior, block: Block, response: int = 0
    ) -> AbstractComponentMixture:
        """Predictive distribution of one response for every row (standardised units)."""
        weights = self.mean_weights(posterior, block)
        return self.experts.predictive(posterior.experts, weights, block, response)

    def mean_weights(self, posterior: MixturePosterior, block: Block) -> ExpertTerms:
        """Expected weights of the components."""
        return self.gate.mean_weights(posterior.gate, block)

    def log_weights(self, draws: Draws, block: Block) -> DrawExpertTerms:
        """Log weights of the components for each draw."""
        return self.gate.drawn_log_weights(self._effects.at_logits(draws, block), block)

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> AbstractDrawnMixture:
        """Mixture of one response given each draw."""
        assert isinstance(self.experts, AbstractRegressionExperts)
        lines = self._effects.at_lines(draws, block)
        return self.experts.drawn(lines, weights, block, response, scaling)

    def gate_coefficients(self, draws: Draws) -> dict[int, DrawTerms]:
        """Coefficients of the gate by component, where it has them."""
        return dict(self.gate.coefficients(draws["gate"]))

    def coefficient_meaning(self) -> str:
        """Meaning of the gate's coefficients."""
        return self.gate.coefficient_meaning()

    def draws(self, posterior: MixturePosterior, n: int, rng: np.random.Generator) -> Draws:
        """Parameters of the experts by name, and ``gate``; keys of effects they do not hold."""
        experts = self.experts.draws(posterior.experts, n, rng)
        return self._with_gate(experts, posterior.gate, n, rng)

    def _with_gate(self, experts: Draws, law: Any, n: int, rng: np.random.Generator) -> Draws:
        """Draws of the experts and of the gate from a law, with keys of effects they lack."""
        experts = experts if self.draws_complete else with_line_keys(experts, rng)
        draws = {**experts, "gate": self.gate.draws(law, n, rng)}
        return draws if self.gate.draws_complete else with_gate_keys(draws, len(law.mean), rng)

    @property
    def _effects(self) -> EffectLaws:
        """Distributions of group effects that draws lack, of the posterior or of the prior."""
        return self.effect_laws or self._laws_of_effects(None, self.gate.prior)

    def _laws_of_effects(self, experts: object, gate: Any) -> EffectLaws:
        """Distributions of group effects, of experts (the prior if None) and gate."""
        lines = tuple(self.experts.line_laws(experts))
        return EffectLaws(lines, None if self.gate.draws_complete else gate)

    def with_complete_draws(self) -> Mixture:
        """The mixture whose draws hold effects of groups: itself where groups are too many."""
        if self.draws_complete:
            return self
        experts, gate = with_complete_draws(self.experts), with_complete_draws(self.gate)
        if experts.line_laws(None):
            return self
        return replace(self, experts=experts, gate=gate, effect_laws=None)

    def completed(self, draws: Draws) -> tuple[Draws, DrawVector]:
        """Draws with the effects of all groups, and the log density of these given the others."""
        return self._effects.completed(draws)

    def knowing(
        self,
        posterior: MixturePosterior,
        stats: MixtureStats | None = None,
        source: AbstractSource | None = None,
    ) -> Mixture:
        """The mixture whose draws have effects of groups from this posterior.

        Those on the weights have their linear response, given statistics and rows.
        """
        laws = self._laws_of_effects(posterior.experts, posterior.gate)
        if laws.logits is not None and stats is not None and source is not None:
            shared = self.response_of_shared(stats, posterior, source)
            law = None if shared is None else shared.law_of_logits()
            laws = laws if law is None else replace(laws, logits=law)
        return replace(self, effect_laws=laws)

    def prior_draws(self, n: int, rng: np.random.Generator) -> Draws:
        """Parameters by name before any data are seen."""
        experts = self.experts.prior_draws(n, self.n_components, rng)
        return self._with_gate(experts, self.gate.prior, n, rng)

    def parameter_space(self) -> ParameterSpace | None:
        """Supports of the experts' parameters, and ``gate``, if both have these and draws all."""
        if not self.draws_complete:
            return None
        experts, gate = self.experts.supports(self.n_components), self.gate.support()
        if experts is None or gate is None:
            return None
        return ParameterSpace({**experts, "gate": gate})

    def reduced_space(self, block: Block) -> AbstractReducedSpace | None:
        """Space of coefficients in units of the noise, noise and logits, of linear experts."""
        from bayesvb.models.reduced_mixture import reduce_mixture

        return reduce_mixture(self, block)

    def relabelled_draws(
        self, draws: Draws, posterior: MixturePosterior, block: Block
    ) -> tuple[Draws, int]:
        """Components of each draw in the order in which they share most rows with the posterior's.

        References
        ----------
        Stephens (2000), Dealing with label switching in mixture models,
        doi:10.1111/1467-9868.00265, for the idea of matching allocations.
        """
        if not self.gate.exchangeable or self.n_components == 1:
            return draws, 0
        reference = self.responsibilities(posterior, block).T
        order = np.empty((len(draws["gate"]), self.n_components), dtype=int)
        for s in range(len(order)):
            one = {name: values[s : s + 1] for name, values in draws.items()}
            shares = log_sum_exp(self.component_log_lik(one, block)[0])[1]
            order[s] = matching(reference, shares.T)
        moved = dict(draws)
        for name, values in draws.items():
            if values.shape[1] > 1:  # otherwise the components have it in common
                index = order.reshape(*order.shape, *(1,) * (values.ndim - 2))
                moved[name] = np.take_along_axis(values, index, axis=1)
        return moved, int((order != np.arange(self.n_components)).any(axis=1).sum())

    def component_log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        """``log pi_k(x) p_k(y | x)``."""
        terms = self.experts.log_lik(self._effects.at_lines(draws, block), block)
        terms += self.log_weights(draws, block)
        return terms

    def log_lik(self, draws: Draws, block: Block) -> DrawRows:
        """``log sum_k pi_k(x) p_k(y | x)``."""
        log_lik: DrawRows
        log_lik = log_total(self.component_log_lik(draws, block), axis=1)
        return log_lik

    def drawn_responsibilities(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Probability of each component given each draw and the row's response."""
        return np.asarray(softmax(self.component_log_lik(draws, block), axis=1))

    def responses(self, draws: Draws, block: Block, rng: np.random.Generator) -> DrawResponseRows:
        """One response per draw and row, from the component that is drawn first."""
        chosen = drawn_components(self.log_weights(draws, block), block.n_rows, rng)
        return self.experts.responses(self._effects.at_lines(draws, block), chosen, block, rng)

    def log_prior(self, draws: Draws) -> DrawVector:
        """Log prior density of each draw.

        Raises
        ------
        DataError
            If draws do not hold the effects of all groups.
        """
        check_draws_hold_effects(self.experts.line_laws(None))
        density: DrawVector = self.experts.log_density(None, draws)
        density = density + self.gate.log_density(None, draws["gate"])
        return density

    def log_posterior(self, posterior: MixturePosterior, draws: Draws) -> DrawVector:
        gate = self.gate.log_density(posterior.gate, draws["gate"])
        return np.asarray(self.experts.log_density(posterior.experts, draws) + gate)
