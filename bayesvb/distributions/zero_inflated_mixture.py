"""Mixtures of distributions of counts with structural zeros."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bayesvb.distributions.count_laws import ZeroInflatedLaw
from bayesvb.distributions.count_mixture import AbstractCountMixture
from bayesvb.numerics.arrays import ExpertRows, Floats, RowVector


@dataclass(frozen=True)
class ZeroInflatedMixture(AbstractCountMixture):
    """Predictive distribution ``sum_k w_k {pi_k 1[y = 0] + (1 - pi_k) E p(y | u_k)}``.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    counts : AbstractCountMixture
        Counts that are not structural zeros; its own weights are not used.
    zero : ndarray, shape (experts, rows)
        Expected probability of a structural zero, which is independent of the counts.
    """

    weights: ExpertRows
    counts: AbstractCountMixture
    zero: ExpertRows

    @property
    def predictor(self) -> ExpertRows:  # type: ignore[override]
        """Posterior mean of the linear predictor."""
        return self.counts.predictor

    @property
    def variance(self) -> ExpertRows:  # type: ignore[override]
        """Posterior variance of the linear predictor."""
        return self.counts.variance

    @property
    def further_nodes(self) -> list[tuple[float, float]]:  # type: ignore[override]
        """Standard values of the further parameter of the counts, each with its weight."""
        return self.counts.further_nodes

    def law(
        self, predictor: Floats, further: float | Floats, at: tuple[Any, ...] = ()
    ) -> ZeroInflatedLaw:
        """Distributions of the counts with structural zeros."""
        return ZeroInflatedLaw(self.counts.law(predictor, further, at), self.zero[at])

    def mean(self) -> RowVector:
        """Mean of the counts times the probability that they are not structural zeros."""
        counts: Any = self.counts
        mean: RowVector
        mean = replace(counts, weights=self.weights * (1.0 - self.zero)).mean()
        return mean
