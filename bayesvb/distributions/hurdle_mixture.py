"""Mixtures of positive distributions with a probability of exactly zero."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.distributions.base import (
    AbstractDrawnMixture,
    AbstractUnscaledMixture,
    check_probabilities,
)
from bayesvb.distributions.predictor_mixture import (
    AbstractDrawnPredictorMixture,
    AbstractPredictorMixture,
)
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    ExpertValues,
    Floats,
    ProbVector,
    RowVector,
)

HARMLESS = 1.0
"""Value that replaces zeros: no positive distribution overflows there; results are not read."""


def amounts_of(y: Floats) -> Floats:
    """Values, with another number for values that are not above 0."""
    return np.asarray(np.where(y > 0.0, y, HARMLESS))


@dataclass(frozen=True)
class HurdleMixture(AbstractUnscaledMixture):
    """Predictive distribution ``sum_k w_k {psi_k 1[y = 0] + (1 - psi_k) E p(y | u_k, phi_k)}``.

    Densities are with respect to the sum of the Lebesgue measure and of a unit mass at 0: at 0
    they are probabilities.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    amounts : AbstractPredictorMixture
        Of values above 0; its own weights are not read.
    zero : ndarray, shape (experts, rows)
        Expected probability of 0, which is independent of the amounts.
    """

    values = "amounts"

    weights: ExpertRows
    amounts: AbstractPredictorMixture
    zero: ExpertRows

    def has_mass(self, y: Floats) -> Bool[np.ndarray, "..."]:
        """Zeros."""
        return np.asarray(y == 0.0)

    def _above(self, factor: float | RowVector = 1.0) -> AbstractPredictorMixture:
        """Amounts by the probability that they are above 0, which need not add to one."""
        return replace(self.amounts, weights=self.weights * (1.0 - self.zero) * factor)

    def _at_zero(self) -> RowVector:
        """Probability of 0."""
        return np.asarray((self.weights * self.zero).sum(axis=0))

    def mean(self) -> RowVector:
        """Mean of each row, zeros included."""
        return self._above().mean()

    def sd(self) -> RowVector:
        """Standard deviation of each row, zeros included."""
        return self._above().sd()  # of moments whose weights need not add to one

    def component_log_density(self, y: RowVector) -> ExpertRows:
        """Log density of one value per row under each component; at 0 the log probability."""
        with np.errstate(divide="ignore"):
            at_zero, above = np.log(self.zero), np.log1p(-self.zero)
        positive = above + self.amounts.component_log_density(amounts_of(y))
        return np.where(y == 0.0, at_zero, np.where(y > 0.0, positive, -np.inf))

    def cdf(self, y: RowVector) -> RowVector:
        up_to = np.where(y > 0.0, self._above().cdf(amounts_of(y)), 0.0)
        return np.where(y >= 0.0, self._at_zero() + up_to, 0.0).clip(0.0, 1.0)

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Quantiles of every row: 0 up to its probability."""
        check_probabilities(q)
        at_zero = self._at_zero()
        above = self._above(1.0 / (1.0 - at_zero))
        quantiles = [quantile_above(above, float(one), at_zero, above.mean()) for one in q]
        return np.reshape(quantiles, (len(q), self.weights.shape[1]))

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        at_zero = self._at_zero()
        amounts = self._above(1.0 / (1.0 - at_zero)).draws(n, rng)
        return np.where(rng.random(amounts.shape) < at_zero, 0.0, amounts)


@dataclass(frozen=True)
class DrawnHurdleMixture(AbstractDrawnMixture):
    """Mixtures of positive distributions with zeros for every draw and row.

    Attributes
    ----------
    weights : ndarray, shape (experts, draws, rows)
    amounts : AbstractDrawnPredictorMixture
        Of values above 0; its own weights are not read.
    zero : ndarray, shape (1, draws, rows)
        Probability of 0, the same for all components.
    """

    weights: ExpertValues
    amounts: AbstractDrawnPredictorMixture
    zero: Float[np.ndarray, "1 ..."]

    def _above(self) -> AbstractDrawnPredictorMixture:
        """Amounts by the probability that they are above 0."""
        return replace(self.amounts, weights=self.weights * (1.0 - self.zero))

    def _at_zero(self) -> Floats:
        """Probabilities of 0."""
        return np.asarray((self.weights * self.zero).sum(axis=0))

    def mean(self) -> Floats:
        """Means, zeros included."""
        return self._above().mean()

    def sd(self) -> Floats:
        """Standard deviations, zeros included."""
        return self._above().sd()

    def above(self, value: float) -> Floats:
        total = self.weights.sum(axis=0)
        if value < 0.0:
            return np.asarray(total)
        up_to = self._above().below(value) if value > 0.0 else 0.0
        return np.asarray(total - self._at_zero() - up_to).clip(0.0, 1.0)

    def below(self, value: float | RowVector) -> Floats:
        y = np.asarray(value, dtype=float)
        below = self._at_zero() + self._above().below(amounts_of(y))
        return np.where(y > 0.0, below, 0.0).clip(0.0, 1.0)

    def density(self, value: float) -> Floats:
        """Densities at a value; probabilities at 0."""
        return self._at_zero() if value == 0.0 else self._above().density(value)

    def quantile(self, q: float) -> Floats:
        """Quantiles: 0 up to its probability."""
        check_probabilities(np.array([q]))
        at_zero = self._at_zero()
        above = replace(self.amounts, weights=self._above().weights / (1.0 - at_zero))
        return quantile_above(above, q, at_zero, above.mean())


def quantile_above(amounts: Any, q: float, at_zero: Floats, start: Floats) -> Floats:
    """Quantiles of amounts that are above 0 with the remaining probability.

    Parameters
    ----------
    amounts : mixture
        Given that they are above 0.
    q : float
    at_zero, start : ndarray, shape (..., rows)
        Probabilities of 0, and means of the amounts.
    """
    target = (q - at_zero) / (1.0 - at_zero)
    is_zero = target <= 0.0
    if q in (0.0, 1.0):
        return np.where(is_zero, 0.0, np.inf)
    aim = np.where(is_zero, 0.5, target)
    cdf = amounts.cdf if isinstance(amounts, AbstractPredictorMixture) else amounts.below
    quantiles = amounts.law.quantile(lambda y: cdf(y) - aim + q, q, start)
    return np.where(is_zero, 0.0, quantiles)
