"""Class labels with one covariance of the latent vector per component, the same for all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.normal import Normal
from bayesvb.models.network.experts import LatentPrior
from bayesvb.models.network.latents import settle_shared
from bayesvb.models.network.output import (
    AbstractLatentPosterior,
    AbstractOutput,
    LatentPredictive,
    OutputDraws,
)
from bayesvb.models.network.output_classes import ClassLatentPosterior, ClassOutput
from bayesvb.models.network.stick_labels import StickLabels
from bayesvb.numerics.arrays import DrawVector, EntryVector, ExpertRows, ExpertVector, RowVector
from bayesvb.numerics.linalg import pack
from bayesvb.numerics.packed_matrices import diagonal_numbers
from bayesvb.variational.linear_predictors import LogitStats
from bayesvb.variational.passed_on import passed_on

LEAST_WEIGHT = 1e-8
"""Rows of a typical kind that are added to every component: an empty one needs a covariance."""

TYPICAL_OMEGA = 0.125
"""Half the Polya-Gamma mean at zero."""


@dataclass(frozen=True)
class SharedStats(SufficientStats):
    """Sums for the coefficients, and of responsibilities and Polya-Gamma means per component."""

    coefficients: LogitStats
    weight: ExpertVector
    omega: Float[np.ndarray, "experts sticks"]


@dataclass(frozen=True)
class SharedPosterior:
    """Posterior of the coefficients, and the Polya-Gamma means which covariances are made of."""

    coefficients: Normal
    omega: Float[np.ndarray, "experts sticks"]


@dataclass(frozen=True)
class SharedLatentPosterior(AbstractLatentPosterior):
    """Latent vectors of labelled rows."""

    moments: Float[np.ndarray, "pairs experts rows"]
    norm: RowVector
    responsibilities: ExpertRows
    rows: ClassLatentPosterior

    def sufficient_stats(self, responsibilities: ExpertRows) -> SharedStats:
        omega = np.vecdot(self.rows.omega, responsibilities).T
        return SharedStats(
            self.rows.sufficient_stats(responsibilities),
            responsibilities.sum(axis=1),
            np.broadcast_to(omega, (len(responsibilities), omega.shape[1])).copy(),
        )


@dataclass(frozen=True)
class SharedClassOutput(AbstractOutput[SharedPosterior, SharedStats]):
    """``ClassOutput`` with q(x1 | z = k) = N(m_nk, S_k).

    The best ``S_k`` has the precision of one row at the mean Polya-Gamma means of the component's
    rows, which a pass leaves among its statistics. Prefer it to independent entries where the
    entries of the latent vector are correlated.

    Attributes
    ----------
    classes : ClassOutput
        The layer whose rows share.
    """

    classes: ClassOutput

    of_classes = True

    n_latents = passed_on("classes")
    n_classes = passed_on("classes")
    latent_guess = passed_on("classes")
    prior_draws = passed_on("classes")
    responses = passed_on("classes")
    supports = passed_on("classes")
    component_log_lik = passed_on("classes")
    log_lik = passed_on("classes")
    drawn_probabilities = passed_on("classes")

    def start(self) -> SharedPosterior:
        """The start of ``ClassOutput``, with typical covariances."""
        return SharedPosterior(
            self.classes.start(), np.full((1, self.n_classes - 1), TYPICAL_OMEGA)
        )

    def local(
        self, posterior: SharedPosterior, prior: LatentPrior, block: Block
    ) -> SharedLatentPosterior:
        """Latent vectors and components of these rows, given their labels."""
        mean, size = posterior.coefficients.mean, self.n_latents
        second = posterior.coefficients.covariance + mean[:, :, None] * mean[:, None, :]
        precision = (posterior.omega @ pack(second[:, :-1, :-1])).T[:, :, None]
        precision = np.repeat(precision, prior.linear.shape[1] // precision.shape[1], axis=1)
        precision[diagonal_numbers(size)] += prior.precision
        labels = StickLabels.of(block.response[0], self.n_classes)
        rows = self.classes.given_component(
            posterior.coefficients, prior, labels, settle_shared(precision, size)
        )
        return SharedLatentPosterior(rows.moments, rows.norm, rows.responsibilities, rows)

    def partition_stats(
        self, block: Block, moments: Float[np.ndarray, "pairs 1 rows"], responsibilities: ExpertRows
    ) -> SharedStats:
        """Sums for guessed latent vectors, with typical Polya-Gamma means."""
        weight = responsibilities.sum(axis=1)
        return SharedStats(
            self.classes.partition_stats(block, moments, responsibilities),
            weight,
            np.repeat(TYPICAL_OMEGA * weight[:, None], self.n_classes - 1, axis=1),
        )

    def update(self, stats: SharedStats) -> SharedPosterior:
        """Exact coordinate update of every stick; mean Polya-Gamma means of every component."""
        omega = stats.omega + LEAST_WEIGHT * TYPICAL_OMEGA
        return SharedPosterior(
            self.classes.update(stats.coefficients), omega / (stats.weight[:, None] + LEAST_WEIGHT)
        )

    def expectations(self, posterior: SharedPosterior) -> EntryVector:
        """Expectations as in ``ClassOutput``; covariances of earlier latent vectors stay."""
        of_classes = self.classes.expectations(posterior.coefficients)
        n_experts = len(posterior.omega)
        return np.concatenate([of_classes, np.zeros(n_experts * self.n_classes)])

    def kl(self, posterior: SharedPosterior) -> float:
        return self.classes.kl(posterior.coefficients)

    def draws(self, posterior: SharedPosterior, n: int, rng: np.random.Generator) -> OutputDraws:
        """Draws as in ``ClassOutput``."""
        return self.classes.draws(posterior.coefficients, n, rng)

    def permuted(self, order: list[int], stats: SharedStats) -> SharedStats:
        return SharedStats(stats.coefficients, stats.weight[order], stats.omega[order])

    def log_density(self, posterior: SharedPosterior | None, draws: OutputDraws) -> DrawVector:
        coefficients = None if posterior is None else posterior.coefficients
        return self.classes.log_density(coefficients, draws)

    def log_predictive(
        self, posterior: SharedPosterior, latents: LatentPredictive, block: Block
    ) -> RowVector:
        """Log predictive probabilities as in ``ClassOutput``."""
        return self.classes.log_predictive(posterior.coefficients, latents, block)

    def probabilities(
        self, posterior: SharedPosterior, latents: LatentPredictive, n_points: int = 256
    ) -> Float[np.ndarray, "classes rows"]:
        """Probabilities as in ``ClassOutput``."""
        return self.classes.probabilities(posterior.coefficients, latents, n_points)
