"""Sums of rows that make posteriors of linear, Gaussian logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.normal import Normal
from bayesvb.numerics.linalg import (
    outer_by_row,
    packed_diagonal,
    second_moments,
    times,
    unpack,
    with_diagonal,
)


@dataclass(frozen=True)
class LogitStats(SufficientStats):
    """What rows add to the natural parameters of a gate with linear, Gaussian logits.

    Attributes
    ----------
    curvature : ndarray, shape (logits, pairs)
        Sum of ``w x x'``, packed: what the rows add to each posterior precision.
    linear : ndarray, shape (logits, terms)
        What the rows add to each precision times mean.
    """

    curvature: Float[np.ndarray, "*many logits pairs"]
    linear: Float[np.ndarray, "*many logits terms"]

    @classmethod
    def of_rows(
        cls,
        design: Float[np.ndarray, "terms rows"],
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitStats:
        """Sums from the per-row weights of ``x x'`` and of ``x``."""
        return cls(second_moments(curvature, design), linear @ design.T)

    @classmethod
    def by_row(
        cls,
        features: Float[np.ndarray, "pairs rows"],
        design: Float[np.ndarray, "terms rows"],
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitStats:
        """What each row adds."""
        return cls(outer_by_row(curvature, features), outer_by_row(linear, design))

    def with_squares(self, more: Float[np.ndarray, "many terms"]) -> LogitStats:
        """Sums with these added to the squares of the terms of every logit."""
        return replace(self, curvature=with_diagonal(self.curvature, more[..., None, :]))

    @property
    def squares(self) -> Float[np.ndarray, "*many terms"]:
        """Squares of the terms, summed over logits."""
        diagonal = packed_diagonal(self.linear.shape[-1])
        return np.asarray(self.curvature[..., diagonal].sum(axis=-2))

    def permuted(self, order: Sequence[int]) -> LogitStats:
        """Statistics of the logits in another order."""
        index = np.asarray(order)
        return LogitStats(self.curvature[index], self.linear[index])

    def posterior(self, prior: Normal) -> Normal:
        """Posterior of the coefficients."""
        return gaussian_logits(prior, self)


def gaussian_logits(prior: Normal, stats: LogitStats) -> Normal:
    """Gaussian posterior of logit coefficients: prior plus what the rows add.

    Raises
    ------
    numpy.linalg.LinAlgError
        A precision is not positive definite.
    """
    linear = times(prior.precision, prior.mean) + stats.linear
    precision = unpack(stats.curvature)
    precision += prior.precision
    return Normal.from_natural(linear, precision)
