"""Hamiltonian Monte Carlo of many chains side by side, in NumPy.

All chains make the same number of leapfrog steps, in coordinates in which the posterior is about
spherical. The density of each chain has the likelihood to a power of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.numerics.arrays import DrawParameters
from bayesvb.variational.reduced_space import AbstractReducedSpace

GOLDEN = 0.6180339887498949
"""Lengths follow the golden ratio: spread evenly, and the same for every seed."""


@dataclass(frozen=True)
class Walkers:
    """States of chains, with likelihood and prior separate and not raised to a power.

    Attributes
    ----------
    vectors : ndarray, shape (chains, numbers)
    log_lik, log_prior : ndarray, shape (chains,)
    row_slopes, prior_slopes : ndarray, shape (chains, numbers)
        Gradients of both.
    """

    vectors: Float[np.ndarray, "chains numbers"]
    log_lik: Float[np.ndarray, " chains"]
    log_prior: Float[np.ndarray, " chains"]
    row_slopes: Float[np.ndarray, "chains numbers"]
    prior_slopes: Float[np.ndarray, "chains numbers"]

    @classmethod
    def at(
        cls, space: AbstractReducedSpace, vectors: Float[np.ndarray, "chains numbers"]
    ) -> Walkers:
        """Chains at these vectors."""
        with np.errstate(all="ignore"):
            log_lik, row_slopes = space.log_lik_slopes(vectors)
            log_prior, prior_slopes = space.log_prior_slopes(vectors)
        return cls(vectors, log_lik, log_prior, row_slopes, prior_slopes)

    def log_density(self, powers: Float[np.ndarray, " chains"]) -> Float[np.ndarray, " chains"]:
        """Log density of each chain, the likelihood to its power."""
        return np.asarray(powers * self.log_lik + self.log_prior)

    def gradient(self, powers: Float[np.ndarray, " chains"]) -> Float[np.ndarray, "chains numbers"]:
        """Gradient of the log density of each chain."""
        return np.asarray(powers[:, None] * self.row_slopes + self.prior_slopes)

    def moved_where(self, accepted: Bool[np.ndarray, " chains"], other: Walkers) -> Walkers:
        """Chains, replaced by the others where accepted."""
        return Walkers(
            *(
                np.where(accepted[:, None] if mine.ndim > 1 else accepted, theirs, mine)
                for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)
            )
        )

    def taken(self, order: Int[np.ndarray, " chains"]) -> Walkers:
        """The chains in another order."""
        return Walkers(*(values[order] for values in vars(self).values()))


@dataclass(frozen=True)
class StepSize:
    """Step size by dual averaging of the mean acceptance probability.

    Attributes
    ----------
    log_step : float
    goal : float
        Acceptance probability that the step is adapted to.
    centre : float
        Log step towards which the average is shrunk.
    error, average, count : float
        Of the recursion.

    References
    ----------
    Hoffman, Gelman (2014), The No-U-Turn sampler, JMLR 15, section 3.2.
    """

    log_step: float
    goal: float
    centre: float
    error: float = 0.0
    average: float = 0.0
    count: int = 0

    @classmethod
    def first(cls, log_step: float, goal: float) -> StepSize:
        """The recursion from this step on."""
        return cls(log_step, goal, np.log(1.5) + log_step, average=log_step)

    def adapted(self, acceptance: float) -> StepSize:
        """After a transition with this acceptance probability."""
        count = self.count + 1
        share = 1.0 / (count + 5.0)
        error = (1.0 - share) * self.error + share * (self.goal - acceptance)
        # Log of the largest step, in standard deviations.
        log_step = min(self.centre - np.sqrt(count) / 0.3 * error, 0.7)
        weight = count**-0.75
        average = weight * log_step + (1.0 - weight) * self.average
        return replace(self, log_step=log_step, error=error, average=average, count=count)

    def settled(self) -> StepSize:
        """The average step."""
        return replace(self, log_step=self.average)


@dataclass(frozen=True)
class Hamiltonian:
    """Transitions of chains.

    Attributes
    ----------
    space : AbstractReducedSpace
    powers : ndarray, shape (chains,)
        Power of the likelihood in the density of each chain.
    root : ndarray, shape (numbers, numbers)
        Cholesky factor of the inverse mass matrix.
    length : float
        Mean length of a trajectory, in standard deviations.
    """

    space: AbstractReducedSpace
    powers: Float[np.ndarray, " chains"]
    root: Float[np.ndarray, "numbers numbers"]
    length: float = 1.6

    def transition(
        self, walkers: Walkers, log_step: float, number: int, rng: np.random.Generator
    ) -> tuple[Walkers, float]:
        """Chains after a transition, and their mean acceptance probability.

        Chains with a smaller power are wider and take longer steps.
        """
        plain = np.exp(log_step)
        steps = int(np.ceil(self.length * 2.0 * (number * GOLDEN % 1.0) / plain))
        step = (plain / np.sqrt(self.powers))[:, None]
        momentum = rng.standard_normal(walkers.vectors.shape)
        before = walkers.log_density(self.powers) - 0.5 * (momentum**2).sum(axis=1)
        other = walkers
        with np.errstate(all="ignore"):
            # Leapfrog steps of a transition at most.
            for _ in range(min(max(steps, 1), 64)):
                momentum = momentum + 0.5 * step * (other.gradient(self.powers) @ self.root)
                other = Walkers.at(self.space, other.vectors + step * (momentum @ self.root.T))
                momentum = momentum + 0.5 * step * (other.gradient(self.powers) @ self.root)
            change = other.log_density(self.powers) - 0.5 * (momentum**2).sum(axis=1) - before
            change = np.where(np.isfinite(change), change, -np.inf)
            accepted = np.log(rng.random(len(change))) < change
            acceptance = float(np.exp(np.minimum(change, 0.0)).mean())
        return walkers.moved_where(accepted, other), acceptance


def inverse_mass_root(
    vectors: DrawParameters, gradients: DrawParameters
) -> Float[np.ndarray, "numbers numbers"]:
    """Cholesky factor of the geometric mean of two estimates of the posterior covariance.

    They are the covariance of the vectors and the inverse covariance of the gradients. Heavy tails
    inflate the first and not the second.
    """
    of_places = _shrink(np.atleast_2d(np.cov(vectors.T)), len(vectors))
    of_slopes = _shrink(gradients.T @ gradients / len(gradients), len(gradients))
    values, axes = np.linalg.eigh(of_slopes)
    values = np.maximum(values, values.max() * 1e-12)
    half, inverse = (axes * np.sqrt(values)) @ axes.T, (axes / np.sqrt(values)) @ axes.T
    inner, turned = np.linalg.eigh(half @ of_places @ half)
    middle = (turned * np.sqrt(np.maximum(inner, 1e-24))) @ turned.T
    return np.asarray(np.linalg.cholesky(inverse @ middle @ inverse))


def _shrink(
    covariance: Float[np.ndarray, "numbers numbers"], n_draws: int
) -> Float[np.ndarray, "numbers numbers"]:
    """Correlations shrunk by as much as few draws need."""
    share = n_draws / (n_draws + len(covariance) + 2.0)
    return np.asarray(share * covariance + (1.0 - share) * np.diag(np.diag(covariance)))
