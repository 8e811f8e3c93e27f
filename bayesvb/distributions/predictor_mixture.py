"""Mixtures of continuous laws of a linear predictor and one further parameter."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.base import (
    AbstractDrawnMixture,
    AbstractUnscaledMixture,
    check_probabilities,
)
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    ExpertValues,
    Floats,
    ProbVector,
    RowVector,
)
from bayesvb.numerics.root_finding import crossings
from bayesvb.numerics.special import log_total


def _rule(n_nodes: int) -> list[tuple[float, float]]:
    """Nodes and weights of the Gauss-Hermite rule for a standard normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return list(zip(nodes.tolist(), (weights / weights.sum()).tolist(), strict=True))


PREDICTOR_RULE = _rule(11)
"""Nodes of the predictor: of a variance of 1 in the log mean the mean is right to 1e-9."""

FURTHER_RULE = _rule(5)
"""Nodes of the log of the further parameter, whose influence is weaker."""


class ContinuousLaw(abc.ABC):
    """A continuous law of one value given its predictor ``u`` and a further parameter.

    Attributes
    ----------
    support : tuple of float
        Ends of the interval of possible values.
    """

    support: ClassVar[tuple[float, float]]

    @abc.abstractmethod
    def log_density(self, y: Floats, u: Floats, further: Floats) -> Floats:
        """Log density; minus infinity outside the support."""

    @abc.abstractmethod
    def cdf(self, y: Floats, u: Floats, further: Floats) -> Floats:
        """Distribution function."""

    def log_mass(self, lower: Floats, upper: Floats, u: Floats, further: Floats) -> Floats:
        """Log probability of a value between the two."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.cdf(upper, u, further) - self.cdf(lower, u, further)))

    @abc.abstractmethod
    def moments(self, u: Floats, further: Floats) -> tuple[Floats, Floats]:
        """Mean and mean square."""

    @abc.abstractmethod
    def draws(self, u: Floats, further: Floats, rng: np.random.Generator) -> Floats:
        """One value for each predictor."""

    @abc.abstractmethod
    def to_line(self, y: Floats) -> Floats:
        """Increasing map of the support to the real line."""

    @abc.abstractmethod
    def from_line(self, x: Floats) -> Floats:
        """Inverse of ``to_line``."""

    def quantile(self, cdf: Callable[[Floats], Floats], q: float, start: Floats) -> Floats:
        """Quantiles of a distribution on the support, from values inside it."""
        if q in (0.0, 1.0):
            return np.full(start.shape, self.support[int(q)])
        shape = start.shape
        flat = self.to_line(start).ravel()

        def excess(x: RowVector) -> RowVector:
            return np.asarray((cdf(self.from_line(x.reshape(shape))) - q).ravel())

        low, high, width = flat - 1.0, flat + 1.0, 2.0
        while (short := excess(low) > 0.0).any():
            low, width = np.where(short, low - width, low), 2.0 * width
        width = 2.0
        while (short := excess(high) < 0.0).any():
            high, width = np.where(short, high + width, high), 2.0 * width
        return self.from_line(crossings(excess, low, high)).reshape(shape)


@dataclass(frozen=True)
class AbstractPredictorMixture(AbstractUnscaledMixture):
    """Predictive distribution ``sum_k w_k E p(y | u_k, phi_k)``, ``u`` and ``log phi`` normal.

    Expectations are sums over 11 times 5 nodes.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    predictor, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the predictor.
    log_further, further_variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the log of the further parameter.
    """

    law: ClassVar[ContinuousLaw]

    weights: ExpertRows
    predictor: ExpertRows
    variance: ExpertRows
    log_further: ExpertRows
    further_variance: ExpertRows

    def _nodes(self) -> Iterator[tuple[float, ExpertRows, ExpertRows]]:
        """Weight, predictors and further parameters of each node."""
        root, spread = np.sqrt(self.variance), np.sqrt(self.further_variance)
        for node, weight in FURTHER_RULE:
            further = np.exp(self.log_further + node * spread)
            for at, own in PREDICTOR_RULE:
                yield weight * own, self.predictor + at * root, further

    def _expectation(self, function: Callable[[ExpertRows, ExpertRows], Floats]) -> Floats:
        """Expectation of a function of predictor and further parameter, over components too."""
        mean = sum(weight * function(u, further) for weight, u, further in self._nodes())
        return np.asarray((self.weights * mean).sum(axis=-2))

    def mean(self) -> RowVector:
        return self._expectation(lambda u, further: self.law.moments(u, further)[0])

    def sd(self) -> RowVector:
        square = self._expectation(lambda u, further: self.law.moments(u, further)[1])
        return np.asarray(np.sqrt(np.maximum(square - self.mean() ** 2, 0.0)))

    def component_log_density(self, y: RowVector) -> ExpertRows:
        terms = [np.log(w) + self.law.log_density(y, u, phi) for w, u, phi in self._nodes()]
        return np.asarray(log_total(np.stack(terms), axis=0))

    def component_log_mass(self, lower: RowVector, upper: RowVector) -> ExpertRows:
        nodes = self._nodes()
        terms = [np.log(w) + self.law.log_mass(lower, upper, u, phi) for w, u, phi in nodes]
        return np.asarray(log_total(np.stack(terms), axis=0))

    def cdf(self, y: RowVector) -> RowVector:
        return self._expectation(lambda u, further: self.law.cdf(y, u, further)).clip(0.0, 1.0)

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        check_probabilities(q)
        start = self.mean()
        quantiles = [self.law.quantile(self.cdf, float(one), start) for one in q]
        return np.reshape(quantiles, (len(q), self.weights.shape[1]))

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        n_rows = self.weights.shape[1]
        chosen = (rng.random((n, 1, n_rows)) > np.cumsum(self.weights, axis=0)[:-1]).sum(axis=1)
        rows = np.arange(n_rows)
        spread = np.sqrt(self.variance)[chosen, rows] * rng.standard_normal((n, n_rows))
        further = np.sqrt(self.further_variance)[chosen, rows] * rng.standard_normal((n, n_rows))
        u = self.predictor[chosen, rows] + spread
        return self.law.draws(u, np.exp(self.log_further[chosen, rows] + further), rng)


@dataclass(frozen=True)
class AbstractDrawnPredictorMixture(AbstractDrawnMixture):
    """Mixtures of laws of a predictor for every draw and row.

    Attributes
    ----------
    weights, predictor, further : ndarray, shape (experts, draws, rows)
    """

    law: ClassVar[ContinuousLaw]

    weights: ExpertValues
    predictor: ExpertValues
    further: ExpertValues

    def mean(self) -> Floats:
        return self._average(self.law.moments(self.predictor, self.further)[0])

    def sd(self) -> Floats:
        square = self._average(self.law.moments(self.predictor, self.further)[1])
        return np.asarray(np.sqrt(np.maximum(square - self.mean() ** 2, 0.0)))

    def _average(self, each: ExpertValues) -> Floats:
        """Average over components by weight."""
        return np.asarray((self.weights * each).sum(axis=0))

    def _cdf(self, y: Floats) -> Floats:
        """Distribution functions."""
        return self._average(self.law.cdf(y, self.predictor, self.further)).clip(0.0, 1.0)

    def above(self, value: float) -> Floats:
        return 1.0 - self._cdf(np.asarray(value, dtype=float))

    def below(self, value: float | Floats) -> Floats:
        return self._cdf(np.asarray(value, dtype=float))

    def density(self, value: float) -> Floats:
        y = np.asarray(value, dtype=float)
        return self._average(np.exp(self.law.log_density(y, self.predictor, self.further)))

    def quantile(self, q: float) -> Floats:
        """Quantiles."""
        check_probabilities(np.array([q]))
        return self.law.quantile(self._cdf, q, self.mean())
