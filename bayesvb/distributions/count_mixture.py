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
from bayesvb.numerics.arrays import (
    DrawExpertTerms,
    DrawRows,
    ExpertRows,
    ExpertValues,
    Floats,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
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

    weights: ExpertRows
    predictor: ExpertRows
    variance: ExpertRows

    @abc.abstractmethod
    def law(
        self, predictor: Floats, further: float | Floats, at: tuple[object, ...] = ()
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

    def _expected(self, of: Callable[[AbstractCountLaw], Floats]) -> RowVector:
        """Expectation of a number that depends on the distribution."""
        each = np.zeros(self.predictor.shape)
        for weight, law in self._laws():
            each += weight * of(law)
        return np.asarray((self.weights * each).sum(axis=0))

    def mean(self) -> RowVector:
        return self._expected(lambda law: law.mean)

    def sd(self) -> RowVector:
        second = self._expected(lambda law: law.variance + law.mean**2)
        return np.asarray(np.sqrt(second - self.mean() ** 2))

    def component_log_density(self, y: RowVector) -> ExpertRows:
        terms = [np.log(weight) + law.log_mass(y) for weight, law in self._laws()]
        return np.asarray(log_total(np.stack(terms), axis=0))

    def log_density(self, y: RowVector) -> RowVector:
        with np.errstate(divide="ignore"):
            terms = np.log(self.weights) + self.component_log_density(y)
        return np.asarray(log_total(terms, axis=0))

    def density_at(self, points: PointVector) -> PointRows:
        return self._at(points, lambda y: np.exp(self.log_density(y)))

    def cdf(self, y: RowVector) -> RowVector:
        """Probability of a count up to ``y``, each row at its own point."""
        return np.asarray(self._expected(lambda law: law.up_to(y)).clip(0.0, 1.0))

    def cdf_at(self, points: PointVector) -> PointRows:
        """Probability of a count up to each of the same points, for every row."""
        return self._at(points, self.cdf)

    def _at(self, points: PointVector, of: Callable[[RowVector], RowVector]) -> PointRows:
        """A function of one count per row at each of the same points."""
        n_rows = self.weights.shape[1]
        values = [of(np.full(n_rows, point)) for point in points]
        return np.reshape(values, (len(points), n_rows))

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Smallest count whose distribution function is at least ``q``."""
        check_probabilities(q)
        largest = np.broadcast_to(self.law(self.predictor, 0.0).largest, self.predictor.shape)[0]
        quantiles = [_smallest(self.cdf, float(each), self.mean(), largest) for each in q]
        return np.reshape(quantiles, (len(q), self.weights.shape[1]))

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        n_rows = self.weights.shape[1]
        at = _chosen(self.weights, n, rng), np.arange(n_rows)
        standard, further = rng.standard_normal((2, n, n_rows))
        predictor = self.predictor[at] + np.sqrt(self.variance)[at] * standard
        return self.law(predictor, further, at).draw(rng)


def _chosen(weights: ExpertRows, n: int, rng: np.random.Generator) -> Int[np.ndarray, "draws rows"]:
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

    weights: ExpertValues
    law: AbstractCountLaw

    @classmethod
    def of(cls, weights: DrawExpertTerms, law: AbstractCountLaw) -> DrawnCountMixture:
        """Mixture from weights in the order of draws, the same for all rows or of each."""
        shape = np.broadcast_shapes(np.shape(law.mean), np.moveaxis(weights, 1, 0).shape)
        return cls(np.broadcast_to(np.moveaxis(weights, 1, 0), shape), law)

    def _averaged(self, values: Floats) -> Floats:
        """Weighted mean over the components."""
        return np.asarray((self.weights * values).sum(axis=0))

    def mean(self) -> Floats:
        return self._averaged(self.law.mean)

    def sd(self) -> Floats:
        second = self._averaged(self.law.variance + self.law.mean**2)
        return np.asarray(np.sqrt(second - self.mean() ** 2))

    def _cdf(self, y: Floats) -> Floats:
        """Probabilities of a count up to ``y``."""
        return self._averaged(self.law.up_to(y)).clip(0.0, 1.0)

    def above(self, value: float) -> Floats:
        return 1.0 - self._cdf(np.asarray(value, dtype=float))

    def below(self, value: float | RowVector) -> Floats:
        return self._cdf(np.asarray(np.ceil(value) - 1.0))

    def density(self, value: float) -> Floats:
        """Probabilities of a value."""
        return self._averaged(np.exp(self.law.log_mass(np.asarray(value, dtype=float))))

    def quantile(self, q: float) -> Floats:
        """Smallest count whose distribution function is at least ``q``."""
        check_probabilities(np.array([q]))
        largest = np.broadcast_to(self.law.largest, self.weights.shape)[0]
        return _smallest(self._cdf, q, self.mean(), largest)


def _smallest(cdf: Callable[[Floats], Floats], q: float, start: Floats, largest: Floats) -> Floats:
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

    weights: ExpertRows
    predictor: ExpertRows
    variance: ExpertRows

    def law(
        self, predictor: Floats, further: float | Floats, at: tuple[object, ...] = ()
    ) -> PoissonLaw:
        """Poisson distributions, without further parameters."""
        return PoissonLaw(predictor)

    def mean(self) -> RowVector:
        """``sum_k w_k exp(t_k + s_k / 2)``."""
        return np.asarray((self.weights * np.exp(self.predictor + 0.5 * self.variance)).sum(axis=0))

    def sd(self) -> RowVector:
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

    weights: ExpertRows
    predictor: ExpertRows
    variance: ExpertRows
    trials: ExpertRows

    def law(
        self, predictor: Floats, further: float | Floats, at: tuple[Any, ...] = ()
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

    weights: ExpertRows
    predictor: ExpertRows
    variance: ExpertRows
    log_dispersion: ExpertRows
    dispersion_sd: ExpertRows

    def law(
        self, predictor: Floats, further: float | Floats, at: tuple[Any, ...] = ()
    ) -> NegativeBinomialLaw:
        """Negative binomial distributions; dispersion is ``further`` deviations from its mean."""
        log_dispersion = self.log_dispersion[at] + further * self.dispersion_sd[at]
        return NegativeBinomialLaw(predictor, log_dispersion)

    def mean(self) -> RowVector:
        """``sum_k w_k exp(t_k + s_k / 2)``."""
        return np.asarray((self.weights * np.exp(self.predictor + 0.5 * self.variance)).sum(axis=0))
