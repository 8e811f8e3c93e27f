"""The verbs of an output layer: the distribution of the response given the latent vector."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.models.network.experts import LatentPrior
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawResponseRows,
    DrawRows,
    DrawValues,
    DrawVector,
    EntryVector,
    ExpertRows,
    ExpertVector,
    RowVector,
)
from bayesvb.variational.supports import AbstractSupport

START_PRECISION = 100.0
"""Precision of the coefficients in the posterior from which a run starts, in units of the noise."""

MEAN_FIELD_PASSES = 8
"""Inner iterations where latent vectors do not depend on the component: both converge slowly."""


PosteriorT = TypeVar("PosteriorT")

StatsT = TypeVar("StatsT", bound=SufficientStats)

OutputDraws = Mapping[str, DrawValues]


class AbstractLatentPosterior(abc.ABC):
    """Latent vectors and components of some rows, given their responses.

    Attributes
    ----------
    moments : ndarray, shape (pairs, experts, rows)
        ``E[u u']`` of ``u = [x1, 1]`` given the component, packed.
    norm : ndarray, shape (rows,)
        The rows' parts of the lower bound.
    responsibilities : ndarray, shape (experts, rows)
    """

    moments: Float[np.ndarray, "pairs experts rows"]
    norm: RowVector
    responsibilities: ExpertRows

    @abc.abstractmethod
    def sufficient_stats(self, responsibilities: ExpertRows) -> SufficientStats:
        """Sums for the output layer, given (weighted) responsibilities."""


@dataclass(frozen=True)
class LatentDraws:
    """Drawn parameters of gate and experts, evaluated at some rows.

    Attributes
    ----------
    log_weights : ndarray, shape (draws, experts, rows)
    location : ndarray, shape (draws, experts, latents, rows)
    variance : ndarray, shape (draws, experts, latents)
    """

    log_weights: DrawExpertRows
    location: Float[np.ndarray, "draws experts latents rows"]
    variance: Float[np.ndarray, "draws experts latents"]


@dataclass(frozen=True)
class LatentPredictive:
    """Predictive distribution of the latent vector: mixture of independent Student t.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    location, scale : ndarray, shape (latents, experts, rows)
    dof : ndarray, shape (experts,)
    """

    weights: ExpertRows
    location: Float[np.ndarray, "latents experts rows"]
    scale: Float[np.ndarray, "latents experts rows"]
    dof: ExpertVector

    def part(self, start: int, stop: int) -> LatentPredictive:
        """Rows ``start`` to ``stop``."""
        rows = slice(start, stop)
        return LatentPredictive(
            self.weights[:, rows], self.location[..., rows], self.scale[..., rows], self.dof
        )


class AbstractOutput(abc.ABC, Generic[PosteriorT, StatsT]):
    """Output layer of a network; frozen, holds its prior."""

    of_classes: ClassVar[bool] = False
    """Whether responses are classes."""

    @property
    @abc.abstractmethod
    def n_latents(self) -> int:
        """Length of the latent vector."""

    @abc.abstractmethod
    def start(self) -> PosteriorT:
        """A narrow posterior at the prior mean, from which the first iteration starts."""

    @abc.abstractmethod
    def local(
        self, posterior: PosteriorT, prior: LatentPrior, block: Block
    ) -> AbstractLatentPosterior:
        """Latent vectors and components of these rows."""

    @abc.abstractmethod
    def latent_guess(self, block: Block) -> Float[np.ndarray, "latents rows"]:
        """Guess of the latent vectors from the responses alone."""

    @abc.abstractmethod
    def partition_stats(
        self, block: Block, moments: Float[np.ndarray, "pairs 1 rows"], responsibilities: ExpertRows
    ) -> StatsT:
        """Sums for guessed latent vectors."""

    @abc.abstractmethod
    def update(self, stats: StatsT) -> PosteriorT:
        """Exact coordinate update."""

    @abc.abstractmethod
    def expectations(self, posterior: PosteriorT) -> EntryVector:
        """Expectations by which the statistics enter the bound, in the order of the statistics."""

    @abc.abstractmethod
    def kl(self, posterior: PosteriorT) -> float:
        """``KL(posterior || prior)``."""

    def within(self, nats: float) -> AbstractOutput[PosteriorT, StatsT]:
        """The layer for runs that may end this number of nats per row below the maximum.

        An iteration may skip inner steps that gain much less; by default itself.
        """
        return self

    def with_prior_power(self, power: float) -> AbstractOutput[PosteriorT, StatsT]:
        """Layer whose prior is this one's to a power; see ``AbstractVariationalModel``.

        Raises
        ------
        NotImplementedError
            If point estimates are not available; the message gives the reason.
        """
        raise NotImplementedError(f"{type(self).__name__} has no point estimates")

    @abc.abstractmethod
    def draws(self, posterior: PosteriorT, n: int, rng: np.random.Generator) -> OutputDraws:
        """Draws of the layer's parameters."""

    @abc.abstractmethod
    def prior_draws(self, n: int, rng: np.random.Generator) -> OutputDraws:
        """Draws of the layer's parameters before any data are seen."""

    @abc.abstractmethod
    def responses(
        self,
        draws: OutputDraws,
        latents: Float[np.ndarray, "draws latents rows"],
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        """One response per draw and row, for given latent vectors."""

    def permuted(self, order: list[int], stats: StatsT) -> StatsT:
        """Statistics after a new labelling of the components: unchanged if none belongs to one."""
        return stats

    @abc.abstractmethod
    def log_density(self, posterior: PosteriorT | None, draws: OutputDraws) -> DrawVector:
        """Log density of each draw under the posterior, or under the prior (None)."""

    @abc.abstractmethod
    def log_predictive(
        self, posterior: PosteriorT, latents: LatentPredictive, block: Block
    ) -> RowVector:
        """Log predictive density of each row's response, latent vectors and parameters out."""

    @abc.abstractmethod
    def supports(self) -> Mapping[str, AbstractSupport]:
        """Supports of the layer's parameters by name, for one draw."""

    @abc.abstractmethod
    def component_log_lik(
        self, draws: OutputDraws, latents: LatentDraws, block: Block
    ) -> DrawExpertRows:
        """Log of each component's weight times the density of the row's response under it."""

    @abc.abstractmethod
    def log_lik(self, draws: OutputDraws, latents: LatentDraws, block: Block) -> DrawRows:
        """Log likelihood of each row for each draw, latent vector and component summed out."""


AnyOutput = AbstractOutput[Any, Any]
"""An output layer of any posterior and statistics."""
