"""Dirichlet factor: probabilities of classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, polygamma

from bayesvb.linear.quadratic_forms import Forms, VectorForms
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawExperts, DrawVector
from bayesvb.numerics.special import digamma_excess


@dataclass(frozen=True)
class Dirichlet:
    """``Dir(concentration)``.

    Attributes
    ----------
    concentration : ndarray, shape (..., experts)
    """

    concentration: Float[np.ndarray, "*batch experts"]

    @property
    def mean(self) -> Float[np.ndarray, "*batch experts"]:
        """Expected probabilities."""
        return np.asarray(self.concentration / self.concentration.sum(axis=-1, keepdims=True))

    @cached_property
    def expected_log(self) -> Float[np.ndarray, "*batch experts"]:
        """``E[log pi_k] = digamma(alpha_k) - digamma(sum alpha)``."""
        total = self.concentration.sum(axis=-1, keepdims=True)
        return np.asarray(digamma(self.concentration) - digamma(total))

    def expectations_along(
        self, concentration: Float[np.ndarray, "many experts"]
    ) -> Float[np.ndarray, "many experts"]:
        """Changes of ``expected_log`` with these of the concentrations."""
        each = polygamma(1, self.concentration) * concentration
        total = polygamma(1, self.concentration.sum()) * concentration.sum(axis=-1, keepdims=True)
        return np.asarray(each - total)

    def statistics_covariance(self) -> Float[np.ndarray, "experts experts"]:
        """Covariance of the log probabilities."""
        return self.expectations_along(np.eye(len(self.concentration)))

    def forms(self, n_rows: int) -> Forms:
        """``log pi_k`` of each row, which are noise variables; none of one component."""
        units = np.eye(len(self.concentration))
        # The only weight is 1: as a variable, its covariance would have no Cholesky factor.
        loadings = units if len(units) > 1 else units[:, :0]
        none = np.empty((n_rows, 0))
        vectors = tuple(
            VectorForms(
                own=none,
                common=none,
                slopes=np.zeros((1, n_rows)),
                noise=np.tile(loading, (n_rows, 1)),
                rows=np.arange(n_rows),
                squares=np.empty((0, 0)),
                statistics=loading[None],
            )
            for loading in loadings
        )
        covariance = loadings.T @ self.statistics_covariance() @ loadings
        return Forms(vectors=vectors, noise=covariance)

    def to_the_power(self, power: float) -> Dirichlet:
        """The law with this one's density to a power, as densities of the log odds."""
        return Dirichlet(power * self.concentration)

    def kl(self, prior: Dirichlet) -> float:
        """``KL(self || prior)``."""
        *each, total = digamma_excess(np.append(self.concentration, self.concentration.sum()))
        expected = (prior.concentration * self.expected_log).sum()
        return float(np.sum(each) - total - expected - prior.log_normaliser)

    @cached_property
    def log_normaliser(self) -> float:
        """Log of the constant of the density."""
        alpha = self.concentration
        return float(gammaln(alpha.sum()) - gammaln(alpha).sum())

    def draws(self, n: int, rng: np.random.Generator) -> DrawExperts:
        """Independent draws."""
        return rng.dirichlet(self.concentration, size=n)

    def log_density(self, value: DrawExperts) -> DrawVector:
        """Log density of each vector of probabilities."""
        logs = ((self.concentration - 1.0) * namespace(value).log(value)).sum(axis=-1)
        density: DrawVector = self.log_normaliser + logs
        return density
