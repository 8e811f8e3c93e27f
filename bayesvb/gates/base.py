"""The verbs of a gate: expected log weights of the components, and what a pass leaves behind."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Block
from bayesvb.coordinates import AbstractCoordinates
from bayesvb.factors.normal import Normal
from bayesvb.linalg import products, times, unpack
from bayesvb.parts import AbstractRows
from bayesvb.stats import Stats

PosteriorT = TypeVar("PosteriorT")
SumsT = TypeVar("SumsT", bound=Stats)


@dataclass(frozen=True)
class LogitSums(Stats):
    """What rows add to the natural parameters of a gate with linear, Gaussian logits.

    Attributes
    ----------
    curvature : ndarray, shape (logits, pairs)
        Sum of ``w x x'``, packed: what the rows add to each posterior precision.
    linear : ndarray, shape (logits, terms)
        What the rows add to each precision times mean.
    """

    curvature: Float[np.ndarray, "logits pairs"]
    linear: Float[np.ndarray, "logits terms"]

    @classmethod
    def of_rows(
        cls,
        design: Float[np.ndarray, "terms rows"],
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitSums:
        """Sums from the per-row weights of ``x x'`` and of ``x``."""
        return cls(curvature @ products(design).T, linear @ design.T)


def gaussian_logits(prior: Normal, sums: LogitSums) -> Normal:
    """Gaussian posterior of logit coefficients: prior plus what the rows add.

    Raises
    ------
    numpy.linalg.LinAlgError
        A precision is not positive definite.
    """
    linear = times(prior.precision, prior.mean) + sums.linear
    precision = unpack(sums.curvature)
    precision += prior.precision
    return Normal.from_natural(linear, precision)


@dataclass(frozen=True)
class GatePrior:
    """What a gate may need of its prior; each gate takes its share.

    Attributes
    ----------
    coefficients : Normal
        Prior of the logit coefficients of one component, shape (terms,).
    intercept : ndarray, shape (terms,)
        One at the intercept column, zero elsewhere.
    concentration : float
        Dirichlet concentration of each component.
    even : bool
        Whether a gate that breaks a stick shifts its intercepts until all components weigh the same
        where all covariates are zero.
    """

    coefficients: Normal
    intercept: Float[np.ndarray, " terms"]
    concentration: float
    even: bool = True


class AbstractGate(abc.ABC, Generic[PosteriorT, SumsT]):
    """Distribution of the component of a row given its covariates.

    A gate is frozen and holds its prior. Adding one touches two files: its own and the table
    ``GATES``.
    """

    prior: PosteriorT
    """Law of the gate's parameters before any data are seen."""

    @classmethod
    @abc.abstractmethod
    def from_prior(cls, n_components: int, prior: GatePrior) -> AbstractGate[PosteriorT, SumsT]:
        """Gate of ``n_components`` components, equally weighted a priori if not told otherwise."""

    @property
    @abc.abstractmethod
    def n_components(self) -> int:
        """Number of components."""

    @abc.abstractmethod
    def start(self) -> PosteriorT:
        """Posterior from which the first pass sets out: no preference among components."""

    @abc.abstractmethod
    def rows(self, posterior: PosteriorT, block: Block) -> AbstractRows:
        """Expected (bounded) log weights of these rows."""

    @abc.abstractmethod
    def update(self, sums: SumsT) -> PosteriorT:
        """Posterior given statistics; a function of them alone."""

    def advance(self, posterior: PosteriorT, sums: Any) -> SumsT:
        """Statistics of the next posterior, from the sums of a pass under this one.

        The sums themselves where the update is an exact coordinate maximisation.
        """
        return cast(SumsT, sums)

    def stationary(self, posterior: PosteriorT, sums: Any) -> SumsT:
        """Derivative of the rows' part of the bound in the expected sufficient statistics.

        Equal to the statistics of the posterior where its bound is stationary. The sums of a pass
        under this posterior themselves where the update is an exact coordinate maximisation.
        """
        return cast(SumsT, sums)

    def coordinates(self, posterior: PosteriorT) -> AbstractCoordinates | None:
        """Standard coordinates of the parameters; None if intervals are to stay mean-field."""
        return None

    @abc.abstractmethod
    def kl(self, posterior: PosteriorT) -> float:
        """``KL(posterior || prior)``."""

    def slack(self, posterior: PosteriorT, block: Block) -> Float[np.ndarray, " rows"]:
        """Nats per row by which a tighter bound on the same posterior beats that of ``rows``.

        It counts where ascents from different starts are ranked: a loose bound may prefer a
        solution that empties components. None here, as the bound is the tightest at hand.
        """
        return np.zeros(block.n_rows)

    @abc.abstractmethod
    def mean_weights(
        self, posterior: PosteriorT, block: Block
    ) -> Float[np.ndarray, "experts rows"]:
        """Posterior mean of the weights: predictive probabilities of the components."""

    @abc.abstractmethod
    def draws(
        self, posterior: PosteriorT, n: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "draws ..."]:
        """Draws of the gate's parameters."""

    @abc.abstractmethod
    def log_weights(
        self, draws: Float[np.ndarray, "draws ..."], block: Block
    ) -> Float[np.ndarray, "draws experts _"]:
        """Exact log weights for each draw; the last axis is 1 where rows do not differ."""

    def components(
        self, draws: Float[np.ndarray, "draws ..."], block: Block, rng: np.random.Generator
    ) -> Int[np.ndarray, "draws rows"]:
        """One component per draw and row, drawn from the weights."""
        weights = np.exp(self.log_weights(draws, block))
        below = np.cumsum(weights, axis=1)[:, :-1]
        return np.asarray((rng.random((len(weights), 1, block.n_rows)) > below).sum(axis=1))

    @abc.abstractmethod
    def log_density(
        self, posterior: PosteriorT | None, draws: Float[np.ndarray, "draws ..."]
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under the posterior, or under the prior (None)."""

    @abc.abstractmethod
    def permuted(
        self, order: Sequence[int], sums: SumsT
    ) -> tuple[AbstractGate[PosteriorT, SumsT], SumsT]:
        """Gate and sums after a new labelling: component ``order[0]`` comes first."""

    @abc.abstractmethod
    def coefficients(
        self, draws: Float[np.ndarray, "draws ..."]
    ) -> Mapping[int, Float[np.ndarray, "draws terms"]]:
        """Identified logit coefficients for each component (from 0) that has its own."""

    @abc.abstractmethod
    def coefficient_meaning(self) -> str:
        """What a coefficient is the log odds of, in words for tables."""
