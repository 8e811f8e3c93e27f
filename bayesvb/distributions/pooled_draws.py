"""Predictive distribution of one response from draws of the parameters: their mixture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from bayesvb.distributions.base import (
    AbstractComponentMixture,
    AbstractDrawnMixture,
    check_probabilities,
)
from bayesvb.distributions.location_scale import AbstractLocationScaleMixture
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
)
from bayesvb.numerics.records import changed, values_of


@dataclass(frozen=True)
class PooledDraws(AbstractComponentMixture):
    r"""Average over draws of the distribution of a row under each draw's mixture.

    .. math:: p(y) = \frac1S \sum_s \sum_k w_{sk}\, p(y \mid \mu_{sk}, \sigma_{sk})

    Attributes
    ----------
    mixture : AbstractLocationScaleMixture
        Arrays of shape (draws x experts, rows): the components of the first draw, then of the next;
        weights sum to one over all of them.

    Examples
    --------
    >>> from bayesvb.distributions.normal_mixture import NormalMixture
    >>> one = np.ones((1, 2, 1))  # one component, two draws, one row
    >>> y = PooledDraws.of(NormalMixture(one, np.array([[[-1.0], [1.0]]]), one))
    >>> y.mean(), y.sd().round(3), y.cdf(np.zeros(1))
    (array([0.]), array([1.414]), array([0.5]))
    """

    mixture: AbstractLocationScaleMixture

    @classmethod
    def of(cls, drawn: AbstractDrawnMixture) -> PooledDraws:
        """Average of mixtures whose arrays have axes (experts, draws, rows).

        Raises
        ------
        DataError
            If the components are not a location-scale family.
        """
        if not isinstance(drawn, AbstractLocationScaleMixture):
            raise DataError(
                f"predictions cannot be averaged over draws of a {type(drawn).__name__}",
                hint="method='cavi' predicts in closed form",
            )
        n_draws = drawn.weights.shape[1]

        def flat(values: np.ndarray) -> np.ndarray:
            return np.moveaxis(values, 1, 0).reshape(-1, values.shape[-1])

        pooled = drawn.with_each(flat)
        return cls(changed(pooled, weights=pooled.weights / n_draws))

    @property
    def weights(self) -> ExpertRows:  # type: ignore[override]
        """Probability of each component of each draw."""
        return np.asarray(self.mixture.weights)

    def mean(self) -> RowVector:
        return self.mixture.mean()

    def sd(self) -> RowVector:
        return self.mixture.sd()

    def component_log_density(self, y: RowVector) -> ExpertRows:
        z = (y - self.mixture.location) / self.mixture.scale
        log_scale: ExpertRows = np.log(self.mixture.scale)
        return np.asarray(self.mixture.standard_log_density(z) - log_scale)

    def log_density(self, y: RowVector) -> RowVector:
        return np.asarray(logsumexp(self.component_log_density(y), b=self.weights, axis=0))

    def density_at(self, points: PointVector) -> PointRows:
        return self._at(points, self.mixture.density)

    def cdf(self, y: RowVector) -> RowVector:
        return np.asarray(np.minimum(self.mixture.below(y), 1.0))

    def cdf_at(self, points: PointVector) -> PointRows:
        return np.asarray(np.minimum(self._at(points, self.mixture.below), 1.0))

    def _at(self, points: PointVector, function: Callable[[float], np.ndarray]) -> PointRows:
        values = [function(float(point)) for point in points]
        return np.array(values).reshape(len(points), self.weights.shape[1])

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Quantiles of every row; minus and plus infinity for probabilities 0 and 1.

        Raises
        ------
        DataError
            If a probability is NaN or outside 0 to 1.
        """
        check_probabilities(q)
        ends = {0.0: -np.inf, 1.0: np.inf}
        n_rows = self.weights.shape[1]
        quantiles = [
            np.full(n_rows, ends[p]) if p in ends else self.mixture.quantile(p) for p in q.tolist()
        ]
        return np.array(quantiles).reshape(len(q), n_rows)

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        """Independent draws of every row: of a component of a draw, then of its noise."""
        chosen = _chosen(self.weights, n, rng)
        rows = np.arange(self.weights.shape[1])
        one = self.mixture.with_each(lambda values: values[chosen, rows][None])
        return np.asarray(one.location[0] + one.scale[0] * one.standard_draws(rng)[0])

    def affine(self, shift: float | RowVector, factor: float) -> PooledDraws:
        mixture = self.mixture
        moved = changed(
            mixture,
            location=shift + factor * mixture.location,
            scale=abs(factor) * mixture.scale,
        )
        return PooledDraws(moved)

    def joined(self, others: Sequence[PooledDraws]) -> PooledDraws:
        return self._concatenated(others, axis=1)

    def stacked(
        self, others: Sequence[PooledDraws], weights: Float[np.ndarray, " members"]
    ) -> PooledDraws:
        each = [
            PooledDraws(changed(one.mixture, weights=weight * one.weights))
            for weight, one in zip(weights, (self, *others), strict=True)
        ]
        return each[0]._concatenated(each[1:], axis=0)

    def by_label(self, n_components: int) -> PooledDraws:
        n_rows = self.weights.shape[1]
        weights = self.weights.reshape(-1, n_components, n_rows).sum(axis=0)
        first = self.mixture.with_each(lambda values: values[:n_components])
        return PooledDraws(changed(first, weights=weights))

    def _concatenated(self, others: Sequence[PooledDraws], *, axis: int) -> PooledDraws:
        whole = {
            name: np.concatenate(
                [getattr(part.mixture, name) for part in (self, *others)], axis=axis
            )
            for name in values_of(self.mixture)
        }
        return PooledDraws(changed(self.mixture, **whole))


def _chosen(weights: ExpertRows, n: int, rng: np.random.Generator) -> Int[np.ndarray, "draws rows"]:
    """Components drawn by their weights, independently for every row."""
    edges = np.cumsum(weights, axis=0)
    uniform = rng.random((weights.shape[1], n)) * edges[-1][:, None]
    indices = [np.searchsorted(*pair, side="right") for pair in zip(edges.T, uniform, strict=True)]
    return np.array(indices, dtype=np.intp).reshape(uniform.shape).T
