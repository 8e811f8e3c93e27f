"""Negative binomial experts: each component is a Bayesian regression of overdispersed counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import digamma

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN, ZERO
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.count_laws import NegativeBinomialLaw, log_rising
from bayesvb.distributions.count_mixture import DrawnCountMixture, NegativeBinomialMixture
from bayesvb.distributions.response import Response
from bayesvb.experts.dispersed_predictor import (
    AbstractDispersedExperts,
    DispersedPosterior,
    Nodes,
    RowSlopes,
)
from bayesvb.experts.poisson import PoissonExperts
from bayesvb.experts.predictor import Expected
from bayesvb.experts.regression import RegressionPrior, RegressionUnits
from bayesvb.factors.log_grid import LogGrid
from bayesvb.factors.normal import Normal
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawExpertRows, DrawExpertTerms, ExpertRows, RowVector
from bayesvb.numerics.logistic_normal import softplus_moments
from bayesvb.numerics.special import softplus
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws

DISPERSION = LogGrid(low=-4.0, high=10.0, centre=1.6, sd=2.0)
"""A priori 5, 95% between 0.1 and 250; beyond the upper end, 22,000, counts are Poisson."""

FIXED_SD = 1e-4
"""Standard deviation of the log of a dispersion that is fixed."""


def fixed_at(value: float) -> LogGrid:
    """Grid around a dispersion that is fixed."""
    log = float(np.log(value))
    return LogGrid(low=log - 0.05, high=log + 0.05, centre=log, sd=FIXED_SD, n_nodes=6)


@dataclass(frozen=True)
class NegativeBinomialExperts(AbstractDispersedExperts):
    r"""Counts with mean ``mu = exp(u)`` and variance ``mu + mu^2 / rho``.

    With ``v = u - log rho`` the log density is
    ``y v - (y + rho) log(1 + exp v) + log Gamma(y + rho) - log Gamma(rho) - log y!``, whose
    expectation is exact to 1e-8.
    """

    reads_dispersion = True

    words = "negative binomial regression"
    parts = (MEAN, ZERO)
    formula = "negbinomial"
    response = Response(kind="count", support=(0.0, np.inf), link="log")
    link_text = PoissonExperts.link_text
    dispersion_name = "dispersion"
    dispersion_text = ParameterText(
        symbol="ρ",
        meaning="dispersion ρ of each component: the variance is μ + μ²/ρ, nearly as of a "
        "Poisson distribution if ρ is large",
        heading="Dispersion",
        caption="Dispersion ρ of each component, with variance μ + μ²/ρ",
    )

    prior: Normal
    dispersion: LogGrid = DISPERSION

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> NegativeBinomialExperts:
        """Experts whose dispersion is learned, or fixed by the prior."""
        experts = super().from_prior(prior)
        if prior.dispersion is None:
            return experts
        return replace(experts, dispersion=fixed_at(float(prior.dispersion)))

    @property
    def has_fixed_dispersion(self) -> bool:
        """Whether the dispersion is known."""
        return self.dispersion.sd == FIXED_SD

    def with_prior_power(self, power: float) -> NegativeBinomialExperts:
        """Experts whose prior density is raised to a power; one copy of it if the power is zero.

        Raises
        ------
        NotImplementedError
            If the dispersion is fixed, which many copies of the rows would move.
        """
        if self.has_fixed_dispersion:
            raise NotImplementedError("the dispersion is fixed; omit Priors(dispersion=)")
        return super().with_prior_power(power)

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients on the scale of the predictor, and the dispersion."""
        *rows, last = super().prior_rows(units)
        return [*rows, replace(last, prior="fixed") if self.has_fixed_dispersion else last]

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """``beta``, and the dispersion."""
        *parameters, last = super().parameters(draws, units)
        return [*parameters, replace(last, single="fixed" if self.has_fixed_dispersion else "")]

    def expected_at(
        self,
        block: Block,
        mean: ExpertRows,
        variance: ExpertRows,
        value: Nodes,
        *,
        all_orders: bool = False,
    ) -> Expected:
        """``y v - (y + rho) E log(1 + exp v)``, with the terms that do not depend on ``v``."""
        order = 4 if all_orders else 2
        y, v, (softplus, share, *higher) = _softplus(block, mean, variance, value, order)
        weight = y + value
        third, fourth = (-weight * higher[1], -weight * higher[2]) if all_orders else (None, None)
        log_density = y * v - weight * softplus + _log_rising(value, y)
        return Expected(log_density, y - weight * share, weight * higher[0], third, fourth)

    def first_predictor(self, block: Block) -> RowVector:
        """Log of the count and a half."""
        return np.asarray(np.log(block.response[0] + 0.5))

    def log_density_of_rows(
        self, block: Block, predictor: DrawExpertRows, values: Float[np.ndarray, "draws experts 1"]
    ) -> DrawExpertRows:
        """Log probability of the counts."""
        xp, y = namespace(predictor), block.response[0]
        v = predictor - xp.log(values)
        rising = _log_rising(values, y) if xp is np else log_rising(values, y)
        density: DrawExpertRows
        density = rising + y * v - (y + values) * softplus(v)
        return density

    def slopes_of_rows(
        self, block: Block, predictor: DrawExpertRows, values: Float[np.ndarray, "draws experts 1"]
    ) -> RowSlopes:
        """Log probability of the counts, and its derivatives in ``u`` and ``log rho``."""
        y, v = block.response[0], predictor - np.log(values)
        # Softplus and its derivative from one exponential, for most of the time is spent here.
        tail = np.exp(-np.abs(v))
        value = np.log1p(tail) + np.maximum(v, 0.0)
        share = np.where(v > 0.0, 1.0, tail) / (1.0 + tail)
        weight = y + values
        slope = y - weight * share
        gap = _by_count(lambda counts: digamma(counts + values) - digamma(values), y)
        density = _log_rising(values, y) + y * v - weight * value
        return density, slope, values * (gap - value) - slope

    def simulate(
        self,
        block: Block,
        predictor: Float[np.ndarray, "draws 1 rows"],
        values: Float[np.ndarray, "draws 1 rows"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """Counts."""
        return NegativeBinomialLaw(predictor, np.log(values)).draw(rng)

    def predictive(
        self, posterior: DispersedPosterior, weights: ExpertRows, block: Block, response: int
    ) -> NegativeBinomialMixture:
        """Mixture of negative binomial distributions, log means and dispersions normal."""
        mean, variance = self.predictor(posterior, block)
        log_dispersion, spread = self.further_moments(posterior, mean)
        return NegativeBinomialMixture(weights, mean, variance, log_dispersion, np.sqrt(spread))

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> DrawnCountMixture:
        """Mixture of negative binomial distributions given each draw."""
        log_mean = np.moveaxis(self.drawn_predictor(draws, block), 1, 0)
        log_dispersion = np.log(draws[self.dispersion_name].T)[..., None]
        return DrawnCountMixture.of(weights, NegativeBinomialLaw(log_mean, log_dispersion))


def _softplus(
    block: Block, mean: ExpertRows, variance: ExpertRows, value: Nodes, order: int
) -> tuple[RowVector, Float[np.ndarray, "nodes experts rows"], list[np.ndarray]]:
    """Counts, ``E v`` and the expected softplus of ``v`` with its derivatives."""
    v = mean - np.log(value)
    return block.response[0], v, softplus_moments(v, variance, order)


def _log_rising(
    value: Float[np.ndarray, "*many 1"], y: RowVector
) -> Float[np.ndarray, "*many rows"]:
    """``log Gamma(y + rho) - log Gamma(rho) - log y!``."""
    return _by_count(lambda counts: log_rising(value, counts), y)


def _by_count(
    function: Callable[[Float[np.ndarray, " counts"]], Float[np.ndarray, "*many counts"]],
    y: RowVector,
) -> Float[np.ndarray, "*many rows"]:
    """Function of the counts of rows, computed once for equal counts."""
    most = y.max(initial=0.0)
    if most < y.size:  # a table of all counts takes less than sorting them
        return np.asarray(function(np.arange(most + 1.0))[..., y.astype(np.intp)])
    counts, place = np.unique(y, return_inverse=True)
    return np.asarray(function(counts)[..., place])
