"""A covariance of all parameters over samples of the rows, and draws that have it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaincinv, logsumexp

from bayesvb.numerics.arrays import DrawCoordinates, DrawVector
from bayesvb.sensitivity.covariance import coordinates_of
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

NODES = 32
"""Values of the common scale of a multivariate t over which its density is averaged."""


@dataclass(frozen=True)
class RobustCovariance:
    """Covariance of the standard coordinates of a posterior by the infinitesimal jackknife.

    Attributes
    ----------
    covariance : ndarray, shape (coordinates, coordinates)
    n_clusters : float
        Units that were held out one at a time: clusters, or rows (counted by case weight if weights
        are frequencies).
    clustered : bool
        Whether clusters were named; otherwise rows are their own.
    """

    covariance: Float[np.ndarray, "coordinates coordinates"]
    n_clusters: float
    clustered: bool

    @property
    def dof(self) -> float:
        """Degrees of freedom of intervals."""
        return self.n_clusters - 1.0

    @property
    def words(self) -> str:
        """Units that vary, in a few words."""
        what = "clusters" if self.clustered else "rows, each a cluster of its own"
        return f"{self.n_clusters:g} {what}"

    def described(self) -> dict[str, object]:
        """All but the covariance, as arguments by name."""
        return {"n_clusters": self.n_clusters, "clustered": self.clustered}

    def move(
        self, model: AnyModel, posterior: object, draws: Draws, rng: np.random.Generator
    ) -> tuple[Draws, DrawVector]:
        """Draws of the posterior given this covariance, with their log density.

        They are multivariate t: the symmetric root of the covariance times the standard
        coordinates, and a scale that all coordinates of a draw share.
        """
        coordinates = coordinates_of(model, posterior)
        values, axes = np.linalg.eigh(self.covariance)
        # Smallest variance of a coordinate, which draws need to have a density.
        values = np.maximum(values, 1e-10)
        root, inverse = axes * np.sqrt(values) @ axes.T, axes / np.sqrt(values) @ axes.T
        standard = coordinates.standard(draws) @ root
        scales = np.ones(1)
        # Degrees of freedom from which a Student t is a normal.
        if self.dof < 500.0:
            standard *= np.sqrt(self.dof / rng.chisquare(self.dof, len(standard)))[:, None]
            probs = (np.arange(NODES) + 0.5) / NODES
            scales = np.sqrt(self.dof / (2.0 * gammaincinv(0.5 * self.dof, probs)))
        moved: Draws = coordinates.parameters(standard)
        each = [
            _log_density(model, posterior, coordinates, standard @ inverse / scale)
            - standard.shape[1] * np.log(scale)
            for scale in scales
        ]
        whole = logsumexp(each, axis=0) - np.log(len(each)) - 0.5 * np.log(values).sum()
        return moved, np.asarray(whole - coordinates.log_volume(moved))


def _log_density(
    model: AnyModel, posterior: object, own: AbstractCoordinates, standard: DrawCoordinates
) -> DrawVector:
    """Log density of the posterior in its standard coordinates."""
    draws = own.parameters(standard)
    return np.asarray(model.log_posterior(posterior, draws) + own.log_volume(draws))
