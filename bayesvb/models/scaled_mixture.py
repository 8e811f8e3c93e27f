"""Mixture of experts whose coefficients have prior scales that are learned, one for each term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import digamma

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.experts.linear import LinearExperts, LinearStats, no_sums
from bayesvb.experts.spread import SPREAD
from bayesvb.factors.bounded_scale import BoundedScale
from bayesvb.factors.coupled_normal_gamma import CommonColumns, CommonEffectPrior
from bayesvb.factors.gamma import Gamma, gamma_kl, precision_draws
from bayesvb.factors.half_t import HalfTScale
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.models.drawn_effects import EFFECT_SCALE, GATE_EFFECT_SCALE
from bayesvb.models.mixture import Mixture, MixturePosterior, MixtureStats
from bayesvb.models.scaled_coordinates import SCALE_DRAWS, ScaledCoordinates, joined, parted
from bayesvb.models.term_scales import ScaleCoordinates, ScaleStats, TermScales
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    BlockVector,
    DrawTerms,
    DrawVector,
    EntryVector,
    ExpertTerms,
    RowVector,
)
from bayesvb.variational.local import Draws
from bayesvb.variational.model import Starts
from bayesvb.variational.parameter_space import ParameterSpace
from bayesvb.variational.reduced_space import AbstractReducedSpace
from bayesvb.variational.row_derivatives import RowDerivatives
from bayesvb.variational.supports import Positive

if TYPE_CHECKING:
    from bayesvb.models.grouped_response import GroupedResponse


@dataclass(frozen=True)
class ScaledStats(MixtureStats):
    """Sums of the experts and of the gate, and statistics of the precisions of their priors."""

    scales: ScaleStats


@dataclass(frozen=True)
class ScaledPosterior(MixturePosterior):
    """Posterior of experts, gate and prior precisions, independent of each other.

    Attributes
    ----------
    scales : Gamma
        Of the precision of every block; of those without a gamma prior the gamma distribution with
        the mean and variance of their posterior.
    spread_divergence : ndarray, shape (...)
        Contribution of the spreads to the divergence; zero if there are none.
    """

    scales: Gamma
    spread_divergence: Float[np.ndarray, "*many"]


@dataclass(frozen=True)
class ScaledMixture(Mixture):
    r"""A mixture of experts with hierarchical priors: each term has a scale that is learned.

    The coefficients of the experts of the columns of a term ``g`` are ``b_kj | tau_k, l_g ~ N(0, 1
    / (tau_k l_g))``, the gate's ``N(0, 1 / l_g)``, with one precision ``l_g ~ Ga(c_0, d_0)`` that
    all components share. Given the others each factor of

    .. math:: q(\beta, \tau)\, q(\gamma) \prod_g \mathrm{Ga}(l_g \mid c_g, d_g), \quad
              c_g = c_0 + \tfrac12 n_g, \quad
              d_g = d_0 + \tfrac12 \sum_{k, j \in g} E[\tau_k b_{kj}^2]

    is conjugate, ``n_g`` the number of coefficients: experts and gate are updated with the expected
    precisions in their priors. No row is touched. The bound counts ``E log l_g`` and the divergence
    of ``l_g``; intercepts belong to no term, and keep the prior that they have.

    With ``common`` columns the coefficients of the experts are ``b_kj = b_j + d_kj``: the prior
    above applies to the differences ``d``; the common ``b_j ~ N(0, 1 / h_j)`` are in units of the
    response. ``h`` of penalised terms is gamma as above, or ``1 / s^2`` with half-t ``s``; for all
    other columns it is one number, ``1 / s^2`` with half-normal ``s``, truncated below. Posteriors
    of ``s`` are on grids. See ``CommonEffectPrior``.

    Attributes
    ----------
    experts, gate
        With the prior of intercepts, and the fixed scales of terms with which runs start.
    of_experts, of_gate : TermScales
        Their terms.
    prior : Gamma
        Of the precision of every block.
    common : CommonColumns or None
        Columns whose coefficients have a part that components share. ``of_experts`` then has
        entries for all terms, followed by entries for these columns, and its last block holds the
        wide ones, if there are any.
    half_t : tuple of (int, HalfTScale)
        Blocks whose standard deviation has a half-t prior, by position, instead of ``prior``.
    n_spread : int
        Entries at the end of ``of_experts`` that are coefficients of a further part of the experts:
        of their log standard deviation, or of structural zeros. Blocks of these come after all
        others of the experts.
    further_draws : str
        Name of the draws of these coefficients.

    References
    ----------
    MacKay (1994), Bayesian nonlinear modelling for the prediction competition, ASHRAE
    Transactions 100, for one precision per group of coefficients. Gelman (2006), Prior
    distributions for variance parameters in hierarchical models, Bayesian Analysis 1(3).
    """

    of_experts: TermScales
    of_gate: TermScales
    prior: Gamma
    common: CommonColumns | None = None
    half_t: tuple[tuple[int, HalfTScale], ...] = ()
    n_spread: int = 0
    further_draws: str = SPREAD

    @property
    def has_slow_directions(self) -> bool:
        """Whether fast axes may hide slow ones: not with one component of conjugate experts."""
        return self.n_components > 1 or not self.is_conjugate

    @cached_property
    def _n_lines(self) -> int:
        """Entries of ``of_experts`` that are not of the spread."""
        return len(self.of_experts.fixed) - self.n_spread

    @cached_property
    def _of_spread(self) -> Bool[np.ndarray, " blocks"]:
        """Blocks of the experts that are of the spread."""
        return np.asarray(self.of_experts.membership[:, self._n_lines :].any(axis=1))

    def starts(self, n: int) -> Starts:
        """Superfluous components stay empty if the run begins without them."""
        if self.common is None:
            return Starts()
        return Starts(few=("two components", "one component")[self.n_components == 2 :])

    def row_predictions_without(
        self, posterior: MixturePosterior, block: Block, copies: RowVector
    ) -> Float[np.ndarray, "values rows"] | None:
        """Predictions with fixed scales, where group effects have no columns; None otherwise."""
        if self.draws_complete:
            return None
        return super().row_predictions_without(posterior, block, copies)

    @property
    def fixed(self) -> Mixture:
        """Mixture whose scales are fixed at their initial values."""
        return Mixture(self.experts, self.gate)

    def given(self, precision: Float[np.ndarray, "*many blocks"]) -> Mixture:
        """Mixture whose prior has these precisions."""
        of_experts, gate = self._by_term(precision), self._gate_given(precision)
        experts: Any = self.experts
        if of_experts is not None and self.common is not None:
            experts = experts.with_common_effects(self.common, of_experts)
        elif of_experts is not None:
            experts = experts.with_coefficient_precision(of_experts)
        return Mixture(experts, gate)

    @property
    def has_draws(self) -> Bool[np.ndarray, " blocks"]:
        """Blocks whose precisions are drawn; all but the block of wide columns."""
        mask = np.ones(len(self.counts), dtype=bool)
        if self.common is not None and self.common.wide.any():
            mask[int((~self._of_spread).sum()) - 1] = False
        return mask

    @cached_property
    def _grids(self) -> tuple[tuple[int, BoundedScale], ...]:
        """Priors of the precisions of blocks that are not gamma, by position."""
        grids = [(at, scale.grid) for at, scale in self.half_t]
        if self.common is not None:
            grids += [(int(at), self.common.spread) for at in np.flatnonzero(~self.has_draws)]
        return tuple(grids)

    @cached_property
    def _is_gamma(self) -> Bool[np.ndarray, " blocks"]:
        """Blocks whose precisions have a gamma prior."""
        return ~np.isin(np.arange(len(self.counts)), [at for at, _ in self._grids])

    @property
    def draw_sizes(self) -> tuple[int, ...]:
        """Numbers of drawn precisions by name, in the order of ``SCALE_DRAWS``."""
        n_spread, n_wide, n_common = int(self._of_spread.sum()), int((~self.has_draws).sum()), 0
        n_lines = len(self.of_experts.start) - n_spread
        if self.common is not None:
            columns = slice(self._n_lines - len(self.common.places), self._n_lines)
            n_common = int(self.of_experts.membership[:, columns].any(axis=1).sum())
        return n_lines - n_common, n_common - n_wide, n_spread, len(self.of_gate.start)

    def _by_term(
        self, precision: Float[np.ndarray, "*many blocks"]
    ) -> Float[np.ndarray, "*many terms"] | None:
        """Prior precisions of the experts' coefficients; None if none is learned."""
        first = len(self.of_experts.start)
        return self.of_experts.by_term(precision[..., :first]) if first else None

    def _gate_given(self, precision: Float[np.ndarray, "*many blocks"]) -> Any:
        """The gate whose prior has these precisions."""
        gate: Any = self.gate
        if not len(self.of_gate.start):
            return gate
        of_gate = precision[..., len(self.of_experts.start) :]
        return gate.with_coefficient_precision(self.of_gate.by_term(of_gate))

    def effective_dof(self, posterior: MixturePosterior) -> ExpertTerms | None:
        """Effective degrees of freedom of each coefficient, given the expected precisions."""
        assert isinstance(posterior, ScaledPosterior)
        return self.given(posterior.scales.mean).effective_dof(posterior)

    @cached_property
    def counts(self) -> BlockVector:
        """Number of coefficients of every block."""
        return np.concatenate([self.of_experts.counts, self.of_gate.counts])

    @cached_property
    def shape(self) -> BlockVector:
        """Shapes of the precisions' posteriors."""
        return np.asarray(self.prior.shape + 0.5 * self.counts)

    def squares(self, posterior: MixturePosterior) -> BlockVector:
        """Expected sums of squares of the coefficients of every block."""
        squares = []
        for part, scales, law in self._parts(posterior.experts, posterior.gate):
            squares.append(scales.by_block(part.coefficient_squares(law)))
        return np.concatenate([np.empty(0), *squares])

    def _parts(self, experts: object, gate: object) -> list[tuple[Any, TermScales, object]]:
        """Parts with learned scales, and what belongs to them."""
        both = ((self.experts, self.of_experts, experts), (self.gate, self.of_gate, gate))
        return [one for one in both if len(one[1].start)]

    def update(self, stats: MixtureStats) -> ScaledPosterior:
        """Experts and gate given precisions, precisions given sums of squares."""
        assert isinstance(stats, ScaledStats)
        mixture = self.given(stats.scales.precision).update(stats)
        return ScaledPosterior(mixture.experts, mixture.gate, *self._scales(stats.scales.squares))

    def _scales(
        self, squares: Float[np.ndarray, "*many blocks"]
    ) -> tuple[Gamma, Float[np.ndarray, "*many"]]:
        """Posterior of the precisions given sums of squares, and ``spread_divergence``."""
        rate = self.prior.rate + 0.5 * squares
        if not (rate > 0.0).all():
            raise np.linalg.LinAlgError("rates of a gamma distribution must be positive")
        shape = np.array(np.broadcast_to(self.shape, rate.shape))
        divergence = np.zeros(rate.shape[:-1])
        for at, grid in self._grids:
            mean, variance, own = grid.moments(squares[..., at], float(self.counts[at]))
            shape[..., at], rate[..., at] = mean**2 / variance, mean / variance
            divergence = divergence + own
        return Gamma(shape, rate), np.asarray(divergence)

    def global_step(
        self, posterior: MixturePosterior, stats: MixtureStats, before: MixtureStats | None = None
    ) -> ScaledStats:
        """Precisions given the coefficients, on no rows, then experts and gate given these."""
        squares = self.squares(posterior)
        scales = ScaleStats(self._scales(squares)[0].mean, squares)
        sums = self.given(scales.precision).global_step(posterior, stats, before)
        return ScaledStats(sums.experts, sums.gate, scales)

    def first_stats(self, stats: MixtureStats) -> ScaledStats:
        """Statistics of the first posterior, whose coefficients have fixed scales."""
        return self.with_first_scales(self.fixed.first_stats(stats))

    def with_first_scales(self, sums: MixtureStats) -> ScaledStats:
        """Statistics of experts and gate, with scales at their first values."""
        start = np.concatenate([self.of_experts.start, self.of_gate.start])
        squares = self.squares(self.given(start).update(sums))
        return ScaledStats(sums.experts, sums.gate, ScaleStats(start, squares))

    def gradient_stats(
        self, posterior: MixturePosterior, stats: MixtureStats, before: MixtureStats | None = None
    ) -> ScaledStats:
        """Derivatives in the expectations of the mixture, and in the prior's."""
        assert isinstance(posterior, ScaledPosterior)
        expected = posterior.scales.mean
        sums = self.given(expected).gradient_stats(posterior, stats, before)
        scale_stats = ScaleStats(expected, self.squares(posterior))
        return ScaledStats(sums.experts, sums.gate, scale_stats)

    def kl(self, posterior: MixturePosterior) -> float:
        """Divergences given the precisions, averaged over them, and the precisions' divergence."""
        assert isinstance(posterior, ScaledPosterior)
        scales, rate = posterior.scales, self.prior.rate
        of_scales = self.prior.shape * np.log(scales.rate / rate) + self.shape * (
            rate / scales.rate - 1.0
        )
        total = float(of_scales[self._is_gamma].sum()) + float(posterior.spread_divergence)
        return float(self.given(scales.mean).kl(posterior)) + total + self._known_divergence

    @cached_property
    def _known_divergence(self) -> float:
        """Part of the divergence that depends on the shapes of the precisions' posteriors only."""
        shape = self.shape[self._is_gamma]
        prior = np.broadcast_to(self.prior.shape, self.shape.shape)[self._is_gamma]
        one = np.ones_like(shape)
        average = 0.5 * self.counts[self._is_gamma] @ (np.log(shape) - digamma(shape))
        return float(average + gamma_kl(shape, one, prior, one).sum())

    def for_points(self) -> Mixture:
        """The mixture with fixed scales."""
        return self.fixed

    def coordinates(self, posterior: MixturePosterior) -> ScaledCoordinates | None:  # type: ignore[override]
        assert isinstance(posterior, ScaledPosterior)
        mixture = super().coordinates(posterior)
        if mixture is None:
            return None
        law = posterior.scales
        return ScaledCoordinates(
            mixture,
            ScaleCoordinates(Gamma(law.shape[self.has_draws], law.rate[self.has_draws])),
            self.squares(posterior),
            law.mean,
            self.has_draws,
            self.draw_sizes,
        )

    def known_response(
        self, posterior: MixturePosterior, source: AbstractSource
    ) -> Float[np.ndarray, "coordinates coordinates"] | None:
        r"""Closed form for one component: only scales and coefficients depend on each other.

        With ``V`` the covariance under the posterior, ``U`` the sums of squares and the precisions
        of all blocks, and ``H`` the second derivatives of ``-E[lambda] E[tau b^2] / 2`` in these,

        .. math:: (V^{-1} - U H U')^{-1} = V + V U (H^{-1} - U' V U)^{-1} U' V.

        None also where the bound is not concave.
        """
        lone = self.n_components == 1 and not len(self.of_gate.start)
        if not lone or not isinstance(self.experts, LinearExperts) or not self.is_conjugate:
            return None
        assert isinstance(posterior, ScaledPosterior)
        blocks, law = self.of_experts.membership, posterior.scales
        none = no_sums(posterior.experts, len(blocks))
        sums = none.weight, self.experts.prior.operator.like(none.xx), none.xy, none.yy
        moments, squares = posterior.experts.expectations_along(*sums, blocks)
        of_squares, of_scales = self.of_experts.by_block(-0.5 * squares), law.shape / law.rate**2
        if not (np.linalg.eigvals(of_squares * of_scales).real < 1.0).all():
            return None
        coordinates: Any = self.coordinates(posterior)
        lean = coordinates.along_scales(LinearStats(*moments), 0.25 * of_scales)
        swapped = -0.5 * np.eye(len(blocks))
        inner = np.block([[-of_squares, swapped], [swapped, -0.25 * np.diag(of_scales)]])
        covariance = np.eye(len(lean)) + lean @ np.linalg.solve(inner, lean.T)
        return np.asarray(0.5 * (covariance + covariance.T))

    def response_of_shared(
        self, stats: MixtureStats, posterior: MixturePosterior, source: AbstractSource
    ) -> GroupedResponse | None:
        """Response of the mixture given the precisions, with the precisions' own."""
        assert isinstance(stats, ScaledStats) and isinstance(posterior, ScaledPosterior)
        if not self._eliminates_groups(posterior, source):
            return None
        from bayesvb.models.grouped_response import GroupedResponse

        gate = self.given(stats.scales.precision).gate
        parts = (self.of_experts, self.of_gate)
        whole = (self, posterior, source)
        return GroupedResponse.of(whole, (gate, stats.gate), posterior.scales, parts).if_few()

    def row_derivatives(self, posterior: MixturePosterior, block: Block) -> RowDerivatives | None:
        """Derivatives of the mixture, on which rows depend only."""
        derivatives = super().row_derivatives(posterior, block)
        if derivatives is None:
            return None
        first, n_blocks = derivatives.n_entries, len(self.counts)
        precisions = first + np.arange(n_blocks)
        of_experts, *of_gate = derivatives.factors
        if self.common is not None:  # components are one factor of the posterior
            of_experts = of_experts.reshape(1, -1)
        factors = (of_experts, *of_gate, (precisions + n_blocks)[:, None])
        return replace(derivatives, factors=factors, shared=precisions, n_more=2 * n_blocks)

    def row_forms(
        self, posterior: MixturePosterior, block: Block
    ) -> tuple[tuple[Forms, ...], BlockVector] | None:
        """Forms of the mixture, with the sums of squares of all blocks."""
        assert isinstance(posterior, ScaledPosterior)
        law, blocks = posterior.scales, (self.of_experts.membership, self.of_gate.membership)
        return self._forms(posterior, block, blocks, 0.5 * np.sqrt(law.shape) / law.rate)

    def prior_curvature(
        self, posterior: MixturePosterior, kept: Bool[np.ndarray, " entries"]
    ) -> Float[np.ndarray, "kept kept"]:
        """Second derivative of ``-E[lambda] E[tau b^2] / 2``, a product of two expectations."""
        last, n_kept = 2 * len(self.counts), int(kept.sum())
        of_both, kept_scales = np.zeros((last, last)), kept[len(kept) - last :]
        first, second = np.arange(last).reshape(2, -1)
        of_both[first, second] = of_both[second, first] = -2.0
        curvature, at = (
            np.zeros((n_kept, n_kept)),
            np.arange(n_kept - int(kept_scales.sum()), n_kept),
        )
        curvature[np.ix_(at, at)] = of_both[np.ix_(kept_scales, kept_scales)]
        return curvature

    def expectations(self, posterior: MixturePosterior) -> EntryVector:
        """Expectations of the mixture, ``-sum E[tau b^2] / 2`` and ``-E[lambda] / 2``."""
        assert isinstance(posterior, ScaledPosterior)
        of_scales = (-0.5 * self.squares(posterior), -0.5 * posterior.scales.mean)
        return np.concatenate([super().expectations(posterior), *of_scales])

    def expectations_along(
        self, posterior: MixturePosterior, change: MixtureStats
    ) -> ScaledStats | None:
        """Expectations of the mixture, whose prior changes too, its squares, and the precisions."""
        assert isinstance(posterior, ScaledPosterior) and isinstance(change, ScaledStats)
        precision, first = change.scales.precision, len(self.of_experts.start)
        of_experts = precision[:, :first] @ self.of_experts.membership if first else None
        experts = self.experts.expectations_along(posterior.experts, change.experts, of_experts)
        added = precision[:, first:] @ self.of_gate.membership if self.of_gate.start.size else None
        gate = self.gate.expectations_along(posterior.gate, change.gate, added)
        if experts is None or gate is None:
            return None
        squares = [self.of_experts.by_block(-0.5 * experts[1])] if first else []
        if self.of_gate.start.size:
            of_gate = self.gate.prior.operator.packed_squares(gate.curvature)
            squares.append(self.of_gate.by_block(of_gate.sum(axis=-2)))
        law = posterior.scales
        of_scales = 0.25 * law.shape / law.rate**2 * change.scales.squares
        return ScaledStats(experts[0], gate, ScaleStats(np.concatenate(squares, axis=1), of_scales))

    def permuted(
        self, order: Sequence[int], stats: MixtureStats
    ) -> tuple[ScaledMixture, ScaledStats]:
        """Model and statistics after a new labelling, which precisions do not see."""
        assert isinstance(stats, ScaledStats)
        mixture, sums = super().permuted(order, stats)
        core = replace(self, experts=mixture.experts, gate=mixture.gate)
        return core, ScaledStats(sums.experts, sums.gate, stats.scales)

    def draws(self, posterior: MixturePosterior, n: int, rng: np.random.Generator) -> Draws:
        """Parameters by name, and the precisions of terms."""
        assert isinstance(posterior, ScaledPosterior)
        mixture = super().draws(posterior, n, rng)
        # compress keeps draws in rows: means over them are then those of draws from a file.
        scales = np.compress(self.has_draws, posterior.scales.draws(n, rng), axis=1)
        return {**mixture, **parted(scales, self.draw_sizes)}

    def prior_draws(self, n: int, rng: np.random.Generator) -> Draws:
        """Precisions, then coefficients given these."""
        unit = np.ones(len(self.counts))
        draws = dict(Mixture(self._unit_experts(), self._gate_given(unit)).prior_draws(n, rng))
        shape = np.broadcast_to(self.prior.shape, unit.shape)
        rate = np.broadcast_to(self.prior.rate, unit.shape)
        drawn = precision_draws(shape, rate, (n, len(unit)), rng)
        for at, scale in self.half_t:
            drawn[:, at] = scale.draws(n, rng)
        of_experts, of_gate = np.split(drawn, [len(self.of_experts.start)], axis=1)
        if self.common is not None:
            spread = self.common.spread.draws(n, rng)
            of_experts = np.where(
                self.has_draws[: of_experts.shape[1]], of_experts, spread[:, None]
            )
        names = (("coefficients", EFFECT_SCALE), ("gate", GATE_EFFECT_SCALE))
        parts = ((of_experts, self.of_experts), (of_gate, self.of_gate))
        for (name, of_effects), (scales, part) in zip(names, parts, strict=True):
            if not scales.size:
                continue
            sd = 1.0 / np.sqrt(scales @ part.membership + (part.fixed > 0.0))
            if part is self.of_experts and self.n_spread:
                draws[self.further_draws] = draws[self.further_draws] * sd[:, None, self._n_lines :]
                sd = sd[:, : self._n_lines]
            if draws[name].shape[-1] > sd.shape[1]:  # they hold effects of groups
                sd = np.repeat(sd, part.sizes[: sd.shape[1]].astype(int), axis=1)
            axes, n_terms = (1,) * (draws[name].ndim - 2), draws[name].shape[-1]
            draws[name] = draws[name] * sd[:, :n_terms].reshape(n, *axes, -1)
            if part is self.of_experts and self.common is not None:
                shared = rng.standard_normal((n, len(self.common.places))) * sd[:, n_terms:]
                draws[name][..., self.common.places] += shared[:, None, None]
            elif sd.shape[1] > n_terms:
                draws[of_effects] = sd[:, n_terms:]
        return {**draws, **parted(drawn[:, self.has_draws], self.draw_sizes)}

    def _unit_experts(self) -> Any:
        """Experts whose terms have unit precisions, without a common part."""
        experts: Any = self.experts
        terms = self._by_term(np.ones(len(self.counts)))
        if terms is None:
            return experts
        first = self._n_lines - (0 if self.common is None else len(self.common.places))
        line_terms = np.concatenate([terms[:first], terms[self._n_lines :]])
        return experts.with_coefficient_precision(line_terms)

    def parameter_space(self) -> ParameterSpace | None:
        """Supports of the mixture's parameters, and of the precisions, which are positive."""
        space = super().parameter_space()
        if space is None:
            return None
        sizes = zip(SCALE_DRAWS, self.draw_sizes, strict=True)
        supports = {name: Positive((size,)) for name, size in sizes if size}
        return ParameterSpace({**space.supports, **supports})

    def reduced_space(self, block: Block) -> AbstractReducedSpace | None:
        """Space of the mixture, with the precisions of the terms integrated out."""
        from bayesvb.models.reduced_mixture import reduce_scaled_mixture

        return reduce_scaled_mixture(self, block, (*SCALE_DRAWS[:2], SCALE_DRAWS[-1]))

    def relabelled_draws(
        self, draws: Draws, posterior: MixturePosterior, block: Block
    ) -> tuple[Draws, int]:
        """Components of each draw in the order of the posterior's; precisions have no label."""
        scales = {name: draws[name] for name in SCALE_DRAWS if name in draws}
        rest = {name: values for name, values in draws.items() if name not in scales}
        moved, changed = super().relabelled_draws(rest, posterior, block)
        return {**moved, **scales}, changed

    def log_prior(self, draws: Draws) -> DrawVector:
        """Log prior density of each draw: of coefficients given precisions, and of these."""
        scales = joined(draws)
        xp = namespace(scales)
        unit = self.given(np.ones(len(self.counts)))
        density = unit.log_prior(draws)
        n_gate = len(self.of_gate.start)
        first = scales.shape[1] - n_gate
        if n_gate:
            gate: Any = self.gate
            squares = self.of_gate.by_block(gate.drawn_squares(draws["gate"]))
            change = self.of_gate.counts * xp.log(scales[:, first:])
            density = density + 0.5 * (change - (scales[:, first:] - 1.0) * squares).sum(axis=1)
        if first:
            density = density + self._experts_change(unit.experts, draws, scales[:, :first])
        total: DrawVector
        total = density + self._log_prior_of_scales(scales)
        return total

    def _log_prior_of_scales(self, scales: Float[np.ndarray, "draws drawn"]) -> DrawVector:
        """Log prior density of the precisions that are drawn."""
        blocks = np.flatnonzero(self.has_draws)
        gamma = np.flatnonzero(self._is_gamma[blocks])
        shape, rate = (
            np.broadcast_to(number, self.has_draws.shape)[blocks[gamma]]
            for number in (self.prior.shape, self.prior.rate)
        )
        density: DrawVector
        density = Gamma(shape, rate).log_density(scales[:, gamma]).sum(axis=1)
        for at, scale in self.half_t:
            density = density + scale.log_density(scales[:, np.searchsorted(blocks, at)])
        return density

    def _experts_change(
        self, unit: Any, draws: Draws, scales: Float[np.ndarray, "draws blocks"]
    ) -> DrawVector:
        """Log ratio of the prior density of the experts' coefficients to that at ones."""
        xp, part = namespace(scales), self.of_experts
        if self.common is None:
            experts: Any = self.experts
            squares = part.by_block(experts.drawn_squares(draws))
            change = part.counts * xp.log(scales) - (scales - 1.0) * squares
            plain: DrawVector = 0.5 * change.sum(axis=1)
            return plain
        prior, drawn = unit.common, (draws["coefficients"], draws["precision"])
        given = prior.log_density_given(*drawn, *self._drawn_precisions(scales))
        result: DrawVector
        result = (given - prior.log_density(*drawn))[:, 0, 0]
        return result + self._spread_change(draws, scales) if self._of_spread.any() else result

    def _spread_change(self, draws: Draws, scales: Float[np.ndarray, "draws blocks"]) -> DrawVector:
        """Change by the coefficients of the spread, whose blocks come last."""
        membership = self.of_experts.membership[self._of_spread, self._n_lines :]
        of_spread = scales[:, -len(membership) :]
        squares = (draws[self.further_draws] ** 2).sum(axis=1) @ membership.T
        counts = self.of_experts.counts[self._of_spread]
        change = counts * namespace(scales).log(of_spread) - (of_spread - 1.0) * squares
        return 0.5 * change.sum(axis=1)  # type: ignore[no-any-return]

    def _drawn_precisions(
        self, scales: Float[np.ndarray, "draws blocks"]
    ) -> tuple[DrawTerms, Float[np.ndarray, "draws columns"]]:
        """Precisions of terms, and of common coefficients: zero of wide ones, not drawn."""
        assert self.common is not None
        part, n_common = self.of_experts, len(self.common.places)
        membership = part.membership[self.has_draws[: len(part.start)]]
        whole = part.fixed + scales @ membership
        first = self._n_lines - n_common
        return whole[:, :first], whole[:, first : self._n_lines]

    def common_given(self, draws: Draws) -> Float[np.ndarray, "draws columns"]:
        """Expected common coefficients given the other parameters, one for each common column."""
        first = sum(self.draw_sizes[:-1])
        experts: Any = self.given(np.ones(len(self.counts))).experts
        prior: CommonEffectPrior = experts.common
        precisions = self._drawn_precisions(np.asarray(joined(draws))[:, :first])
        return prior.common_given(draws["coefficients"], draws["precision"], *precisions)

    def log_posterior(self, posterior: MixturePosterior, draws: Draws) -> DrawVector:
        assert isinstance(posterior, ScaledPosterior)
        law = Gamma(posterior.scales.shape[self.has_draws], posterior.scales.rate[self.has_draws])
        of_scales = law.log_density(np.asarray(joined(draws))).sum(axis=1)
        return np.asarray(super().log_posterior(posterior, draws) + of_scales)
