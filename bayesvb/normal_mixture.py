"""Finite mixtures of Gaussians, one for each draw of the parameters and each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, ndtri

from bayesvb.errors import DataError
from bayesvb.quantiles import invert_log_cdf
from bayesvb.special import LOG_2PI

POINTS_PER_BLOCK = 1 << 14
"""Quantiles solved together: the arrays (experts, points) of a block stay in cache."""

SLACK = 1e-9
"""Relative widening of the bracket of a quantile, beyond the rounding of its ends."""


@dataclass(frozen=True)
class NormalMixture:
    r"""Mixtures of Gaussians, the components on the first axis and any axes after it.

    .. math:: p(y) = \sum_k w_k\, N(y \mid \mu_k, \sigma_k^2)

    What a mixture of linear Gaussian experts says of a row once its parameters are given: no
    integral over them is left, as there is in ``StudentMixture``.

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

    weights: Float[np.ndarray, "experts ..."]
    location: Float[np.ndarray, "experts ..."]
    scale: Float[np.ndarray, "experts ..."]

    def mean(self) -> Float[np.ndarray, "..."]:
        """Means, the sum of ``w mu``."""
        return np.asarray((self.weights * self.location).sum(axis=0))

    def sd(self) -> Float[np.ndarray, "..."]:
        """Standard deviations by the law of total variance."""
        spread = self.scale**2 + (self.location - self.mean()) ** 2
        return np.asarray(np.sqrt((self.weights * spread).sum(axis=0)))

    def above(self, value: float) -> Float[np.ndarray, "..."]:
        """Probabilities of more than a value."""
        return self._tail((self.location - value) / self.scale)

    def below(self, value: float) -> Float[np.ndarray, "..."]:
        """Probabilities of less than a value."""
        return self._tail((value - self.location) / self.scale)

    def _tail(self, z: Float[np.ndarray, "experts ..."]) -> Float[np.ndarray, "..."]:
        return np.asarray(np.minimum((self.weights * ndtr(z)).sum(axis=0), 1.0))

    def density(self, value: float) -> Float[np.ndarray, "..."]:
        """Densities at a value, per unit of the response."""
        z = (value - self.location) / self.scale
        return np.asarray((self.weights * _normal_density(z) / self.scale).sum(axis=0))

    def quantile(self, q: float) -> Float[np.ndarray, "..."]:
        """Quantiles, to 1e-8 of the narrowest scale.

        Raises
        ------
        DataError
            If ``q`` is not between 0 and 1.
        """
        if not 0.0 < q < 1.0:
            raise DataError(f"q={q:g} is not between 0 and 1", hint="write 0.05 for 5 %")
        n_experts, shape = len(self.weights), self.weights.shape[1:]
        weights = self.weights.reshape(n_experts, -1)
        location, scale = self.location.reshape(n_experts, -1), self.scale.reshape(n_experts, -1)
        found = [np.empty(0)]
        for start in range(0, weights.shape[1], POINTS_PER_BLOCK):
            at = np.s_[:, start : start + POINTS_PER_BLOCK]
            found.append(_quantiles(weights[at], location[at], scale[at], q))
        return np.concatenate(found).reshape(shape)


def _normal_density(z: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return np.asarray(np.exp(-0.5 * (z * z + LOG_2PI)))


def _quantiles(
    weights: Float[np.ndarray, "experts points"],
    location: Float[np.ndarray, "experts points"],
    scale: Float[np.ndarray, "experts points"],
    q: float,
) -> Float[np.ndarray, " points"]:
    """Quantiles of every point; those of the upper half as lower tails of the mirror image."""
    side = -1.0 if q > 0.5 else 1.0
    tail = 1.0 - q if q > 0.5 else q
    centre, unit = (weights * location).sum(axis=0), (weights * scale).sum(axis=0)
    location, scale = side * (location - centre) / unit, scale / unit

    def log_cdf(
        x: Float[np.ndarray, " some"], which: Int[np.ndarray, " some"]
    ) -> tuple[Float[np.ndarray, " some"], Float[np.ndarray, " some"]]:
        share, width = weights[:, which], scale[:, which]
        z = (x - location[:, which]) / width
        below = (share * ndtr(z)).sum(axis=0)
        density = (share / width * _normal_density(z)).sum(axis=0)
        return np.log(below), density / below

    ends = location + scale * ndtri(tail)
    used = weights > 0.0
    slack = SLACK * (1.0 + np.abs(ends))
    lower = np.where(used, ends - slack, np.inf).min(axis=0)
    upper = np.where(used, ends + slack, -np.inf).max(axis=0)
    start = np.clip((weights * ends).sum(axis=0), lower, upper)
    width = np.where(used, scale, np.inf).min(axis=0)
    target = np.full(len(start), np.log(tail))
    root = invert_log_cdf(log_cdf, target, bracket=(lower, upper), start=start, width=width)
    return np.asarray(centre + side * unit * root)
