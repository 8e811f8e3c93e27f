"""Predictive distributions calibrated, on average over rows, by PIT values of held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.base import AbstractRowDistribution, check_probabilities
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
    SameShape,
)


@dataclass(frozen=True)
class Recalibration:
    r"""Increasing map of the unit interval onto itself: the distribution of PIT values.

    If ``u = F(y)`` of new rows has the distribution function ``R``, then ``R(F(y))`` is uniform:
    ``R`` recalibrates ``F``. Its inverse is estimated by a Bernstein polynomial of the quantiles
    of the PIT values,

    .. math:: R^{-1}(p) = \sum_{j=0}^m Q(j/m) \binom mj p^j (1-p)^{m-j}, \qquad
              m = \lceil 4 N^{2/3} \rceil.

    ``Q`` goes straight through the points ``(i / (N + 1), u_(i))``, with 0 and 1 at the ends: a new
    row is below each of the values as often as an exchangeable one is. The identity counts as one
    row more, so that the density is never above ``N + 1`` and tails keep their form. PIT values
    that are spread evenly give the identity.

    Attributes
    ----------
    levels : ndarray, shape (points,)
        ``R`` at the values; straight between them.
    values : ndarray, shape (points,)
        Increasing from 0 to 1.

    References
    ----------
    Cheng (1995), The Bernstein polynomial estimator of a smooth quantile function, Statistics and
    Probability Letters 24, for the polynomial. Leblanc (2012), On estimating distribution
    functions using Bernstein polynomials, Ann. Inst. Stat. Math. 64, for the rate of the degree.
    Kuleshov, Fenner, Ermon (2018), Accurate uncertainties for deep learning using calibrated
    regression, ICML, for recalibration. The factor 4 was chosen on six simulated designs.

    Examples
    --------
    >>> even = Recalibration.of((np.arange(1, 100)) / 100.0)
    >>> even.cdf(np.array([0.1, 0.5])).round(6)
    array([0.1, 0.5])
    >>> narrow = Recalibration.of(np.repeat([0.05, 0.5, 0.95], 33))  # too many rows far out
    >>> bool(narrow.quantile(np.array([0.05]))[0] < 0.05)
    True
    """

    levels: PointVector
    values: PointVector

    @classmethod
    def of(cls, pit: RowVector, weights: RowVector | None = None) -> Recalibration:
        """The map of PIT values of rows without them; a row of weight two counts as two.

        Raises
        ------
        DataError
            If no PIT value is a number between 0 and 1.
        """
        from scipy.stats import binom

        weight = np.ones(len(pit)) if weights is None else weights
        counts = (pit >= 0.0) & (pit <= 1.0) & (weight > 0.0)
        if not counts.any():
            raise DataError("no row has a PIT value", hint="omit recalibrate=True")
        pit, weight = pit[counts], weight[counts]
        total = float(weight.sum())
        # From 1,000 on the degree stays: the map is smooth within 0.02 on the PIT's scale.
        degree = min(int(np.ceil(4.0 * total ** (2.0 / 3.0))), 1000)
        nodes = np.arange(degree + 1) / degree
        ends = (total * _quantiles(pit, weight, nodes) + nodes) / (total + 1.0)
        # Probabilities between which the map is straight, closer to one another near 0 and 1.
        levels = np.sin(np.linspace(0.0, 0.5 * np.pi, 1025)) ** 2
        levels[-1] = 1.0
        values = binom.pmf(np.arange(degree + 1), degree, levels[:, None]) @ ends
        values[[0, -1]] = 0.0, 1.0
        return cls(levels, values)

    def cdf(self, u: SameShape) -> SameShape:
        """``R(u)``; NaN where ``u`` is."""
        return np.asarray(np.interp(u, self.values, self.levels))

    def quantile(self, p: SameShape) -> SameShape:
        """The value at which ``R`` is ``p``."""
        return np.asarray(np.interp(p, self.levels, self.values))

    def density(self, u: SameShape) -> SameShape:
        """Slope of ``R``, to the right of each value."""
        slopes = np.diff(self.levels) / np.diff(self.values)
        place = np.searchsorted(self.values, u, side="right") - 1
        return np.asarray(np.where(np.isnan(u), np.nan, slopes[place.clip(0, len(slopes) - 1)]))


def _quantiles(
    pit: RowVector, weight: RowVector, nodes: Float[np.ndarray, " nodes"]
) -> Float[np.ndarray, " nodes"]:
    """Quantiles, straight between the points of ``i / (N + 1)``; a weight is that many rows."""
    order = np.argsort(pit, kind="stable")
    last = weight[order].cumsum()
    first = last - weight[order] + np.minimum(weight[order], 1.0)
    at = np.stack([first, last], axis=1).ravel() / (last[-1] + 1.0)
    values = np.repeat(pit[order], 2)
    return np.asarray(np.interp(nodes, np.r_[0.0, at, 1.0], np.r_[0.0, values, 1.0]))


@dataclass(frozen=True)
class Recalibrated(AbstractRowDistribution):
    """Distributions ``F`` of some rows after recalibration: ``R(F(y))``.

    They have densities, distribution functions and quantiles. Moments and draws are not available:
    they have no closed form after recalibration, and depend on the upper end of a heavy tail, on
    which PIT values have little information.

    Attributes
    ----------
    plain : AbstractRowDistribution
        Distributions before recalibration.
    map : Recalibration
        The same for every row: the result is calibrated on average over rows.
    """

    plain: AbstractRowDistribution
    map: Recalibration

    @property
    def weights(self) -> ExpertRows:  # type: ignore[override]
        """Weights of the components, which stay."""
        return self.plain.weights

    def log_density(self, y: RowVector) -> RowVector:
        """Log density of one value per row, ``log f(y) + log R'(F(y))``."""
        return np.asarray(self.plain.log_density(y) + np.log(self.map.density(self.plain.cdf(y))))

    def density_at(self, points: PointVector) -> PointRows:
        return np.asarray(
            self.plain.density_at(points) * self.map.density(self.plain.cdf_at(points))
        )

    def cdf(self, y: RowVector) -> RowVector:
        return self.map.cdf(self.plain.cdf(y))

    def cdf_at(self, points: PointVector) -> PointRows:
        return self.map.cdf(self.plain.cdf_at(points))

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Quantiles of every row, the quantiles of ``F`` at ``R^-1(q)``.

        Raises
        ------
        DataError
            If a probability is NaN or outside 0 to 1.
        """
        check_probabilities(q)
        return self.plain.quantile(self.map.quantile(q))

    def mean(self) -> RowVector:
        """Not available: raises a DataError."""
        raise not_recalibrated("mean")

    def sd(self) -> RowVector:
        """Not available: raises a DataError."""
        raise not_recalibrated("sd")

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        """Not available: raises a DataError."""
        raise not_recalibrated("draws")


RECALIBRATED_KINDS = ("quantile", "interval", "cdf", "density")
"""Kinds of prediction that there are of a recalibrated distribution."""


def not_recalibrated(kind: str) -> DataError:
    """Error for a kind of prediction that is not made of a recalibrated distribution."""
    return DataError(
        f"recalibrate= is not available for kind={kind!r}, only for "
        f"{', '.join(map(repr, RECALIBRATED_KINDS))}",
        hint="omit recalibrate, or predict the median: kind='quantile', q=0.5",
    )
