"""Derivatives of softmax bounds in coefficients of all rows and effects of groups, and steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.bordered_normal import BorderedNormal
from bayesvb.gates.logits_by_group import GroupedLogitStats, curvature_of
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

    def damped(self, prior: BorderedNormal, posterior: BorderedNormal) -> GroupedLogitStats:
        """As of ``SlopeStats``."""
        scale = prior.effect_precision[..., None]
        known = times(prior.border.precision, posterior.mean), scale * posterior.effects
        left = replace(self.steep, linear=self.steep.linear - known[0], zl=self.steep.zl - known[1])
        step = left.posterior(prior)
        offset = posterior.mean + step.mean - prior.mean
        offset -= offset.mean(axis=0)
        effects = posterior.effects + step.effects
        effects = effects - effects.mean(axis=0)
        held = curvature_of(posterior, prior)
        share = 2.0 / (2.0 + self.gain)
        curvature = {
            name: _mixed(share, getattr(self.curved, name), getattr(held, name))
            for name in ("curvature", "zz", "zx")
        }
        found = replace(self.curved, **curvature)
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
