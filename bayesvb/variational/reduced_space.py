"""Parameters of a model on which the likelihood depends, the others integrated out.

Prior scales, the common part of softmax logits and the like are integrated out in closed form.
The remaining parameters have fewer dimensions and no funnel, which makes importance sampling and
Hamiltonian Monte Carlo cheap.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import DrawParameters, DrawVector
from bayesvb.variational.local import Draws

ValueAndGradient = tuple[DrawVector, DrawParameters]
"""Log density at each vector, and its derivative in the vector."""


@dataclass(frozen=True)
class LongTail:
    """Number of a vector along which a posterior has a long tail, and values that reach its end.

    Attributes
    ----------
    number : int
    values : ndarray, shape (values,)
        From the middle of the posterior to the end of the tail.
    ends : ndarray, shape (starts, numbers)
        Vectors from which other optima are sought at its end, and followed back.
    """

    number: int
    values: Float[np.ndarray, " values"]
    ends: Float[np.ndarray, "starts numbers"]


class AbstractReducedSpace(abc.ABC):
    """Unconstrained vectors of the parameters that remain after integration.

    Densities are with respect to the vectors: the volume of the map from vectors to parameters is
    included. ``log_lik(v) + log_prior(v)`` is a density from which samplers propose;
    ``weigh`` returns the exact one, with the integrated parameters drawn. Both agree up to a
    constant where the integration is exact.
    """

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Length of the vectors."""

    @property
    @abc.abstractmethod
    def few_rows(self) -> int:
        """Number of rows below which linear response is not always enough."""

    def long_tail(self, middle: Float[np.ndarray, " numbers"]) -> LongTail | None:
        """Tail of the posterior that moments about a vector do not describe; None without one."""
        return None

    @abc.abstractmethod
    def vectors(self, draws: Draws) -> DrawParameters:
        """Vectors of draws of all parameters."""

    @abc.abstractmethod
    def log_lik(self, vectors: DrawParameters) -> DrawVector:
        """Log likelihood of all rows, latent classes summed out."""

    @abc.abstractmethod
    def log_lik_slopes(self, vectors: DrawParameters) -> ValueAndGradient:
        """Log likelihood of all rows and its gradient."""

    @abc.abstractmethod
    def log_prior_slopes(self, vectors: DrawParameters) -> ValueAndGradient:
        """Log prior density of the vectors and its gradient."""

    @abc.abstractmethod
    def complete(
        self, vectors: DrawParameters, rng: np.random.Generator
    ) -> tuple[Draws, DrawVector]:
        """Draws of all parameters given the vectors, and the log density of the added ones."""

    @abc.abstractmethod
    def log_joint(self, vectors: DrawParameters, draws: Draws) -> DrawVector:
        """Log joint density of rows, vectors and integrated parameters."""

    def log_density(self, vectors: DrawParameters) -> DrawVector:
        """Log posterior density of the vectors, up to a constant."""
        return np.asarray(self.log_lik(vectors) + self.log_prior_slopes(vectors)[0])

    def weigh(self, vectors: DrawParameters, rng: np.random.Generator) -> tuple[Draws, DrawVector]:
        """Draws of all parameters, and the log joint density less the log density of the draws."""
        draws, log_conditional = self.complete(vectors, rng)
        return draws, np.asarray(self.log_joint(vectors, draws) - log_conditional)
