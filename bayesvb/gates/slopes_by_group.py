"""Derivatives of softmax bounds in coefficients of all rows and effects of groups, and steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.bordered_normal import BorderedNormal
from bayesvb.gates.logits_by_group import GroupedLogitStats, LogitRows, curvature_of
from bayesvb.numerics.linalg import times


@dataclass(frozen=True)
class GroupedSlopeStats(SufficientStats):
    """``SlopeStats`` whose sums with effects are by group.

    Attributes
    ----------
    steep : GroupedLogitStats
        Steepness, and the derivative in the means as what is linear.
    curved : GroupedLogitStats
        Curvature; zero in what is linear.
    gain : ndarray, shape (experts,)
    """

    steep: GroupedLogitStats
    curved: GroupedLogitStats
    gain: Float[np.ndarray, " experts"]

    @classmethod
    def of_rows(
        cls,
        rows: LogitRows,
        curvature: Float[np.ndarray, "experts rows"],
        slope: Float[np.ndarray, "experts rows"],
        gain: Float[np.ndarray, " experts"],
    ) -> GroupedSlopeStats:
        """Sums from slopes of rows and curvatures, twice which bound the steepness."""
        steep = GroupedLogitStats.of_rows(rows, 2.0 * curvature, slope)
        halved = {name: 0.5 * getattr(steep, name) for name in ("curvature", "zz", "zx")}
        zero = {name: np.zeros_like(getattr(steep, name)) for name in ("linear", "zl")}
        return cls(steep, replace(steep, **halved, **zero), gain)

    def damped(
        self,
        prior: BorderedNormal,
        posterior: BorderedNormal,
        before: GroupedLogitStats | None = None,
    ) -> GroupedLogitStats:
        """As of ``SlopeStats``; beside rows of which there are only the statistics they left.

        What all coefficients have in common stays in where something is known beforehand.
        """
        scale, steep = prior.effect_precision[..., None], self.steep
        held = curvature_of(posterior, prior)
        if before is not None:
            across, own = before.times(posterior.mean, posterior.effects)
            steep += replace(before, linear=before.linear - across, zl=before.zl - own)
            held += -1.0 * before
        known = times(prior.border.precision, posterior.mean), scale * posterior.effects
        left = replace(steep, linear=steep.linear - known[0], zl=steep.zl - known[1])
        step = left.posterior(prior)
        offset = posterior.mean + step.mean - prior.mean
        effects = posterior.effects + step.effects
        if before is None:
            offset, effects = offset - offset.mean(axis=0), effects - effects.mean(axis=0)
        share = 2.0 / (2.0 + self.gain)
        curvature = {
            name: _mixed(share, getattr(self.curved, name), getattr(held, name))
            for name in ("curvature", "zz", "zx")
        }
        found = replace(self.curved, **curvature)
        if before is not None:
            found += replace(before, linear=0.0 * before.linear, zl=0.0 * before.zl)
        linear, own = found.times(prior.mean + offset, effects)
        return replace(
            found, linear=linear + times(prior.border.precision, offset), zl=own + scale * effects
        )

    def full(self, posterior: BorderedNormal) -> GroupedLogitStats:
        """As of ``SlopeStats``."""
        linear, own = self.curved.times(posterior.mean, posterior.effects)
        return replace(self.curved, linear=self.steep.linear + linear, zl=self.steep.zl + own)


def _mixed(share: Float[np.ndarray, " experts"], new: Any, old: Any) -> Any:
    """The new values and the old ones, by shares of the first axis."""
    own = share.reshape(-1, *(1,) * (new.ndim - 1))
    return own * new + (1.0 - own) * old
