"""Ordinal experts: a Bayesian cumulative logit regression of ordered levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.ordered_levels import OrderedLevels
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.ordinal_mixture import DrawnOrdinalMixture, OrdinalMixture
from bayesvb.distributions.response import Response
from bayesvb.errors import DataError
from bayesvb.experts.linked import AbstractLinkedExperts, with_offset
from bayesvb.experts.ordinal_links import LOGIT, PROBIT, AbstractOrdinalLink
from bayesvb.experts.ordinal_posterior import (
    LevelDerivatives,
    OrdinalPosterior,
    OrdinalStats,
    PointCoordinates,
    ends,
    thresholds,
)
from bayesvb.experts.predictor_coordinates import PredictorCoordinates
from bayesvb.experts.regression import (
    RegressionPrior,
    RegressionUnits,
    coefficient_rows,
    coefficients_parameter,
)
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.variational.coordinates import JoinedCoordinates
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, logit_moments
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.supports import AbstractSupport, Real

INCREMENT_SD = 2.0
"""Prior standard deviation of the log of the distance between two thresholds."""

FEWEST_LEVELS = 3
"""Levels that an ordinal regression has at least: two are a logistic regression."""

FAR = 1e3
"""Threshold that no predictor passes, where derivatives at infinite ones would be undefined."""

SMALLEST_PROBABILITY = 1e-300
"""Probability of a level below which its logarithm is cut off."""

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

    expected_log_density: Float[np.ndarray, "experts rows"]
    rows: LevelDerivatives
    linear: Float[np.ndarray, "experts rows"]
    design: AbstractDesign
    increments: Float[np.ndarray, "experts increments"]

    def sufficient_stats(self, responsibilities: Float[np.ndarray, "experts rows"]) -> OrdinalStats:
        """Sums for the coefficients and for the increments."""
        weights = responsibilities * self.rows.terms.curvature, responsibilities * self.linear
        sums = self.rows.sums(responsibilities)
        return OrdinalStats(LogitStats.of_rows(self.design, *weights), sums.stats(self.increments))

    def row_stats(self, responsibilities: Float[np.ndarray, "experts rows"]) -> OrdinalStats:
        """Contribution of each row."""
        weights = responsibilities * self.rows.terms.curvature, responsibilities * self.linear
        sums = self.rows.row_sums(responsibilities)
        return OrdinalStats(LogitStats.by_row(self.design, *weights), sums.stats(self.increments))


@dataclass(frozen=True)
class OrdinalExperts(AbstractLinkedExperts):
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
    threshold_text: ClassVar[ParameterText] = THRESHOLDS

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
        n_increments = max(len(prior.levels), FEWEST_LEVELS) - 2
        eye = np.eye(n_increments) / INCREMENT_SD**2
        precision = np.eye(prior.n_terms) / prior.coefficient_sd**2
        return cls(
            Normal.from_precision(np.zeros(prior.n_terms), precision),
            Normal.from_precision(np.zeros(n_increments), eye),
            prior.levels,
        )

    @property
    def response(self) -> Response:  # type: ignore[override]
        """Ordered levels."""
        return Response(kind="levels", order=self.levels)

    @staticmethod
    def response_scaling(response: AllResponses, *, centred: bool, active: bool = True) -> Scaling:
        """Identity: levels are numbers of an order.

        Raises
        ------
        DataError
            If the formula has no intercept, which is minus the first threshold.
        """
        needs_intercept(centred=centred)
        return Scaling(np.zeros(1), np.ones(1), None)

    @staticmethod
    def coefficients(posterior: OrdinalPosterior) -> Normal:
        """Posterior of the coefficients."""
        return posterior.coefficients

    def places(self, block: Block) -> Int[np.ndarray, " rows"]:
        """Position of the level of each row, from 0."""
        return self.levels.places(block.response[0])

    def local(self, posterior: OrdinalPosterior, block: Block) -> OrdinalRows:
        """Expected log probabilities at the point of the increments."""
        design, increments = self.design(block), posterior.increments.mean
        known, variance = logit_moments(posterior.coefficients, design)
        mean, _ = with_offset(known, variance, block)
        rows = LevelDerivatives.of_rows(self.link, self.places(block), mean, variance, increments)
        linear = rows.terms.slope + rows.terms.curvature * known
        return OrdinalRows(rows.terms.value, rows, linear, design, increments)

    def partition_stats(
        self, responsibilities: Float[np.ndarray, "experts rows"], block: Block
    ) -> SufficientStats:
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
        """Experts whose prior density is to a power; that of one copy where it is zero."""
        if power == 0.0:
            return self
        laws = (
            Normal.from_precision(law.mean, power * law.precision)
            for law in (self.prior, self.increments)
        )
        prior, increments = laws
        return replace(self, prior=prior, increments=increments)

    def collapsed(self, posterior: OrdinalPosterior, block: Block) -> Bool[np.ndarray, " experts"]:
        """None: the likelihood has no noise that could vanish."""
        return np.zeros(len(posterior.coefficients.mean), dtype=bool)

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
        coefficients = posterior.coefficients.draws(n, rng)[:, :, None]
        return {"coefficients": coefficients, "increments": posterior.increments.draws(n, rng)}

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        """Parameters of independent experts."""
        drawn = self.prior.draws(n * n_components, rng)
        steps = self.increments.draws(n * n_components, rng)
        return {
            "coefficients": drawn.reshape(n, n_components, 1, -1),
            "increments": steps.reshape(n, n_components, -1),
        }

    def drawn_masses(
        self, draws: Draws, block: Block
    ) -> Float[np.ndarray, "draws experts rows levels"]:
        """Probability of each level for each draw."""
        predictor = self.drawn_predictor(draws, block)
        v = predictor[..., None] - thresholds(draws["increments"])[:, :, None]
        return _differences(self.link.cdf(v))

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """``coefficients``, and ``increments``."""
        sizes = (int(law.mean.shape[-1]) for law in (self.prior, self.increments))
        first, second = sizes
        return {
            "coefficients": Real((n_components, 1, first)),
            "increments": Real((n_components, second)),
        }

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts rows"]:
        """Log probability of each row under each drawn expert."""
        place, at = self.places(block), ends(draws["increments"], FAR)
        predictor = self.drawn_predictor(draws, block)
        return self.link.log_mass(at[..., place] - predictor, at[..., place + 1] - predictor)

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One level per draw and row, from the chosen expert."""
        return self.levels.drawn(self.drawn_masses(draws, block), chosen, rng)

    def log_density(
        self, posterior: OrdinalPosterior | None, draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under the posterior, or under the prior (None)."""
        laws = posterior or OrdinalPosterior(self.prior, self.increments)
        density = laws.coefficients.log_density(draws["coefficients"][:, :, 0]).sum(axis=1)
        found: Float[np.ndarray, " draws"]
        found = density + laws.increments.log_density(draws["increments"]).sum(axis=1)
        return found

    def permuted(self, order: list[int], stats: OrdinalStats) -> OrdinalStats:
        """Statistics after a new labelling."""
        return OrdinalStats(stats.coefficients.permuted(order), stats.increments.permuted(order))

    def predictive(
        self,
        posterior: OrdinalPosterior,
        weights: Float[np.ndarray, "experts rows"],
        block: Block,
        response: int,
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

    def drawn(
        self,
        draws: Draws,
        weights: Float[np.ndarray, "draws experts _"],
        block: Block,
        response: int,
        scaling: Scaling,
    ) -> DrawnOrdinalMixture:
        """Probabilities of the levels given each draw."""
        each = np.moveaxis(self.drawn_masses(draws, block), 1, 0)
        own = np.broadcast_to(np.moveaxis(weights, 1, 0), each.shape[:-1])
        return DrawnOrdinalMixture(own, each, self.levels)

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients of the log odds, and distances between thresholds."""
        words = f"log-normal, sd of the log {INCREMENT_SD:g}"
        further = PriorRow("threshold", "", f"distances {words}", 1.0, np.nan)
        return [*coefficient_rows(units, "Normal", self.prior.precisions**-0.5), further]

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """``beta``, and thresholds where all terms are zero."""
        beta = replace(coefficients_parameter(draws, units), text=self.link_text)
        at = thresholds(draws["increments"]) - beta.values[..., [self._intercept(units)]]
        names = [f"{lower}|{upper}" for lower, upper in pairwise(self.levels.labels)]
        dims = ("component", "level")
        further = NamedParameter(
            "threshold", at, dims, self.threshold_text, "threshold", coords={"level": names}
        )
        return [beta, further]

    @staticmethod
    def _intercept(units: RegressionUnits) -> int:
        """Place of the intercept among the terms."""
        return units.terms.index("Intercept")


@dataclass(frozen=True)
class OrdinalProbitExperts(OrdinalExperts):
    """``P(y <= c) = Phi(tau_c - u)``: as ``OrdinalExperts``, with a normal law."""

    words = "ordinal probit regression"
    formula = "ordinal-probit"
    link = PROBIT
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


def needs_intercept(*, centred: bool) -> None:
    """Raise for a formula without an intercept, which is minus the first threshold.

    Raises
    ------
    DataError
    """
    if not centred:
        raise DataError(
            "an ordinal regression needs the intercept, which is minus the first threshold",
            hint="leave out `0 +` or `- 1`",
        )


def _differences(
    beyond: Float[np.ndarray, "*many thresholds"],
) -> Float[np.ndarray, "*many levels"]:
    """Probabilities of the levels from probabilities beyond each threshold."""
    ends = np.ones_like(beyond[..., :1])
    whole = np.concatenate([ends, beyond, 0.0 * ends], axis=-1)
    return np.asarray(np.maximum(-np.diff(whole, axis=-1), SMALLEST_PROBABILITY))
