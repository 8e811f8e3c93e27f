"""Gaussian linear experts whose coefficients and noise are independent a priori."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.experts.linear import (
    AbstractLinearExperts,
    LinearStats,
    add_squares,
)
from bayesvb.experts.noise_given_coefficients import NoiseGivenCoefficients
from bayesvb.experts.regression import (
    RegressionPrior,
    RegressionUnits,
    coefficient_rows,
    noise_rows,
)
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import DenseDesign
from bayesvb.numerics.arrays import DrawTerms, DrawVector, ExpertRows, ExpertVector, TermVector
from bayesvb.numerics.linalg import quadratic_at, times, unpack
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.local import Draws
from bayesvb.variational.supports import AbstractSupport, Positive, Real


@dataclass(frozen=True)
class NormalAndGamma:
    """Coefficients and noise precisions, independent of each other.

    Attributes
    ----------
    coefficients : Normal
        Mean of shape (..., responses, terms).
    noise : Gamma
        Precisions of shape (..., responses).
    """

    coefficients: Normal
    noise: Gamma


@dataclass(frozen=True)
class SemiConjugateStats(SufficientStats):
    """Sums over the rows, and the noise precisions with which the coefficients weigh them."""

    linear: LinearStats
    precision: Float[np.ndarray, "*many experts responses"]

    @property
    def weight(self) -> ExpertVector:
        """Sum of the responsibilities."""
        return self.linear.weight


@dataclass(frozen=True)
class SemiConjugateExperts(AbstractLinearExperts[NormalAndGamma, SemiConjugateStats]):
    r"""``y_i ~ N(x' B_ki, 1 / tau_ki)``, ``B_ki ~ N(m_0, B_0)``, ``tau_ki ~ Ga(a_0, b_0)``.

    The prior of the coefficients does not scale with the noise, as it does for ``LinearExperts``:
    the choice for a prior on the size of effects, and in the logit stick-breaking literature.
    Coefficients and noise are updated in turn, coefficients first, until they converge.

    References
    ----------
    Rigon, Durante (2020), Logit stick-breaking priors for Bayesian density regression,
    arXiv:1701.02969, algorithm 3, the kernel parameters.
    """

    learns_scales = True
    scale_units = "sd of the response"

    prior: NormalAndGamma

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> SemiConjugateExperts:
        """Experts whose coefficients know nothing of their noise."""
        shape = (prior.n_responses, prior.n_terms)
        precision = np.eye(prior.n_terms) / prior.coefficient_sd**2
        noise = Gamma(
            np.full(prior.n_responses, float(prior.noise_shape)),
            np.full(prior.n_responses, float(prior.noise_rate)),
        )
        return cls(NormalAndGamma(Normal.from_precision(np.zeros(shape), precision), noise))

    def design(self, block: Block) -> DenseDesign:
        """Return rows as columns: effects of groups have no other structure here."""
        return DenseDesign(block.designs[MEAN])

    def squares(self, posterior: NormalAndGamma, block: Block) -> ExpertRows:
        """``sum_i E[tau_i] (x' C_i x + (y_i - x' m_i)^2)``."""
        design, coefficients = self.design(block), posterior.coefficients
        precision = posterior.noise.mean
        spread = (precision[..., None, None] * coefficients.covariance).sum(axis=1)
        squares = quadratic_at(spread, design.x)
        add_squares(squares, coefficients.mean, precision, design, block.response)
        return squares

    def expected_peak(self, posterior: NormalAndGamma) -> ExpertVector:
        """``sum_i (E log tau_i - log 2 pi) / 2``."""
        return np.asarray(0.5 * (posterior.noise.expected_log - LOG_2PI).sum(axis=1))

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> LinearStats:
        return LinearStats(*self.design(block).sums(responsibilities, block.response))

    def global_step(
        self, posterior: NormalAndGamma | None, stats: LinearStats
    ) -> SemiConjugateStats:
        """Noise precisions after alternating both updates from the posterior's values.

        Each turn is an exact coordinate maximisation, so any number of them raises the bound.
        """
        # From the noise of before, not of the prior: turns then gain from where the run is.
        known = self.prior.noise if posterior is None else posterior.noise
        precision = np.broadcast_to(known.mean, stats.yy.shape)
        noise = NoiseGivenCoefficients.of(self.prior.coefficients, self.prior.noise, stats)
        # Most turns between coefficients and noise in one sweep.
        for _ in range(8):
            before = precision
            precision = noise.next(before)
            # Relative change of the noise precisions after which another turn changes nothing.
            if (np.abs(precision - before) <= 1e-9 * before).all():
                break
        return SemiConjugateStats(stats, precision)

    def update(self, stats: SemiConjugateStats) -> NormalAndGamma:
        """Coefficients given the noise precisions, then noise given coefficients."""
        if not (stats.precision > 0.0).all():
            raise np.linalg.LinAlgError("noise precisions must be positive")
        coefficients = self._coefficients(stats.linear, stats.precision)
        return NormalAndGamma(coefficients, self._noise(stats.linear, coefficients))

    def _coefficients(
        self, stats: LinearStats, precision: Float[np.ndarray, "experts responses"]
    ) -> Normal:
        """``C^-1 = B_0^-1 + E[tau] sum x x'`` and ``C^-1 m = B_0^-1 m_0 + E[tau] sum y x``."""
        prior = self.prior.coefficients
        added = precision[..., None, None] * unpack(stats.xx)[:, None]
        linear = times(prior.precision, prior.mean) + precision[..., None] * stats.xy
        return Normal.from_natural(linear, prior.precision + added)

    def _noise(self, stats: LinearStats, coefficients: Normal) -> Gamma:
        """``a = a_0 + N_k / 2``, ``b = b_0 + sum r E(y - x' B)^2 / 2``."""
        mean, xx = coefficients.mean, unpack(stats.xx)
        residual = stats.yy - 2.0 * (mean * stats.xy).sum(axis=-1) + (mean @ xx * mean).sum(axis=-1)
        # tr(C X'RX) by entries: E (y - x' B)^2 is the squared residual at the mean plus x' C x.
        spread = (coefficients.covariance * xx[:, None]).sum(axis=(-2, -1))
        rate = self.prior.noise.rate + 0.5 * (residual + spread)
        shape = self.prior.noise.shape + 0.5 * stats.weight[:, None]
        shape = np.array(np.broadcast_to(shape, rate.shape))
        if not ((shape > 0.0).all() and (rate > 0.0).all()):
            raise np.linalg.LinAlgError("shape and rate of a gamma distribution must be positive")
        return Gamma(shape, rate)

    def kl(self, posterior: NormalAndGamma) -> float:
        coefficients = posterior.coefficients.kl(self.prior.coefficients)
        return coefficients + posterior.noise.kl(self.prior.noise)

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """``coefficients`` and ``precision``."""
        shape = (n_components, *self.prior.coefficients.mean.shape)
        return {"coefficients": Real(shape), "precision": Positive(shape[:2])}

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, "*many terms"]
    ) -> SemiConjugateExperts:
        """Experts whose coefficients have these precisions, in units of the response."""
        coefficients = self.prior.coefficients.with_precision(precision)
        return replace(self, prior=replace(self.prior, coefficients=coefficients))

    def coefficient_squares(self, posterior: NormalAndGamma) -> TermVector:
        """``sum E[B_kij^2]``."""
        return np.asarray(posterior.coefficients.squares().sum(axis=(-3, -2)))

    def drawn_squares(self, draws: Draws) -> DrawTerms:
        """``sum B_kij^2`` of each draw."""
        squares: DrawTerms = (draws["coefficients"] ** 2).sum(axis=(1, 2))
        return squares

    def with_prior_power(self, power: float) -> SemiConjugateExperts:
        """None: one of the statistics is not a sum over rows."""
        raise NotImplementedError(
            "priors.coefficient_units='response' is not supported; without a prior, "
            "coefficient_units='noise' gives the same model"
        )

    def predictive(
        self,
        posterior: NormalAndGamma,
        weights: ExpertRows,
        block: Block,
        response: int,
        noise: float | ExpertRows = 1.0,
    ) -> StudentMixture:
        """Mixture of Student t close to the predictive distribution.

        The response is the sum of a normal with variance ``v = x' C x`` and a Student t with
        ``nu = 2 a`` and squared scale ``b / a``. One with squared scale ``b / a + v nu / (nu + 1)``
        is within 0.006 in probability where ``v`` is at most half the noise variance ``b / a`` and
        ``a`` at least 3, and within 0.035 up to ten times the noise variance with ``a`` of 1.
        """
        design, dof = block.designs[MEAN], 2.0 * posterior.noise.shape[:, response]
        spread = quadratic_at(posterior.coefficients.covariance[:, response], design)
        variance = (dof / (dof + 1.0))[:, None] * spread
        variance += noise / posterior.noise.mean[:, response, None]
        location = posterior.coefficients.mean[:, response] @ design
        return StudentMixture(weights, location, np.sqrt(variance), dof)

    def draws(self, posterior: NormalAndGamma, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, responses, terms) and ``precision``."""
        return {
            "coefficients": posterior.coefficients.draws(n, rng),
            "precision": posterior.noise.draws(n, rng),
        }

    def log_density(self, posterior: NormalAndGamma | None, draws: Draws) -> DrawVector:
        factor = posterior or self.prior
        density = factor.coefficients.log_density(draws["coefficients"])
        density = density + factor.noise.log_density(draws["precision"])
        total: DrawVector = density.sum(axis=(1, 2))
        return total

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients as normal, in units of the response, and the noise."""
        noise = self.prior.noise
        sd = np.diagonal(self.prior.coefficients.precision) ** -0.5
        shape, rate = float(noise.shape[0]), float(noise.rate[0])
        return [*coefficient_rows(units, "Normal", sd), *noise_rows(units, shape, rate)]
