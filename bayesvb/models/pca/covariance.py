"""What scores that are not known add to the spread of centre and noise of a factor model.

The approximation takes scores and parameters as independent, so that a centre is as certain as if
the scores were data. Given loadings and noise the scores can be integrated out. A row is then
``N(mu, W W' + I / tau)``, and what such rows tell of ``mu`` and ``tau`` is known: the one is not
related to loadings (mean and covariance of a Gaussian), the other comes from what is left of a row
when the directions of the loadings are taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from scipy.special import polygamma

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.loadings import Loadings
from bayesvb.models.pca.scores import LatentPosterior
from bayesvb.numerics.linalg import inverse_and_log_det
from bayesvb.variational.coordinates import AbstractStandardCoordinates
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class Information(SufficientStats):
    """Information of rows on the centre, and their values less directions of the loadings."""

    centre: Float[np.ndarray, "dims dims"]
    residual: Float[np.ndarray, " 1"]


@dataclass(frozen=True)
class CentreAndNoise(AbstractStandardCoordinates):
    """Standard coordinates of the centre, ``sqrt(tau v_i) (mu_i - m_i)``, then of ``log tau``.

    ``v_i`` is the scaled precision of ``mu_i`` alone. Loadings and relevances are not moved.
    """

    posterior: Loadings

    @property
    def scale(self) -> Float[np.ndarray, " dims"]:
        """``sqrt(v_i)``."""
        variance = self.posterior.covariance[:, -1, -1]
        return np.asarray(1.0 / np.sqrt(np.broadcast_to(variance, len(self.posterior.mean))))

    @property
    def spread(self) -> float:
        """Standard deviation of ``log tau``."""
        return float(np.sqrt(polygamma(1, self.posterior.shape)))

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of draws."""
        root = np.sqrt(draws["precision"])[:, None]
        centre = root * (draws["centre"] - self.posterior.mean[:, -1]) * self.scale
        noise = np.log(draws["precision"]) - self.posterior.expected_log_precision
        return np.concatenate([centre, noise[:, None] / self.spread], axis=1)

    def moved(self, draws: Draws, root: Float[np.ndarray, "coordinates coordinates"]) -> Draws:
        """The draws with centre and noise at their coordinates times the root."""
        there = self.standard(draws) @ root
        log_precision = self.posterior.expected_log_precision + self.spread * there[:, -1]
        precision = np.exp(log_precision)
        shift = there[:, :-1] / (np.sqrt(precision)[:, None] * self.scale)
        centre = self.posterior.mean[:, -1] + shift
        return {**draws, "centre": centre, "precision": precision}

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """``(1 - dims / 2) log tau``."""
        share = 1.0 - 0.5 * draws["centre"].shape[1]
        return np.asarray(share * np.log(draws["precision"]))

    def covariance(
        self, source: AbstractSource, prior_precision: float
    ) -> Float[np.ndarray, "coordinates coordinates"]:
        r"""Covariance of the coordinates with the scores integrated out.

        The centre has precision ``sum_n S_n' C_n^-1 S_n``, ``S_n`` the variables of a row that were
        observed and ``C_n`` the mean of ``W W' + I / tau`` for them. The noise has as many degrees
        of freedom as values, less ``tr(I - \Sigma_n)`` per row, the scores that it determines.

        Parameters
        ----------
        source : AbstractSource
        prior_precision : float
            Of the centre, in units of ``tau``.
        """
        q, law = self.posterior, _row_covariance(self.posterior)
        found = source.map_reduce(partial(_information, q, law))
        tau = q.expected_precision
        precision = found.centre + prior_precision * tau * np.eye(len(law))
        result = np.eye(len(law) + 1)
        inverse = inverse_and_log_det(precision[None])[0][0]
        result[:-1, :-1] = tau * inverse * np.outer(self.scale, self.scale)
        dof = float(found.residual[0])
        if dof > 0.0:
            result[-1, -1] = max(float(polygamma(1, 0.5 * dof)) / self.spread**2, 1.0)
        return result


def _row_covariance(q: Loadings) -> Float[np.ndarray, "dims dims"]:
    """``E[W W' + I / tau]``."""
    loadings = q.mean[:, :-1]
    spread = 1.0 + np.trace(q.covariance[:, :-1, :-1], axis1=1, axis2=2)
    noise = np.broadcast_to(q.rate / max(q.shape - 1.0, 0.5 * q.shape) * spread, len(loadings))
    return np.asarray(loadings @ loadings.T + np.diag(noise))


def _information(q: Loadings, law: Float[np.ndarray, "dims dims"], block: Block) -> Information:
    """Sums over rows, which share a matrix where the same variables were observed."""
    rows = LatentPosterior.of(q, block)
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    count = rows.patterns.sums(weight)
    known = rows.mean.shape[0] - np.trace(rows.covariance, axis1=1, axis2=2)
    centre = np.zeros_like(law)
    for index, seen in enumerate(rows.patterns.seen.T > 0.0):
        some = np.ix_(seen, seen)
        centre[some] += count[index] * inverse_and_log_det(law[some][None])[0][0]
    values = rows.patterns.seen.sum(axis=0)
    return Information(centre, np.array([float(count @ (values - known))]))
