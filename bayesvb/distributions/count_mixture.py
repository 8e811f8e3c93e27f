"""Mixtures of distributions of counts: predictive ones, and those given draws."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from bayesvb.distributions.base import (
    AbstractDiscreteMixture,
    AbstractDrawnMixture,
    check_probabilities,
)
from bayesvb.distributions.count_laws import (
    LARGEST,
    AbstractCountLaw,
    BinomialLaw,
    NegativeBinomialLaw,
    PoissonLaw,
)
from bayesvb.numerics.special import log_total


def normal_nodes(number: int) -> list[tuple[float, float]]:
    """Nodes of a Gauss-Hermite rule of the standard normal, each with its weight."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    return list(zip(nodes.tolist(), (weights / weights.sum()).tolist(), strict=True))


PREDICTOR_NODES = normal_nodes(21)


class AbstractCountMixture(AbstractDiscreteMixture):
    """Predictive distribution ``sum_k w_k E p(y | u_k)``, ``u_k`` normal.

    Expectations over the predictor are sums over 21 nodes, those over the log of a further
    parameter, which is taken for normal too, sums over ``further_nodes``.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    predictor, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the linear predictor.
    """

    values = "counts"

    further_nodes: ClassVar[list[tuple[float, float]]] = [(0.0, 1.0)]
    """Standard values of a further parameter, each with its weight."""

    weights: Float[np.ndarray, "experts rows"]
    predictor: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]

    @abc.abstractmethod
    def law(
        self,
        predictor: Float[np.ndarray, "..."],
        further: float | Float[np.ndarray, "..."],
        at: tuple[object, ...] = (),
    ) -> AbstractCountLaw:
        """Distributions given the predictor, and the further parameter in standard units.

        ``at`` are the requested entries of the arrays, by default all.
        """

    def _laws(self) -> Iterator[tuple[float, AbstractCountLaw]]:
        """Distributions at all nodes, with their weights."""
        root = np.sqrt(self.variance)
        for node, weight in PREDICTOR_NODES:
            for further, share in self.further_nodes:
                yield weight * share, self.law(self.predictor + node * root, further)

    def _expected(
        self, of: Callable[[AbstractCountLaw], Float[np.ndarray, "..."]]
    ) -> Float[np.ndarray, " rows"]:
        """Expectation of a number that depends on the distribution."""
        each = np.zeros(self.predictor.shape)
        for weight, law in self._laws():
            each += weight * of(law)
        return np.asarray((self.weights * each).sum(axis=0))

    def mean(self) -> Float[np.ndarray, " rows"]:
        return self._expected(lambda law: law.mean)

    def sd(self) -> Float[np.ndarray, " rows"]:
        second = self._expected(lambda law: law.variance + law.mean**2)
        return np.asarray(np.sqrt(second - self.mean() ** 2))

    def component_log_density(
        self, y: Float[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "experts rows"]:
        terms = [np.log(weight) + law.log_mass(y) for weight, law in self._laws()]
        return np.asarray(log_total(np.stack(terms), axis=0))

    def log_density(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Log probability of one count per row."""
        with np.errstate(divide="ignore"):
            terms = np.log(self.weights) + self.component_log_density(y)
        return np.asarray(log_total(terms, axis=0))

    def density_at(self, points: Float[np.ndarray, " points"]) -> Float[np.ndarray, "points rows"]:
        """Probability of every point at every row."""
        return self._at(points, lambda y: np.exp(self.log_density(y)))

    def cdf(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Probability of a count up to ``y``, each row at its own point."""
        return np.asarray(self._expected(lambda law: law.up_to(y)).clip(0.0, 1.0))

    def cdf_at(self, points: Float[np.ndarray, " points"]) -> Float[np.ndarray, "points rows"]:
        """Probability of a count up to each of the same points, for every row."""
        return self._at(points, self.cdf)

    def _at(
        self,
        points: Float[np.ndarray, " points"],
        of: Callable[[Float[np.ndarray, " rows"]], Float[np.ndarray, " rows"]],
    ) -> Float[np.ndarray, "points rows"]:
        """A function of one count per row at each of the same points."""
        n_rows = self.weights.shape[1]
        found = [of(np.full(n_rows, point)) for point in points]
        return np.reshape(found, (len(points), n_rows))

    def quantile(self, q: Float[np.ndarray, " probs"]) -> Float[np.ndarray, "probs rows"]:
        """Smallest count whose distribution function is at least ``q``."""
        check_probabilities(q)
        largest = np.broadcast_to(self.law(self.predictor, 0.0).largest, self.predictor.shape)[0]
        found = [_smallest(self.cdf, float(each), self.mean(), largest) for each in q]
        return np.reshape(found, (len(q), self.weights.shape[1]))

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "draws rows"]:
        n_rows = self.weights.shape[1]
        at = _chosen(self.weights, n, rng), np.arange(n_rows)
        standard, further = rng.standard_normal((2, n, n_rows))
        predictor = self.predictor[at] + np.sqrt(self.variance)[at] * standard
        return self.law(predictor, further, at).draw(rng)


def _chosen(
    weights: Float[np.ndarray, "experts rows"], n: int, rng: np.random.Generator
) -> Int[np.ndarray, "draws rows"]:
    """A component for each draw and row."""
    below = np.cumsum(weights, axis=0)[:-1]
    return np.asarray((rng.random((n, 1, weights.shape[1])) > below).sum(axis=1))


@dataclass(frozen=True)
class DrawnCountMixture(AbstractDrawnMixture):
    """Mixtures of distributions of counts for every draw and row.

    Attributes
    ----------
    weights : ndarray, shape (experts, draws, rows)
    law : AbstractCountLaw
        Distributions of every component, draw and row.
    """

    weights: Float[np.ndarray, "experts ..."]
    law: AbstractCountLaw

    @classmethod
    def of(
        cls, weights: Float[np.ndarray, "draws experts _"], law: AbstractCountLaw
    ) -> DrawnCountMixture:
        """Mixture from weights in the order of draws, the same for all rows or of each."""
        shape = np.broadcast_shapes(np.shape(law.mean), np.moveaxis(weights, 1, 0).shape)
        return cls(np.broadcast_to(np.moveaxis(weights, 1, 0), shape), law)

    def _averaged(self, values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Weighted mean over the components."""
        return np.asarray((self.weights * values).sum(axis=0))

    def mean(self) -> Float[np.ndarray, "..."]:
        return self._averaged(self.law.mean)

    def sd(self) -> Float[np.ndarray, "..."]:
        second = self._averaged(self.law.variance + self.law.mean**2)
        return np.asarray(np.sqrt(second - self.mean() ** 2))

    def _cdf(self, y: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Probabilities of a count up to ``y``."""
        return self._averaged(self.law.up_to(y)).clip(0.0, 1.0)

    def above(self, value: float) -> Float[np.ndarray, "..."]:
        return 1.0 - self._cdf(np.asarray(value, dtype=float))

    def below(self, value: float | Float[np.ndarray, " rows"]) -> Float[np.ndarray, "..."]:
        return self._cdf(np.asarray(np.ceil(value) - 1.0))

    def density(self, value: float) -> Float[np.ndarray, "..."]:
        """Probabilities of a value."""
        return self._averaged(np.exp(self.law.log_mass(np.asarray(value, dtype=float))))

    def quantile(self, q: float) -> Float[np.ndarray, "..."]:
        """Smallest count whose distribution function is at least ``q``."""
        check_probabilities(np.array([q]))
        largest = np.broadcast_to(self.law.largest, self.weights.shape)[0]
        return _smallest(self._cdf, q, self.mean(), largest)


def _smallest(
    cdf: Callable[[Float[np.ndarray, "..."]], Float[np.ndarray, "..."]],
    q: float,
    start: Float[np.ndarray, "..."],
    largest: Float[np.ndarray, "..."],
) -> Float[np.ndarray, "..."]:
    """Smallest counts whose distribution function is at least ``q``, by bisection."""
    if q == 1.0:
        return np.array(largest, dtype=float)
    # Where the mean is huge, whole numbers are no longer floats, and the bisection would not end.
    ends = np.minimum(largest, LARGEST)
    low, high = np.full(start.shape, -1.0), np.minimum(np.ceil(2.0 * start) + 1.0, ends)
    while (short := (cdf(high) < q) & (high < ends)).any():
        doubled = np.minimum(2.0 * high, ends)
        low, high = np.where(short, high, low), np.where(short, doubled, high)
    while (high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        enough = (cdf(middle) >= q) & (middle >= 0.0)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high)


@dataclass(frozen=True)
class PoissonMixture(AbstractCountMixture):
    """Predictive distribution of counts: ``sum_k w_k E Poisson(y | exp(u_k))``, ``u_k`` normal.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    predictor, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the log rate.
    """

    weights: Float[np.ndarray, "experts rows"]
    predictor: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]

    def law(
        self,
        predictor: Float[np.ndarray, "..."],
        further: float | Float[np.ndarray, "..."],
        at: tuple[object, ...] = (),
    ) -> PoissonLaw:
        """Poisson distributions, without further parameters."""
        return PoissonLaw(predictor)

    def mean(self) -> Float[np.ndarray, " rows"]:
        """``sum_k w_k exp(t_k + s_k / 2)``."""
        return np.asarray((self.weights * np.exp(self.predictor + 0.5 * self.variance)).sum(axis=0))

    def sd(self) -> Float[np.ndarray, " rows"]:
        first = np.exp(self.predictor + 0.5 * self.variance)
        second = first + np.exp(2.0 * (self.predictor + self.variance))
        return np.asarray(np.sqrt((self.weights * second).sum(axis=0) - self.mean() ** 2))


@dataclass(frozen=True)
class BinomialMixture(AbstractCountMixture):
    """Predictive distribution of successes: ``sum_k w_k E Binomial(y | n, sigma(u_k))``.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    predictor, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the log odds.
    trials : ndarray, shape (experts, rows)
        Number of trials of each row, the same for all components.
    """

    values = "numbers of successes"

    weights: Float[np.ndarray, "experts rows"]
    predictor: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]
    trials: Float[np.ndarray, "experts rows"]

    def law(
        self,
        predictor: Float[np.ndarray, "..."],
        further: float | Float[np.ndarray, "..."],
        at: tuple[Any, ...] = (),
    ) -> BinomialLaw:
        """Binomial distributions, without further parameters."""
        return BinomialLaw(predictor, self.trials[at])


@dataclass(frozen=True)
class NegativeBinomialMixture(AbstractCountMixture):
    """Predictive distribution of counts: ``sum_k w_k E NB(y | exp(u_k), rho_k)``.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    predictor, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the log mean.
    log_dispersion, dispersion_sd : ndarray, shape (experts, rows)
        Posterior mean and standard deviation of ``log rho``.
    """

    further_nodes = normal_nodes(3)

    weights: Float[np.ndarray, "experts rows"]
    predictor: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]
    log_dispersion: Float[np.ndarray, "experts rows"]
    dispersion_sd: Float[np.ndarray, "experts rows"]

    def law(
        self,
        predictor: Float[np.ndarray, "..."],
        further: float | Float[np.ndarray, "..."],
        at: tuple[Any, ...] = (),
    ) -> NegativeBinomialLaw:
        """Negative binomial distributions; dispersion is ``further`` deviations from its mean."""
        log_dispersion = self.log_dispersion[at] + further * self.dispersion_sd[at]
        return NegativeBinomialLaw(predictor, log_dispersion)

    def mean(self) -> Float[np.ndarray, " rows"]:
        """``sum_k w_k exp(t_k + s_k / 2)``."""
        return np.asarray((self.weights * np.exp(self.predictor + 0.5 * self.variance)).sum(axis=0))
