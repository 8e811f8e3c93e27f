"""Distributions of counts given their parameters, on the scale of the linear predictor."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, expit, pdtr

from bayesvb.numerics.array_library import namespace, special
from bayesvb.numerics.arrays import Floats
from bayesvb.numerics.special import LARGEST_EXPONENT, softplus

LARGEST = 1e15
"""Counts up to which a double holds every whole number: no quantile is sought beyond."""


def rate_at(log_rate: Floats) -> Floats:
    """``exp(u)``, finite for any finite log rate, in NumPy or JAX."""
    # A component without rows has a wide posterior, and an infinite expected rate times a
    # responsibility of zero would be no number.
    xp = namespace(log_rate)
    rate: Floats = xp.exp(xp.minimum(log_rate, LARGEST_EXPONENT))
    return rate


LARGE_DISPERSION = 3e4
"""Dispersion up to which gamma functions of JAX differ by a sum of logs to 1e-10."""


class AbstractCountLaw(abc.ABC):
    """Distributions of counts, one for each entry of arrays that broadcast."""

    @property
    @abc.abstractmethod
    def mean(self) -> Floats:
        """Means."""

    @property
    @abc.abstractmethod
    def variance(self) -> Floats:
        """Variances."""

    @property
    def largest(self) -> Floats:
        """Largest possible counts."""
        return np.asarray(np.inf)

    @abc.abstractmethod
    def log_mass_of_counts(self, y: Floats) -> Floats:
        """Log probabilities of values that are possible, in NumPy or JAX."""

    @abc.abstractmethod
    def cdf_of_counts(self, y: Floats) -> Floats:
        """Probabilities of counts up to ``y``, a count below ``largest``."""

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator) -> Floats:
        """One count from each distribution."""

    def log_mass(self, y: Floats) -> Floats:
        """Log probabilities; minus infinity where ``y`` is not a possible count."""
        possible = (y >= 0.0) & (y <= self.largest) & (y == np.round(y))
        known = np.where(possible, y, 0.0)
        return np.asarray(np.where(possible, self.log_mass_of_counts(known), -np.inf))

    def up_to(self, y: Floats) -> Floats:
        """Probabilities of counts up to ``y``."""
        below, beyond = y < 0.0, y >= self.largest
        known = np.where(below | beyond, 0.0, np.floor(y))
        return np.asarray(np.where(below, 0.0, np.where(beyond, 1.0, self.cdf_of_counts(known))))


@dataclass(frozen=True)
class PoissonLaw(AbstractCountLaw):
    """``Poisson(exp(u))``.

    Attributes
    ----------
    log_rate : ndarray
    """

    log_rate: Floats

    @property
    def mean(self) -> Floats:
        return rate_at(self.log_rate)

    @property
    def variance(self) -> Floats:
        return self.mean

    def log_mass_of_counts(self, y: Floats) -> Floats:
        """``y u - exp(u) - log y!``."""
        log_mass: Floats = y * self.log_rate - self.mean - special(y).gammaln(y + 1.0)
        return log_mass

    def cdf_of_counts(self, y: Floats) -> Floats:
        """Regularised incomplete gamma function."""
        return np.asarray(pdtr(y, self.mean))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Counts; beyond ``LARGEST`` the rate itself, from which they differ by rounding."""
        return _poisson(self.mean, rng)


@dataclass(frozen=True)
class BinomialLaw(AbstractCountLaw):
    """Successes in independent trials with probability ``1 / (1 + exp(-u))``.

    Attributes
    ----------
    log_odds, trials : ndarray
    """

    log_odds: Floats
    trials: Floats

    @property
    def mean(self) -> Floats:
        """``n p``."""
        return np.asarray(self.trials * expit(self.log_odds))

    @property
    def variance(self) -> Floats:
        """``n p (1 - p)``."""
        return np.asarray(self.mean * expit(-self.log_odds))

    @property
    def largest(self) -> Floats:
        """Numbers of trials."""
        return self.trials

    def log_mass_of_counts(self, y: Floats) -> Floats:
        """``log p`` and ``log(1 - p)`` of successes and failures, each with its digits."""
        failures = self.trials - y
        odds = -y * softplus(-self.log_odds) - failures * softplus(self.log_odds)
        log_mass: Floats = odds + log_choose(self.trials, y)
        return log_mass

    def cdf_of_counts(self, y: Floats) -> Floats:
        """Regularised incomplete beta function."""
        return np.asarray(betainc(np.maximum(self.trials - y, 1.0), y + 1.0, expit(-self.log_odds)))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Successes."""
        trials = np.asarray(self.trials).astype(np.int64)
        return np.asarray(rng.binomial(trials, expit(self.log_odds)), dtype=float)


@dataclass(frozen=True)
class NegativeBinomialLaw(AbstractCountLaw):
    """Counts with mean ``mu = exp(u)`` and variance ``mu + mu^2 / rho``.

    Attributes
    ----------
    log_mean, log_dispersion : ndarray
        ``u`` and ``log rho``.
    """

    log_mean: Floats
    log_dispersion: Floats

    @property
    def mean(self) -> Floats:
        """``mu``."""
        return rate_at(self.log_mean)

    @property
    def variance(self) -> Floats:
        """``mu + mu^2 / rho``."""
        return np.asarray(self.mean * (1.0 + self.mean / np.exp(self.log_dispersion)))

    def log_mass_of_counts(self, y: Floats) -> Floats:
        """``log Gamma(y + rho) / (Gamma(rho) y!) - y sp(-v) - rho sp(v)``, ``v = u - log rho``."""
        rho = namespace(self.log_dispersion).exp(self.log_dispersion)
        v = self.log_mean - self.log_dispersion
        log_mass: Floats = log_rising(rho, y) - y * softplus(-v) - rho * softplus(v)
        return log_mass

    def cdf_of_counts(self, y: Floats) -> Floats:
        """Regularised incomplete beta function."""
        zero = expit(self.log_dispersion - self.log_mean)
        return np.asarray(betainc(np.exp(self.log_dispersion), y + 1.0, zero))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Poisson counts whose rates are gamma distributed."""
        rho = np.exp(self.log_dispersion)
        shape = np.broadcast_shapes(np.shape(rho), np.shape(self.log_mean))
        return _poisson(self.mean * rng.gamma(np.broadcast_to(rho, shape)) / rho, rng)


@dataclass(frozen=True)
class ZeroInflatedLaw(AbstractCountLaw):
    """Counts that are zero with a probability besides: structural zeros.

    Attributes
    ----------
    counts : AbstractCountLaw
    zero : ndarray
        Probability of a structural zero.
    """

    counts: AbstractCountLaw
    zero: Floats

    @property
    def mean(self) -> Floats:
        """``(1 - pi) mu``."""
        return np.asarray((1.0 - self.zero) * self.counts.mean)

    @property
    def variance(self) -> Floats:
        """``(1 - pi) (v + pi mu^2)``, ``mu`` and ``v`` mean and variance of the counts."""
        spread = self.counts.variance + self.zero * self.counts.mean**2
        return np.asarray((1.0 - self.zero) * spread)

    @property
    def largest(self) -> Floats:
        return self.counts.largest

    def log_mass_of_counts(self, y: Floats) -> Floats:
        """``log(pi 1[y = 0] + (1 - pi) p(y))``."""
        with np.errstate(divide="ignore"):  # the share of either may round to zero
            zero, counted = np.log(self.zero), np.log1p(-self.zero)
        counted_mass = counted + self.counts.log_mass_of_counts(y)
        return np.asarray(np.where(y == 0.0, np.logaddexp(zero, counted_mass), counted_mass))

    def cdf_of_counts(self, y: Floats) -> Floats:
        """``pi + (1 - pi) F(y)``."""
        return np.asarray(self.zero + (1.0 - self.zero) * self.counts.cdf_of_counts(y))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Counts, some replaced by zeros."""
        drawn = self.counts.draw(rng)
        return np.where(rng.random(drawn.shape) < self.zero, 0.0, drawn)


def log_choose(trials: Floats, y: Floats) -> Floats:
    """Log of the number of ways to choose ``y`` of the trials, in NumPy or JAX."""
    xp = namespace(y)
    log_count: Floats = -special(y).betaln(trials - y + 1.0, y + 1.0) - xp.log(trials + 1.0)
    return log_count


def log_rising(rho: Floats, y: Floats) -> Floats:
    """``log Gamma(y + rho) - log Gamma(rho) - log y!``, in NumPy or JAX."""
    # Gamma functions of large rho cancel: the beta function has the difference with its digits.
    xp, known = namespace(rho), namespace(y).maximum(y, 1.0)
    log_ratio: Floats = xp.where(y > 0.0, -special(rho).betaln(rho, known), 0.0)
    log_ratio = log_ratio - namespace(y).log(known)
    if xp is not np:  # whose beta function is wrong by 1e-8 where rho is not large
        gammaln = special(rho).gammaln
        by_gammas = gammaln(y + rho) - gammaln(rho) - gammaln(y + 1.0)
        log_ratio = xp.where(rho < LARGE_DISPERSION, by_gammas, log_ratio)
    return log_ratio


def _poisson(rate: Floats, rng: np.random.Generator) -> Floats:
    """Poisson counts; beyond ``LARGEST`` the rate itself."""
    return np.where(rate < LARGEST, rng.poisson(np.minimum(rate, LARGEST)), rate)
