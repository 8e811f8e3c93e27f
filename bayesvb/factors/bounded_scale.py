"""Distribution of one standard deviation that several coefficients share, on a grid of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawVector, PointVector

GRID_POINTS = 161
"""Grid points: with 100 coefficients the posterior of ``log s`` has a standard deviation of 0.07,
two steps of a grid from 0.01 to 8."""

HIGHEST = 8.0
"""Largest grid value in units of the prior's scale: the density there is 1e-14 of its largest."""


@dataclass(frozen=True)
class BoundedScale:
    r"""Distribution of a standard deviation ``s`` on a grid, such as a half-normal cut off below.

    Coefficients ``b_j ~ N(0, s^2)``, ``j = 1, ..., n``, with a sum of squares ``q`` leave
    ``s`` the weights ``p(s) s^-n exp(-q / (2 s^2))``. The cut-off limits how much a single large
    coefficient among many small ones is shrunk.

    Attributes
    ----------
    precision : ndarray, shape (points,)
        ``1 / s^2`` at the grid points.
    log_weight : ndarray, shape (points,)
        Log prior probability of each grid point.

    References
    ----------
    Gelman (2006), Prior distributions for variance parameters in hierarchical models, Bayesian
    Analysis 1(3), section 3, for the half-normal distribution of a standard deviation.

    Examples
    --------
    >>> scale = BoundedScale.half_normal(1.0, lowest=0.2)
    >>> mean, _, _ = scale.moments(np.array(0.0), 5.0)
    >>> bool(mean < 1 / 0.2**2)
    True
    """

    precision: PointVector
    log_weight: PointVector

    @classmethod
    def half_normal(cls, sd: float, *, lowest: float) -> BoundedScale:
        """Half-normal with scale ``sd``, no value below ``lowest``."""
        first = min(lowest, sd)
        grid = np.geomspace(first, HIGHEST * sd, GRID_POINTS)
        return cls.on_grid(grid, -0.5 * (grid / sd) ** 2)

    @classmethod
    def on_grid(cls, sd: PointVector, log_density: PointVector) -> BoundedScale:
        """Distribution on values of ``s`` in equal steps of ``log s``, density up to a factor."""
        log_weight = np.log(sd) + log_density
        return cls(sd**-2.0, log_weight - logsumexp(log_weight))

    def _log_weights(
        self, squares: Float[np.ndarray, "*many"], count: float
    ) -> Float[np.ndarray, "*many points"]:
        """Log posterior weights, not normalised."""
        pull = count * np.log(self.precision) - squares[..., None] * self.precision
        return np.asarray(self.log_weight + 0.5 * pull)

    def moments(
        self, squares: Float[np.ndarray, "*many"], count: float
    ) -> tuple[Float[np.ndarray, "*many"], Float[np.ndarray, "*many"], Float[np.ndarray, "*many"]]:
        """Mean and variance of ``1 / s^2``, and its contribution to a divergence.

        The last is ``KL(q(s) || p(s)) + n (log E[1 / s^2] - E log(1 / s^2)) / 2``: to be added to
        the divergence of ``n`` coefficients with the expected precision.
        """
        log_weights = self._log_weights(squares, count)
        top = log_weights.max(axis=-1, keepdims=True)
        weights = np.exp(log_weights - top)
        total = weights.sum(axis=-1, keepdims=True)
        weights, norm = weights / total, (top + np.log(total))[..., 0]
        mean = weights @ self.precision
        variance = (weights * (self.precision - mean[..., None]) ** 2).sum(axis=-1)
        own = 0.5 * (count * np.log(mean) - squares * mean) - norm
        return np.asarray(mean), np.asarray(variance), np.asarray(own)

    def draws(self, n: int, rng: np.random.Generator) -> DrawVector:
        """Prior draws of ``1 / s^2``."""
        chosen = rng.choice(len(self.precision), n, p=np.exp(self.log_weight))
        return np.asarray(self.precision[chosen])

    def weights(
        self, log_values: Float[np.ndarray, "points draws"]
    ) -> Float[np.ndarray, "points draws"]:
        """Probabilities of the grid points, their prior times values whose logs are given."""
        whole = self.log_weight[:, None] + log_values
        return np.asarray(np.exp(whole - logsumexp(whole, axis=0)))

    def average(self, log_values: object) -> Any:
        """Log of the prior mean of values whose logs are at the grid points, on the first axis.

        Arrays are of NumPy or JAX.
        """
        xp = namespace(log_values)
        whole = log_values + xp.asarray(self.log_weight)[:, None]
        top = whole.max(axis=0)
        return top + xp.log(xp.exp(whole - top).sum(axis=0))
