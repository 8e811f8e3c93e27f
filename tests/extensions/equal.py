# bayesvb/gates/equal.py
"""Weights that are the same for every component and row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.gates.base import AbstractGate, GatePrior
from bayesvb.variational.coordinates import NoCoordinates
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.local import AbstractLocalPosterior

Nothing = Float[np.ndarray, "draws 0"]


@dataclass(frozen=True)
class EqualLocalPosterior(AbstractLocalPosterior):
    """Log weights, the same for every row."""

    expected_log_density: Float[np.ndarray, "experts 1"]

    def sufficient_stats(
        self, responsibilities: Float[np.ndarray, "experts rows"]
    ) -> SufficientStats:
        """None: there is nothing to learn."""
        return SufficientStats()


@dataclass(frozen=True)
class EqualGate(AbstractGate[None, SufficientStats]):
    """``pi_k = 1 / K``, without parameters: prior and posterior are None."""

    prior = None

    number: int

    @classmethod
    def from_prior(cls, n_components: int, prior: GatePrior) -> EqualGate:
        """Gate of so many components."""
        return cls(n_components)

    @classmethod
    def prior_rows(
        cls, n_components: int, prior: GatePrior, scaling: Scaling, terms: Sequence[str]
    ) -> list[PriorRow]:
        """None."""
        return []

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.number

    def start(self) -> None:
        """No posterior."""

    def local(self, posterior: None, block: Block) -> EqualLocalPosterior:
        """``-log K``, exact."""
        return EqualLocalPosterior(np.full((self.number, 1), -np.log(self.number)))

    def update(self, stats: SufficientStats) -> None:
        """No posterior."""

    def kl(self, posterior: None) -> float:
        """Zero."""
        return 0.0

    def coordinates(self, posterior: None) -> NoCoordinates:
        """None, and linear response is that of the experts."""
        return NoCoordinates()

    def mean_weights(self, posterior: None, block: Block) -> Float[np.ndarray, "experts rows"]:
        """``1 / K``."""
        return np.full((self.number, block.n_rows), 1.0 / self.number)

    def draws(self, posterior: None, n: int, rng: np.random.Generator) -> Nothing:
        """So many draws of no parameters."""
        return np.empty((n, 0))

    def log_weights(self, draws: Nothing, block: Block) -> Float[np.ndarray, "draws experts 1"]:
        """``-log K`` for each draw."""
        return np.full((len(draws), self.number, 1), -np.log(self.number))

    def log_density(self, posterior: None, draws: Nothing) -> Float[np.ndarray, " draws"]:
        """Zero: the density of nothing is one."""
        return np.zeros(len(draws))

    def permuted(
        self, order: Sequence[int], stats: SufficientStats
    ) -> tuple[EqualGate, SufficientStats]:
        """As they are."""
        return self, stats

    def coefficients(self, draws: Nothing) -> Mapping[int, Float[np.ndarray, "draws terms"]]:
        """None."""
        return {}

    def coefficient_meaning(self) -> str:
        """What the weights are."""
        return "the same for every component and row"
