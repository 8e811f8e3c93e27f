"""The verbs of experts: expected log likelihood of rows, and what a pass leaves behind."""

from __future__ import annotations

import abc
from typing import Any, Generic, TypeVar, cast

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Block
from bayesvb.coordinates import AbstractCoordinates
from bayesvb.parts import AbstractRows, Draws
from bayesvb.stats import Stats

PosteriorT = TypeVar("PosteriorT")
SumsT = TypeVar("SumsT", bound=Stats)


class AbstractExperts(abc.ABC, Generic[PosteriorT, SumsT]):
    """Distribution of a row under each component.

    Experts are frozen and hold the prior that all components share; their posterior holds all
    components.
    """

    prior: PosteriorT
    """Law of one expert's parameters before any data are seen, the same for all."""

    @abc.abstractmethod
    def rows(self, posterior: PosteriorT, block: Block) -> AbstractRows:
        """Expected log likelihood of these rows under every expert."""

    @abc.abstractmethod
    def sums(self, responsibilities: Float[np.ndarray, "experts rows"], block: Block) -> Stats:
        """Sums over these rows for given (weighted) responsibilities, before any posterior."""

    def advance(self, posterior: PosteriorT | None, sums: Any) -> SumsT:
        """Statistics of the next posterior, from the sums of a pass under this one.

        The sums themselves where one update of all parameters is exact. The posterior is None
        for the sums of a partition, from which a fit sets out.
        """
        return cast(SumsT, sums)

    @abc.abstractmethod
    def update(self, sums: SumsT) -> PosteriorT:
        """Posterior given sums.

        Raises
        ------
        numpy.linalg.LinAlgError
            The sums are of no data.
        """

    def coordinates(self, posterior: PosteriorT) -> AbstractCoordinates | None:
        """Standard coordinates of the parameters; None if intervals are to stay mean-field."""
        return None

    @abc.abstractmethod
    def kl(self, posterior: PosteriorT) -> float:
        """``KL(posterior || prior)``, summed over experts."""

    @abc.abstractmethod
    def predictive(
        self, posterior: PosteriorT, block: Block, response: int
    ) -> tuple[
        Float[np.ndarray, "experts rows"],
        Float[np.ndarray, "experts rows"],
        Float[np.ndarray, " experts"],
    ]:
        """Location, scale and degrees of freedom of one response's Student t distributions."""

    @abc.abstractmethod
    def draws(self, posterior: PosteriorT, n: int, rng: np.random.Generator) -> Draws:
        """Draws of the parameters of every expert."""

    @abc.abstractmethod
    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts rows"]:
        """Log likelihood of each row under each drawn expert."""

    @abc.abstractmethod
    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One response per draw and row, from the chosen expert."""

    @abc.abstractmethod
    def log_density(
        self, posterior: PosteriorT | None, draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under the posterior, or under the prior (None)."""

    @abc.abstractmethod
    def permuted(self, order: list[int], sums: SumsT) -> SumsT:
        """Sums after a new labelling: expert ``order[0]`` comes first."""
