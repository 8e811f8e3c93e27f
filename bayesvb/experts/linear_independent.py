"""One Gaussian regression whose coefficients and noise are independent a priori."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import gammaincinv, zeta

from bayesvb.experts.linear import LinearExperts, LinearStats
from bayesvb.experts.regression import (
    RegressionPrior,
    RegressionUnits,
    coefficient_rows,
    noise_rows,
)
from bayesvb.factors.coupled_normal_gamma import Regressions
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawVector, Floats
from bayesvb.numerics.linalg import match_covariance
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.local import Draws

SETTLED = 1e-13
"""Relative change of the noise after which another turn changes nothing."""


@dataclass(frozen=True)
class IndependentLinearExperts(LinearExperts):
    r"""``y ~ N(x' b, 1 / tau)``, ``b ~ N(0, B^-1)``, ``tau ~ Ga(a_0, b_0)``: one component.

    The posterior is normal-gamma, ``b | tau ~ N(m, (tau V)^-1)`` and ``tau ~ Ga(a, b)``, with

    .. math:: V = X'X + c B, \quad m = V^{-1} X'y, \quad c = 1 / E[\tau], \quad
              E[\tau] = \frac{a_0 + (n - \gamma) / 2}{b_0 + \lVert y - X m \rVert^2 / 2},

    where ``gamma = p - tr(B V^-1) E[1 / tau]`` is the number of coefficients that the data
    determine. Among these factors ``m``, ``a`` and ``b`` maximise the ELBO. The maximum of ``V``
    has ``E[1 / tau]`` instead of ``c``, which is larger by the factor ``a / (a - 1)``. Under a wide
    prior intervals are t intervals of least squares, with ``n - p`` degrees of freedom; a conjugate
    prior has ``n``.
    Coefficients in blocks whose scale is learned keep their prior in units of the noise, with
    precisions ``tau l`` instead of ``B``.

    Attributes
    ----------
    prior : MatrixNormalGamma
        ``B`` and ``l`` as precision, ``a_0`` and ``b_0``.
    free : ndarray, shape (terms,)
        Terms whose coefficients are independent of the noise.

    References
    ----------
    MacKay (1992), Bayesian interpolation, Neural Computation 4(3), eqs 4.5-4.6, for ``gamma``.
    """

    has_common_effects = False

    free: Bool[np.ndarray, " terms"] = field(kw_only=True)

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> IndependentLinearExperts:
        """Experts whose coefficients are independent of the noise."""
        law = LinearExperts.from_prior(prior).prior
        free = np.arange(len(law.operator.entries)) < prior.n_terms
        free[list(prior.learned_terms)] = False
        return cls(law, free=free)

    @property
    def _free_columns(self) -> Int[np.ndarray, " columns"]:
        """Columns of these terms, which come before effects of groups."""
        return np.flatnonzero(self.free)

    def _given(self, variance: Float[np.ndarray, "*many one"]) -> MatrixNormalGamma:
        """Conjugate prior that has the precision of this one where the noise has this variance."""
        entries, one = self.prior.operator.entries, self.prior.mean.ndim == 2
        precision = np.where(self.free, variance, 1.0) * (entries if one else entries[..., 0, :])
        if one:
            return self.prior.with_coefficient_precision(precision)
        return replace(self.prior, operator=self.prior.operator.diagonal(precision))

    def update(self, stats: LinearStats) -> MatrixNormalGamma:
        """Posterior, from sums over rows: one factorisation for the noise, one for the rest."""
        sums = stats.weight, stats.xx, stats.xy, stats.yy
        flat = self.prior.shape + 0.5 * (stats.weight - self.free.sum())
        first = self.prior.rate[..., 0] / self.prior.shape + np.zeros_like(flat)
        path = _NoisePath.from_posterior(self._given(first).posterior(*sums), self)
        variance = first
        # Most turns between noise and coefficients. A wide prior needs three.
        for _ in range(200):
            residual, undetermined = path.at(variance, first)
            shape = best_shape(flat, undetermined)
            degrees = flat + 0.5 * undetermined * shape / (shape - 1.0)
            before, variance = variance, residual / degrees
            if (np.abs(variance - before) <= SETTLED * before).all():
                break
        update = self._given(variance).posterior(*sums)
        return replace(update, shape=shape, rate=(variance * shape)[..., None])

    def _prior_part(
        self, posterior: Regressions, variance: Float[np.ndarray, "*many one"]
    ) -> tuple[Float[np.ndarray, "*many one"], Float[np.ndarray, "*many one"]]:
        """``c m' B m`` and ``c tr(B V^-1)`` of the free coefficients."""
        n_shared = posterior.covariance.shape[-1]
        precision = np.where(self.free, self.prior.operator.entries, 0.0)[..., :n_shared]
        spread = np.diagonal(posterior.covariance, axis1=-2, axis2=-1)
        mean = posterior.mean[..., 0, :n_shared]
        return variance * np.vecdot(precision, mean**2), variance * np.vecdot(precision, spread)

    def kl(self, posterior: Regressions) -> float:
        """``KL(posterior || prior)``, from the divergence to a conjugate prior."""
        variance = 1.0 / posterior.expected_precision[..., 0]
        _, undetermined = self._prior_part(posterior, variance)
        log_ratio = posterior.expected_log_precision[..., 0] + np.log(variance)
        change = self.free.sum() * log_ratio + undetermined / (posterior.shape - 1.0)
        return posterior.regressions.kl(self._given(variance)) + 0.5 * float(change.sum())

    def effective_dof(self, posterior: Regressions) -> Float[np.ndarray, "experts terms"]:
        variance = 1.0 / posterior.expected_precision[..., 0]
        return posterior.regressions.effective_dof(self._given(variance))

    def with_prior_power(self, power: float) -> IndependentLinearExperts:
        if power == 0.0:
            return self
        law = self.prior.to_the_power(power)
        shape = np.asarray(law.shape - 0.5 * (power - 1.0) * self.free.sum())
        return replace(self, prior=replace(law, shape=shape))

    def draws(self, posterior: Regressions, n: int, rng: np.random.Generator) -> Draws:
        """Draws with the mean and covariance of the coefficients, and quantiles of the noise."""
        law = posterior.regressions.shared
        if law.mean.ndim == 2 or not self.free.all():  # the prior, which may have no variance
            return super().draws(posterior, n, rng)
        quantiles = (rng.permutation(n) + 0.5) / n
        precision = gammaincinv(law.shape[0], quantiles) / law.rate[0, 0]
        noise = rng.standard_normal((n, law.mean.shape[-1])) / np.sqrt(precision)[:, None]
        scaled = match_covariance(noise, (1.0 / precision).mean() * np.eye(noise.shape[1]))
        shift = scaled @ np.linalg.cholesky(law.covariance[0]).T
        return {
            "coefficients": law.mean + shift[:, None, None],
            "precision": precision[:, None, None],
        }

    def linear_dof(self, posterior: Regressions) -> float | None:
        """Degrees of freedom of coefficients, if none has a learned scale."""
        dof = 2.0 * float(posterior.shape[0])
        # Degrees of freedom from which draws have the variance of a Student t distribution.
        return dof if self.free.all() and dof >= 5.0 else None

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        draws = super().prior_draws(n, n_components, rng)
        coefficients, free = draws["coefficients"].copy(), self._free_columns
        coefficients[..., free] *= np.sqrt(draws["precision"])[..., None]
        return {**draws, "coefficients": coefficients}

    def log_density(self, posterior: Regressions | None, draws: Draws) -> DrawVector:
        log_density = super().log_density(posterior, draws)
        if posterior is not None:
            return log_density
        free, precision = self._free_columns, draws["precision"][..., 0]
        diagonal_entries = self.prior.operator.entries[..., free]
        squares = (diagonal_entries * draws["coefficients"][..., 0, free] ** 2).sum(axis=-1)
        log_ratio = len(free) * namespace(precision).log(precision)
        change = 0.5 * ((precision - 1.0) * squares - log_ratio)
        total: DrawVector = log_density + change.sum(axis=-1)
        return total

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients as normal, those in units of the noise as Student t, and the noise."""
        shape, rate = float(self.prior.shape), float(self.prior.rate[0])
        shared, effects = np.split(self.prior.operator.entries**-0.5, [len(units.terms)])
        words = f"Student t({2.0 * shape:g})"
        effect_rows = units.effect_rows(words, np.sqrt(rate / shape) * effects)
        return [
            *coefficient_rows(units, "Normal", shared),
            *effect_rows,
            *noise_rows(units, shape, rate),
        ]


@dataclass(frozen=True)
class _NoisePath:
    """Posterior at every noise variance ``c``, where ``V(c) = V(c_0) + (c - c_0) B``.

    Attributes
    ----------
    values : ndarray, shape (..., free terms)
        Eigenvalues of ``B^(1/2) V(c_0)^-1 B^(1/2)``: all that depends on ``c`` is diagonal there.
    squares : ndarray, shape (..., free terms)
        Squares of the mean ``B^(1/2) m`` at ``c_0`` in these coordinates.
    rate : ndarray, shape (...)
        Rate of the conjugate posterior at ``c_0``.
    """

    values: Float[np.ndarray, "*many terms"]
    squares: Float[np.ndarray, "*many terms"]
    rate: Float[np.ndarray, "*many"]

    @classmethod
    def from_posterior(
        cls, begun: MatrixNormalGamma, experts: IndependentLinearExperts
    ) -> _NoisePath:
        """The path through this conjugate posterior."""
        free = np.flatnonzero(experts.free)
        root = np.sqrt(experts.prior.operator.entries[..., free])
        spread = begun.covariance[..., free[:, None], free]
        values, axes = np.linalg.eigh(root[..., None] * spread * root[..., None, :])
        mean = root * begun.mean[..., 0, free]
        squares = (np.swapaxes(axes, -1, -2) @ mean[..., None])[..., 0] ** 2
        return cls(values, squares, begun.rate[..., 0])

    def at(
        self, variance: Float[np.ndarray, "*many"], first: Float[np.ndarray, "*many"]
    ) -> tuple[Float[np.ndarray, "*many"], Float[np.ndarray, "*many"]]:
        """``b_0 + ||y - X m||^2 / 2`` and ``c tr(B V^-1)`` at a variance; ``first`` is ``c_0``."""
        change = variance - first
        shrunk = 1.0 / (1.0 + change[..., None] * self.values)
        pull = np.vecdot(self.squares, shrunk)  # the integral of m' B m from c_0
        residual = self.rate + 0.5 * (change * pull - variance * np.vecdot(self.squares, shrunk**2))
        return residual, variance * np.vecdot(self.values, shrunk)


def best_shape(shape: Floats, undetermined: Floats) -> Floats:
    r"""Shape ``a > 1`` of the noise that maximises the ELBO, given its mean.

    The root of :math:`(A - a) (\psi'(a) - 1 / a) + u / (2 (a - 1)^2)` for the shape ``A`` of a flat
    prior and the number ``u`` of undetermined coefficients. Newton steps rise to it from below.
    """
    small = np.sqrt(undetermined / (1.3 * (2.0 - np.minimum(shape, 1.0))))
    result = np.maximum(shape, 1.0 + np.minimum(small, 1.0))
    # Most Newton steps for the shape of the noise; a wide prior needs two.
    for _ in range(50):
        left, inverse = result - 1.0, 1.0 / result
        first = zeta(2.0, result) - inverse  # the trigamma function is zeta(2, a)
        scale = left**2 * first
        slope = left * (2.0 * first + left * (inverse**2 - 2.0 * zeta(3.0, result)))
        value = result - shape - 0.5 * undetermined / scale
        step = value / (1.0 + 0.5 * undetermined * slope / scale**2)
        result = result - step
        if (np.abs(step) <= np.sqrt(SETTLED) * result).all():  # the next is the square of this
            break
    return np.asarray(result)
