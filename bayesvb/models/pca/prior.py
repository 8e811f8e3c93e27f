"""Prior of a factor model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.factors.gamma import gamma_log_density, precision_draws
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawVector
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class PcaPrior:
    """Prior of a factor model, whose components are exchangeable unless ``s_0`` differs.

    Attributes
    ----------
    centre_precision : float
        ``beta_0``: ``mu | W, tau ~ N(W s_0 + m_0, (beta_0 tau)^-1 I)``.
    noise_shape, noise_rate : float
        ``tau ~ Ga(a_0, b_0)``.
    relevance_shape, relevance_rate : float
        ``alpha_i ~ Ga(c_0, d_0)``, ``w_i | tau, alpha_i ~ N(0, (alpha_i tau)^-1 I)``.
    centre_mean : tuple of float, one per variable, or empty
        ``m_0``; zero if empty.
    centre_scores : tuple of float, one per component, or empty
        ``s_0``; zero if empty.
    """

    centre_precision: float
    noise_shape: float
    noise_rate: float
    relevance_shape: float
    relevance_rate: float
    centre_mean: tuple[float, ...] = ()
    centre_scores: tuple[float, ...] = ()

    def mean(self, n_dims: int, n_scores: int) -> Float[np.ndarray, "dims columns"]:
        """Mean of ``[W, mu]``: zeros and ``m_0``."""
        mean = np.zeros((n_dims, n_scores + 1))
        if self.centre_mean:
            mean[:, -1] = self.centre_mean
        return mean

    def precision(
        self, relevance: Float[np.ndarray, " components"]
    ) -> Float[np.ndarray, "columns columns"]:
        """Precision of a row of ``[W, mu]`` in units of ``tau``, given the relevances.

        The centre has its prior given the loadings, so that ``s_0`` relates the two as one more
        row with scores ``-s_0`` and weight ``beta_0`` would.
        """
        contrast = np.append(-self._scores(len(relevance)), 1.0)
        precision = np.diag(np.append(relevance, 0.0))
        return precision + self.centre_precision * np.outer(contrast, contrast)

    def permuted(self, order: Sequence[int]) -> PcaPrior:
        """Prior with the components in another order."""
        return replace(self, centre_scores=tuple(self.centre_scores[i] for i in order))

    def _scores(self, n_scores: int) -> Float[np.ndarray, " components"]:
        """``s_0``."""
        return np.array(self.centre_scores) if self.centre_scores else np.zeros(n_scores)

    def draws(self, n: int, n_dims: int, n_scores: int, rng: np.random.Generator) -> Draws:
        """Draws of ``loadings``, ``centre``, ``precision`` and ``relevance``."""
        precision = precision_draws(self.noise_shape, self.noise_rate, n, rng)
        relevance = precision_draws(self.relevance_shape, self.relevance_rate, (n, n_scores), rng)
        sd = 1.0 / np.sqrt(precision)
        size = (sd[:, None] / np.sqrt(relevance))[:, None]
        spread = sd[:, None] / np.sqrt(self.centre_precision)
        loadings = size * rng.standard_normal((n, n_dims, n_scores))
        location = loadings @ self._scores(n_scores) + self.mean(n_dims, n_scores)[:, -1]
        return {
            "loadings": loadings,
            "centre": location + spread * rng.standard_normal((n, n_dims)),
            "precision": precision,
            "relevance": relevance,
        }

    def log_density(self, draws: Draws) -> DrawVector:
        """Log density of each draw."""
        precision, relevance = draws["precision"], draws["relevance"]
        (_, n_dims, n_scores), xp = draws["loadings"].shape, namespace(precision)
        weight = relevance * precision[:, None]
        norms = (draws["loadings"] ** 2).sum(axis=1)
        loadings = 0.5 * (n_dims * (xp.log(weight) - LOG_2PI) - weight * norms).sum(axis=1)
        flat = self.centre_precision * precision
        shift = draws["centre"] - draws["loadings"] @ self._scores(n_scores)
        square = ((shift - self.mean(n_dims, n_scores)[:, -1]) ** 2).sum(axis=1)
        centre = 0.5 * (n_dims * (xp.log(flat) - LOG_2PI) - flat * square)
        relevances = gamma_log_density(relevance, self.relevance_shape, self.relevance_rate).sum(
            axis=1
        )
        relevances = relevances + gamma_log_density(precision, self.noise_shape, self.noise_rate)
        density: DrawVector = loadings + centre + relevances
        return density
