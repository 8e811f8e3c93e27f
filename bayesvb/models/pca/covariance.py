"""Contribution of unknown scores to the spread of the parameters of a factor model.

The approximation treats scores and parameters as independent, so that a centre and loadings are as
certain as if the scores were data. Given loadings and noise the scores can be integrated out. A row
is then ``N(mu, W W' + I / tau)``, and the information in such rows is known: for ``mu``,
independent of the loadings (mean and covariance of a Gaussian); for the loadings, Fisher's
information; for ``tau``, the residual of a row after projection on the loadings.
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
from bayesvb.models.pca.information import LoadingsInformation, with_doubtful_angles
from bayesvb.models.pca.scores import LatentPosterior
from bayesvb.numerics.arrays import DrawCoordinates, DrawVector
from bayesvb.numerics.linalg import inverse_and_log_det, times
from bayesvb.variational.coordinates import AbstractStandardCoordinates
from bayesvb.variational.local import Draws

MOST_LOADINGS = 1000
"""Number of loadings whose covariance is computed; loadings of further components stay fixed."""


@dataclass(frozen=True)
class Information(SufficientStats):
    """Information of rows on centre and loadings, and values less directions of the loadings."""

    centre: Float[np.ndarray, "dims dims"]
    residual: Float[np.ndarray, " 1"]
    loadings: LoadingsInformation


@dataclass(frozen=True)
class LoadingsAndNoise(AbstractStandardCoordinates):
    """Standard coordinates of the centre, of loadings column by column, then of ``log tau``.

    Coordinates of a variable are ``sqrt(tau) L_i^-1 (c_i - m_i)``, ``c_i`` its centre with its
    loadings on the first components and ``L_i L_i'`` their scaled covariance. Loadings on further
    components and relevances stay fixed.

    Attributes
    ----------
    posterior : Loadings
    n_moved : int
        Components whose loadings are moved.
    """

    posterior: Loadings
    n_moved: int

    @property
    def columns(self) -> list[int]:
        """Columns of ``[W, mu]`` that are moved: the centre, then loadings."""
        return [self.posterior.mean.shape[1] - 1, *range(self.n_moved)]

    @property
    def centre(self) -> Float[np.ndarray, "dims columns"]:
        """Means of the moved parameters."""
        return self.posterior.mean[:, self.columns]

    @property
    def root(self) -> Float[np.ndarray, "matrices columns columns"]:
        """``L_i``, for every variable or one for all."""
        covariance = self.posterior.covariance[:, self.columns][:, :, self.columns]
        return np.linalg.cholesky(covariance)

    @property
    def spread(self) -> float:
        """Standard deviation of ``log tau``."""
        return float(np.sqrt(polygamma(1, self.posterior.shape)))

    def standard(self, draws: Draws) -> DrawCoordinates:
        moved = draws["loadings"][:, :, : self.n_moved]
        shift = np.concatenate([draws["centre"][:, :, None], moved], axis=2) - self.centre
        shift = shift * np.sqrt(draws["precision"])[:, None, None]
        there = np.swapaxes(times(np.linalg.inv(self.root), shift), 1, 2)
        noise = np.log(draws["precision"]) - self.posterior.expected_log_precision
        return np.concatenate([there.reshape(len(noise), -1), noise[:, None] / self.spread], axis=1)

    def moved(self, draws: Draws, root: Float[np.ndarray, "coordinates coordinates"]) -> Draws:
        """The draws with centre, loadings and noise at their coordinates times the root."""
        there = self.standard(draws) @ root
        log_precision = self.posterior.expected_log_precision + self.spread * there[:, -1]
        precision = np.exp(log_precision)
        own = there[:, :-1].reshape(len(there), self.n_moved + 1, -1)
        shift = times(self.root, np.swapaxes(own, 1, 2)) / np.sqrt(precision)[:, None, None]
        both = self.centre + shift
        rest = draws["loadings"][:, :, self.n_moved :]
        loadings = np.concatenate([both[:, :, 1:], rest], axis=2)
        return {**draws, "centre": both[:, :, 0], "loadings": loadings, "precision": precision}

    def log_volume(self, draws: Draws) -> DrawVector:
        """``(1 - entries / 2) log tau``."""
        share = 1.0 - 0.5 * self.centre.size
        return np.asarray(share * np.log(draws["precision"]))

    def covariance(
        self,
        source: AbstractSource,
        prior_precision: float,
        relevance: Float[np.ndarray, " components"],
    ) -> Float[np.ndarray, "coordinates coordinates"]:
        r"""Covariance of the coordinates with the scores integrated out.

        The centre has precision ``sum_n S_n' C_n^-1 S_n``, ``S_n`` the observed variables of a row
        and ``C_n`` the mean of ``W W' + I / tau`` for them; for the loadings see
        ``LoadingsInformation``. The noise has as many degrees of freedom as values, less ``tr(I -
        \Sigma_n)`` per row, the scores that it determines.

        Parameters
        ----------
        source : AbstractSource
        prior_precision : float
            Of the centre, in units of ``tau``.
        relevance : ndarray
            Prior precision of the loadings, in units of ``tau``.
        """
        q, law = self.posterior, _row_covariance(self.posterior)
        information = source.map_reduce(partial(_information, q, law, self.n_moved))
        tau, n_dims = q.expected_precision, len(law)
        precision = information.centre + prior_precision * tau * np.eye(n_dims)
        whole = np.zeros((self.centre.size, self.centre.size))
        whole[:n_dims, :n_dims] = inverse_and_log_det(precision[None])[0][0]
        if self.n_moved:
            loadings = q.mean[:, : self.n_moved]
            variances = np.diagonal(q.covariance, axis1=1, axis2=2)[:, : self.n_moved] / tau
            if len(variances) > 1:  # without those of variables that no row has observed
                variances = variances[np.diagonal(information.centre) > 0.0]
            of_loadings = information.loadings.covariance(
                loadings, relevance[: self.n_moved] * tau, float(variances.mean())
            )
            whole[n_dims:, n_dims:] = with_doubtful_angles(of_loadings, loadings, 1.0 / tau)
        result = np.eye(len(whole) + 1)
        result[:-1, :-1] = tau * self._standardised(whole)
        dof = float(information.residual[0])
        if dof > 0.0:
            result[-1, -1] = max(float(polygamma(1, 0.5 * dof)) / self.spread**2, 1.0)
        return result

    def _standardised(
        self, covariance: Float[np.ndarray, "entries entries"]
    ) -> Float[np.ndarray, "entries entries"]:
        """``L^-1 S L^-T``, ``S`` the covariance of centre and loadings."""
        n_dims, n_columns = self.centre.shape
        inverse = np.broadcast_to(np.linalg.inv(self.root), (n_dims, n_columns, n_columns))
        blocks = np.zeros((n_columns, n_dims, n_columns, n_dims))
        each = np.arange(n_dims)
        blocks[:, each, :, each] = inverse
        whole = blocks.reshape(n_dims * n_columns, n_dims * n_columns)
        return np.asarray(whole @ covariance @ whole.T)


def _row_covariance(q: Loadings) -> Float[np.ndarray, "dims dims"]:
    """``E[W W' + I / tau]``."""
    loadings = q.mean[:, :-1]
    spread = 1.0 + np.trace(q.covariance[:, :-1, :-1], axis1=1, axis2=2)
    noise = np.broadcast_to(q.rate / max(q.shape - 1.0, 0.5 * q.shape) * spread, len(loadings))
    return np.asarray(loadings @ loadings.T + np.diag(noise))


def _information(
    q: Loadings, law: Float[np.ndarray, "dims dims"], n_moved: int, block: Block
) -> Information:
    """Sums over rows, which share a matrix where the same variables were observed."""
    rows = LatentPosterior.of(q, block)
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    count = rows.patterns.sums(weight)
    known = rows.mean.shape[0] - np.trace(rows.covariance, axis1=1, axis2=2)
    moved = q.mean[:, :n_moved]
    centre, loadings = np.zeros_like(law), LoadingsInformation.none(moved.size)
    for index, seen in enumerate(rows.patterns.seen.T > 0.0):
        some, inverse = np.ix_(seen, seen), np.zeros_like(law)
        inverse[some] = inverse_and_log_det(law[some][None])[0][0]
        centre += count[index] * inverse
        loadings = loadings + LoadingsInformation.of(inverse, moved, float(count[index]))
    values = rows.patterns.seen.sum(axis=0)
    return Information(centre, np.array([float(count @ (values - known))]), loadings)
