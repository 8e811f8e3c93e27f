"""Periodic curves: sines and cosines, scaled so that the sum of squares is the curvature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import RowVector


@dataclass(frozen=True)
class PeriodicCurve:
    r"""A periodic curve as wiggles: ``a + sum_j c_j u_j(x)``.

    The functions are ``cos(2 pi j t) / j^2`` and ``sin(2 pi j t) / j^2`` with ``t`` the place
    within the period, less their means over the values that they were made for. So

    .. math:: \int f''(x)^2 dx \propto \sum_j c_j^2,

    as of a cyclic cubic smoothing spline, whose eigenfunctions these are. Their mean squares over
    these values sum to one.

    Attributes
    ----------
    ends : tuple of float
        Where the period begins and ends: the curve has the same value, slope and curvature there.
    means : ndarray, shape (wiggles,)
    size : float
        Root of the sum of their mean squares before scaling.

    References
    ----------
    Wahba (1990), Spline Models for Observational Data, section 2.1. Wood (2017), Generalized
    Additive Models, 2nd edition, section 5.3.2.
    """

    ends: tuple[float, float]
    means: Float[np.ndarray, " wiggles"]
    size: float

    @property
    def n_knots(self) -> int:
        """Knots of the cyclic spline with as many functions."""
        return self.n_wiggles + 1

    @property
    def n_lines(self) -> int:
        """No straight line."""
        return 0

    @property
    def n_wiggles(self) -> int:
        """Number of functions that bend."""
        return len(self.means)

    def unpenalised(self, x: RowVector) -> Float[np.ndarray, "rows 0"]:
        """No functions: a periodic curve that does not bend is a constant."""
        return np.empty((len(x), 0))

    def wiggles(self, x: RowVector) -> Float[np.ndarray, "rows wiggles"]:
        """Cosines, then sines, the longest first, at these places."""
        return np.asarray((_waves(x, self.ends, self.n_wiggles // 2) - self.means) / self.size)


def periodic_curve(
    distinct: Float[np.ndarray, " values"], ends: tuple[float, float], n_waves: int
) -> PeriodicCurve:
    """The curve of ``n_waves`` frequencies; basis functions have mean zero over the values."""
    waves = _waves(distinct, ends, n_waves)
    means = waves.mean(axis=0)
    size = float(np.sqrt(((waves - means) ** 2).mean(axis=0).sum()))
    return PeriodicCurve(ends, means, size)


def _waves(
    x: RowVector, ends: tuple[float, float], n_waves: int
) -> Float[np.ndarray, "rows waves"]:
    frequency = np.arange(1.0, n_waves + 1.0)
    # The remainder first: sines of large arguments lose digits.
    angle = 2.0 * np.pi * frequency * ((x - ends[0]) / (ends[1] - ends[0]) % 1.0)[:, None]
    return np.asarray(np.hstack([np.cos(angle), np.sin(angle)]) / np.tile(frequency, 2) ** 2)
