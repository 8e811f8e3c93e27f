"""Distributions of a response after a monotone transformation: per row, or per draw and row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.base import AbstractDrawnMixture, AbstractRowDistribution
from bayesvb.distributions.location_scale import AbstractLocationScaleMixture
from bayesvb.distributions.transformations import AbstractTransformation
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    ExpertValues,
    Floats,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
    SameShape,
)


@dataclass(frozen=True)
class Transformed(AbstractRowDistribution):
    """Distributions of ``g(y)`` for each row.

    Densities change by the Jacobian, quantiles and draws are transformed. Means are averages over
    the parameters that need not be finite: see ``results.back_transformation.moments``.

    Attributes
    ----------
    plain : AbstractRowDistribution
        Of ``y``.
    transformation : AbstractTransformation
        ``g``.

    Examples
    --------
    >>> from bayesvb.distributions.student_mixture import StudentMixture
    >>> from bayesvb.distributions.transformations import TRANSFORMATIONS
    >>> one = np.ones((1, 1))
    >>> z = Transformed(StudentMixture(one, 0.0 * one, one, np.ones(1)), TRANSFORMATIONS["exp"])
    >>> z.quantile(np.array([0.5]))
    array([[1.]])
    """

    plain: AbstractRowDistribution
    transformation: AbstractTransformation

    @property
    def weights(self) -> ExpertRows:  # type: ignore[override]
        """Weights of the components, which stay."""
        return self.plain.weights

    def log_density(self, y: RowVector) -> RowVector:
        """Log density of one value per row; minus infinity where ``g`` does not reach."""
        inside = self.transformation.inside(y)
        before = np.where(inside, self._before(y), 0.0)
        log_density = self.plain.log_density(before) - self.transformation.log_slope(before)
        return np.asarray(np.where(inside, log_density, -np.inf))

    def density_at(self, points: PointVector) -> PointRows:
        inside = self.transformation.inside(points)
        before = np.where(inside, self._before(points), 0.0)
        slope = np.exp(-self.transformation.log_slope(before))
        density = self.plain.density_at(before) * slope[:, None]
        return np.asarray(np.where(inside[:, None], density, 0.0))

    def cdf(self, y: RowVector) -> RowVector:
        return self.plain.cdf(self._before(y))

    def cdf_at(self, points: PointVector) -> PointRows:
        return self.plain.cdf_at(self._before(points))

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        return self.transformation.apply(self.plain.quantile(q))

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        return self.transformation.apply(self.plain.draws(n, rng))

    def mean(self) -> RowVector:
        """Not available: raises a DataError."""
        raise no_moments("mean")

    def sd(self) -> RowVector:
        """Not available: raises a DataError."""
        raise no_moments("sd")

    def _before(self, z: SameShape) -> SameShape:
        return self.transformation.undo(z)


def no_moments(kind: str) -> DataError:
    """Error for a moment that is not available for a transformed response."""
    return DataError(
        f"kind={kind!r} is not available for this transformed response",
        hint="predict quantiles, which are transformed exactly: kind='quantile', q=0.5 for the "
        "median",
    )


@dataclass(frozen=True)
class TransformedMixture(AbstractDrawnMixture):
    """Distributions of ``g(y)`` for every draw and row.

    Attributes
    ----------
    plain : AbstractLocationScaleMixture
        Of ``y``.
    transformation : AbstractTransformation
        ``g``.
    """

    plain: AbstractLocationScaleMixture
    transformation: AbstractTransformation

    @property
    def weights(self) -> ExpertValues:  # type: ignore[override]
        """Weights of the components, which stay."""
        return self.plain.weights

    def mean(self) -> Floats:
        """Means; a DataError if they are infinite."""
        return self.transformation.moments(self.plain)[0]

    def sd(self) -> Floats:
        """Standard deviations; a DataError if they are infinite."""
        return self.transformation.moments(self.plain)[1]

    def above(self, value: float) -> Floats:
        return self.plain.above(self._before(value))

    def below(self, value: float | RowVector) -> Floats:
        if isinstance(value, np.ndarray):
            return self.plain.below(self.transformation.undo(value))
        return self.plain.below(self._before(value))

    def density(self, value: float) -> Floats:
        """Densities at a value, per unit of the transformed response."""
        if not self.transformation.inside(np.array(value)):
            return np.zeros(self.weights.shape[1:])
        before = self._before(value)
        slope = float(np.exp(-self.transformation.log_slope(np.array(before))))
        return np.asarray(self.plain.density(before) * slope)

    def quantile(self, q: float) -> Floats:
        return self.transformation.apply(self.plain.quantile(q))

    def _before(self, value: float) -> float:
        return float(self.transformation.undo(np.array(value)))
