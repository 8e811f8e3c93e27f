"""Ordinal experts: a Bayesian cumulative logit regression of ordered levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.ordered_levels import OrderedLevels
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.ordinal_mixture import OrdinalMixture
from bayesvb.experts.linked import with_offset
from bayesvb.experts.ordered import (
    SMALLEST_PROBABILITY,
    AbstractOrderedExperts,
    count_later_thresholds,
)
from bayesvb.experts.ordinal_links import LOGIT, PROBIT, AbstractOrdinalLink
from bayesvb.experts.ordinal_posterior import (
    LevelDerivatives,
    OrdinalPosterior,
    OrdinalStats,
    PointCoordinates,
    ends,
    thresholds,
)
from bayesvb.experts.predictor import PredictorCoordinates
from bayesvb.experts.regression import (
    RegressionPrior,
    RegressionUnits,
)
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import DrawExpertRows, DrawVector, ExpertRows
from bayesvb.variational.coordinates import JoinedCoordinates
from bayesvb.variational.descriptions import ParameterText, PriorRow
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, logit_moments
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.supports import AbstractSupport, Real

INCREMENT_SD = 2.0
"""Prior standard deviation of the log of the distance between two thresholds."""

FAR = 1e3
"""Threshold that no predictor passes, where derivatives at infinite ones would be undefined."""

THRESHOLDS = ParameterText(
    symbol="τ",
    meaning="thresholds between successive levels, on the scale of the log odds",
    heading="Thresholds",
    caption="Thresholds between successive levels: log odds of a level up to the first of them, "
    "where all terms are zero",
)


@dataclass(frozen=True)
class OrdinalRows(AbstractLocalPosterior):
    """Expected log probabilities of rows, with their design."""

    expected_log_density: ExpertRows
    rows: LevelDerivatives
    linear: ExpertRows
    design: AbstractDesign
    increments: Float[np.ndarray, "experts increments"]

    def sufficient_stats(self, responsibilities: ExpertRows) -> OrdinalStats:
        """Sums for the coefficients and for the increments."""
        weights = responsibilities * self.rows.terms.curvature, responsibilities * self.linear
        sums = self.rows.sums(responsibilities)
        return OrdinalStats(LogitStats.of_rows(self.design, *weights), sums.stats(self.increments))

    def row_stats(self, responsibilities: ExpertRows) -> OrdinalStats:
        """Contribution of each row."""
        weights = responsibilities * self.rows.terms.curvature, responsibilities * self.linear
        sums = self.rows.row_sums(responsibilities)
        return OrdinalStats(LogitStats.by_row(self.design, *weights), sums.stats(self.increments))


@dataclass(frozen=True)
class OrdinalExperts(AbstractOrderedExperts):
    r"""``P(y <= c) = sigma(tau_c - u)``: ordered levels, thresholds of each component.

    The first threshold is 0, as the predictor has an intercept, and later ones add increments
    ``exp(lambda)``, so that thresholds are ordered in every draw. A Gaussian posterior of the
    thresholds themselves would have an ELBO of minus infinity. The log increments are the point
    where the ELBO plus the log density of their prior is largest, reached by Gauss-Newton steps;
    draws are normal around that point, with the linear-response covariance of all parameters.

    References
    ----------
    McCullagh (1980), Regression models for ordinal data, JRSS B 42(2), equation 2.2.
    """

    words = "ordinal regression"
    formula = "ordinal"
    link_text = ParameterText(
        symbol="β",
        meaning="coefficients of the log odds of a higher level, per unit of the term; exp(β) is "
        "an odds ratio, the intercept is minus the first threshold",
        heading="Components' log odds",
        caption="Coefficients of the log odds of a higher level, per unit of the term",
        forest=True,
        ratio="odds ratio",
    )

    link: ClassVar[AbstractOrdinalLink] = LOGIT
    threshold_text = THRESHOLDS

    prior: Normal
    increments: Normal
    levels: OrderedLevels

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> OrdinalExperts:
        """Experts of as many levels as the response has.

        Raises
        ------
        PriorError
            If degrees of freedom are given.
        """
        prior.check_no_dof()
        n_increments = count_later_thresholds(prior.levels)
        eye = np.eye(n_increments) / INCREMENT_SD**2
        precision = np.eye(prior.n_terms) / prior.coefficient_sd**2
        return cls(
            Normal.from_precision(np.zeros(prior.n_terms), precision),
            Normal.from_precision(np.zeros(n_increments), eye),
            prior.levels,
        )

    @staticmethod
    def coefficients(posterior: OrdinalPosterior) -> Normal:
        return posterior.coefficients

    def local(self, posterior: OrdinalPosterior, block: Block) -> OrdinalRows:
        """Expected log probabilities at the point of the increments."""
        design, increments = self.design(block), posterior.increments.mean
        known, variance = logit_moments(posterior.coefficients, design)
        mean, _ = with_offset(known, variance, block)
        rows = LevelDerivatives.of_rows(self.link, self.places(block), mean, variance, increments)
        linear = rows.terms.slope + rows.terms.curvature * known
        return OrdinalRows(rows.terms.value, rows, linear, design, increments)

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> SufficientStats:
        """Sums at the prior means of all parameters."""
        n_experts = len(responsibilities)
        nothing = np.zeros((n_experts, block.n_rows))
        mean, _ = with_offset(nothing, nothing, block)
        increments = np.repeat(self.increments.mean[None], n_experts, axis=0)
        rows = LevelDerivatives.of_rows(self.link, self.places(block), mean, nothing, increments)
        design = self.design(block)
        local = OrdinalRows(rows.terms.value, rows, rows.terms.slope, design, increments)
        return local.sufficient_stats(responsibilities)

    def update(self, stats: OrdinalStats) -> OrdinalPosterior:
        """Gaussian of these natural parameters, and the next point of the increments."""
        increments = stats.increments.posterior(self.increments)
        return OrdinalPosterior(stats.coefficients.posterior(self.prior), increments)

    def with_prior_power(self, power: float) -> OrdinalExperts:
        experts = super().with_prior_power(power)
        if power == 0.0:
            return experts
        return replace(experts, increments=self.increments.to_the_power(power))

    def kl(self, posterior: OrdinalPosterior) -> float:
        """``KL(posterior || prior)`` of the coefficients, less the log prior of the increments."""
        point = self.increments.log_density(posterior.increments.mean).sum()
        return posterior.coefficients.kl(self.prior) - float(point)

    def coordinates(self, posterior: OrdinalPosterior) -> JoinedCoordinates:
        """Standard coordinates of the coefficients, then of the log increments."""
        coefficients = PredictorCoordinates(LogitCoordinates(posterior.coefficients))
        return JoinedCoordinates(coefficients, PointCoordinates(posterior.increments), "increments")

    def draws(self, posterior: OrdinalPosterior, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, 1, terms), and ``increments``, logs of distances."""
        coefficients = super().draws(posterior, n, rng)
        return {**coefficients, "increments": posterior.increments.draws(n, rng)}

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        coefficients = super().prior_draws(n, n_components, rng)
        steps = self.increments.draws(n * n_components, rng)
        return {**coefficients, "increments": steps.reshape(n, n_components, -1)}

    def drawn_thresholds(self, draws: Draws) -> Float[np.ndarray, "draws experts thresholds"]:
        return thresholds(draws["increments"])

    def drawn_masses(
        self, draws: Draws, block: Block
    ) -> Float[np.ndarray, "draws experts rows levels"]:
        return _differences(self.link.cdf(self.drawn_excess(draws, block)))

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """``coefficients``, and ``increments``."""
        n_increments = int(self.increments.mean.shape[-1])
        return {**super().supports(n_components), "increments": Real((n_components, n_increments))}

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        place, at = self.places(block), ends(draws["increments"], FAR)
        predictor = self.drawn_predictor(draws, block)
        return self.link.log_mass(at[..., place] - predictor, at[..., place + 1] - predictor)

    def log_density(self, posterior: OrdinalPosterior | None, draws: Draws) -> DrawVector:
        law = self.increments if posterior is None else posterior.increments
        density: DrawVector = law.log_density(draws["increments"]).sum(axis=1)
        density = density + super().log_density(posterior, draws)
        return density

    def predictive(
        self, posterior: OrdinalPosterior, weights: ExpertRows, block: Block, response: int
    ) -> OrdinalMixture:
        """Probabilities of the levels, averaged over predictor and thresholds.

        Thresholds are taken for normal, with the moments of sums of log-normal increments.
        """
        mean, variance = self.predictor(posterior, block)
        at, spread = self._threshold_moments(posterior.increments)
        if at.ndim == 3:  # a posterior of each row
            at, spread = (np.moveaxis(one, 0, 1) for one in (at, spread))
        else:
            at, spread = at[:, None], spread[:, None]
        v, s = mean[..., None] - at, variance[..., None] + spread
        beyond = self.link.beyond(v, np.broadcast_to(s, v.shape))
        return OrdinalMixture(weights, _differences(beyond), self.levels)

    def _threshold_moments(
        self, law: Normal
    ) -> tuple[Float[np.ndarray, "*many thresholds"], Float[np.ndarray, "*many thresholds"]]:
        """Means of the thresholds and their variances, sums of log-normal increments."""
        log_mean = law.mean + 0.5 * np.diagonal(law.covariance, axis1=-2, axis2=-1)
        steps = np.exp(log_mean)
        n = steps.shape[-1]
        slopes = np.tril(np.ones((n + 1, n)), -1) * steps[..., None, :]
        variance = np.vecdot(slopes @ np.expm1(law.covariance), slopes)
        return thresholds(log_mean), variance

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients of the log odds, and distances between thresholds."""
        words = f"log-normal, sd of the log {INCREMENT_SD:g}"
        further = PriorRow("threshold", "", f"distances {words}", 1.0, np.nan)
        return [*super().prior_rows(units), further]


@dataclass(frozen=True)
class OrdinalProbitExperts(OrdinalExperts):
    """``P(y <= c) = Phi(tau_c - u)``: as ``OrdinalExperts``, with a normal law."""

    words = "ordinal probit regression"
    formula = "ordinal-probit"
    link = PROBIT
    response_link = "probit"
    link_text = ParameterText(
        symbol="β",
        meaning="coefficients of the probit of a higher level, per unit of the term; the intercept "
        "is minus the first threshold",
        heading="Components' probits",
        caption="Coefficients of the probit of a higher level, per unit of the term",
        forest=True,
    )
    threshold_text = replace(
        THRESHOLDS,
        meaning="thresholds between successive levels, on the probit scale",
        caption="Thresholds between successive levels: probit of a level up to the first of them, "
        "where all terms are zero",
    )

    prior: Normal
    increments: Normal
    levels: OrderedLevels


def _differences(
    beyond: Float[np.ndarray, "*many thresholds"],
) -> Float[np.ndarray, "*many levels"]:
    """Probabilities of the levels from probabilities beyond each threshold."""
    differences = np.empty((*beyond.shape[:-1], beyond.shape[-1] + 1))
    differences[..., 0] = 1.0 - beyond[..., 0]
    differences[..., 1:-1] = beyond[..., :-1] - beyond[..., 1:]
    differences[..., -1] = beyond[..., -1]
    return np.maximum(differences, SMALLEST_PROBABILITY, out=differences)
