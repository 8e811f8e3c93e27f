"""Prior of a factor model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.factors.gamma import gamma_log_density, precision_draws
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class PcaPrior:
    """Prior of a factor model with exchangeable components.

    Attributes
    ----------
    centre_precision : float
        ``beta_0``: ``mu | tau ~ N(0, (beta_0 tau)^-1 I)``.
    noise_shape, noise_rate : float
        ``tau ~ Ga(a_0, b_0)``.
    relevance_shape, relevance_rate : float
        ``alpha_i ~ Ga(c_0, d_0)``, ``w_i | tau, alpha_i ~ N(0, (alpha_i tau)^-1 I)``.
    """

    centre_precision: float
    noise_shape: float
    noise_rate: float
    relevance_shape: float
    relevance_rate: float

    def draws(self, n: int, n_dims: int, n_scores: int, rng: np.random.Generator) -> Draws:
        """Draws of ``loadings``, ``centre``, ``precision`` and ``relevance``."""
        precision = precision_draws(self.noise_shape, self.noise_rate, n, rng)
        relevance = precision_draws(self.relevance_shape, self.relevance_rate, (n, n_scores), rng)
        sd = 1.0 / np.sqrt(precision)
        size = (sd[:, None] / np.sqrt(relevance))[:, None]
        spread = sd[:, None] / np.sqrt(self.centre_precision)
        return {
            "loadings": size * rng.standard_normal((n, n_dims, n_scores)),
            "centre": spread * rng.standard_normal((n, n_dims)),
            "precision": precision,
            "relevance": relevance,
        }

    def log_density(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Log density of each draw."""
        precision, relevance = draws["precision"], draws["relevance"]
        n_dims, xp = draws["centre"].shape[1], namespace(precision)
        weight = relevance * precision[:, None]
        norms = (draws["loadings"] ** 2).sum(axis=1)
        loadings = 0.5 * (n_dims * (xp.log(weight) - LOG_2PI) - weight * norms).sum(axis=1)
        flat = self.centre_precision * precision
        square = (draws["centre"] ** 2).sum(axis=1)
        centre = 0.5 * (n_dims * (xp.log(flat) - LOG_2PI) - flat * square)
        own = gamma_log_density(relevance, self.relevance_shape, self.relevance_rate).sum(axis=1)
        own = own + gamma_log_density(precision, self.noise_shape, self.noise_rate)
        density: Float[np.ndarray, " draws"] = loadings + centre + own
        return density
