"""Gaussian linear experts whose coefficients and noise are independent a priori."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Block
from bayesvb.experts.base import AbstractExperts
from bayesvb.experts.linear import LinearRows, LinearSums, linear_log_lik, linear_responses
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.normal import Normal
from bayesvb.linalg import products, quadratic_weights, times, unpack
from bayesvb.parts import Draws
from bayesvb.special import LOG_2PI
from bayesvb.stats import Stats

TURNS = 8
"""Most turns between coefficients and noise in one sweep."""

SETTLED = 1e-9
"""Relative change of the noise precisions after which another turn changes nothing."""


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
class SemiConjugateSums(Stats):
    """Sums over the rows, and the noise precisions with which the coefficients weigh them."""

    linear: LinearSums
    precision: Float[np.ndarray, "experts responses"]

    @property
    def weight(self) -> Float[np.ndarray, " experts"]:
        """Sum of the responsibilities."""
        return self.linear.weight


@dataclass(frozen=True)
class SemiConjugateExperts(AbstractExperts[NormalAndGamma, SemiConjugateSums]):
    r"""``y_i ~ N(x' B_ki, 1 / tau_ki)``, ``B_ki ~ N(m_0, B_0)``, ``tau_ki ~ Ga(a_0, b_0)``.

    The prior of the coefficients does not grow with the noise, as it does for ``LinearExperts``:
    the choice where it says how large effects are, and that of the logit stick-breaking literature.
    Coefficients and noise are updated in turn, coefficients first, until they agree.

    References
    ----------
    Rigon, Durante (2020), Logit stick-breaking priors for Bayesian density regression,
    arXiv:1701.02969, algorithm 3, the kernel parameters.
    """

    prior: NormalAndGamma

    def rows(self, posterior: NormalAndGamma, block: Block) -> LinearRows:
        r"""``E log N(y | x' B_k, 1 / tau_k)``, summed over responses."""
        design, features = block.designs["mean"], products(block.designs["mean"])
        coefficients, precision = posterior.coefficients, posterior.noise.mean
        constant = 0.5 * (posterior.noise.expected_log - LOG_2PI).sum(axis=1)
        terms = np.repeat(constant[:, None], block.n_rows, axis=1)
        for i, observed in enumerate(block.response):
            residual = coefficients.mean[:, i] @ design
            residual -= observed
            residual *= residual
            residual += quadratic_weights(coefficients.covariance[:, i]) @ features
            residual *= 0.5 * precision[:, i, None]
            terms -= residual
        return LinearRows(terms, block)

    def sums(self, responsibilities: Float[np.ndarray, "experts rows"], block: Block) -> LinearSums:
        """Sums weighted by the responsibilities."""
        return LinearSums.of_rows(responsibilities, block)

    def advance(self, posterior: NormalAndGamma | None, sums: LinearSums) -> SemiConjugateSums:
        """Noise precisions after turns of both updates from those of the posterior.

        Each turn is an exact coordinate maximisation, so any number of them raises the bound.
        """
        known = self.prior.noise if posterior is None else posterior.noise
        precision = np.broadcast_to(known.mean, sums.yy.shape)
        for _ in range(TURNS):
            before = precision
            precision = self.update(SemiConjugateSums(sums, before)).noise.mean
            if (np.abs(precision - before) <= SETTLED * before).all():
                break
        return SemiConjugateSums(sums, precision)

    def update(self, sums: SemiConjugateSums) -> NormalAndGamma:
        """Coefficients given the noise precisions of the sums, then noise given coefficients."""
        if not (sums.precision > 0.0).all():
            raise np.linalg.LinAlgError("noise precisions must be positive")
        coefficients = self._coefficients(sums.linear, sums.precision)
        return NormalAndGamma(coefficients, self._noise(sums.linear, coefficients))

    def _coefficients(
        self, sums: LinearSums, precision: Float[np.ndarray, "experts responses"]
    ) -> Normal:
        """``C^-1 = B_0^-1 + E[tau] sum x x'`` and ``C^-1 m = B_0^-1 m_0 + E[tau] sum y x``."""
        prior = self.prior.coefficients
        added = precision[..., None, None] * unpack(sums.xx)[:, None]
        linear = times(prior.precision, prior.mean) + precision[..., None] * sums.xy
        return Normal.from_natural(linear, prior.precision + added)

    def _noise(self, sums: LinearSums, coefficients: Normal) -> Gamma:
        """``a = a_0 + N_k / 2``, ``b = b_0 + sum r E(y - x' B)^2 / 2``."""
        mean, xx = coefficients.mean, unpack(sums.xx)
        residual = sums.yy - 2.0 * (mean * sums.xy).sum(axis=-1) + (mean @ xx * mean).sum(axis=-1)
        spread = (coefficients.covariance * xx[:, None]).sum(axis=(-2, -1))
        rate = self.prior.noise.rate + 0.5 * (residual + spread)
        shape = self.prior.noise.shape + 0.5 * sums.weight[:, None]
        shape = np.array(np.broadcast_to(shape, rate.shape))
        if not ((shape > 0.0).all() and (rate > 0.0).all()):
            raise np.linalg.LinAlgError("shape and rate of a gamma distribution must be positive")
        return Gamma(shape, rate)

    def kl(self, posterior: NormalAndGamma) -> float:
        """``KL(posterior || prior)``, summed over experts."""
        coefficients = posterior.coefficients.kl(self.prior.coefficients)
        return coefficients + posterior.noise.kl(self.prior.noise)

    def predictive(
        self, posterior: NormalAndGamma, block: Block, response: int
    ) -> tuple[
        Float[np.ndarray, "experts rows"],
        Float[np.ndarray, "experts rows"],
        Float[np.ndarray, " experts"],
    ]:
        """Student t close to the predictive distribution, with its location and tails.

        The response is the sum of a normal with variance ``v = x' C x`` and a Student t with
        ``nu = 2 a`` and squared scale ``b / a``. One with squared scale ``b / a + v nu / (nu + 1)``
        is within 0.006 in probability where ``v`` is at most half the noise variance ``b / a`` and
        ``a`` at least 3, and within 0.035 up to ten times the noise variance with ``a`` of 1.
        """
        design, dof = block.designs["mean"], 2.0 * posterior.noise.shape[:, response]
        weights = quadratic_weights(posterior.coefficients.covariance[:, response])
        variance = (dof / (dof + 1.0))[:, None] * (weights @ products(design))
        variance += 1.0 / posterior.noise.mean[:, response, None]
        return posterior.coefficients.mean[:, response] @ design, np.sqrt(variance), dof

    def draws(self, posterior: NormalAndGamma, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, responses, terms) and ``precision``."""
        return {
            "coefficients": posterior.coefficients.draws(n, rng),
            "precision": posterior.noise.draws(n, rng),
        }

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts rows"]:
        """Log likelihood of each row under each drawn expert."""
        return linear_log_lik(draws, block)

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One response per draw and row, from the chosen expert."""
        return linear_responses(draws, chosen, block, rng)

    def log_density(
        self, posterior: NormalAndGamma | None, draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under the posterior, or under the prior (None)."""
        factor = posterior or self.prior
        density = factor.coefficients.log_density(draws["coefficients"])
        density = density + factor.noise.log_density(draws["precision"])
        return np.asarray(density.sum(axis=(1, 2)))

    def permuted(self, order: list[int], sums: SemiConjugateSums) -> SemiConjugateSums:
        """Sums after a new labelling."""
        return SemiConjugateSums(sums.linear.permuted(order), sums.precision[order])
