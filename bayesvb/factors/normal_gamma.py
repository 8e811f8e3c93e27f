"""Two families for the mean and the precision of one Gaussian sample: coupled and factorised.

The coupled one, ``mu | lambda ~ N(m, 1 / (kappa lambda))``, is conjugate: prior and exact
posterior. The factorised one, ``q(mu) q(lambda)``, is what coordinate ascent finds. Both have
``lambda ~ Ga(a, b)``.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import digamma

from bayesvb.factors.gamma import gamma_kl, gamma_log_density
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawVector
from bayesvb.numerics.special import LOG_2PI


@dataclass(frozen=True)
class ScalarGamma:
    """``Ga(shape, rate)``, the law of a precision."""

    shape: float
    rate: float

    @property
    def mean(self) -> float:
        """``E[lambda] = a / b``."""
        return self.shape / self.rate

    @property
    def expected_log(self) -> float:
        """``E[log lambda] = digamma(a) - log b``."""
        return float(digamma(self.shape) - np.log(self.rate))

    @property
    def expected_inverse(self) -> float:
        """``E[1 / lambda] = b / (a - 1)``, infinite for ``a <= 1``."""
        return self.rate / (self.shape - 1.0) if self.shape > 1.0 else np.inf

    def kl(self, other: ScalarGamma) -> float:
        """``KL(self || other)``."""
        return float(gamma_kl(self.shape, self.rate, other.shape, other.rate))

    def draws(self, n: int, rng: np.random.Generator) -> DrawVector:
        """Independent draws."""
        return rng.gamma(self.shape, 1.0 / self.rate, n)

    def log_density(self, value: Float[np.ndarray, "*grid"]) -> Float[np.ndarray, "*grid"]:
        """Log density of each value."""
        return gamma_log_density(value, self.shape, self.rate)


class AbstractNormalGamma(abc.ABC):
    """Law of a mean and a precision of which the precision is gamma."""

    mean: float
    precision: ScalarGamma

    @abc.abstractmethod
    def normal(self, precision: Float[np.ndarray, "*grid"]) -> Float[np.ndarray, "*grid"]:
        """Precision of the mean given each value of the precision."""

    @abc.abstractmethod
    def expected_square(self, about: float) -> float:
        """``E[(mu - about)^2]``."""

    @abc.abstractmethod
    def expected_scaled_square(self, about: float) -> float:
        """``E[lambda (mu - about)^2]``."""

    @abc.abstractmethod
    def expected_log_normal(self, law: AbstractNormalGamma) -> float:
        """Mean of the log density of ``mu`` given ``lambda``, under the law."""

    def kl(self, other: AbstractNormalGamma) -> float:
        """``KL(self || other)`` in closed form, for any two of the families.

        Infinite where ``other`` is factorised and ``E[1 / lambda]`` is.
        """
        normal = self.expected_log_normal(self) - other.expected_log_normal(self)
        return normal + self.precision.kl(other.precision)

    def draws(self, n: int, rng: np.random.Generator) -> tuple[DrawVector, DrawVector]:
        """Independent draws of the mean and of the precision."""
        precision = self.precision.draws(n, rng)
        noise = rng.standard_normal(n)
        return self.mean + noise / np.sqrt(self.normal(precision)), precision

    def log_density(
        self, mean: Float[np.ndarray, "*grid"], precision: Float[np.ndarray, "*grid"]
    ) -> Float[np.ndarray, "*grid"]:
        """Log density of each pair."""
        narrow = self.normal(precision)
        normal = namespace(narrow).log(narrow) - LOG_2PI - narrow * (mean - self.mean) ** 2
        density: Float[np.ndarray, "*grid"]
        density = 0.5 * normal + self.precision.log_density(precision)
        return density


@dataclass(frozen=True)
class NormalGamma(AbstractNormalGamma):
    """``mu | lambda ~ N(mean, 1 / (strength lambda))``: the conjugate law.

    Attributes
    ----------
    mean : float
        ``m``.
    strength : float
        ``kappa``: rows' worth of evidence on the mean.
    precision : ScalarGamma

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, eqs 2.150 to 2.154.
    """

    mean: float
    strength: float
    precision: ScalarGamma

    def normal(self, precision: Float[np.ndarray, "*grid"]) -> Float[np.ndarray, "*grid"]:
        narrow: Float[np.ndarray, "*grid"] = self.strength * precision
        return narrow

    def expected_square(self, about: float) -> float:
        return self.precision.expected_inverse / self.strength + (self.mean - about) ** 2

    def expected_scaled_square(self, about: float) -> float:
        return 1.0 / self.strength + self.precision.mean * (self.mean - about) ** 2

    def expected_log_normal(self, law: AbstractNormalGamma) -> float:
        log_precision = np.log(self.strength) + law.precision.expected_log
        pull = self.strength * law.expected_scaled_square(self.mean)
        return float(0.5 * (log_precision - LOG_2PI - pull))


@dataclass(frozen=True)
class FactorisedNormalGamma(AbstractNormalGamma):
    """``q(mu) q(lambda)`` with ``mu ~ N(mean, 1 / mean_precision)``.

    Attributes
    ----------
    mean : float
        ``m``.
    mean_precision : float
        ``kappa``, in which the expected precision is already contained.
    precision : ScalarGamma

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, section 10.1.3.
    """

    mean: float
    mean_precision: float
    precision: ScalarGamma

    def normal(self, precision: Float[np.ndarray, "*grid"]) -> Float[np.ndarray, "*grid"]:
        """Precision of the mean, whatever the value of the precision."""
        return np.full_like(precision, self.mean_precision)

    def expected_square(self, about: float) -> float:
        return 1.0 / self.mean_precision + (self.mean - about) ** 2

    def expected_scaled_square(self, about: float) -> float:
        """``E[lambda (mu - about)^2]``, a product as the two are independent."""
        return self.precision.mean * self.expected_square(about)

    def expected_log_normal(self, law: AbstractNormalGamma) -> float:
        """Mean of the log density of ``mu``, under the law."""
        pull = self.mean_precision * law.expected_square(self.mean)
        return float(0.5 * (np.log(self.mean_precision) - LOG_2PI - pull))
