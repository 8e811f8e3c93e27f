"""Mixtures of distributions of counts with structural zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.count_laws import ZeroInflatedLaw
from bayesvb.distributions.count_mixture import AbstractCountMixture

__all__ = ["ZeroInflatedMixture"]


@dataclass(frozen=True)
class ZeroInflatedMixture(AbstractCountMixture):
    """Predictive distribution ``sum_k w_k {pi_k 1[y = 0] + (1 - pi_k) E p(y | u_k)}``.

    Attributes
    ----------
    counts : AbstractCountMixture
        Counts that are no structural zeros.
    zero : ndarray, shape (experts, rows)
        Expected probability of a structural zero, which is independent of the counts.
    """

    counts: AbstractCountMixture
    zero: Float[np.ndarray, "experts rows"]

    @property
    def weights(self) -> Float[np.ndarray, "experts rows"]:  # type: ignore[override]
        """Probability of each component."""
        return self.counts.weights

    @property
    def predictor(self) -> Float[np.ndarray, "experts rows"]:  # type: ignore[override]
        """Posterior mean of the linear predictor."""
        return self.counts.predictor

    @property
    def variance(self) -> Float[np.ndarray, "experts rows"]:  # type: ignore[override]
        """Posterior variance of the linear predictor."""
        return self.counts.variance

    @property
    def further_nodes(self) -> list[tuple[float, float]]:  # type: ignore[override]
        """Standard values of the further parameter of the counts, each with its weight."""
        return self.counts.further_nodes

    def law(
        self,
        predictor: Float[np.ndarray, "..."],
        further: float | Float[np.ndarray, "..."],
        at: tuple[Any, ...] = (),
    ) -> ZeroInflatedLaw:
        """Distributions of the counts with structural zeros."""
        return ZeroInflatedLaw(self.counts.law(predictor, further, at), self.zero[at])

    def mean(self) -> Float[np.ndarray, " rows"]:
        """Mean of the counts by the probability that they are no structural zeros."""
        return replace_weights(self.counts, self.weights * (1.0 - self.zero)).mean()

    def joined(self, others: Sequence[Any]) -> ZeroInflatedMixture:
        """Return the components at these rows, then at the rows of the others."""
        zero = np.concatenate([self.zero, *(one.zero for one in others)], axis=1)
        return ZeroInflatedMixture(self.counts.joined([one.counts for one in others]), zero)

    def stacked(
        self, others: Sequence[Any], weights: Float[np.ndarray, " members"]
    ) -> ZeroInflatedMixture:
        """Mixture of these distributions: components of this one, then of the others."""
        zero = np.concatenate([self.zero, *(one.zero for one in others)], axis=0)
        counts = self.counts.stacked([one.counts for one in others], weights)
        return ZeroInflatedMixture(counts, zero)

    def by_label(self, n_components: int) -> ZeroInflatedMixture:
        """Return the weights of stacked components by label; the parameters of the first ones."""
        return ZeroInflatedMixture(self.counts.by_label(n_components), self.zero[:n_components])


def replace_weights(
    mixture: AbstractCountMixture, weights: Float[np.ndarray, "experts rows"]
) -> AbstractCountMixture:
    """Return the mixture with other weights."""
    any_mixture: Any = mixture
    changed: AbstractCountMixture = replace(any_mixture, weights=weights)
    return changed
