"""Finite mixtures of Gaussians, one for each draw of the parameters and each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from bayesvb.distributions.location_scale import AbstractLocationScaleMixture
from bayesvb.numerics.arrays import ExpertValues, Floats
from bayesvb.numerics.special import LOG_2PI


@dataclass(frozen=True)
class NormalMixture(AbstractLocationScaleMixture):
    r"""Mixtures of Gaussians, the components on the first axis and any axes after it.

    .. math:: p(y) = \sum_k w_k\, N(y \mid \mu_k, \sigma_k^2)

    Distribution of a row under a mixture of linear Gaussian experts, given its parameters: no
    integral over them remains, as in ``StudentMixture``.

    Attributes
    ----------
    weights : ndarray, shape (experts, ...)
        Non-negative, summing to one over the experts.
    location, scale : ndarray, shape (experts, ...)
        Means and standard deviations, in the units of the response.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, eqs 14.34 and 14.45.

    Examples
    --------
    >>> even = np.full((2, 1), 0.5)
    >>> y = NormalMixture(even, np.array([[-1.0], [1.0]]), even)
    >>> y.mean(), y.sd().round(3), y.above(0.0)
    (array([0.]), array([1.118]), array([0.5]))
    """

    weights: ExpertValues
    location: ExpertValues
    scale: ExpertValues

    def component_variance(self) -> ExpertValues:
        """Squared scales."""
        return np.asarray(self.scale**2)

    def standard_cdf(self, z: ExpertValues) -> ExpertValues:
        return np.asarray(ndtr(z))

    def standard_log_density(self, z: ExpertValues) -> ExpertValues:
        return np.asarray(-0.5 * (z * z + LOG_2PI))

    def standard_draws(self, rng: np.random.Generator) -> ExpertValues:
        return rng.standard_normal(self.location.shape)

    def standard_quantile(self, q: float) -> Floats:
        return np.asarray(ndtri(q))

    def standard_log_mgf(self, t: ExpertValues) -> Floats:
        """``t^2 / 2``."""
        return np.asarray(0.5 * t * t)
