"""Gaussian linear experts: each component is a Bayesian linear regression."""

from __future__ import annotations

import abc
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.data.blocks import Block, Members
from bayesvb.data.parts import MEAN, SIGMA
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.experts.base import NO_VARIANCE, PosteriorT, StatsT
from bayesvb.experts.drawn_lines import (
    chosen_lines,
    drawn_lines,
    noise_precision,
)
from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.experts.regression import (
    AbstractRegressionExperts,
    RegressionPrior,
    RegressionUnits,
    coefficient_rows,
    coefficients_parameter,
    located,
    noise_parameter,
    noise_rows,
    squares_in_noise,
)
from bayesvb.experts.row_downdate import RowDowndate
from bayesvb.factors.coupled_forms import coupled_forms
from bayesvb.factors.coupled_normal_gamma import (
    CommonColumns,
    CommonEffectPrior,
    CoupledNormalGamma,
    Regressions,
)
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawExpertTerms,
    DrawResponseRows,
    DrawTerms,
    DrawVector,
    ExpertRows,
    ExpertVector,
    ResponseRows,
    TermVector,
)
from bayesvb.numerics.linalg import (
    by_row,
    products,
)
from bayesvb.numerics.segments import segment_sums
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.descriptions import NamedParameter, PriorRow
from bayesvb.variational.linear_predictors import design_of
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import RowScalars, consecutive
from bayesvb.variational.supports import AbstractSupport, Positive, Real


@dataclass(frozen=True)
class LinearStats(SufficientStats):
    """Weighted sums over rows, per expert.

    Attributes
    ----------
    weight : ndarray, shape (experts,)
        Sum of the responsibilities.
    xx : ndarray, shape (experts, packed)
        Sum of ``x x'``, packed as the design packs it.
    xy : ndarray, shape (experts, responses, terms)
        Sum of ``y_i x``.
    yy : ndarray, shape (experts, responses)
        Sum of ``y_i^2``.
    """

    weight: Float[np.ndarray, "*many experts"]
    xx: Float[np.ndarray, "*many experts packed"]
    xy: Float[np.ndarray, "*many experts responses terms"]
    yy: Float[np.ndarray, "*many experts responses"]


def no_sums(posterior: MatrixNormalGamma, many: int) -> LinearStats:
    """Return sums over no rows, for each of many states of the same experts."""
    n_experts, n_responses, n_terms = posterior.mean.shape
    packed = posterior.operator.packed().shape[-1:]
    shapes = ((), packed, (n_responses, n_terms), (n_responses,))
    return LinearStats(*(np.zeros((many, n_experts, *shape)) for shape in shapes))


@dataclass(frozen=True)
class LinearLocalPosterior(AbstractLocalPosterior):
    """Expected log likelihood of these rows under every expert.

    Attributes
    ----------
    expected_log_density : ndarray, shape (experts, rows)
    design : AbstractDesign
    response : ndarray, shape (responses, rows)
    ratio : ndarray, shape (experts, rows), or None
        Expected precision of the noise of each row, relative to the expert's. None: one.
    """

    expected_log_density: ExpertRows
    design: AbstractDesign
    response: ResponseRows
    ratio: ExpertRows | None = None

    @property
    def square_weight(self) -> ExpertRows:
        """Weight of the squared residual of each row, of rows with a ratio."""
        assert self.ratio is not None
        return self.ratio

    def sufficient_stats(self, responsibilities: ExpertRows) -> LinearStats:
        """Sums weighted by the responsibilities, all but their own sum by ``ratio`` too."""
        if self.ratio is None:
            return LinearStats(*self.design.sums(responsibilities, self.response))
        _, *sums = self.design.sums(responsibilities * self.ratio, self.response)
        return LinearStats(responsibilities.sum(axis=1), *sums)


class AbstractLinearExperts(AbstractRegressionExperts[PosteriorT, StatsT]):
    """Gaussian regressions with drawn ``coefficients`` and ``precision``, whatever their prior."""

    words = "Gaussian linear regression"
    formula = "normal"
    parts = (MEAN, SIGMA)

    @abc.abstractmethod
    def design(self, block: Block) -> AbstractDesign:
        """Rows in the structure of the prior."""

    @abc.abstractmethod
    def squares(self, posterior: PosteriorT, block: Block) -> ExpertRows:
        """Expected squared residuals in units of the noise, summed over responses."""

    @abc.abstractmethod
    def expected_peak(self, posterior: PosteriorT) -> ExpertVector:
        """Expected log density of a row without residual, summed over responses."""

    def local(self, posterior: PosteriorT, block: Block) -> LinearLocalPosterior:
        r"""``E log N(y | x' B_k, 1 / tau_k)``, summed over responses."""
        return self.local_at(posterior, block, self.squares(posterior, block))

    def local_at(
        self,
        posterior: PosteriorT,
        block: Block,
        squares: ExpertRows,
        ratio: ExpertRows | None = None,
    ) -> LinearLocalPosterior:
        """Expected log likelihood given ``squares``, which it overwrites.

        Where precisions of rows differ by a ratio, squares are multiplied by it already.
        """
        squares *= -0.5
        squares += self.expected_peak(posterior)[:, None]
        return LinearLocalPosterior(squares, self.design(block), block.response, ratio)

    @abc.abstractmethod
    def predictive(
        self,
        posterior: PosteriorT,
        weights: ExpertRows,
        block: Block,
        response: int,
        noise: float | ExpertRows = 1.0,
    ) -> StudentMixture:
        """Predictive distribution of one response at every row.

        ``noise``: known variances of the noise of rows, relative to the expert's.
        """

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        xp = namespace(draws["precision"])
        total: DrawExpertRows
        total = xp.zeros((*draws["precision"].shape[:2], block.n_rows))
        design = self.design(block)
        for i, observed in enumerate(block.response):
            precision = noise_precision(draws, i)
            residual = drawn_lines(design, draws, i)
            residual -= observed
            residual *= residual
            residual *= 0.5 * precision
            residual -= 0.5 * (xp.log(precision) - LOG_2PI)
            total -= residual
        return total

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        location, precision = chosen_lines(self.design(block), draws, chosen)
        return np.asarray(location + rng.standard_normal(location.shape) / np.sqrt(precision))

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """``beta``, coefficients of the lines, and ``sigma``, noise standard deviations."""
        return [coefficients_parameter(draws, units), noise_parameter(draws, units)]

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> NormalMixture:
        """Mixture of Gaussians given each draw."""
        parts = located(self.design(block), draws, weights, block, response, scaling)
        return NormalMixture(*parts)


@dataclass(frozen=True)
class LinearExperts(AbstractLinearExperts[Regressions, LinearStats]):
    r"""``y_i ~ N(x' B_ki, 1 / tau_ki)``, conjugate prior shared by all experts.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression, eqs 30-36, with
    ``E log tau = digamma(a) - log b``, ``a_k = a_0 + N_k / 2`` and the factor 1/2 on all three
    terms of ``b_k``, where the report differs. For several responses: Heins et al. (2024),
    arXiv:2408.16429, appendix B.
    """

    posterior_by_group = True
    learns_scales = True
    has_common_effects = True

    prior: MatrixNormalGamma
    common: CommonEffectPrior | None = None

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> LinearExperts:
        """Experts whose coefficients have a prior in units of their noise."""
        operator = prior.operator
        mean = np.zeros((prior.n_responses, operator.n_coefficients))
        rate = np.full(prior.n_responses, float(prior.noise_rate))
        return cls(MatrixNormalGamma.prior(mean, operator, prior.noise_shape, rate))

    @property
    def posterior_by_row(self) -> bool:  # type: ignore[override]
        """Unless effects of groups have no columns: a posterior of each row would have them all."""
        return self.prior.operator.is_dense

    def line_laws(self, posterior: Regressions | None) -> list[Normal]:
        """Return the law of the coefficients of each response, where draws lack effects."""
        if self.prior.operator.is_complete:
            return []
        law = self.prior if posterior is None else cast(MatrixNormalGamma, posterior)
        return [law.of_response(i) for i in range(len(self.prior.rate))]

    def design(self, block: Block) -> AbstractDesign:
        return design_of(self.prior.operator, block, MEAN)

    def squares(self, posterior: Regressions, block: Block) -> ExpertRows:
        """``sum_i x' V^-1 x + E[tau_i] (y_i - x' m_i)^2``."""
        design = self.design(block)
        squares = posterior.spread_at(design)
        squares *= len(block.response)
        add_squares(squares, posterior.mean, posterior.expected_precision, design, block.response)
        return squares

    def expected_peak(self, posterior: Regressions) -> ExpertVector:
        """``sum_i (E log tau_i - log 2 pi) / 2``."""
        return np.asarray(0.5 * (posterior.expected_log_precision - LOG_2PI).sum(axis=1))

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> LinearStats:
        return LinearStats(*self.design(block).sums(responsibilities, block.response))

    def update(self, stats: LinearStats) -> Regressions:
        """Exact coordinate update of every expert."""
        update: Regressions
        update = self._law.posterior(stats.weight, stats.xx, stats.xy, stats.yy)
        return update

    def kl(self, posterior: Regressions) -> float:
        return posterior.kl(self._law)

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, "*many terms"]
    ) -> LinearExperts:
        """Experts whose coefficients have these precisions, in units of the noise precision."""
        return replace(self, prior=self.prior.with_coefficient_precision(precision))

    def with_common_effects(
        self, columns: CommonColumns, precision: Float[np.ndarray, "*many entries"]
    ) -> LinearExperts:
        return replace(self, common=CommonEffectPrior.of(self.prior, columns, precision))

    @property
    def _law(self) -> Any:
        """Prior of all experts: independent of each other, or with common coefficients."""
        return self.common or self.prior

    def coefficient_squares(self, posterior: Regressions) -> TermVector:
        """``sum E[tau_ki B_kij^2]``; of deviations, then of common ones, where there are these."""
        return posterior.summed_squares()

    def effective_dof(self, posterior: Regressions) -> Float[np.ndarray, "experts terms"]:
        """Effective degrees of freedom of each coefficient; equal for all responses."""
        return posterior.effective_dof(self._law)

    def drawn_squares(self, draws: Draws) -> DrawTerms:
        """``sum tau_ki B_kij^2`` of each draw."""
        return self.prior.operator.by_term(squares_in_noise(draws))

    def with_prior_power(self, power: float) -> LinearExperts:
        """Experts whose prior density is to a power."""
        return self if power == 0.0 else replace(self, prior=self.prior.to_the_power(power))

    def collapsed(self, posterior: Regressions, block: Block) -> Bool[np.ndarray, " experts"]:
        """Whether the noise of some response is next to none."""
        return without_noise(1.0 / posterior.expected_precision, block)

    def row_scalars(self, block: Block, n_experts: int) -> RowScalars:
        """``1``, ``x x'``, ``y_i x`` and ``y_i^2``, in the order of ``LinearStats``.

        Of products of two terms those that some of the rows have.
        """
        design, response = self.design(block), block.response
        present, pairs = design.present_products()
        cross = (response[:, None] * design.columns).reshape(-1, block.n_rows)
        ones = np.ones((1, block.n_rows))
        parts = [ones, pairs, cross, response * response]
        first, xx, *rest = consecutive(n_experts, [1, len(present), *map(len, parts[2:])])
        places = np.concatenate([first, xx[:, present], *rest], axis=1)
        return RowScalars(np.concatenate(parts), places, xx[:, ~present])

    def factor_covariance(
        self, posterior: Regressions, some: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "experts some entries"] | None:
        """Covariance in closed form, where all rows share all coefficients."""
        return posterior.statistics_covariance(some) if self.prior.operator.is_dense else None

    def forms(
        self, posterior: Regressions, block: Block, blocks: Float[np.ndarray, "blocks entries"]
    ) -> Forms | None:
        """Forms in closed form, for one response, where all rows share all coefficients."""
        if not self.prior.operator.is_dense or len(block.response) != 1:
            return None
        rows = self.design(block).columns, block.response[0], blocks
        if isinstance(posterior, CoupledNormalGamma):
            return coupled_forms(posterior, *rows)
        return posterior.forms(*rows)

    def expectations_along(
        self,
        posterior: Regressions,
        change: LinearStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> tuple[LinearStats, Float[np.ndarray, "many entries"]]:
        """Changes of the expectations in closed form."""
        sums = change.weight, self.prior.operator.like(change.xx), change.xy, change.yy
        moments, squares = posterior.expectations_along(*sums, precision)
        return LinearStats(*moments), squares

    def coordinates(self, posterior: Regressions) -> LinearCoordinates:
        """Standard coordinates of coefficients and precisions."""
        return LinearCoordinates(posterior)

    def supports(self, n_components: int) -> dict[str, AbstractSupport] | None:
        """``coefficients`` and ``precision``."""
        shape = (n_components, *self.prior.mean.shape)
        return {"coefficients": Real(shape), "precision": Positive(shape[:2])}

    def predictive(
        self,
        posterior: Regressions,
        weights: ExpertRows,
        block: Block,
        response: int,
        noise: float | ExpertRows = 1.0,
    ) -> StudentMixture:
        """Mixture of Student t distributions, exact given the weights."""
        design = self.design(block)
        rate = by_row(posterior.rate[..., response] / posterior.shape)
        scale = np.sqrt(rate * (noise + posterior.spread_at(design)))
        location = posterior.location_at(response, design)
        return StudentMixture(weights, location, scale, 2.0 * posterior.shape.T)

    def predictive_without(
        self,
        posterior: Regressions,
        weights: ExpertRows,
        block: Block,
        left_out: ExpertRows,
        ratio: ExpertRows | None = None,
        noise: float | ExpertRows = 1.0,
    ) -> list[StudentMixture] | None:
        """Student t distributions after a downdate by each row: exact given the memberships.

        Only for one component, or if group effects have no columns. Otherwise rows are held out by
        derivatives of iterations, in which memberships change. ``ratio`` and ``noise`` are expected
        precisions and known variances of rows, relative to the expert's.

        References
        ----------
        Cook, Weisberg (1982), Residuals and Influence in Regression, section 2.2 and appendix A.2.
        """
        if self.prior.operator.is_complete and len(left_out) > 1:
            return None
        weight = left_out if ratio is None else left_out * ratio
        downdate = RowDowndate.of(posterior.regressions, self.design(block), left_out, weight)
        predictive = []
        for i, observed in enumerate(block.response):
            location, rate = downdate.without(i, observed)
            scale = np.sqrt(rate / downdate.shape * (noise + downdate.spread))
            predictive.append(StudentMixture(weights, location, scale, 2.0 * downdate.shape))
        return predictive

    def log_predictive_of_groups(
        self, posterior: Regressions, members: Members, n_experts: int
    ) -> Float[np.ndarray, "experts groups"]:
        """Multivariate Student t: the ratio of evidence with and without the rows of a group.

        With common coefficients close to it: each component has its effective covariance.
        """
        posterior = posterior.regressions
        design, response = members.rows.designs[MEAN], members.rows.response
        parts = (products(design), response[:, None] * design, response * response)
        xx, xy, yy = (np.moveaxis(segment_sums(p, members.starts), -1, 0)[:, None] for p in parts)
        size = members.sizes[:, None].astype(float)
        after = posterior.posterior(size, xx, xy, yy)
        log_predictive = (
            after.log_evidence() - posterior.log_evidence() - 0.5 * size * len(response) * LOG_2PI
        )
        return np.ascontiguousarray(log_predictive.T)

    def draws(self, posterior: Regressions, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, responses, terms) and ``precision``."""
        coefficients, precision = posterior.draws(n, rng)
        return {"coefficients": coefficients, "precision": precision}

    def log_density(self, posterior: Regressions | None, draws: Draws) -> DrawVector:
        factor = posterior or self._law
        density = factor.log_density(draws["coefficients"], draws["precision"])
        total: DrawVector = density.sum(axis=(1, 2))
        return total

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients as Student t, their noise integrated out, and the noise."""
        shape, rate = float(self.prior.shape), float(self.prior.rate[0])
        sd = np.sqrt(rate / shape / self.prior.operator.entries)
        shared, effects = np.split(sd, [len(units.terms)])
        words = f"Student t({2.0 * shape:g})"
        coefficients = coefficient_rows(units, words, shared)
        effect_rows = units.effect_rows(words, effects)
        return [*coefficients, *effect_rows, *noise_rows(units, shape, rate)]


def add_squares(
    total: ExpertRows,
    mean: Float[np.ndarray, "experts responses terms"],
    weight: Float[np.ndarray, "experts responses"],
    design: AbstractDesign,
    response: ResponseRows,
) -> None:
    """Add ``w (y - x' m)^2`` of every response, in place; weights are positive."""
    root = np.sqrt(weight)
    for i, observed in enumerate(response):
        residual = design.residuals(mean[:, i], observed, root[:, i])
        residual *= residual
        total += residual


def without_noise(
    variance: Float[np.ndarray, "experts responses"], block: Block
) -> Bool[np.ndarray, " experts"]:
    """Experts whose noise in some response is negligible relative to the scatter of these rows."""
    scatter = block.response.var(axis=1)
    return np.asarray((variance < NO_VARIANCE * scatter).any(axis=1))
