r"""Coefficients that scatter around common ones, with the common ones integrated out.

For a column with common coefficient ``b ~ N(0, v)`` and ``beta_k | b ~ N(b, 1 / (lambda tau_k))``
write ``bbar = sum tau_k beta_k / T``, ``T = sum tau_k`` and ``Q = sum tau_k (beta_k - bbar)^2``. In
units of the noise, ``u_k = beta_k sqrt(tau_k)``, the density of the coefficients is

.. math:: (2\pi)^{-(K-1)/2} \lambda^{(K-1)/2} T^{-1/2} e^{-\lambda Q/2}
          N(\bar b; 0, v + 1/(\lambda T)).

But for the last factor ``lambda`` is gamma given the coefficients. Samplers propose from a density
in which ``lambda`` in that factor is replaced by its mean; importance weights make up for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import logsumexp

from bayesvb.models.integrated_scales import IntegratedScales
from bayesvb.models.mixture_rows import Coefficients, LogPrecisions
from bayesvb.numerics.arrays import DrawExperts, DrawTerms, DrawVector, PointVector

Columns = Float[np.ndarray, "draws columns"]


@dataclass(frozen=True)
class CommonLaw:
    """Prior of coefficients of one response that scatter around common ones.

    Attributes
    ----------
    differences : IntegratedScales
        Of all terms, ``(K - 1)`` numbers per column that has a common part; coefficients of other
        columns are ``K`` numbers with a fixed precision.
    places : ndarray, shape (columns,)
        Columns with a common part.
    wide : ndarray of bool, shape (columns,)
        Columns whose common coefficients share one standard deviation.
    variance, log_weight : ndarray, shape (points,)
        Squares of that standard deviation, and their log prior probabilities.
    penalised : IntegratedScales
        Of the common coefficients of the other columns.
    """

    differences: IntegratedScales
    places: Int[np.ndarray, " columns"]
    wide: Bool[np.ndarray, " columns"]
    variance: PointVector
    log_weight: PointVector
    penalised: IntegratedScales

    def log_prior(
        self, u: Coefficients, t: LogPrecisions
    ) -> tuple[DrawVector, Coefficients, LogPrecisions]:
        """Log density with the mean of each precision in the spread of ``bbar``, and gradient."""
        parts = _Parts.of(u[:, :, 0], t[:, :, 0], self.places)
        value, precision = self.differences.log_density(parts.squares)
        deviations = precision[:, self.places]
        extra = 1.0 / (deviations * parts.total)
        of_wide, by_centre, by_extra = self._wide(parts.centre, extra)
        of_penalised, weight = self.penalised.log_density(parts.centre**2)
        by_centre = by_centre - weight * parts.centre
        fixed = u[:, :, 0] @ self.differences.fixed
        value = value + of_wide + of_penalised - 0.5 * (u[:, :, 0] * fixed).sum(axis=(1, 2))
        value = value - 0.5 * len(self.places) * np.log(parts.total[:, 0])
        member = self.differences.membership[:, self.places]
        shared = (by_extra @ member.T / self.differences.shape) @ member
        by_square = 0.5 * (shared / parts.total - deviations)
        by_u, by_t = parts.chain(by_square, by_centre)
        by_t -= (0.5 * len(self.places) + (by_extra * extra).sum(axis=1))[:, None] * parts.share
        by_all = -fixed
        by_all[:, :, self.places] += by_u
        return value, by_all[:, :, None], by_t[:, :, None]

    def _wide(self, centre: Columns, extra: Columns) -> tuple[DrawVector, Columns, Columns]:
        """Log density of wide ``bbar``, its slopes in ``bbar`` and in ``1 / (lambda T)``."""
        by_centre, by_extra = np.zeros_like(centre), np.zeros_like(centre)
        at = self.wide
        if not at.any():
            return np.zeros(len(centre)), by_centre, by_extra
        precision = 1.0 / (self.variance[:, None, None] + extra[:, at])
        square = centre[:, at] ** 2
        each = 0.5 * (np.log(precision) - square * precision).sum(axis=2)
        each += self.log_weight[:, None]
        value = logsumexp(each, axis=0)
        share = np.exp(each - value)[:, :, None]
        by_centre[:, at] = -centre[:, at] * (share * precision).sum(axis=0)
        by_extra[:, at] = 0.5 * (share * precision * (square * precision - 1.0)).sum(axis=0)
        return np.asarray(value), by_centre, by_extra

    def draw(
        self, u: Coefficients, t: LogPrecisions, rng: np.random.Generator
    ) -> tuple[tuple[np.ndarray, ...], DrawVector]:
        """Precisions of differences and of penalised common coefficients, and their log density."""
        parts = _Parts.of(u[:, :, 0], t[:, :, 0], self.places)
        drawn, log_own = self.differences.draw(parts.squares, rng)
        common, log_common = self.penalised.draw(parts.centre**2, rng)
        return (drawn, common), log_own + log_common


@dataclass(frozen=True)
class _Parts:
    """Means and deviations of the coefficients of some columns, in units of the noise.

    Attributes
    ----------
    root : ndarray, shape (draws, experts)
        ``sqrt(tau)``.
    total : ndarray, shape (draws, 1)
        ``T``.
    u, deviation : ndarray, shape (draws, experts, columns)
        Coefficients, and ``u_k - sqrt(tau_k) bbar``.
    centre : ndarray, shape (draws, columns)
        ``bbar``.
    squares : ndarray, shape (draws, terms)
        ``Q`` of these columns; zero of others.
    """

    root: DrawExperts
    total: Float[np.ndarray, "draws 1"]
    u: Float[np.ndarray, "draws experts columns"]
    deviation: Float[np.ndarray, "draws experts columns"]
    centre: Columns
    squares: DrawTerms

    @classmethod
    def of(
        cls,
        u: Float[np.ndarray, "draws experts terms"],
        t: DrawExperts,
        places: Int[np.ndarray, " columns"],
    ) -> _Parts:
        """Parts of the coefficients of these columns."""
        root, scaled = np.exp(0.5 * t), u[:, :, places]
        total = (root * root).sum(axis=1, keepdims=True)
        centre = np.einsum("ck,ckj->cj", root, scaled) / total
        deviation = scaled - root[:, :, None] * centre[:, None]
        squares = np.zeros((len(u), u.shape[2]))
        squares[:, places] = (deviation * deviation).sum(axis=1)
        return cls(root, total, scaled, deviation, centre, squares)

    @property
    def share(self) -> DrawExperts:
        """``tau_k / T``."""
        return np.asarray(self.root * self.root / self.total)

    def chain(
        self, by_square: Columns, by_centre: Columns
    ) -> tuple[Float[np.ndarray, "draws experts columns"], DrawExperts]:
        """Slopes in ``u`` and ``log tau`` of a function with these slopes in ``Q`` and ``bbar``."""
        root, pull = self.root[:, :, None], (by_centre / self.total)[:, None]
        by_u = 2.0 * by_square[:, None] * self.deviation + root * pull
        of_square = (by_square * self.centre)[:, None] * root * self.deviation
        of_centre = pull * (0.5 * root * self.u - root * root * self.centre[:, None])
        return by_u, np.asarray((of_centre - of_square).sum(axis=2))
