"""Adaptive importance sampling in a reduced space: values only, no gradient, no chain.

A multivariate t takes the weighted moments of all earlier rounds. All rounds count, weighted by
the mixture of their proposals (deterministic mixture weights).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp

from bayesvb.numerics.arrays import DrawParameters, DrawVector
from bayesvb.variational.local import Draws
from bayesvb.variational.reduced_space import AbstractReducedSpace

ROUNDS = 5
"""Proposals, one after the other."""

FEWEST_VALUES, PER_NUMBER = 2000, 100
"""Draws of a round: at least this number, and this number per parameter of a vector."""

DOF = 6.0
"""Degrees of freedom of the proposals, whose tails must be heavier than the posterior's."""


@runtime_checkable
class Proposal(Protocol):
    """Distribution of the vectors of a round; weighted draws adapt it to the next."""

    def draw(self, n: int, rng: np.random.Generator) -> DrawParameters:
        """Independent draws."""

    def log_density(self, vectors: DrawParameters) -> DrawVector:
        """Log density of each vector."""

    def adapted(self, vectors: DrawParameters, weights: DrawVector) -> Proposal:
        """The proposal of the next round."""


@dataclass(frozen=True)
class StudentProposal:
    """Multivariate t.

    Attributes
    ----------
    mean : ndarray, shape (numbers,)
    root : ndarray, shape (numbers, numbers)
        Cholesky factor of the scale matrix.
    """

    mean: Float[np.ndarray, " numbers"]
    root: Float[np.ndarray, "numbers numbers"]

    @classmethod
    def from_draws(cls, vectors: DrawParameters, weights: DrawVector) -> StudentProposal:
        """Weighted moments, correlations shrunk by as much as few effective draws need."""
        weights = weights / weights.sum()
        mean = weights @ vectors
        centred = vectors - mean
        covariance = centred.T @ (centred * weights[:, None])
        n_numbers, effective = vectors.shape[1], 1.0 / (weights**2).sum()
        share = (n_numbers + 2.0) / (effective + n_numbers + 2.0)
        diagonal = np.maximum(np.diag(covariance), 1e-12)
        shrunk = (1.0 - share) * covariance + share * np.diag(diagonal)
        return cls(mean, np.linalg.cholesky(shrunk + 1e-10 * np.diag(diagonal)))

    def adapted(self, vectors: DrawParameters, weights: DrawVector) -> StudentProposal:
        """A t with the moments of weighted draws."""
        return self.from_draws(vectors, weights)

    def draw(self, n: int, rng: np.random.Generator) -> DrawParameters:
        """Independent draws."""
        normal = rng.standard_normal((n, len(self.mean)))
        stretch = np.sqrt(DOF / rng.chisquare(DOF, n))
        return np.asarray(self.mean + (normal * stretch[:, None]) @ self.root.T)

    def log_density(self, vectors: DrawParameters) -> DrawVector:
        """Log density of each vector."""
        n_numbers = len(self.mean)
        # One small inverse and a product are a third of the time of solving for every draw.
        inverse = solve_triangular(self.root, np.eye(n_numbers), lower=True)
        standard = inverse @ (vectors - self.mean).T
        constant = gammaln(0.5 * (DOF + n_numbers)) - gammaln(0.5 * DOF)
        constant -= 0.5 * n_numbers * np.log(DOF * np.pi) + np.log(np.diag(self.root)).sum()
        tail = np.log1p((standard**2).sum(axis=0) / DOF)
        return np.asarray(constant - 0.5 * (DOF + n_numbers) * tail)


@dataclass(frozen=True)
class WeightedDraws:
    """Draws of all parameters with importance weights.

    Attributes
    ----------
    vectors : ndarray, shape (draws, numbers)
    draws : Mapping of str to ndarray
    log_density : ndarray, shape (draws,)
        Log density of each draw under the mixture of all proposals.
    log_ratio : ndarray, shape (draws,)
        Log posterior density less ``log_density``, up to a constant.
    """

    vectors: DrawParameters
    draws: Draws
    log_density: DrawVector
    log_ratio: DrawVector


def sample_adaptively(
    space: AbstractReducedSpace,
    proposal: Proposal,
    rng: np.random.Generator,
    rounds: int = ROUNDS,
    n_each: int | None = None,
    is_enough: Callable[[DrawVector], bool] = lambda log_ratio: False,
) -> WeightedDraws:
    """Draw from a proposal that adapts to the posterior round by round.

    Parameters
    ----------
    space : AbstractReducedSpace
    proposal : Proposal
        Of the first round.
    rng : numpy.random.Generator
    rounds : int
        Largest number of rounds.
    n_each : int, optional
        Draws of a round; by default from the size of the space.
    is_enough : callable, optional
        Called with the log ratios of all draws after each round: True ends the sampler.

    References
    ----------
    Cappé, Douc, Guillin, Marin, Robert (2008), Adaptive importance sampling in general mixture
    classes, Statistics and Computing 18. Cornuet, Marin, Mira, Robert (2012), Adaptive multiple
    importance sampling, Scandinavian Journal of Statistics 39, for weights by all proposals.
    """
    size = n_each or max(FEWEST_VALUES, PER_NUMBER * space.size)
    proposals: list[Proposal] = []
    vectors, log_joint = np.empty((0, space.size)), np.empty(0)
    densities = np.empty((0, 0))
    parts: list[Draws] = []
    while True:
        added = proposal.draw(size, rng)
        with np.errstate(all="ignore"):
            draws, joint = space.weigh(added, rng)
        of_added = [one.log_density(added) for one in (*proposals, proposal)]
        densities = np.vstack([densities, proposal.log_density(vectors)[None]])
        densities = np.hstack([densities, np.array(of_added)])
        vectors, proposals = np.concatenate([vectors, added]), [*proposals, proposal]
        finite = np.nan_to_num(joint, nan=-np.inf, posinf=-np.inf)
        log_joint, parts = np.concatenate([log_joint, finite]), [*parts, draws]
        log_q = logsumexp(densities, axis=0) - np.log(len(proposals))
        if len(proposals) == rounds or is_enough(log_joint - log_q):
            whole = {name: np.concatenate([part[name] for part in parts]) for name in draws}
            return WeightedDraws(vectors, whole, log_q, log_joint - log_q)
        proposal = proposal.adapted(vectors, flatten(log_joint - log_q, space.size))


def flatten(log_ratio: DrawVector, n_numbers: int) -> DrawVector:
    """Weights to a power at which enough draws count for a covariance: eight per number."""
    power, enough = 1.0, min(8.0 * n_numbers, 0.3 * len(log_ratio))
    while True:
        weights = np.exp(power * (log_ratio - log_ratio.max()))
        # Power of the weights below which they are not tempered further.
        if weights.sum() ** 2 / (weights**2).sum() > enough or power < 0.05:
            return np.asarray(weights)
        # Factor by which log weights are tempered until enough draws have weight for a covariance.
        power *= 0.8


def resample(weights: DrawVector, n: int, rng: np.random.Generator) -> Int[np.ndarray, " n"]:
    """Indices of ``n`` draws by systematic resampling, in random order."""
    ends = np.cumsum(weights) / weights.sum()
    at = np.searchsorted(ends, (np.arange(n) + rng.random()) / n)
    return rng.permutation(np.minimum(at, len(weights) - 1))
