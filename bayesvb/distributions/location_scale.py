"""Mixtures of components that differ in place and width, one for each draw and each row."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int

from bayesvb.distributions.base import AbstractDrawnMixture
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import ExpertValues, Floats, PointVector, RowVector
from bayesvb.numerics.pieces import AT_ONCE, pieces
from bayesvb.numerics.records import changed, values_of
from bayesvb.numerics.root_finding import invert_log_cdf

# Not `Self`: beartype refuses it in methods that are checked one by one, as jaxtyping does.
Mixture = TypeVar("Mixture", bound="AbstractLocationScaleMixture")


class AbstractLocationScaleMixture(AbstractDrawnMixture):
    """Mixtures of ``location + scale * z`` with ``z`` symmetric around zero.

    Subclasses are frozen dataclasses whose fields are arrays with components on the first axis and
    the axes of the mixtures after it; they define the standard distribution of ``z``.
    """

    location: ExpertValues
    scale: ExpertValues

    @abc.abstractmethod
    def component_variance(self) -> ExpertValues:
        """Variance of each component."""

    @abc.abstractmethod
    def standard_cdf(self, z: ExpertValues) -> ExpertValues:
        """Distribution function of the standard distribution."""

    @abc.abstractmethod
    def standard_log_density(self, z: ExpertValues) -> ExpertValues:
        """Log density of the standard distribution."""

    def standard_density(self, z: ExpertValues) -> ExpertValues:
        """Density of the standard distribution."""
        return np.asarray(np.exp(self.standard_log_density(z)))

    @abc.abstractmethod
    def standard_draws(self, rng: np.random.Generator) -> ExpertValues:
        """One independent draw of the standard distribution per component."""

    @abc.abstractmethod
    def standard_quantile(self, q: float) -> Floats:
        """Quantile of the standard distribution; broadcasts over the components."""

    @abc.abstractmethod
    def standard_log_mgf(self, t: ExpertValues) -> Floats:
        """Log moment generating function of the standard distribution, ``log E exp(t z)``."""

    def mean(self) -> Floats:
        """Means, the sum of ``w mu``; centres of symmetry where the mean is infinite."""
        return _weighted_sum(self.weights, self.location)

    def sd(self) -> Floats:
        """Standard deviations by the law of total variance."""
        spread = self.component_variance() + (self.location - self.mean()) ** 2
        with np.errstate(invalid="ignore"):  # nothing times infinity counts as nothing
            parts = np.where(self.weights > 0.0, self.weights * spread, 0.0)
        return np.asarray(np.sqrt(parts.sum(axis=0)))

    def above(self, value: float) -> Floats:
        return self._tail((self.location - value) / self.scale)

    def below(self, value: float | RowVector) -> Floats:
        return self._tail((value - self.location) / self.scale)

    def _tail(self, z: ExpertValues) -> Floats:
        return np.asarray(np.minimum(_weighted_sum(self.weights, self.standard_cdf(z)), 1.0))

    def density(self, value: float) -> Floats:
        z = (value - self.location) / self.scale
        return _weighted_sum(self.weights, self.standard_density(z) / self.scale)

    def quantile(self, q: float) -> Floats:
        """Quantiles, to 1e-8 of the narrowest scale.

        Raises
        ------
        DataError
            If ``q`` is not between 0 and 1.
        """
        if not 0.0 < q < 1.0:
            raise DataError(f"q={q:g} is not between 0 and 1", hint="write 0.05 for 5%")
        shape = self.weights.shape[1:]
        flat = self.with_each(lambda array: array.reshape(len(array), -1))
        quantiles = [np.empty(0)]
        for points in pieces(flat.weights.shape[1], len(flat.weights), AT_ONCE):
            quantiles.append(_quantiles(flat.at(points), q))
        return np.concatenate(quantiles).reshape(shape)

    def at(self: Mixture, points: slice | Int[np.ndarray, " some"]) -> Mixture:
        """The mixtures at some places of the last axis."""
        return self.with_each(lambda array: array[..., points])

    def with_each(self: Mixture, change: Callable[[np.ndarray], np.ndarray]) -> Mixture:
        """Every field changed in the same way."""
        arrays = {name: change(np.asarray(value)) for name, value in values_of(self).items()}
        return changed(self, **arrays)


def _weighted_sum(weights: ExpertValues, values: ExpertValues) -> Floats:
    """Return ``sum_k w_k v_k``, without the array of the products: half the time of many draws."""
    return np.asarray(np.einsum("k...,k...->...", weights, values))


def _quantiles(mixture: AbstractLocationScaleMixture, q: float) -> PointVector:
    """Quantiles of every point; in the upper half as lower tails of the mirror image."""
    weights = mixture.weights
    side = -1.0 if q > 0.5 else 1.0
    tail = 1.0 - q if q > 0.5 else q
    centre, unit = (weights * mixture.location).sum(axis=0), (weights * mixture.scale).sum(axis=0)
    location, scale = side * (mixture.location - centre) / unit, mixture.scale / unit

    def log_cdf(
        x: Float[np.ndarray, " some"], which: Int[np.ndarray, " some"]
    ) -> tuple[Float[np.ndarray, " some"], Float[np.ndarray, " some"]]:
        some, width = mixture.at(which), scale[:, which]
        z = (x - location[:, which]) / width
        below = (some.weights * some.standard_cdf(z)).sum(axis=0)
        density = (some.weights / width * some.standard_density(z)).sum(axis=0)
        return np.log(below), density / below

    ends = location + scale * mixture.standard_quantile(tail)
    used = weights > 0.0
    # Relative widening of the bracket of a quantile, beyond the rounding of its ends.
    slack = 1e-9 * (1.0 + np.abs(ends))
    lower = np.where(used, ends - slack, np.inf).min(axis=0)
    upper = np.where(used, ends + slack, -np.inf).max(axis=0)
    start = np.clip((weights * ends).sum(axis=0), lower, upper)
    width = np.where(used, scale, np.inf).min(axis=0)
    target = np.full(len(start), np.log(tail))
    root = invert_log_cdf(log_cdf, target, bracket=(lower, upper), start=start, width=width)
    return np.asarray(centre + side * unit * root)
