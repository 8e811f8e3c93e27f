"""Mixture of multivariate t distributions along the one number with a long tail of a posterior.

A proposal with the moments of an optimum does not visit such a tail, which the weights of its draws
do not show. One t at the optimum given each of several values of the number visits it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.engines.adaptive_importance import StudentProposal
from bayesvb.numerics.arrays import DrawParameters, DrawVector
from bayesvb.variational.reduced_space import AbstractReducedSpace, LongTail

LEAST_SHARE = 0.02
"""Share of a t in the next mixture, before they are normalised, if its draws have no weight."""

LEAST_CURVATURE = 0.3
"""Least curvature of minus the log posterior density in any direction."""

STEP = 1e-4
"""Width of the differences of gradients that give curvatures."""

SAME = 0.1
"""Largest difference of two vectors at which they are one optimum."""

DRAWS_PER_NUMBER = 3.0
"""Effective draws of a t per number of a vector from which its moments are adapted."""


@dataclass(frozen=True)
class MixtureProposal:
    """Mixture of multivariate t distributions.

    Attributes
    ----------
    parts : tuple of StudentProposal
    shares : ndarray, shape (parts,)
        They add up to 1.
    """

    parts: tuple[StudentProposal, ...]
    shares: Float[np.ndarray, " parts"]

    def draw(self, n: int, rng: np.random.Generator) -> DrawParameters:
        """Independent draws."""
        numbers = rng.multinomial(n, self.shares)
        each = zip(self.parts, numbers, strict=True)
        return np.concatenate([part.draw(int(number), rng) for part, number in each])

    def log_density(self, vectors: DrawParameters) -> DrawVector:
        """Log density of each vector."""
        return np.asarray(logsumexp(self._log_parts(vectors), axis=0))

    def adapted(self, vectors: DrawParameters, weights: DrawVector) -> MixtureProposal:
        """The mixture after one step of the EM algorithm for weighted draws.

        A t of which few draws have weight, or all of them little, keeps its moments.

        References
        ----------
        Cappé, Douc, Guillin, Marin, Robert (2008), Adaptive importance sampling in general mixture
        classes, Statistics and Computing 18, equations 8 to 11, Gaussian components.
        """
        log_parts = self._log_parts(vectors)
        by_part = np.exp(log_parts - logsumexp(log_parts, axis=0)) * weights / weights.sum()
        totals, squares = by_part.sum(axis=1), (by_part**2).sum(axis=1)
        enough = totals**2 > DRAWS_PER_NUMBER * vectors.shape[1] * squares
        enough &= totals > LEAST_SHARE
        parts = tuple(
            StudentProposal.from_draws(vectors, weights_of_part) if moved else part
            for part, weights_of_part, moved in zip(self.parts, by_part, enough, strict=True)
        )
        shares = np.maximum(totals, LEAST_SHARE)
        return MixtureProposal(parts, shares / shares.sum())

    def _log_parts(self, vectors: DrawParameters) -> Float[np.ndarray, "parts draws"]:
        """Log density of each part times its share."""
        each = [part.log_density(vectors) for part in self.parts]
        return np.asarray(np.stack(each) + np.log(self.shares)[:, None])


def propose_along(
    space: AbstractReducedSpace, tail: LongTail, middle: StudentProposal
) -> MixtureProposal:
    """Mixture of a given t and of t distributions at optima given values of one number.

    Half of the draws come from the given t. Shares of the others are half of them even, and half
    by Laplace's approximation of the posterior probability. Optima continue from their neighbour,
    out along the tail, and back from each optimum at its end.
    """
    outwards = np.arange(len(tail.values))
    widths = np.abs(np.gradient(tail.values))
    optima: list[np.ndarray] = []
    parts: list[StudentProposal] = []
    logs: list[float] = []
    for vector, order in [(middle.mean, outwards), *((end, outwards[::-1]) for end in tail.ends)]:
        for at in order:
            start = np.where(np.arange(space.size) == tail.number, tail.values[at], vector)
            vector, height = _optimum_given(space, tail.number, start)
            if any(np.abs(vector - other).max() < SAME for other in optima):
                continue
            root, log_volume = _scale_given(space, tail.number, vector, widths[at])
            optima.append(vector)
            parts.append(StudentProposal(vector, root))
            logs.append(height + log_volume)
    by_mass = np.exp(np.array(logs) - logsumexp(logs))
    others = 0.25 * by_mass + 0.25 / len(parts)
    return MixtureProposal((middle, *parts), np.append(0.5, others))


def _gradient(
    space: AbstractReducedSpace, vectors: DrawParameters
) -> tuple[np.ndarray, np.ndarray]:
    """Log posterior density and its gradient."""
    each = zip(space.log_lik_slopes(vectors), space.log_prior_slopes(vectors), strict=True)
    value, gradient = (of_rows + of_prior for of_rows, of_prior in each)
    return value, gradient


def _optimum_given(
    space: AbstractReducedSpace, number: int, start: Float[np.ndarray, " numbers"]
) -> tuple[Float[np.ndarray, " numbers"], float]:
    """Vector of highest posterior density with one number as in ``start``, and that density."""
    from scipy.optimize import minimize  # 0.1 s that a fit without a tail need not wait

    def negative(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _gradient(space, vector[None])
        return -float(value[0]), -gradient[0]

    bounds = np.tile([-np.inf, np.inf], (space.size, 1))
    bounds[number] = start[number]
    optimum = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return optimum.x, -float(optimum.fun)


def _scale_given(
    space: AbstractReducedSpace, number: int, vector: Float[np.ndarray, " numbers"], width: float
) -> tuple[Float[np.ndarray, "numbers numbers"], float]:
    """Cholesky factor of the scale matrix at an optimum given a number, and its log volume.

    The number has the standard deviation ``width``, and the others follow the optimum.
    """
    size = space.size
    steps = STEP * np.eye(size)
    slopes = _gradient(space, np.concatenate([vector + steps, vector - steps]))[1]
    curvature = (slopes[size:] - slopes[:size]) / (2.0 * STEP)
    curvature = 0.5 * (curvature + curvature.T)
    others = np.arange(size) != number
    values, axes = np.linalg.eigh(curvature[np.ix_(others, others)])
    values = np.maximum(values, LEAST_CURVATURE)
    within = (axes / values) @ axes.T
    direction = np.ones(size)
    direction[others] = -within @ curvature[others, number]
    covariance = width**2 * np.outer(direction, direction)
    covariance[np.ix_(others, others)] += within
    return np.linalg.cholesky(covariance), float(np.log(width) - 0.5 * np.log(values).sum())
