"""One Gaussian sample: the textbook case, with its exact posterior."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import LocalStep, SufficientStats
from bayesvb.distributions.normal_scale_mixture import NormalScaleMixture, densities_by_row
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.factors.gamma import precision_draws
from bayesvb.factors.normal_gamma import (
    AbstractNormalGamma,
    FactorisedNormalGamma,
    NormalGamma,
    ScalarGamma,
)
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawResponseRows, DrawRows, DrawVector, ExpertRows, RowVector
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.local import Draws
from bayesvb.variational.model import Starts
from bayesvb.variational.parameter_space import ParameterSpace
from bayesvb.variational.streamed_model import AbstractStreamedModel
from bayesvb.variational.supports import Positive, Real


@dataclass(frozen=True)
class SampleStats(SufficientStats):
    """Weighted sums of ``1``, ``x`` and ``x^2`` over the rows."""

    weight: Float[np.ndarray, " 1"]
    x: Float[np.ndarray, " 1"]
    xx: Float[np.ndarray, " 1"]

    @classmethod
    def of_rows(cls, block: Block) -> SampleStats:
        """Sums over these rows."""
        x = block.response[:1]
        weight = block.weighted(np.ones_like(x))
        return cls(weight.sum(axis=1), (weight * x).sum(axis=1), (weight * x * x).sum(axis=1))

    @property
    def n_rows(self) -> float:
        """Number of rows, or their total weight."""
        return float(self.weight[0])

    def squares_about(self, centre: float) -> float:
        """Sum of ``(x - centre)^2``; its rounding error is relative to the sum of ``x^2``."""
        linear = 2.0 * float(self.x[0]) - centre * self.n_rows
        return float(self.xx[0]) - centre * linear


@dataclass(frozen=True)
class HalfStep:
    """One half of a sweep of the alternation.

    Attributes
    ----------
    updated : str
        The factor that has just been updated: ``"mean"`` or ``"precision"``.
    posterior : FactorisedNormalGamma
    bound : float
        Lower bound; it never falls.
    """

    updated: str
    posterior: FactorisedNormalGamma
    bound: float


@dataclass(frozen=True)
class UnivariateGaussian(AbstractStreamedModel[FactorisedNormalGamma, SampleStats]):
    r"""``x_i ~ N(mu, 1 / lambda)`` with a normal-gamma prior and ``q(mu) q(lambda)``.

    The fixed point of the alternation is explicit, so ``update`` goes there at once.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, section 10.1.3. Lin (2016), Variational
    Inference, eqs 11 to 19, with corrected signs in eq. 11 and squares in eq. 19.
    """

    without_response: ClassVar[str] = "the exact intervals are known, and shown next to them"

    prior: NormalGamma

    @property
    def n_components(self) -> int:
        """One: there is nothing to divide."""
        return 1

    def e_step(self, posterior: FactorisedNormalGamma, block: Block) -> LocalStep:
        """Sums of these rows, and their expected log likelihood."""
        stats = SampleStats.of_rows(block)
        return LocalStep(self.expected_log_lik(posterior, stats), stats)

    def expected_log_lik(self, posterior: FactorisedNormalGamma, stats: SampleStats) -> float:
        """``E log N(x | mu, 1 / lambda)`` of all rows."""
        precision = posterior.precision
        squares = stats.squares_about(posterior.mean) + stats.n_rows / posterior.mean_precision
        constant = stats.n_rows * (precision.expected_log - LOG_2PI)
        return 0.5 * (constant - precision.mean * squares)

    def expected_sum(self, before: SampleStats, posterior: FactorisedNormalGamma) -> float:
        """The expected log likelihood, which is linear in the sums."""
        return self.expected_log_lik(posterior, before)

    def bound(self, posterior: FactorisedNormalGamma, stats: SampleStats) -> float:
        """Lower bound of the log evidence."""
        return self.expected_log_lik(posterior, stats) - self.kl(posterior)

    def kl(self, posterior: FactorisedNormalGamma) -> float:
        """``KL(q(mu) q(lambda) || prior)``."""
        return posterior.kl(self.prior)

    def mean_step(
        self, posterior: FactorisedNormalGamma, stats: SampleStats
    ) -> FactorisedNormalGamma:
        """Best ``q(mu)`` for this ``q(lambda)``."""
        strength = self.prior.strength + stats.n_rows
        mean_precision = strength * posterior.precision.mean
        return replace(posterior, mean=self._mean(stats), mean_precision=mean_precision)

    def precision_step(
        self, posterior: FactorisedNormalGamma, stats: SampleStats
    ) -> FactorisedNormalGamma:
        """Best ``q(lambda)`` for this ``q(mu)``."""
        strength = self.prior.strength + stats.n_rows
        squares = self._squares(posterior.mean, stats) + strength / posterior.mean_precision
        rate = self.prior.precision.rate + 0.5 * squares
        return replace(posterior, precision=ScalarGamma(self._shape(stats), rate))

    def alternation(
        self, posterior: FactorisedNormalGamma, stats: SampleStats
    ) -> Iterator[HalfStep]:
        """Half-steps without end: the mean, the precision, the mean, ..."""
        while True:
            posterior = self.mean_step(posterior, stats)
            yield HalfStep("mean", posterior, self.bound(posterior, stats))
            posterior = self.precision_step(posterior, stats)
            yield HalfStep("precision", posterior, self.bound(posterior, stats))

    def update(self, stats: SampleStats) -> FactorisedNormalGamma:
        r"""Limit of the alternation, ``b = (b_0 + C / 2) / (1 - 1 / (2 a))``.

        ``C`` is the sum of squares about the mean, including the prior's.
        """
        shape, strength = self._shape(stats), self.prior.strength + stats.n_rows
        if not (strength > 0.0 and shape > 0.5):
            raise np.linalg.LinAlgError("the weight of the rows must not be negative")
        mean = self._mean(stats)
        rate = self.prior.precision.rate + 0.5 * self._squares(mean, stats)
        if not rate > 0.0:
            raise np.linalg.LinAlgError("the rate of a gamma distribution must be positive")
        precision = ScalarGamma(shape, rate / (1.0 - 0.5 / shape))
        return FactorisedNormalGamma(mean, strength * precision.mean, precision)

    def exact(self, stats: SampleStats) -> NormalGamma:
        """Exact posterior (Bishop 2006, eqs 2.150 to 2.154)."""
        mean = self._mean(stats)
        shape = self.prior.precision.shape + 0.5 * stats.n_rows
        rate = self.prior.precision.rate + 0.5 * self._squares(mean, stats)
        return NormalGamma(mean, self.prior.strength + stats.n_rows, ScalarGamma(shape, rate))

    def log_evidence(self, stats: SampleStats) -> float:
        """Exact log marginal likelihood of the rows."""
        prior, exact = self.prior, self.exact(stats)

        def normaliser(law: NormalGamma) -> float:
            shape, rate = law.precision.shape, law.precision.rate
            return float(gammaln(shape) - shape * np.log(rate) - 0.5 * np.log(law.strength))

        return normaliser(exact) - normaliser(prior) - 0.5 * stats.n_rows * LOG_2PI

    def predictive(self, posterior: FactorisedNormalGamma) -> NormalScaleMixture:
        """Distribution of one more value under q."""
        return NormalScaleMixture.predictive(posterior)

    def log_predictive(self, posterior: FactorisedNormalGamma, block: Block) -> RowVector:
        """Log density of each value under q."""
        return self.predictive(posterior).log_density(block.response[0])

    def row_predictions(
        self, posterior: FactorisedNormalGamma, block: Block
    ) -> Float[np.ndarray, "values rows"]:
        """Log density and distribution function of each value under q."""
        law, value = self.predictive(posterior), block.response[0]
        return np.stack([law.log_density(value), law.cdf(value)])

    def row_predictions_without(
        self, posterior: FactorisedNormalGamma, block: Block, copies: RowVector
    ) -> Float[np.ndarray, "values rows"]:
        """Predictions without each value, exact: a value has one sum of squares and one of weights.

        With ``s`` the weight of all values and of the prior, ``C`` their squares about the mean
        ``m``, and ``c`` copies of ``x`` taken away, the mean is ``(s m - c x) / (s - c)`` and the
        sum of squares ``C - c s (x - m)^2 / (s - c)``. NaN where nothing is left.

        References
        ----------
        Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance,
        doi:10.1080/00031305.1983.10483115: the updating formula, backwards.
        """
        value, shape = block.response[0], posterior.precision.shape
        strength = posterior.mean_precision / posterior.precision.mean
        squares = 2.0 * (posterior.precision.rate * (1.0 - 0.5 / shape) - self.prior.precision.rate)
        left = np.where(copies < strength, strength - copies, np.nan)
        mean = (strength * posterior.mean - copies * value) / left
        squares = squares - copies * strength * (value - posterior.mean) ** 2 / left
        shapes = shape - 0.5 * copies
        rate = (self.prior.precision.rate + 0.5 * squares) / (1.0 - 0.5 / shapes)
        predictions = np.full((2, block.n_rows), np.nan)
        for one in np.unique(shapes[(shapes > 0.5) & (rate > 0.0)]):
            rows = np.flatnonzero((shapes == one) & (rate > 0.0))
            spread = rate[rows] / (left[rows] * one)
            predictions[:, rows] = densities_by_row(
                value[rows] - mean[rows], float(one), rate=rate[rows], variance=spread
            )
        return predictions

    def exact_predictive(self, exact: NormalGamma) -> StudentMixture:
        """Distribution of one more value under the exact posterior: one Student t, one row."""
        one = np.ones((1, 1))
        variance = (1.0 + 1.0 / exact.strength) / exact.precision.mean
        dof = np.array([2.0 * exact.precision.shape])
        return StudentMixture(one, exact.mean * one, np.sqrt(variance) * one, dof)

    def starts(self, n: int) -> Starts:
        """One: every run converges to the same point at once."""
        return Starts({"closed form": self})

    def partition_stats(self, block: Block, responsibilities: ExpertRows) -> SampleStats:
        """Sums of these rows, all of which are in the one component."""
        return SampleStats.of_rows(block)

    def draws(self, posterior: FactorisedNormalGamma, n: int, rng: np.random.Generator) -> Draws:
        """``mean`` and ``precision``, both of shape (draws,)."""
        mean, precision = posterior.draws(n, rng)
        return {"mean": mean, "precision": precision}

    def prior_draws(self, n: int, rng: np.random.Generator) -> Draws:
        """``mean`` and ``precision`` before any data are seen; see ``precision_draws``."""
        precision = precision_draws(self.prior.precision.shape, self.prior.precision.rate, n, rng)
        scale = np.sqrt(self.prior.normal(precision))
        return {"mean": self.prior.mean + rng.standard_normal(n) / scale, "precision": precision}

    def parameter_space(self) -> ParameterSpace:
        """``mean`` and ``precision``."""
        return ParameterSpace({"mean": Real(()), "precision": Positive(())})

    def responses(self, draws: Draws, block: Block, rng: np.random.Generator) -> DrawResponseRows:
        """One response per draw and row."""
        noise = rng.standard_normal((len(draws["mean"]), block.n_rows))
        drawn = draws["mean"][:, None] + noise / np.sqrt(draws["precision"][:, None])
        return np.asarray(drawn[:, None])

    def log_lik(self, draws: Draws, block: Block) -> DrawRows:
        """Log density of each row under each draw."""
        precision = draws["precision"][:, None]
        squares = (block.response[0] - draws["mean"][:, None]) ** 2
        log_lik: DrawRows
        log_lik = 0.5 * (namespace(precision).log(precision) - LOG_2PI - precision * squares)
        return log_lik

    def log_prior(self, draws: Draws) -> DrawVector:
        return self.prior.log_density(draws["mean"], draws["precision"])

    def log_posterior(self, posterior: FactorisedNormalGamma, draws: Draws) -> DrawVector:
        return posterior.log_density(draws["mean"], draws["precision"])

    def _shape(self, stats: SampleStats) -> float:
        return self.prior.precision.shape + 0.5 * (stats.n_rows + 1.0)

    def _mean(self, stats: SampleStats) -> float:
        weighted = self.prior.strength * self.prior.mean + float(stats.x[0])
        return weighted / (self.prior.strength + stats.n_rows)

    def _squares(self, centre: float, stats: SampleStats) -> float:
        """``C``: squares of the rows and of the prior about the centre."""
        pull = self.prior.strength * (centre - self.prior.mean) ** 2
        return stats.squares_about(centre) + pull


@dataclass(frozen=True)
class Contours:
    """Log densities on a grid of means and precisions, for the picture of the alternation.

    Attributes
    ----------
    mean : ndarray, shape (means,)
    precision : ndarray, shape (precisions,)
    exact : ndarray, shape (precisions, means)
        Of the exact posterior.
    steps : ndarray, shape (steps, precisions, means)
        Of the starting point, then after each half-step.
    """

    mean: Float[np.ndarray, " means"]
    precision: Float[np.ndarray, " precisions"]
    exact: Float[np.ndarray, "precisions means"]
    steps: Float[np.ndarray, "steps precisions means"]


def contours(
    model: UnivariateGaussian,
    stats: SampleStats,
    start: FactorisedNormalGamma,
    *,
    half_steps: int,
    mean: Float[np.ndarray, " means"],
    precision: Float[np.ndarray, " precisions"],
) -> Contours:
    """Log densities of the exact posterior and of the first half-steps of the alternation.

    References
    ----------
    Bishop (2006), figure 10.4.
    """
    steps = [step.posterior for step in islice(model.alternation(start, stats), half_steps)]

    def on_grid(laws: Sequence[AbstractNormalGamma]) -> Float[np.ndarray, "laws precisions means"]:
        means, precisions = np.meshgrid(mean, precision)
        return np.stack([law.log_density(means, precisions) for law in laws])

    (exact,) = on_grid([model.exact(stats)])
    return Contours(mean, precision, exact, on_grid([start, *steps]))
