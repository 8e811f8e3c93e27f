"""Finite mixtures of Student t, one for each draw of the parameters and each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import poch, stdtr, stdtrit

from bayesvb.distributions.location_scale import AbstractLocationScaleMixture
from bayesvb.numerics.arrays import ExpertValues, Floats


@dataclass(frozen=True)
class DrawnStudentMixture(AbstractLocationScaleMixture):
    r"""Mixtures of Student t, the components on the first axis and any axes after it.

    .. math:: p(y) = \sum_k w_k\, \mathrm{St}(y \mid \mu_k, \sigma_k, \nu_k)

    Distribution of a row under a mixture of robust experts, given its parameters.

    Attributes
    ----------
    weights, location, scale, dof : ndarray, shape (experts, ...)
        The scale is not the standard deviation; degrees of freedom are positive.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> y = DrawnStudentMixture(one, 0.0 * one, one, 4.0 * one)
    >>> y.quantile(0.95).round(3), y.sd().round(3)
    (array([2.132]), array([1.414]))
    """

    weights: ExpertValues
    location: ExpertValues
    scale: ExpertValues
    dof: ExpertValues

    def component_variance(self) -> ExpertValues:
        """``scale^2 nu / (nu - 2)``, infinite up to two degrees of freedom."""
        excess = np.where(self.dof > 2.0, self.dof - 2.0, np.nan)
        return np.where(self.dof > 2.0, self.scale**2 * self.dof / excess, np.inf)

    def standard_cdf(self, z: ExpertValues) -> ExpertValues:
        return np.asarray(stdtr(self.dof, z))

    def standard_log_density(self, z: ExpertValues) -> ExpertValues:
        constant = np.log(poch(0.5 * self.dof, 0.5) / np.sqrt(np.pi * self.dof))
        return np.asarray(constant - 0.5 * (self.dof + 1.0) * np.log1p(z * z / self.dof))

    def standard_draws(self, rng: np.random.Generator) -> ExpertValues:
        return rng.standard_t(self.dof)

    def standard_quantile(self, q: float) -> Floats:
        return np.asarray(stdtrit(self.dof, q))

    def standard_log_mgf(self, t: ExpertValues) -> Floats:
        """Infinite but at zero: the tails are powers."""
        return np.where(t == 0.0, 0.0, np.inf)
