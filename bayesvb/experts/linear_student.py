"""Robust linear experts: each component is a Bayesian linear regression with Student-t noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import digamma, polygamma

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN, SIGMA
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.drawn_student_mixture import DrawnStudentMixture
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.errors import PriorError
from bayesvb.experts.degrees_of_freedom import (
    DOF_RANGE,
    FIRST_DOF,
    PRIOR_RATE,
    PRIOR_SHAPE,
    gamma_shape,
    learned_dof,
    log_dof_sd,
    log_peak,
    log_prior,
)
from bayesvb.experts.drawn_lines import (
    chosen_lines,
    drawn_lines,
    noise_precision,
    taken,
)
from bayesvb.experts.linear import LinearExperts, without_noise
from bayesvb.experts.linear_student_posterior import (
    StudentCoordinates,
    StudentLocalPosterior,
    StudentPosterior,
    StudentStats,
    by_expert,
    by_regression,
)
from bayesvb.experts.regression import (
    SIGMA_TEXT,
    AbstractRegressionExperts,
    RegressionPrior,
    RegressionUnits,
    coefficients_parameter,
    located,
    noise_parameter,
    squares_in_noise,
)
from bayesvb.experts.row_downdate import RowDowndate
from bayesvb.factors.coupled_normal_gamma import CommonColumns, CommonEffectPrior
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawExpertTerms,
    DrawResponseRows,
    DrawTerms,
    DrawVector,
    ExpertRows,
    Floats,
    TermVector,
)
from bayesvb.numerics.linalg import by_row
from bayesvb.numerics.student_cdf import FARTHEST
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.linear_predictors import design_of
from bayesvb.variational.local import Draws
from bayesvb.variational.supports import AbstractSupport, Fixed, Positive, Real, Shared

REACH = 4.0
"""Scales from the middle of the response at which a row begins to count less in first sums."""


@dataclass(frozen=True)
class StudentExperts(AbstractRegressionExperts[StudentPosterior, StudentStats]):
    r"""``y_i ~ t_nu_i(x' B_ki, 1 / sqrt(tau_ki))``: regressions that are robust against outliers.

    A scale mixture: every row and response has a precision ``u ~ Ga(nu / 2, nu / 2)`` of its own,
    ``y ~ N(x' B, 1 / (tau u))``. With ``u`` dependent on the component and at its optimum,

    .. math:: E_{nk} = \sum_i \tfrac12 E\log\tau_{ki} + c(\nu_i) - \tfrac{\nu_i + 1}{2}
              \log\Big(1 + \frac{E[\tau_{ki} (y_{ni} - x_n' B_{ki})^2]}{\nu_i}\Big).

    Responses are independent given the component, so that one may be far out and the others not.
    The degrees of freedom are one number per response, the same for all experts: fixed, or learned
    as the point where the bound plus the log density of their gamma prior is largest. Draws have a
    normal ``log nu`` around that point, by the curvature there and by linear response. Choose these
    experts where a few rows may be wrong or tails are heavy; with many rows of clean data they
    agree with ``LinearExperts``. Rows that are far out in a covariate are as powerful as ever.

    References
    ----------
    Peel, McLachlan (2000), Robust mixture modelling using the t distribution,
    doi:10.1023/A:1008981510081, eqs 22 to 29 for the weights and the degrees of freedom. Bishop,
    Svensen (2005), Robust Bayesian mixture modelling, doi:10.1016/j.neucom.2004.11.018. Juarez,
    Steel (2010), Model-based clustering of non-Gaussian panel data,
    doi:10.1198/jbes.2009.07145, for the prior.
    """

    words = "Student-t linear regression"
    formula = "student"
    parts = (MEAN, SIGMA)
    scale_words = (
        "columns with mean 0 and standard deviation 1 and a response with median 0 and median "
        "absolute deviation 0.67, as a standard normal has"
    )

    learns_scales = True
    has_common_effects = True

    scaled_by_medians = True

    prior: StudentPosterior
    learns_dof: bool
    standardised: bool = True
    dof_power: float = 1.0
    common: CommonEffectPrior | None = None

    @property
    def posterior_by_row(self) -> bool:  # type: ignore[override]
        """Unless effects of groups have no columns: a posterior of each row would have them all."""
        return self._linear.operator.is_dense

    def line_laws(self, posterior: StudentPosterior | None) -> list[Normal]:
        """Return the law of the coefficients of each response, where draws lack effects."""
        if self._linear.operator.is_complete:
            return []
        law = posterior or self.prior
        return [law.regression(i).of_response(0) for i in range(len(self.prior.dof))]

    def design(self, block: Block) -> AbstractDesign:
        """Return rows in the structure of the prior."""
        return design_of(self._linear.operator, block, MEAN)

    @staticmethod
    def response_scaling(response: AllResponses, *, centred: bool, active: bool = True) -> Scaling:
        """Scaling by medians: outliers would move mean and standard deviation, and so the prior.

        Where more than half of the rows have one value, the scale is the standard deviation.
        """
        return Scaling.of_response_by_medians(response, centred=centred, active=active)

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> StudentExperts:
        """Experts whose coefficients have a prior in units of their noise.

        Raises
        ------
        PriorError
            If the coefficients are to be in units of the response, or the degrees of freedom are
            too few for numbers of floating point.
        """
        if not prior.in_noise:
            raise PriorError(
                "coefficient_units='response' is not available with family='student'",
                hint="omit it: coefficients are then in units of the noise",
            )
        if prior.dof is not None and prior.dof < DOF_RANGE[0]:
            raise PriorError(
                f"dof={prior.dof:g} is less than {DOF_RANGE[0]:g}",
                hint="1 has the tails of a Cauchy distribution, which are heavy enough",
            )
        linear = LinearExperts.from_prior(replace(prior, n_responses=1)).prior
        dof = np.full(prior.n_responses, float(prior.dof or FIRST_DOF))
        law = StudentPosterior(linear, dof, np.empty(0))
        return cls(law, prior.dof is None, prior.standardised)

    def squares(
        self, posterior: StudentPosterior, block: Block
    ) -> Float[np.ndarray, "experts responses rows"]:
        """``E[tau_ki (y_i - x' B_ki)^2]``."""
        linear, design = posterior.linear, self.design(block)
        n_responses = len(posterior.dof)
        shape = len(linear.mean) // n_responses, n_responses, block.n_rows
        distance = design.predict(linear.mean[:, 0]).reshape(shape)
        distance -= block.response
        distance *= distance
        distance *= linear.expected_precision.reshape(-1, n_responses, 1)
        distance += linear.spread_at(design).reshape(distance.shape)
        return distance

    def local(self, posterior: StudentPosterior, block: Block) -> StudentLocalPosterior:
        """Expected log likelihood, with the precision of every row at its optimum."""
        return self.local_at(posterior, block, self.squares(posterior, block))

    def local_at(
        self,
        posterior: StudentPosterior,
        block: Block,
        squares: Float[np.ndarray, "experts *_ rows"],
        ratio: ExpertRows | None = None,
    ) -> StudentLocalPosterior:
        """Expected log likelihood given ``squares``.

        Where precisions of rows differ by a ratio, squares are multiplied by it already.
        """
        linear, dof = posterior.linear, posterior.dof[:, None]
        n_responses = len(dof)
        distance = squares.reshape(len(squares), n_responses, block.n_rows)
        scale = (dof + 1.0) / (dof + distance)
        constant = 0.5 * linear.expected_log_precision.reshape(-1, n_responses) + log_peak(dof.T)
        kernel = 0.5 * (dof + 1.0) * np.log1p(distance / dof)
        terms = constant.sum(axis=1)[:, None] - kernel.sum(axis=1)
        log_scale = digamma(0.5 * (dof + 1.0)) - np.log(0.5 * (dof + distance))
        weight = scale if ratio is None else scale * ratio[:, None]
        return StudentLocalPosterior(
            terms, weight, log_scale - scale, self.design(block), block.response
        )

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> StudentStats:
        """Sums of equally weighted rows, except outliers; tails start at ``FIRST_DOF``.

        A row ``d > REACH`` scales from the median has weight ``REACH / d``, as in Huber's estimate:
        otherwise outliers make the initial noise so large that no row is an outlier, and a fit
        stays there. If the response is not standardised, nothing distinguishes them from the
        others.
        """
        tail = digamma(0.5 * FIRST_DOF) - np.log(0.5 * FIRST_DOF) - 1.0
        distance = np.maximum(np.abs(block.response), REACH)
        near = REACH / distance if self.standardised else np.ones_like(distance)
        rows = self.design(block), block.response
        return StudentStats.of_rows(responsibilities, *rows, near, tail)

    def update(self, stats: StudentStats) -> StudentPosterior:
        """Exact coordinate update of every expert, and of the degrees of freedom."""
        linear = self._law.posterior(*stats.by_regression())
        if not self.learns_dof:
            return replace(self.prior, linear=linear)
        power = self.dof_power
        total = stats.weight.sum(axis=-1, keepdims=True) / power
        dof = learned_dof(total, stats.tail.sum(axis=-2) / power)
        return StudentPosterior(linear, dof, log_dof_sd(total, dof) / power**0.5)

    def kl(self, posterior: StudentPosterior) -> float:
        """``KL(posterior || prior)`` of the regressions, less the log prior of learned dof."""
        divergence = posterior.linear.kl(self._law)
        of_dof = self.dof_power * float(log_prior(posterior.dof)) if self.learns_dof else 0.0
        return divergence - of_dof

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, "*many terms"]
    ) -> StudentExperts:
        """Experts whose coefficients have these precisions, in units of the noise precision."""
        linear = self._linear.with_coefficient_precision(precision)
        return replace(self, prior=replace(self.prior, linear=linear))

    def with_common_effects(
        self, columns: CommonColumns, precision: Float[np.ndarray, "*many entries"]
    ) -> StudentExperts:
        return replace(self, common=CommonEffectPrior.of(self._linear, columns, precision))

    @property
    def _linear(self) -> MatrixNormalGamma:
        """Prior of one regression."""
        return cast(MatrixNormalGamma, self.prior.linear)

    @property
    def _law(self) -> Any:
        """Prior of all regressions: independent of each other, or with common coefficients."""
        return self.common or self.prior.linear

    def coefficient_squares(self, posterior: StudentPosterior) -> TermVector:
        """``sum E[tau_ki B_kij^2]``."""
        return posterior.linear.summed_squares()

    def drawn_squares(self, draws: Draws) -> DrawTerms:
        """``sum tau_ki B_kij^2`` of each draw."""
        return self._linear.operator.by_term(squares_in_noise(draws))

    def with_prior_power(self, power: float) -> StudentExperts:
        """Experts whose prior density is raised to a power, except for the degrees of freedom."""
        if power == 0.0:
            return self
        prior = replace(self.prior, linear=self._linear.to_the_power(power))
        return replace(self, prior=prior, dof_power=power)

    def expectations_along(
        self,
        posterior: StudentPosterior,
        change: StudentStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> tuple[StudentStats, Float[np.ndarray, "many entries"]]:
        """Changes in closed form of the expectations of regressions and degrees of freedom."""
        size, xx, xy, yy = change.by_regression()
        moments, squares = posterior.linear.expectations_along(
            size, self._linear.operator.like(xx), xy, yy, precision
        )
        slope, moved = posterior.dof_along(change.weight.sum(axis=-1), change.tail.sum(axis=-2))
        weight, xx, xy, yy = (
            one.reshape(*change.yy.shape, *one.shape[2:])
            for one in (*moments[:3], moments[3][..., 0])
        )
        weight = weight.sum(axis=-1) + (slope * moved).sum(axis=-1, keepdims=True)
        tail = np.broadcast_to(0.5 * moved[:, None], change.tail.shape)
        return StudentStats(weight, xx, xy[..., 0, :], yy, tail), squares

    def collapsed(self, posterior: StudentPosterior, block: Block) -> Bool[np.ndarray, " experts"]:
        """Whether the noise of some response is next to none."""
        precision = posterior.linear.expected_precision.reshape(-1, len(posterior.dof))
        return without_noise(1.0 / precision, block)

    def coordinates(self, posterior: StudentPosterior) -> StudentCoordinates:
        """Standard coordinates of coefficients, precisions and learned degrees of freedom."""
        return StudentCoordinates(posterior)

    def supports(self, n_components: int) -> dict[str, AbstractSupport] | None:
        """``coefficients``, ``precision`` and ``dof``, which all experts share."""
        dof, n_terms = self.prior.dof, self.prior.linear.mean.shape[-1]
        each = Positive(dof.shape) if self.learns_dof else Fixed(dof)
        return {
            "coefficients": Real((n_components, len(dof), n_terms)),
            "precision": Positive((n_components, len(dof))),
            "dof": Shared(each, n_components),
        }

    def predictive(
        self,
        posterior: StudentPosterior,
        weights: ExpertRows,
        block: Block,
        response: int,
        noise: float | ExpertRows = 1.0,
    ) -> StudentMixture:
        """Mixture of Student t close to the predictive distribution.

        Row and noise precisions enter as a product, whose distribution has the log mean and log
        variance of a gamma distribution here; the coefficients widen it as in
        ``SemiConjugateExperts``. ``noise``: known variances of rows, relative to the expert's.
        """
        linear, design = posterior.linear, self.design(block)
        at = np.arange(response, linear.shape.shape[-1], posterior.dof.shape[-1])
        return _mixture(
            weights,
            (linear.location_at(0, design)[at], linear.spread_at(design)[at]),
            (linear.shape[..., at], linear.expected_log_precision[..., at, 0]),
            posterior.dof[..., response, None],
            noise,
        )

    def predictive_without(
        self,
        posterior: StudentPosterior,
        weights: ExpertRows,
        block: Block,
        left_out: ExpertRows,
        ratio: ExpertRows | None = None,
        noise: float | ExpertRows = 1.0,
    ) -> list[StudentMixture] | None:
        """Distributions after a downdate by each row: given memberships and rows' precisions.

        Only if group effects have no columns. Otherwise rows are held out by derivatives of
        iterations, in which memberships and precisions change. ``ratio`` and ``noise`` as in
        ``LinearExperts``.
        """
        if self._linear.operator.is_complete:
            return None
        design, predictive = self.design(block), []
        squares = self.squares(posterior, block)
        squares = squares if ratio is None else squares * ratio[:, None]
        scale = self.local_at(posterior, block, squares, ratio).scale
        for i, observed in enumerate(block.response):
            regression = posterior.regression(i)
            downdate = RowDowndate.of(regression, design, left_out, left_out * scale[:, i])
            location, rate = downdate.without(0, observed)
            shape = downdate.shape.T
            level = shape, digamma(shape) - np.log(rate.T)
            line = location, downdate.spread
            predictive.append(_mixture(weights, line, level, posterior.dof[i, None], noise))
        return predictive

    def draws(self, posterior: StudentPosterior, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, responses, terms), ``precision`` and ``dof``."""
        coefficients, precision = posterior.linear.draws(n, rng)
        each = {"coefficients": coefficients, "precision": precision}
        return by_expert(each, posterior.dof_draws(n, rng))

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        """Experts alike and independent, and degrees of freedom that they share."""
        n_responses = len(self.prior.dof)
        coefficients, precision = self.prior.linear.draws(n * n_components * n_responses, rng)
        shape = (n, n_components, n_responses)
        dof = np.broadcast_to(self.prior.dof, (n, n_responses))
        if self.learns_dof:
            dof = np.maximum(rng.gamma(PRIOR_SHAPE, 1.0 / PRIOR_RATE, dof.shape), DOF_RANGE[0])
        return {
            "coefficients": coefficients.reshape(*shape, -1),
            "precision": precision.reshape(shape),
            "dof": np.repeat(dof[:, None], n_components, axis=1),
        }

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        xp = namespace(draws["precision"])
        total: DrawExpertRows
        total = xp.zeros((*draws["precision"].shape[:2], block.n_rows))
        design = self.design(block)
        for i, observed in enumerate(block.response):
            precision, dof = noise_precision(draws, i), draws["dof"][:, :, i, None]
            residual = drawn_lines(design, draws, i)
            residual -= observed
            residual *= residual
            residual *= precision / dof
            total += 0.5 * xp.log(precision) + log_peak(dof)
            total -= 0.5 * (dof + 1.0) * xp.log1p(residual)
        return total

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        location, precision = chosen_lines(self.design(block), draws, chosen)
        dof = taken(draws["dof"][..., None], chosen)
        # The square of a larger number overflows.
        noise = np.clip(rng.standard_t(dof), -FARTHEST, FARTHEST)
        return np.asarray(location + noise / np.sqrt(precision))

    def log_density(self, posterior: StudentPosterior | None, draws: Draws) -> DrawVector:
        """Log density of each draw, given the degrees of freedom if they are fixed."""
        factor = self._law if posterior is None else posterior.linear
        each = by_regression(draws)
        density: DrawVector
        density = factor.log_density(each["coefficients"], each["precision"]).sum(axis=(1, 2))
        dof = draws["dof"][:, 0]
        if posterior is not None:
            density = density + posterior.log_density_of_dof(dof)
        elif self.learns_dof:
            density = density + log_prior(dof)
        return density

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients and noise as of ``LinearExperts``, and the degrees of freedom."""
        linear, n = self._linear, len(units.responses)
        centre, rate = np.repeat(linear.mean, n, axis=0), np.repeat(linear.rate, n)
        of_lines = LinearExperts(replace(linear, mean=centre, rate=rate)).prior_rows(units)
        words = f"Gamma({PRIOR_SHAPE:g}, {PRIOR_RATE:g})" if self.learns_dof else "fixed"
        mean, sd = PRIOR_SHAPE / PRIOR_RATE, PRIOR_SHAPE**0.5 / PRIOR_RATE
        return of_lines + [
            PriorRow("nu", units.labelled(i), words, mean, sd)
            if self.learns_dof
            else PriorRow("nu", units.labelled(i), words, float(value), np.nan)
            for i, value in enumerate(self.prior.dof)
        ]

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """``beta``, ``sigma``, the scale of the noise, and ``nu``, the degrees of freedom."""
        dof, several = draws["dof"][:, 0], len(units.responses) > 1
        nu = NamedParameter(
            name="nu",
            values=dof if several else dof[:, 0],
            dims=("response",) if several else (),
            text=NU,
            part="nu",
            coords={"response": units.responses} if several else {},
            single="" if self.learns_dof else "fixed",
        )
        return [coefficients_parameter(draws, units), noise_parameter(draws, units, SCALE), nu]

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> DrawnStudentMixture:
        """Mixture of Student t given each draw."""
        parts = located(self.design(block), draws, weights, block, response, scaling)
        dof = np.moveaxis(draws["dof"][:, :, response, None], 1, 0)
        return DrawnStudentMixture(*parts, np.broadcast_to(dof, parts[0].shape))


def _mixture(
    weights: ExpertRows,
    line: tuple[ExpertRows, ExpertRows],
    noise: tuple[Float[np.ndarray, "*rows experts"], Float[np.ndarray, "*rows experts"]],
    dof: Floats,
    variance: float | ExpertRows = 1.0,
) -> StudentMixture:
    """Return the predictive mixture of lines with these means and spreads.

    The noise has these shapes and expected log precisions, which may differ by row.
    """
    (location, spread), (shape, log_precision) = line, noise
    joint = gamma_shape(polygamma(1, 0.5 * dof) + polygamma(1, shape))
    log_mean = digamma(0.5 * dof) - np.log(0.5 * dof) + log_precision
    square = np.exp(digamma(joint) - log_mean) / joint
    scale = np.sqrt(by_row(square) * (variance + by_row(dof / (dof + 1.0)) * spread))
    return StudentMixture(weights, location, scale, 2.0 * joint.T)


SCALE = replace(
    SIGMA_TEXT,
    meaning="scale of the response around each component's line: of a Student t, not its standard "
    "deviation",
    caption="Scale of the noise of each component, in units of the response",
)

NU = ParameterText(
    symbol="ν",
    meaning="degrees of freedom of the noise, the same for all components: small where tails are "
    "heavy",
    heading="Degrees of freedom",
    caption="Degrees of freedom of the noise, the same for all components",
)
