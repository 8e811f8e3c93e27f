"""One regression with learned prior scales whose posterior is integrated over the scales."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import cast

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import MEAN
from bayesvb.data.sources import AbstractSource
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.experts.linear import LinearExperts, LinearStats
from bayesvb.experts.linear_independent import IndependentLinearExperts
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.half_t import HALF_T_DOF, log_half_t
from bayesvb.factors.normal import Normal
from bayesvb.factors.uniform_correlation import UniformCorrelation
from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import GroupedDesign, GroupRows
from bayesvb.models.arrow_regression import (
    EffectsGivenScales,
    RegressionSums,
    effect_precision,
)
from bayesvb.models.drawn_effects import EFFECT_SCALE, EffectLaws, with_line_keys
from bayesvb.models.half_t_scales import HalfTScales, ScaledRegression
from bayesvb.models.mixture import Mixture, MixturePosterior, MixtureStats
from bayesvb.models.scaled_mixture import ScaledMixture
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import BlockVector, DrawRows, DrawVector, RowVector
from bayesvb.numerics.linalg import unpack
from bayesvb.variational.local import Draws

EFFECT_CORRELATION = "effect_correlation"
"""Name of the drawn correlations of effects of a group, pair by pair of each set."""


@dataclass(frozen=True)
class HalfTMixture(ScaledMixture):
    """One component with penalised terms: groups, whose sds have half-t priors, and curves.

    The variational posterior has a conjugate gamma prior of all precisions, which stands for the
    half-t prior where many coefficients share a scale. Few groups hardly inform their standard
    deviation: exact draws and predictions integrate over it under the half-t prior, and over the
    scales of curves under their gamma prior.

    Attributes
    ----------
    unit : ndarray, shape (blocks,)
        Scale of the half-t prior of the standard deviation of a block's coefficients: of the
        response over the root of the sum of the mean squares of the columns.
    curves : tuple of int
        Blocks of curves, which have the gamma prior instead.
    correlated : tuple of tuple of int
        Blocks whose effects are correlated within each group, with a uniform prior of their
        correlation matrix. The variational posterior takes them to be independent.
    integrated : HalfTScales or None
        Exact posterior of the regression, where draws and predictions are those.

    References
    ----------
    Gelman (2006), Prior distributions for variance parameters in hierarchical models, Bayesian
    Analysis 1(3), for the half-t prior.
    """

    unit: BlockVector = field(kw_only=True)
    curves: tuple[int, ...] = field(default=(), kw_only=True)
    correlated: tuple[tuple[int, ...], ...] = field(default=(), kw_only=True)
    integrated: HalfTScales | None = field(default=None, kw_only=True)

    def compiled(self, source: AbstractSource) -> None:
        """None: a single component takes few passes."""
        return

    def integrating(self, stats: MixtureStats) -> HalfTMixture | None:
        """The mixture with its exact posterior given sums over rows; None where it has none."""
        scales = HalfTScales.of(self._regression(stats.experts))
        if scales is None:
            return None
        gram, laws = scales.model.sums.gram, None
        if not gram.is_complete:
            regression = EffectsGivenScales(*gram.parts, xy=scales.model.sums.xy)
            laws = EffectLaws((Normal(self._linear.prior.mean[0], regression),))
        return replace(self, effect_laws=laws, integrated=scales)

    @property
    def _linear(self) -> LinearExperts:
        return cast(LinearExperts, self.experts)

    def _regression(self, stats: LinearStats) -> ScaledRegression:
        """The one regression and its prior."""
        prior, membership = self._linear.prior, self.of_experts.membership
        moments = stats.xy[0, 0], float(stats.weight[0]), float(stats.yy[0, 0])
        gram = prior.operator.like(stats.xx[0])
        if isinstance(gram, ArrowPrecision):
            sums = RegressionSums(gram, *moments)
        else:
            blocks = [np.flatnonzero(block) for block in membership]
            sums = RegressionSums.from_columns(unpack(stats.xx[0]), *moments, blocks)
        fixed, free = self.of_experts.fixed, (0, 0.0)
        if isinstance(self.experts, IndependentLinearExperts):
            variance = 1.0 / self.experts.update(stats).expected_precision[0, 0]
            fixed = np.where(self.experts.free, variance, 1.0) * fixed
            free = int(self.experts.free.sum()), 0.5 * float(np.log(variance))
        noise = float(prior.shape), float(prior.rate[0])
        curves = list(self.curves)
        of_curves = Gamma(self.prior.shape[curves], self.prior.rate[curves])
        priors = (*noise, self.correlated, free, self.curves, of_curves)
        return ScaledRegression(sums, membership, fixed, self.unit, *priors)

    def exact_draws(self, n: int, rng: np.random.Generator) -> tuple[Draws, DrawVector]:
        """Draws of all parameters by name, and their log density.

        Draws without effects of groups have keys of these, and roots of their prior covariance.
        """
        assert self.integrated is not None
        coefficients, precision, numbers, log_q = self.integrated.draws(n, rng)
        scales, correlations = np.split(numbers, [len(self.unit)], axis=1)
        draws: Draws = {
            "coefficients": coefficients[:, None, None],
            "precision": precision[:, None, None],
            "gate": np.ones((n, 1)),
            "term_precision": scales,
            **({EFFECT_CORRELATION: correlations} if self.correlated else {}),
        }
        gram = self.integrated.model.sums.gram
        if not gram.is_complete:
            sds = self.of_experts.by_term(scales)[:, gram.n_shared :] ** -0.5
            draws = with_line_keys({**draws, EFFECT_SCALE: self._effect_roots(draws, sds)}, rng)
        return draws, log_q

    def _effect_roots(
        self, draws: Draws, sds: Float[np.ndarray, "draws effects"]
    ) -> Float[np.ndarray, "draws effects *more"]:
        """Standard deviations of effects without columns, or roots of their covariance matrices."""
        n_shared = len(self.of_experts.fixed) - sds.shape[1]
        for terms, matrix in self.correlation_matrices(draws):
            if terms[0, 0] >= n_shared:
                return np.asarray(sds[..., None] * np.linalg.cholesky(matrix))
        return sds

    def correlation_matrices(
        self, draws: Draws
    ) -> list[tuple[Int[np.ndarray, "effects groups"], Float[np.ndarray, "draws effects effects"]]]:
        """Terms of correlated effects, and their correlation matrices in each draw.

        Of effects without columns one term stands for all groups.
        """
        if EFFECT_CORRELATION not in draws:
            return []
        matrices, first, membership = [], 0, self.of_experts.membership
        for blocks in self.correlated:
            prior = UniformCorrelation(len(blocks))
            last = first + len(prior.pairs)
            columns = np.stack([np.flatnonzero(membership[block]) for block in blocks])
            matrices.append((columns, prior.matrix(draws[EFFECT_CORRELATION][:, first:last])))
            first = last
        return matrices

    def exact_predictive(self, block: Block) -> StudentMixture:
        """Predictive distribution of the response of each row by the exact posterior."""
        assert self.integrated is not None
        return self.integrated.predictive(self._linear.design(block))

    def effect_law(self, weights: Float[np.ndarray, " effects"]) -> StudentMixture:
        """Distribution of a combination of the effects of each group by the exact posterior."""
        assert self.integrated is not None
        gram = self.integrated.model.sums.gram
        each = np.repeat(weights[:, None], gram.n_groups, axis=1)
        groups = GroupRows(np.arange(gram.n_groups), each)
        rows = GroupedDesign(np.zeros((gram.n_shared, gram.n_groups)), groups, gram.n_groups)
        return self.integrated.predictive(rows, noise=0.0)

    def row_predictions_without(
        self, posterior: MixturePosterior, block: Block, copies: RowVector
    ) -> Float[np.ndarray, "values rows"] | None:
        """Predictions from the exact posterior where draws are; by derivatives otherwise."""
        if self.integrated is None:
            return super().row_predictions_without(posterior, block, copies)
        design = self._linear.design(block)
        return self.integrated.predictions_without(design, block.response[0], copies)

    def effect_variance(self, draws: Draws, block: Block, typical: Block) -> DrawRows:
        """Prior variance of the difference of the lines of two blocks of rows, given each draw."""
        names = [name for name in (MEAN, GROUP_ROWS) if name in block.designs]
        # The first row of a design of groups holds their numbers.
        change = [(block.designs[n] - typical.designs[n])[int(n != MEAN) :] for n in names]
        design = np.concatenate(change)
        precision = self.of_experts.by_term(draws["term_precision"])
        variance = 1.0 / (precision * draws["precision"][:, :, 0])
        total = variance @ design**2
        for columns, matrix in self.correlation_matrices(draws):
            design_columns, sd = design[columns], np.sqrt(variance[:, columns[:, 0]])
            products = np.einsum("agr,bgr->abr", design_columns, design_columns)
            excess = matrix - np.eye(len(columns))
            total = total + np.einsum("dab,da,db,abr->dr", excess, sd, sd, products)
        return np.asarray(total)

    def log_prior(self, draws: Draws) -> DrawVector:
        """Log prior density of each draw, scales of groups with their half-t prior."""
        scales, noise = draws["term_precision"], draws["precision"][:, :, 0]
        xp = namespace(scales)
        sd = 1.0 / xp.sqrt(scales * noise)
        # of the precision, whose root is sd: d sd / d scale = -sd / (2 scale)
        of_scales = log_half_t(sd, self.unit) + xp.log(sd) - xp.log(2.0 * scales)
        groups = [i for i in range(len(self.unit)) if i not in self.curves]
        change = (of_scales - self.prior.log_density(scales))[:, groups].sum(axis=1)
        total: DrawVector = super().log_prior(draws) + change
        total = total + self._log_correlated(draws)
        return total

    def _log_correlated(self, draws: Draws) -> DrawVector:
        """Log prior density of correlations, and change of the density of effects by them."""
        noise, total = draws["precision"][:, :, 0], np.zeros(len(draws["precision"]))
        for terms, matrix in self.correlation_matrices(draws):
            precision = self.of_experts.by_term(draws["term_precision"])[:, terms[:, 0]]
            at = self._places(terms)
            unit = np.sqrt(precision * noise)[..., None] * draws["coefficients"][:, 0, 0, at]
            change = np.linalg.inv(matrix) - np.eye(len(terms))
            squares = np.einsum("dab,dag,dbg->d", change, unit, unit)
            total -= 0.5 * (at.shape[1] * np.linalg.slogdet(matrix)[1] + squares)
            total += UniformCorrelation(len(terms)).log_constant
        return total

    def _places(self, terms: Int[np.ndarray, "effects _"]) -> Int[np.ndarray, "effects groups"]:
        """Places of the coefficients of terms in draws that hold all of them."""
        owner = np.repeat(np.arange(len(self.of_experts.sizes)), self.of_experts.sizes.astype(int))
        return np.stack([np.flatnonzero(np.isin(owner, term)) for term in terms])

    def prior_draws(self, n: int, rng: np.random.Generator) -> Draws:
        """Noise and standard deviations, then coefficients given these."""
        draws = dict(self.given(np.ones(len(self.counts))).prior_draws(n, rng))
        sd = np.abs(rng.standard_t(HALF_T_DOF, (n, len(self.unit)))) * self.unit
        scales = 1.0 / (sd**2 * draws["precision"][:, :, 0])
        if self.curves:
            scales[:, self.curves] = self.prior.draws(n, rng)[:, self.curves]
        spread = self.of_experts.by_term(scales) ** -0.5
        spread[:, self.of_experts.fixed > 0.0] = 1.0
        coefficients, each = draws["coefficients"], []
        is_complete = self._linear.prior.operator.is_complete
        for blocks in self.correlated:
            prior = UniformCorrelation(len(blocks))
            z = prior.draws(n, rng)
            terms = np.stack([np.flatnonzero(self.of_experts.membership[one]) for one in blocks])
            if is_complete or terms[0, 0] < coefficients.shape[-1]:
                at = self._places(terms)
                coefficients[:, 0, 0, at] = prior.root(z) @ coefficients[:, 0, 0, at]
            each.append(prior.correlations(z))
        all_draws = {**draws, "term_precision": scales}
        if each:
            all_draws[EFFECT_CORRELATION] = np.hstack(each)
        if is_complete:
            spread = np.repeat(spread, self.of_experts.sizes.astype(int), axis=1)
        n_held = coefficients.shape[-1]
        if n_held < spread.shape[1]:
            all_draws[EFFECT_SCALE] = self._effect_roots(all_draws, spread[:, n_held:])
        return {**all_draws, "coefficients": coefficients * spread[:, None, None, :n_held]}

    def reduced_space(self, block: Block) -> None:
        """None: half-t scales are integrated numerically."""
        return None

    def with_complete_draws(self) -> Mixture:
        """The mixture whose draws hold group effects, drawn from the variational posterior."""
        return replace(cast(HalfTMixture, super().with_complete_draws()), integrated=None)

    def completed(self, draws: Draws) -> tuple[Draws, DrawVector]:
        """Draws with the effects of all groups, whose prior covariance each draw has."""
        if self.integrated is None or EFFECT_SCALE not in draws:
            return super().completed(draws)
        sums, prior = self.integrated.model.sums, effect_precision(draws[EFFECT_SCALE])
        border, cross, blocks = sums.gram.parts
        # Any precision of the shared coefficients will do: effects are given these.
        precision = border + np.eye(len(border)), cross, blocks + prior[:, None, :, :, None]
        operator = ArrowPrecision(*precision)
        law = Normal(operator.solve(sums.xy[None])[..., 0, :], operator)
        return EffectLaws((law,)).completed({k: v for k, v in draws.items() if k != EFFECT_SCALE})

    def knowing(
        self,
        posterior: MixturePosterior,
        stats: MixtureStats | None = None,
        source: AbstractSource | None = None,
    ) -> Mixture:
        mixture = cast(HalfTMixture, super().knowing(posterior, stats, source))
        return replace(mixture, integrated=None)


def can_integrate(mixture: Mixture) -> bool:
    """Whether the scales of a mixture can be integrated out.

    They can with one Gaussian component, its coefficients in units of noise, and one response.
    """
    lone = isinstance(mixture, ScaledMixture) and mixture.n_components == 1
    if not lone or not isinstance(mixture.experts, LinearExperts) or not mixture.is_conjugate:
        return False
    mean = mixture.experts.prior.mean
    return len(mean) == 1 and not mean.any()


def with_half_t_scales(
    mixture: Mixture,
    unit: BlockVector,
    curves: tuple[int, ...] = (),
    correlated: tuple[tuple[int, ...], ...] = (),
) -> HalfTMixture:
    """The mixture with half-t priors in these units, except for scales of curves."""
    given = {one.name: getattr(mixture, one.name) for one in fields(ScaledMixture)}
    return HalfTMixture(**given, unit=unit, curves=curves, correlated=correlated)
