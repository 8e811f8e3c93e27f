"""Averages of the distributions of several rows: predictions for a row drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.distributions.base import AbstractRowDistribution, check_probabilities
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
)
from bayesvb.numerics.root_finding import crossings


@dataclass(frozen=True)
class RowAverages(AbstractRowDistribution):
    r"""Mixtures of the distributions of each ``n`` rows that follow one another.

    .. math:: p_j(y) = \sum_{i=1}^n s_i \, p_{jn+i}(y)

    Attributes
    ----------
    each : AbstractRowDistribution
        Of all rows, the rows of the first average first.
    n : int
        Rows of one average.
    shares : array, shape (n,), optional
        Of each row in its average, alike in all of them; equal ones by default.

    Examples
    --------
    >>> from bayesvb.distributions.student_mixture import StudentMixture
    >>> one = np.ones((1, 2))
    >>> y = RowAverages(StudentMixture(one, np.array([[-1.0, 1.0]]), one, np.array([4.0])), 2)
    >>> y.mean(), y.sd().round(3), y.cdf(np.zeros(1)).round(6)
    (array([0.]), array([1.732]), array([0.5]))
    """

    each: AbstractRowDistribution
    n: int
    shares: Float[np.ndarray, " n"] | None = None

    @property
    def weights(self) -> ExpertRows:  # type: ignore[override]
        """Probability of each component, averaged."""
        return self._averaged(self.each.weights)

    def mean(self) -> RowVector:
        return self._averaged(self.each.mean())

    def sd(self) -> RowVector:
        """Standard deviation of each average, by the law of total variance."""
        mean = self.each.mean()
        between = self._averaged((mean - np.repeat(self._averaged(mean), self.n)) ** 2)
        return np.asarray(np.sqrt(self._averaged(self.each.sd() ** 2) + between))

    def log_density(self, y: RowVector) -> RowVector:
        log_density = self.each.log_density(np.repeat(y, self.n)).reshape(-1, self.n)
        return np.asarray(logsumexp(log_density, axis=1, b=equal_or(self.shares, self.n)))

    def density_at(self, points: PointVector) -> PointRows:
        return self._averaged(self.each.density_at(points))

    def cdf(self, y: RowVector) -> RowVector:
        return self._averaged(self.each.cdf(np.repeat(y, self.n)))

    def cdf_at(self, points: PointVector) -> PointRows:
        return self._averaged(self.each.cdf_at(points))

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Quantiles of every average, which lie between the quantiles of its rows.

        Raises
        ------
        DataError
            If a probability is NaN or outside 0 to 1.
        """
        check_probabilities(q)
        if isinstance(self.each, StudentMixture):
            return _joint(self.each, self.n, self.shares).quantile(q)
        rows = self.each.quantile(q).reshape(len(q), -1, self.n)
        quantiles = [
            self._between(float(p), one.min(axis=1), one.max(axis=1))
            for p, one in zip(q, rows, strict=True)
        ]
        return np.array(quantiles).reshape(len(q), rows.shape[1])

    def _between(self, prob: float, low: RowVector, high: RowVector) -> RowVector:
        """The point of each interval at which the distribution function has this value."""
        if prob in (0.0, 1.0):  # the ends of the rows' own ranges, infinite ones too
            return low if prob == 0.0 else high
        return crossings(lambda y: self.cdf(y) - prob, low, high)

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        """Independent draws: of a row of each average, then of its distribution."""
        draws = self.each.draws(n, rng)
        draws = draws.reshape(n, -1, self.n)
        chosen = rng.choice(self.n, size=(n, draws.shape[1], 1), p=self.shares)
        return np.asarray(np.take_along_axis(draws, chosen, axis=2)[:, :, 0])

    def _averaged(self, values: np.ndarray) -> np.ndarray:
        """Means over the rows of each average, which are the last axis."""
        return averaged_rows(values, self.n, self.shares)


def equal_or(shares: Float[np.ndarray, " n"] | None, n: int) -> Float[np.ndarray, " n"]:
    """Shares of rows in an average, equal ones if there are none."""
    return np.full(n, 1.0 / n) if shares is None else shares


def averages_of(
    each: AbstractRowDistribution, n: int, shares: Float[np.ndarray, " n"] | None = None
) -> AbstractRowDistribution:
    """The average of each ``n`` rows, those themselves if it is of one."""
    return each if n == 1 else RowAverages(each, n, shares)


def averaged_rows(
    values: np.ndarray, n: int, shares: Float[np.ndarray, " n"] | None = None, axis: int = -1
) -> np.ndarray:
    """Means over each ``n`` entries of an axis that follow one another.

    Examples
    --------
    >>> averaged_rows(np.array([1.0, 3.0, 5.0, 9.0]), 2).tolist()
    [2.0, 7.0]
    >>> averaged_rows(np.array([1.0, 3.0, 5.0, 9.0]), 2, np.array([0.25, 0.75])).tolist()
    [2.5, 8.0]
    """
    moved = np.moveaxis(values, axis, -1)
    split = moved.reshape(*moved.shape[:-1], -1, n)
    averages: np.ndarray = split.mean(axis=-1) if shares is None else split @ shares
    return np.moveaxis(averages, -1, axis)


def _joint(each: StudentMixture, n: int, shares: Float[np.ndarray, " n"] | None) -> StudentMixture:
    """Mixtures of the components of each ``n`` rows that follow one another."""
    share = np.repeat(equal_or(shares, n), len(each.weights))[:, None]
    return StudentMixture(
        weights=_as_components(each.weights, n) * share,
        location=_as_components(each.location, n),
        scale=_as_components(each.scale, n),
        dof=np.tile(each.dof, n) if each.dof.ndim == 1 else _as_components(each.dof, n),
    )


def _as_components(values: np.ndarray, n: int) -> np.ndarray:
    """Values by component and row, with each ``n`` rows on the axis of the components."""
    split = np.moveaxis(values.reshape(*values.shape[:-1], -1, n), -1, 0)
    return np.asarray(split.reshape(n * len(values), *split.shape[2:]))
