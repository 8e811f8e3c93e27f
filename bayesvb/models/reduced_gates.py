"""Gates whose directions without likelihood are integrated out: contrasts, sticks, weights.

The likelihood depends on the logits of a softmax gate through contrasts only. Their common part
``m``, the mean over components, is Gaussian given the contrasts and is integrated out.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

from bayesvb.factors.dirichlet import Dirichlet
from bayesvb.models.integrated_scales import IntegratedScales
from bayesvb.numerics.arrays import DrawExperts, DrawValues, DrawVector, TermVector
from bayesvb.numerics.special import LOG_2PI

Logits = Float[np.ndarray, "draws logits gate_terms"]


class AbstractReducedGate(abc.ABC):
    """Numbers on which the weights of the components depend, and their prior."""

    is_stick_breaking: bool = False
    """Whether logits are sticks; contrasts to the last component otherwise."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, int]:
        """Logits and terms of one draw."""

    @abc.abstractmethod
    def logits(self, gate: DrawValues) -> Logits:
        """Logits of draws of the gate's parameters."""

    @abc.abstractmethod
    def log_prior(self, logits: Logits) -> tuple[DrawVector, Logits]:
        """Log prior density of the logits and its gradient."""

    @abc.abstractmethod
    def complete(
        self, logits: Logits, rng: np.random.Generator
    ) -> tuple[
        DrawValues,
        Float[np.ndarray, "draws blocks"],
        DrawVector,
    ]:
        """Draws of the gate's parameters and of its precisions, and the log density of both."""

    def log_volume(self, gate: DrawValues) -> DrawVector:
        """Log volume of the map from logits and drawn values to the gate's parameters."""
        return np.zeros(len(gate))


@dataclass(frozen=True)
class ReducedSticks(AbstractReducedGate):
    """Logits of stick-breaking weights.

    Attributes
    ----------
    mean : ndarray, shape (sticks, terms)
    scales : IntegratedScales
    """

    is_stick_breaking = True

    mean: Float[np.ndarray, "sticks terms"]
    scales: IntegratedScales

    @property
    def shape(self) -> tuple[int, int]:
        """Sticks and terms."""
        return self.mean.shape[0], self.mean.shape[1]

    def logits(self, gate: DrawValues) -> Logits:
        """Logits, which the draws are."""
        return gate

    def log_prior(self, logits: Logits) -> tuple[DrawVector, Logits]:
        """Gaussian terms with fixed precision, multivariate t of the others."""
        return _log_prior(self.scales, logits - self.mean, logits - self.mean, 0.0)

    def complete(
        self, logits: Logits, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The logits, and the precisions given them."""
        squares = ((logits - self.mean) ** 2).sum(axis=1)
        return logits, *self.scales.draw(squares, rng)


@dataclass(frozen=True)
class ReducedSoftmax(AbstractReducedGate):
    """Contrasts ``g_k - g_K`` of softmax logits, whose common part is integrated out.

    Attributes
    ----------
    mean : ndarray, shape (terms,)
        Prior mean that all components share.
    n_components : int
    scales : IntegratedScales
    """

    mean: TermVector
    n_components: int
    scales: IntegratedScales

    @property
    def shape(self) -> tuple[int, int]:
        """Contrasts and terms."""
        return self.n_components - 1, len(self.mean)

    def logits(self, gate: DrawValues) -> Logits:
        """Differences to the last component."""
        return np.asarray(gate[:, :-1] - gate[:, -1:])

    def log_prior(self, logits: Logits) -> tuple[DrawVector, Logits]:
        """Log prior from sums of squares about the mean of the components: ``I - 11'/K``."""
        n_terms = len(self.mean)
        constant = -0.5 * n_terms * np.log(self.n_components)
        return _log_prior(self.scales, logits, self._about_mean(logits), constant)

    def complete(
        self, logits: Logits, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Precisions given contrasts, then the common part ``m ~ N(m_0, 1 / (K l))``."""
        squares = (logits * self._about_mean(logits)).sum(axis=1)
        drawn, log_density = self.scales.draw(squares, rng)
        precision = np.diagonal(self.scales.fixed) + drawn @ self.scales.membership
        root = np.sqrt(self.n_components * precision)
        noise = rng.standard_normal(root.shape)
        log_density += (np.log(root) - 0.5 * (noise**2 + LOG_2PI)).sum(axis=1)
        common = self.mean + noise / root
        gate = np.concatenate([logits, np.zeros_like(common)[:, None]], axis=1)
        gate = gate - gate.mean(axis=1, keepdims=True) + common[:, None]
        return gate, drawn, log_density

    def _about_mean(self, logits: Logits) -> Logits:
        """Deviations of the logits from their mean over all components, without the last one."""
        return np.asarray(logits - logits.sum(axis=1, keepdims=True) / self.n_components)


@dataclass(frozen=True)
class ReducedWeights(AbstractReducedGate):
    """Log ratios to the last component of weights with a Dirichlet prior; nothing is integrated.

    Attributes
    ----------
    prior : Dirichlet
    """

    prior: Dirichlet

    @property
    def shape(self) -> tuple[int, int]:
        """Ratios, each a logit of one term."""
        return len(self.prior.concentration) - 1, 1

    def logits(self, gate: DrawValues) -> Logits:
        """Log ratios; a weight that underflowed is taken at the smallest float."""
        logs = np.log(np.maximum(gate, np.finfo(float).tiny))
        return np.asarray(logs[:, :-1] - logs[:, -1:])[:, :, None]

    def log_prior(self, logits: Logits) -> tuple[DrawVector, Logits]:
        """Dirichlet density of the weights times their volume, the product of all of them."""
        logs = self._log_weights(logits)
        value = self.prior.log_density(np.exp(logs)) + logs.sum(axis=1)
        alpha = self.prior.concentration
        slopes = alpha - alpha.sum() * np.exp(logs)
        return np.asarray(value), slopes[:, :-1, None]

    def complete(
        self, logits: Logits, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The weights."""
        weights = np.exp(self._log_weights(logits))
        return weights, np.zeros((len(logits), 0)), np.zeros(len(logits))

    def log_volume(self, gate: DrawValues) -> DrawVector:
        """Product of all weights."""
        return np.asarray(np.log(np.maximum(gate, np.finfo(float).tiny)).sum(axis=1))

    def _log_weights(self, logits: Logits) -> DrawExperts:
        whole = np.concatenate([logits[:, :, 0], np.zeros((len(logits), 1))], axis=1)
        return np.asarray(log_softmax(whole, axis=1))


def _log_prior(
    scales: IntegratedScales, logits: Logits, deviations: Logits, constant: float
) -> tuple[DrawVector, Logits]:
    """Log density and gradient of logits whose squares are products with their deviations."""
    fixed = deviations @ scales.fixed
    value, weight = scales.log_density((logits * deviations).sum(axis=1))
    value = value - 0.5 * (logits * fixed).sum(axis=(1, 2)) + constant + scales.constant
    return value, -fixed - weight[:, None] * deviations
