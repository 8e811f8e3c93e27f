"""Half-t distribution of the standard deviation of a block of coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from bayesvb.factors.bounded_scale import BoundedScale
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import BlockVector, DrawVector

HALF_T_DOF = 3.0
"""Degrees of freedom of the half-t prior: the fewest with a finite variance."""

GRID = (1e-3, 50.0, 401)
"""Ends of the grid in units of the prior's scale, beyond which it has a probability of 0.0007, and
number of points: a step of 0.027, two thirds of the posterior sd of ``log s`` of 300 effects."""


def log_half_t(
    sd: Float[np.ndarray, "*many blocks"], unit: float | BlockVector
) -> Float[np.ndarray, "*many blocks"]:
    """Log density of the half-t distribution with ``HALF_T_DOF`` degrees of freedom."""
    half = 0.5 * (HALF_T_DOF + 1.0)
    constant = np.log(2.0) + gammaln(half) - gammaln(0.5 * HALF_T_DOF)
    constant -= 0.5 * np.log(HALF_T_DOF * np.pi)
    density: Float[np.ndarray, "*many blocks"]
    density = constant - np.log(unit) - half * namespace(sd).log1p((sd / unit) ** 2 / HALF_T_DOF)
    return density


@dataclass(frozen=True)
class HalfTScale:
    """Half-t prior of a standard deviation ``s``, as a distribution of ``1 / s^2``.

    Attributes
    ----------
    unit : float
        Scale of the distribution.

    References
    ----------
    Gelman (2006), Prior distributions for variance parameters in hierarchical models, Bayesian
    Analysis 1(3).

    Examples
    --------
    >>> scale = HalfTScale(1.0)
    >>> mean, _, _ = scale.grid.moments(np.array(10.0), 40.0)  # 40 coefficients, sd 0.5
    >>> round(float(mean), 1)
    3.9
    """

    unit: float

    @cached_property
    def grid(self) -> BoundedScale:
        """The distribution on a grid, on which posteriors are formed."""
        lowest, highest, n_points = GRID
        sd = self.unit * np.geomspace(lowest, highest, n_points)
        return BoundedScale.on_grid(sd, log_half_t(sd, self.unit))

    def log_density(
        self, precision: Float[np.ndarray, "*many blocks"]
    ) -> Float[np.ndarray, "*many blocks"]:
        """Log density of ``1 / s^2``; arrays are of NumPy or JAX."""
        xp = namespace(precision)
        sd = 1.0 / xp.sqrt(precision)
        # of the precision, whose root is 1 / s: |d s / d precision| = s / (2 precision)
        density: Float[np.ndarray, "*many blocks"]
        density = log_half_t(sd, self.unit) + xp.log(sd) - xp.log(2.0 * precision)
        return density

    def draws(self, n: int, rng: np.random.Generator) -> DrawVector:
        """Prior draws of ``1 / s^2``."""
        return np.asarray((self.unit * rng.standard_t(HALF_T_DOF, n)) ** -2.0)
