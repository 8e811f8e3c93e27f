"""Changes of the centre of a posterior, as changes of parameters and predictions by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.data.parts import MEAN
from bayesvb.numerics.arrays import PointVector
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.named_draws import ModelDraws, NamedDraws
from bayesvb.results.summary import in_reading_order, labels
from bayesvb.sensitivity.jackknife import CURVED, Jackknife
from bayesvb.variational.local import Draws

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

Points = Float[np.ndarray, "points coordinates"]

POINTS_AT_ONCE = 256
"""Points whose parameters are in memory together, the centre among them."""

SPREAD_DRAWS = 200
"""Draws of which ratios of standard deviations are taken; common to both, they hardly vary."""

STEP = 1e-3
"""Step of differences, in standard deviations of the posterior."""


@dataclass(frozen=True)
class NamedChanges:
    """Parameters in tables, and conditional means, at points near the centre of a posterior.

    Attributes
    ----------
    fit : AbstractFit
        Of one restart.
    jackknife : Jackknife
        Of the same, whose linear-response covariance is the unit of changes.
    """

    fit: AbstractFit
    jackknife: Jackknife

    @cached_property
    def _named(self) -> NamedDraws:
        """Names and values at the centre."""
        return self._at(np.zeros((1, self.jackknife.size)))

    @cached_property
    def index(self) -> pd.MultiIndex:
        """Part, component and term of every parameter."""
        parts = self._shown(self._named)
        each = [labels(self._named, name, part) for name, part in parts.items()]
        return in_reading_order(each[0].append(each[1:]) if len(each) > 1 else each[0])

    @cached_property
    def signed(self) -> Bool[np.ndarray, " parameters"]:
        """Whether each parameter is a coefficient, whose sign is of interest."""
        named = self._named
        return np.concatenate(
            [
                np.full(named.values[name][0].size, name in named.signed)
                for name in self._shown(named)
            ]
        )

    @cached_property
    def covariance(self) -> Float[np.ndarray, "parameters parameters"]:
        """Linear-response covariance of the parameters, to first order."""
        slopes = self._parameter_slopes
        return np.asarray(slopes.T @ self.jackknife.covariance @ slopes)

    @cached_property
    def sd(self) -> Float[np.ndarray, " parameters"]:
        """Standard deviations of the parameters."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    @cached_property
    def sd_of_means(self) -> Float[np.ndarray, " means"]:
        """Standard deviations of the conditional means."""
        slopes = self._mean_slopes
        variances = np.einsum("im,ij,jm->m", slopes, self.jackknife.covariance, slopes)
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))

    def parameters(self, points: Points) -> Float[np.ndarray, "points parameters"]:
        """Changes of the parameters from the centre to each point.

        With very many points the ``CURVED`` farthest are exact, others linear.
        """
        if len(points) <= CURVED:
            return self._changes(points, self._parameters)
        return self._of_many(points, self._parameters, self._parameter_slopes)

    def means(self, points: Points) -> Float[np.ndarray, "points means"]:
        """Changes of the conditional means of thinned rows, all responses; none without such."""
        if len(points) <= CURVED:
            return self._changes(points, self._means)
        return self._of_many(points, self._means, self._mean_slopes)

    def spread(self, posterior: object) -> Float[np.ndarray, " parameters"]:
        """Standard deviations of the parameters under a posterior, from the same random numbers.

        Of the factorised posterior itself: ratios of two of them are of use.
        """
        model = self.jackknife.deletion.model
        draws = model.draws(posterior, SPREAD_DRAWS, np.random.default_rng(0))
        named = self.fit.model.named_draws(ModelDraws(self.fit.core, draws))
        each = [named.values[name].reshape(SPREAD_DRAWS, -1) for name in self._shown(named)]
        return np.asarray(np.concatenate(each, axis=1).std(axis=0))

    def in_sds(
        self, changes: Float[np.ndarray, "points values"], sd: Float[np.ndarray, " values"]
    ) -> Float[np.ndarray, "points values"]:
        """Changes in units of standard deviations; zero if the standard deviation is zero."""
        return np.asarray(np.where(sd > 0.0, changes / np.where(sd > 0.0, sd, 1.0), 0.0))

    def distances(self, changes: Float[np.ndarray, "points parameters"]) -> PointVector:
        """Cook's distances: squared changes of all coefficients together, by their covariance."""
        chosen = self.signed if self.signed.any() else np.ones_like(self.signed)
        sd = np.where(self.sd[chosen] > 0.0, self.sd[chosen], 1.0)
        correlation = self.covariance[np.ix_(chosen, chosen)] / np.outer(sd, sd)
        values, axes = np.linalg.eigh(correlation)
        # Smallest variance of a combination of parameters, relative to the largest, that counts.
        kept = values > 1e-10 * values[-1]
        along = (changes[:, chosen] / sd) @ axes[:, kept] / np.sqrt(values[kept])
        return np.asarray((along**2).mean(axis=1))

    def _at(self, points: Points) -> NamedDraws:
        return self.fit.model.named_draws(ModelDraws(self.fit.core, self._draws(points)))

    def _draws(self, points: Points) -> Draws:
        return self.jackknife.draws(points)

    def _shown(self, named: NamedDraws) -> dict[str, str]:
        """Parameters of tables that have an interval, and effects of groups without columns."""
        effects = sorted(named.signed - named.parts.keys())
        parts = {**named.parts, **dict.fromkeys(effects, MEAN)}
        return {name: part for name, part in parts.items() if name not in named.single}

    def _parameters(self, points: Points) -> Float[np.ndarray, "points parameters"]:
        named = self._at(points)
        flat = [named.values[name].reshape(len(points), -1) for name in self._shown(named)]
        return np.concatenate(flat, axis=1)

    def _means(self, points: Points) -> Float[np.ndarray, "points means"]:
        model = self.fit.model
        if not isinstance(model, HasDrawnDistributions):
            return np.empty((len(points), 0))
        # Rows at which changes of predictions are looked for.
        block = model.source.thinned(200).ungrouped()
        given = ModelDraws(self.fit.core, self._draws(points))
        each = [model.drawn_mixture(given, block, i).mean() for i in range(len(block.response))]
        return np.concatenate(each, axis=1)

    @cached_property
    def _parameter_slopes(self) -> Float[np.ndarray, "coordinates parameters"]:
        return self._slopes(self._parameters)

    @cached_property
    def _mean_slopes(self) -> Float[np.ndarray, "coordinates means"]:
        return self._slopes(self._means)

    def _of_many(
        self,
        points: Points,
        function: Callable[[Points], Float[np.ndarray, "points values"]],
        slopes: Float[np.ndarray, "coordinates values"],
    ) -> Float[np.ndarray, "points values"]:
        """Differences from the centre: linear, except for the farthest points."""
        changes = points @ slopes
        far = np.argsort(-(points**2).sum(axis=1), kind="stable")[:CURVED]
        changes[far] = self._changes(points[far], function)
        return np.asarray(changes)

    def _changes(
        self, points: Points, function: Callable[[Points], Float[np.ndarray, "points values"]]
    ) -> Float[np.ndarray, "points values"]:
        """Differences to the centre, which goes with each batch: shares depend on its size."""
        changes = []
        for start in range(0, len(points), POINTS_AT_ONCE - 1):
            part = points[start : start + POINTS_AT_ONCE - 1]
            padded = np.zeros((POINTS_AT_ONCE, points.shape[1]))
            padded[1 : len(part) + 1] = part
            values = function(padded)
            changes.append(values[1 : len(part) + 1] - values[0])
        return np.concatenate(changes)

    def _slopes(
        self, function: Callable[[Points], Float[np.ndarray, "points values"]]
    ) -> Float[np.ndarray, "coordinates values"]:
        """Derivatives in the coordinates at the centre."""
        steps = STEP * np.eye(self.jackknife.size)
        ahead, behind = np.split(self._changes(np.concatenate([steps, -steps]), function), 2)
        return np.asarray((ahead - behind) / (2.0 * STEP))
