"""Sums of rows that make posteriors of linear, Gaussian logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.linalg import packed_diagonal, with_diagonal


@dataclass(frozen=True)
class LogitStats(SufficientStats):
    """What rows add to the natural parameters of a gate with linear, Gaussian logits.

    Attributes
    ----------
    curvature : ndarray, shape (logits, packed)
        Sum of ``w x x'``, packed as the design packs it: what rows add to each precision.
    linear : ndarray, shape (logits, terms)
        What the rows add to each precision times mean.
    """

    curvature: Float[np.ndarray, "*many logits packed"]
    linear: Float[np.ndarray, "*many logits terms"]

    @classmethod
    def of_rows(
        cls,
        design: AbstractDesign,
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitStats:
        """Sums from the per-row weights of ``x x'`` and of ``x``."""
        return cls(design.gram(curvature), design.cross(linear))

    @classmethod
    def by_row(
        cls,
        design: AbstractDesign,
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitStats:
        """Return what each row adds."""
        return cls(design.gram_by_row(curvature), design.cross_by_row(linear))

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
        """Posterior of the coefficients: prior plus what the rows add."""
        return prior.plus(self.curvature, self.linear)
