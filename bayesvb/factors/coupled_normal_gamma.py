r"""Regressions of several components whose coefficients scatter around common ones.

For components ``k`` and the columns ``J`` that have a common part, with one response,

.. math:: \beta_k \mid b, \tau_k \sim N(E b, (\tau_k \Lambda)^{-1}), \quad
          b \sim N(0, \mathrm{diag}(\ell)^{-1}), \quad \tau_k \sim \mathrm{Ga}(a_0, b_0),

``E`` puts the common coefficients ``b`` in the places ``J``. The posterior factor
``q(b) prod_k q(tau_k) q(beta_k | b, tau_k)`` keeps coefficients given ``b`` exact: as ``Lambda``
grows, ``b`` and ``beta_k`` become one number, and independent factors of both would stall.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg.lapack import dtrtrs
from scipy.special import polygamma

from bayesvb.factors.bounded_scale import BoundedScale
from bayesvb.factors.coefficient_basis import JointBasis
from bayesvb.factors.gamma import gamma_kl, gamma_log_density
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma, Moments, check_gamma
from bayesvb.factors.regression_factor import AbstractRegressionFactor
from bayesvb.linear.precisions import AbstractPrecision, DensePrecision
from bayesvb.numerics.array_library import AnyArray, namespace
from bayesvb.numerics.arrays import BatchArray, DrawExperts, DrawTerms, DrawVector
from bayesvb.numerics.linalg import (
    inverse_and_log_det,
    quadratic_weights,
    times,
    trace_of_product,
    unpack,
)
from bayesvb.numerics.pieces import AT_ONCE, pieces
from bayesvb.numerics.special import LOG_2PI

SETTLED = 1e-12
"""Relative change of the noise precisions below which another round is rounding."""

NEAR = 1e-3
"""Step of the logarithm of a noise precision below which derivatives stay: they take most time."""

LONGEST_STEP = 1.0
"""Largest step of the logarithm of a noise precision."""


@dataclass(frozen=True)
class CommonColumns:
    """Columns whose coefficients have a part that is common to the components.

    Attributes
    ----------
    places : ndarray, shape (columns,)
        Positions among all columns, ascending.
    wide : ndarray of bool, shape (columns,)
        Columns whose common coefficients share the standard deviation ``spread``; the common
        coefficients of other columns have precisions of their term.
    spread : BoundedScale
        Prior of that standard deviation.
    """

    places: Int[np.ndarray, " columns"]
    wide: Bool[np.ndarray, " columns"]
    spread: BoundedScale


@dataclass(frozen=True)
class CommonEffectPrior:
    """Prior of the regressions of all components, given the precisions of coefficients.

    Attributes
    ----------
    regression : MatrixNormalGamma
        Of one component, with one response: its noise, and means of zero.
    columns : CommonColumns
    terms : ndarray, shape (..., terms)
        ``Lambda``: precisions of the differences, in units of a component's noise.
    common : ndarray, shape (..., columns)
        ``ell``: precisions of the common coefficients, in units of the response.
    """

    regression: MatrixNormalGamma
    columns: CommonColumns
    terms: Float[np.ndarray, "*many terms"]
    common: Float[np.ndarray, "*many columns"]

    @classmethod
    def of(
        cls,
        regression: MatrixNormalGamma,
        columns: CommonColumns,
        precision: Float[np.ndarray, "*many entries"],
    ) -> CommonEffectPrior:
        """Prior with the precisions of all terms, then of the common coefficients."""
        terms, common = np.split(precision, [regression.mean.shape[-1]], axis=-1)
        return cls(regression, columns, terms, common)

    def posterior(
        self,
        weight: Float[np.ndarray, "*batch experts"],
        xx: Float[np.ndarray, "*batch experts pairs"],
        xy: Float[np.ndarray, "*batch experts 1 terms"],
        yy: Float[np.ndarray, "*batch experts 1"],
    ) -> CoupledNormalGamma:
        """Posterior given weighted sums of ``1``, ``x x'`` (packed), ``y x``, ``y^2`` by component.

        ``q(b)`` and ``q(tau)`` are solved for together, so the posterior is a function of the sums.

        Raises
        ------
        numpy.linalg.LinAlgError
            The sums are of no data: a precision not positive definite, a rate not positive.
        """
        term_sums = np.broadcast_to(self.terms[..., None, :], xy.shape[:-2] + xy.shape[-1:])
        precision = unpack(xx) + term_sums[..., None] * np.eye(term_sums.shape[-1])
        covariance, log_det = inverse_and_log_det(precision)
        base = (covariance @ xy[..., 0, :, None])[..., 0]
        at = self.columns.places
        slope = covariance[..., at] * term_sums[..., None, at]
        shape = self.regression.shape + 0.5 * weight
        residual = yy[..., 0] - np.vecdot(xy[..., 0, :], base)
        solution = self._solve_common(shape, residual, self.pull(base), self.information(slope))
        common, spread, spread_log_det, rate = solution
        mean = base + (slope @ common[..., None, :, None])[..., 0]
        across = slope @ spread[..., None, :, :] @ np.swapaxes(slope, -1, -2)
        return CoupledNormalGamma(
            mean=mean[..., None, :],
            covariance=covariance + (shape / rate)[..., None, None] * across,
            shape=shape,
            rate=rate[..., None],
            precision=precision,
            conditional=covariance,
            log_det=log_det,
            slope=slope,
            common=common,
            common_covariance=spread,
            common_log_det=spread_log_det,
            prior=self,
        )

    def information(
        self, slope: Float[np.ndarray, "*batch experts terms columns"]
    ) -> Float[np.ndarray, "*batch experts columns columns"]:
        """``G_k = E' Lambda (E - W_k)``: precision of the common coefficients by component.

        In units of the component's noise.
        """
        at = self.columns.places
        matrix = self.terms[..., None, at, None] * (np.eye(len(at)) - slope[..., at, :])
        # Symmetric but for rounding, which the Cholesky factor of the covariance would not see.
        return np.asarray(0.5 * (matrix + np.swapaxes(matrix, -1, -2)))

    def pull(
        self, base: Float[np.ndarray, "*batch experts terms"]
    ) -> Float[np.ndarray, "*batch experts columns"]:
        """``E' Lambda g_k = W_k' h_k``: linear term of the common coefficients by component."""
        at = self.columns.places
        return np.asarray(self.terms[..., None, at] * base[..., at])

    def _solve_common(
        self,
        shape: Float[np.ndarray, "*batch experts"],
        residual: Float[np.ndarray, "*batch experts"],
        pull: Float[np.ndarray, "*batch experts columns"],
        information: Float[np.ndarray, "*batch experts columns columns"],
    ) -> tuple[
        Float[np.ndarray, "*batch columns"],
        Float[np.ndarray, "*batch columns columns"],
        BatchArray,
        Float[np.ndarray, "*batch experts"],
    ]:
        """Mean and covariance of ``q(b)`` with its log-determinant, and rates of ``q(tau)``."""
        prior_rate = self.regression.rate[0]
        rate = prior_rate + 0.5 * residual
        prior = self.common[..., None] * np.eye(self.common.shape[-1])
        check_gamma(shape, rate)  # here and below before logarithms, which sums of no data lack
        noise, step = shape / rate, np.full(1, np.inf)
        # Updates of ``q(b)`` and ``q(tau)`` in turn, at most; five or six are usual.
        for turn in range(100):
            before, far = noise, (np.abs(step) > NEAR).any()
            covariance, log_det = inverse_and_log_det(prior + _weighted_sum(noise, information))
            mean = (covariance @ (noise[..., None] * pull).sum(axis=-2)[..., None])[..., 0]
            score = pull - (information @ mean[..., None, :, None])[..., 0]
            trace = trace_of_product(information, covariance[..., None, :, :])
            square = trace - np.vecdot(score + pull, mean[..., None, :])
            rate = prior_rate + 0.5 * (residual + square)
            check_gamma(shape, rate)
            step = np.log(shape / (rate * before))
            if turn:  # Newton's method: turns alone gain a digit or less each
                if turn == 1 or far:
                    through = noise_through_common(score, covariance, information)
                slope = np.eye(noise.shape[-1]) + before[..., None, :] / rate[..., None] * through
                step = np.linalg.solve(slope, step[..., None])[..., 0]
            noise = before * np.exp(np.clip(step, -LONGEST_STEP, LONGEST_STEP))
            if not (np.abs(step) > SETTLED).any():
                break
        return mean, covariance, np.asarray(-log_det), rate

    def log_density(
        self,
        coefficients: Float[np.ndarray, "draws experts 1 terms"],
        precision: Float[np.ndarray, "draws experts 1"],
    ) -> Float[np.ndarray, "draws 1 1"]:
        """Log density of drawn coefficients and noise, common coefficients integrated out."""
        return self.log_density_given(coefficients, precision, self.terms, self.common)

    def log_density_given(
        self,
        coefficients: Float[np.ndarray, "draws experts 1 terms"],
        precision: Float[np.ndarray, "draws experts 1"],
        terms: Float[np.ndarray, "*draws terms"],
        common: Float[np.ndarray, "*draws columns"],
    ) -> Float[np.ndarray, "draws 1 1"]:
        """Log density with precisions of each draw, integrated over wide columns too.

        The coefficients of one column, over components, have the covariance
        ``diag(1 / (tau_k lambda)) + 1 1' / ell``.
        """
        xp = namespace(precision)
        tau, beta = precision[:, :, 0], coefficients[:, :, 0]
        scaled = tau[:, :, None] * (terms if terms.ndim == 1 else terms[:, None, :])
        density = 0.5 * (xp.log(scaled) - LOG_2PI - scaled * beta**2).sum(axis=(1, 2))
        at, wide = self.columns.places, self.columns.wide
        total = scaled[:, :, at].sum(axis=1)
        linear = (scaled[:, :, at] * beta[:, :, at]).sum(axis=1)
        if not wide.all():
            narrow = common[..., ~wide]
            density = density + _coupling(xp, narrow, total[:, ~wide], linear[:, ~wide]).sum(
                axis=-1
            )
        if wide.any():
            grid = xp.asarray(self.columns.spread.precision)[:, None, None]
            each = _coupling(xp, grid, total[:, wide], linear[:, wide]).sum(axis=-1)
            density = density + self.columns.spread.average(each)
        noise = gamma_log_density(tau, self.regression.shape, self.regression.rate[0])
        whole: Float[np.ndarray, "draws 1 1"] = (density + noise.sum(axis=1))[:, None, None]
        return whole

    def common_given(
        self,
        coefficients: Float[np.ndarray, "draws experts 1 terms"],
        precision: Float[np.ndarray, "draws experts 1"],
        terms: DrawTerms,
        common: Float[np.ndarray, "draws columns"],
    ) -> Float[np.ndarray, "draws columns"]:
        """Expected common coefficients given drawn coefficients, noise and precisions.

        Averages over components weighted by precision, shrunk by the prior of wide columns, whose
        precision is averaged over its grid, or by the precision of their term.
        """
        at, wide = self.columns.places, self.columns.wide
        scaled = precision * terms[:, None, at]
        total, linear = scaled.sum(axis=1), (scaled * coefficients[:, :, 0, at]).sum(axis=1)
        mean = np.asarray(linear / (common + total))
        if wide.any():
            grid = self.columns.spread.precision[:, None, None]
            each = _coupling(np, grid, total[:, wide], linear[:, wide]).sum(axis=-1)
            weights = self.columns.spread.weights(each)
            shrunk = linear[:, wide] / (grid + total[:, wide])
            mean[:, wide] = (weights[..., None] * shrunk).sum(axis=0)
        return mean


def noise_through_common(
    score: Float[np.ndarray, "*batch experts columns"],
    covariance: Float[np.ndarray, "*batch columns columns"],
    information: Float[np.ndarray, "*batch experts columns columns"],
) -> Float[np.ndarray, "*batch experts experts"]:
    """Derivative of the rate of each component in the noise precision of every other.

    Through the common coefficients, with scores ``p_k - G_k m`` and ``information`` the ``G_k``.
    """
    seen = information @ covariance[..., None, :, :]
    linear = score @ covariance @ np.swapaxes(score, -1, -2)
    flat = seen.reshape(*seen.shape[:-2], -1)
    turned = np.swapaxes(seen, -1, -2).reshape(flat.shape)
    return np.asarray(-linear - 0.5 * flat @ np.swapaxes(turned, -1, -2))


def _weighted_sum(
    weights: Float[np.ndarray, "*batch experts"],
    matrices: Float[np.ndarray, "*matrices experts columns columns"],
) -> Float[np.ndarray, "*batch columns columns"]:
    """Sums of the matrices of all components, as products with the matrices as rows."""
    shape = matrices.shape
    flat = weights[..., None, :] @ matrices.reshape(*shape[:-2], shape[-1] ** 2)
    return np.asarray(flat.reshape(*weights.shape[:-1], *shape[-2:]))


def _coupling(xp: ModuleType, ell: AnyArray, total: AnyArray, linear: AnyArray) -> AnyArray:
    """Log ratio of the densities of coefficients with and without a common part."""
    return 0.5 * (linear**2 / (ell + total) - xp.log1p(total / ell))


@dataclass(frozen=True)
class CoupledNormalGamma(AbstractRegressionFactor):
    r"""Posterior of the regressions of all components, coupled by their common coefficients.

    ``b ~ N(m, C)``, ``tau_k ~ Ga(a_k, b_k)``, ``beta_k | b, tau_k ~ N(g_k + W_k b, (tau_k
    V_k)^-1)``. A row depends on the mean of a component, ``g_k + W_k m``, and on its effective
    covariance ``V_k^-1 + E[tau_k] W_k C W_k'`` in units of its noise.

    Attributes
    ----------
    mean : ndarray, shape (..., experts, 1, terms)
    covariance : ndarray, shape (..., experts, terms, terms)
        Effective covariance.
    shape, rate : ndarray, shapes (..., experts) and (..., experts, 1)
    precision, conditional : ndarray, shape (..., experts, terms, terms)
        ``V_k`` and its inverse.
    log_det : ndarray, shape (..., experts)
        Log-determinants of ``V_k``.
    slope : ndarray, shape (..., experts, terms, columns)
        ``W_k = V_k^-1 Lambda E``.
    common, common_covariance : ndarray, shapes (..., columns) and (..., columns, columns)
        ``m`` and ``C``.
    common_log_det : ndarray, shape (...)
        Log-determinant of ``C``.
    prior : CommonEffectPrior
    """

    mean: Float[np.ndarray, "*batch experts 1 terms"]
    covariance: Float[np.ndarray, "*batch experts terms terms"]
    shape: Float[np.ndarray, "*batch experts"]
    rate: Float[np.ndarray, "*batch experts 1"]
    precision: Float[np.ndarray, "*batch experts terms terms"]
    conditional: Float[np.ndarray, "*batch experts terms terms"]
    log_det: Float[np.ndarray, "*batch experts"]
    slope: Float[np.ndarray, "*batch experts terms columns"]
    common: Float[np.ndarray, "*batch columns"]
    common_covariance: Float[np.ndarray, "*batch columns columns"]
    common_log_det: BatchArray
    prior: CommonEffectPrior

    @property
    def basis(self) -> JointBasis:
        """Standard coordinates of the coefficients of all components together."""
        noise = self.expected_precision
        root = np.sqrt(noise[..., None]) * self.slope
        return JointBasis.of(self.conditional, root, self.common_covariance, noise, self.shape)

    @property
    def regressions(self) -> MatrixNormalGamma:
        """Regressions with these effective means and covariances, independent of each other."""
        precision, log_det = inverse_and_log_det(self.covariance)
        operator = DensePrecision(precision, (self.covariance, -log_det))
        return MatrixNormalGamma(self.mean, operator, self.shape, self.rate)

    @cached_property
    def deviations(self) -> Float[np.ndarray, "*batch experts terms"]:
        """``E[tau_k (beta_kj - b_j)^2]``, with ``b_j = 0`` in columns without a common part."""
        at, noise = self.prior.columns.places, self.expected_precision
        shift = self.mean[..., 0, :].copy()
        shift[..., at] -= self.common[..., None, :]
        apart = self.apart
        across = (apart @ self.common_covariance[..., None, :, :] * apart).sum(axis=-1)
        variances = np.diagonal(self.conditional, axis1=-2, axis2=-1)
        return np.asarray(noise * (shift**2 + across) + variances)

    @property
    def base(self) -> Float[np.ndarray, "*batch experts terms"]:
        """``g_k``: means of the coefficients where the common ones are zero."""
        shift = (self.slope @ self.common[..., None, :, None])[..., 0]
        return np.asarray(self.mean[..., 0, :] - shift)

    @property
    def apart(self) -> Float[np.ndarray, "*batch experts terms columns"]:
        """``W_k - E``."""
        at = self.prior.columns.places
        slopes = self.slope.copy()
        slopes[..., at, np.arange(len(at))] -= 1.0
        return slopes

    def summed_squares(self) -> Float[np.ndarray, "*batch entries"]:
        """Deviations summed over components, then ``E[b_j^2]``."""
        spread = np.diagonal(self.common_covariance, axis1=-2, axis2=-1)
        common = self.common**2 + spread
        return np.concatenate([self.deviations.sum(axis=-2), common], axis=-1)

    def statistics_covariance(self, some: Int[np.ndarray, " some"]) -> None:
        """None: the statistics of all components are one factor; see ``expectations_along``."""
        return

    def effective_dof(self, prior: CommonEffectPrior) -> Float[np.ndarray, "experts terms"]:
        """Effective degrees of freedom of each coefficient, from its own fitted value."""
        data = self.precision - self.prior.terms[..., None, :, None] * np.eye(self.mean.shape[-1])
        return np.asarray((self.covariance * data).sum(axis=-1))

    def kl(self, prior: CommonEffectPrior) -> float:
        """``KL(self || prior)`` for one posterior."""
        n_terms = self.mean.shape[-1]
        spread = (self.deviations * prior.terms).sum(axis=-1) - n_terms
        coefficients = 0.5 * (spread + self.log_det - np.log(prior.terms).sum())
        plain = prior.regression
        noise = gamma_kl(self.shape, self.rate[..., 0], plain.shape, plain.rate[0])
        ell, covariance = prior.common, np.diagonal(self.common_covariance)
        common = ell @ (self.common**2 + covariance) - len(ell)
        common -= self.common_log_det + np.log(ell).sum()
        return float(np.sum(coefficients + noise) + 0.5 * common)

    def expectations_along(
        self,
        weight: Float[np.ndarray, "many experts"],
        xx: AbstractPrecision,
        xy: Float[np.ndarray, "many experts 1 terms"],
        yy: Float[np.ndarray, "many experts 1"],
        precision: Float[np.ndarray, "many entries"] | None = None,
    ) -> tuple[Moments, Float[np.ndarray, "many entries"]]:
        """Changes of the expectations with these of the sums and of the prior precisions.

        Directional derivatives of ``CommonEffectPrior.posterior``, exact, in many directions at
        once: of ``E log tau / 2``, ``-E[tau b b'] / 2`` (packed), ``E[tau b]``, ``-E[tau] / 2``,
        and of ``summed_squares``.
        """
        if precision is None:
            precision = np.zeros((len(weight), self.mean.shape[-1] + len(self.common)))
        terms, common = np.split(precision, [self.mean.shape[-1]], axis=1)
        change = _Change.of(
            self, weight, xx.shared.matrix, xy[..., 0, :], yy[..., 0], terms, common
        )
        tau, mean = self.expected_precision[..., 0], self.mean[..., 0, :]
        of_log = polygamma(1, self.shape) * (0.5 * weight) - change.rate / self.rate[..., 0]
        scaled = change.tau[..., None] * mean + tau[:, None] * change.mean
        middle, turned = self.common_covariance, np.swapaxes(self.slope, -1, -2)
        across = self.slope @ middle @ turned + mean[..., None] * mean[..., None, :]
        half = change.slope @ middle + self.slope @ (0.5 * change.common_covariance[:, None])
        half = tau[:, None, None] * (half @ turned + change.mean[..., None] * mean[..., None, :])
        second = change.tau[..., None, None] * across + half + np.swapaxes(half, -1, -2)
        second += change.conditional
        moments = (
            0.5 * of_log,
            -0.5 * quadratic_weights(second),
            scaled[..., None, :],
            -0.5 * change.tau[..., None],
        )
        return moments, change.squares(self)

    def draws(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "draws experts 1 terms"], Float[np.ndarray, "draws experts 1"]]:
        """Independent draws of the coefficients and of the noise precisions."""
        precision = rng.gamma(self.shape[:, None], size=(n, *self.rate.shape)) / self.rate
        precision = np.maximum(precision, np.finfo(float).tiny)
        noise = rng.standard_normal((n, *self.mean.shape))
        root = np.linalg.cholesky(self.conditional)[:, None]
        deviations = times(root, noise) / np.sqrt(precision)[..., None]
        half = np.linalg.cholesky(self.common_covariance)
        common = rng.standard_normal((n, len(self.common))) @ half.T
        shared = np.einsum("kij,nj->nki", self.slope, common)
        return self.mean + deviations + shared[:, :, None], precision

    def log_density(
        self,
        coefficients: Float[np.ndarray, "draws experts 1 terms"],
        precision: Float[np.ndarray, "draws experts 1"],
    ) -> Float[np.ndarray, "draws 1 1"]:
        """Log density of each draw, common coefficients integrated out (Woodbury's identity)."""
        shift, tau = (coefficients - self.mean)[:, :, 0], precision[:, :, 0]
        scaled = np.einsum("kij,nkj->nki", self.precision, shift)
        pull = tau * np.vecdot(scaled, shift)
        n_terms, at = shift.shape[-1], self.prior.columns.places
        terms = self.prior.terms[at]
        linear = np.einsum("nk,nkj->nj", tau, shift[:, :, at]) * terms
        known = terms[:, None] * self.slope[:, at]
        common = self._log_common(tau, linear, 0.5 * (known + np.swapaxes(known, -1, -2)))
        coefficient = (self.log_det + n_terms * (np.log(tau) - LOG_2PI) - pull).sum(axis=1)
        coefficient += common - self.common_log_det
        noise = gamma_log_density(tau, self.shape, self.rate[:, 0]).sum(axis=1)
        return np.asarray(0.5 * coefficient + noise)[:, None, None]

    def _log_common(
        self,
        tau: DrawExperts,
        linear: Float[np.ndarray, "draws columns"],
        known: Float[np.ndarray, "experts columns columns"],
    ) -> DrawVector:
        """``l' A^-1 l - log |A|`` with ``A = C^-1 + sum_k tau_k E' Lambda W_k``, of each draw."""
        precision, log_common = np.linalg.inv(self.common_covariance), np.empty(len(tau))
        # One factor for each noise: in second differences most points have that of the centre.
        drawn, number = np.unique(tau, axis=0, return_inverse=True)
        order = np.argsort(number.reshape(-1), kind="stable")
        first = np.append(0, np.cumsum(np.bincount(number.reshape(-1))))
        for part in pieces(len(drawn), precision.size, AT_ONCE):
            ends = first[part.start : part.stop + 1]
            half = np.linalg.cholesky(precision + _weighted_sum(drawn[part], known))
            log_det = 2.0 * np.log(np.diagonal(half, axis1=-2, axis2=-1)).sum(axis=-1)
            rows = order[ends[0] : ends[-1]]
            if len(drawn) == len(tau):  # as of draws: all at once
                solved = np.linalg.solve(half, linear[rows, :, None])[..., 0]
                log_common[rows] = np.vecdot(solved, solved) - log_det
                continue
            each = np.split(rows, ends[1:-1] - ends[0]), half, log_det
            for some, root, less in zip(*each, strict=True):
                solved = dtrtrs(root.T, linear[some].T, trans=1)[0]  # LAPACK stores by columns
                log_common[some] = (solved * solved).sum(axis=0) - less
        return log_common


@dataclass(frozen=True)
class _OfSums:
    """Derivatives of a coupled posterior in sums and prior precisions alone."""

    base: Float[np.ndarray, "many experts terms"]
    slope: Float[np.ndarray, "many experts terms columns"]
    conditional: Float[np.ndarray, "many experts terms terms"]
    among: Float[np.ndarray, "many experts columns columns"]
    pull: Float[np.ndarray, "many experts columns"]
    rest: Float[np.ndarray, "many experts"]

    @classmethod
    def of(
        cls,
        law: CoupledNormalGamma,
        xx: Float[np.ndarray, "many experts terms terms"],
        xy: Float[np.ndarray, "many experts terms"],
        yy: Float[np.ndarray, "many experts"],
        terms: Float[np.ndarray, "many terms"],
    ) -> _OfSums:
        """``V W = Lambda E`` makes ``V dW = -(dA W + dLambda (W - E))``, and so on.

        As ``W = V^-1 Lambda E``, all of these but the change of ``V^-1`` are entries of it.
        """
        base, at, expert_terms = law.base, law.prior.columns.places, terms[:, None, :]
        scale = law.prior.terms[at]
        seen, penalty = _products(xx, base), expert_terms * base
        conditional = np.zeros_like(xx)
        if xx.any() or expert_terms.any():
            whole = xx + expert_terms[..., None] * np.eye(terms.shape[-1])
            conditional = -law.conditional @ whole @ law.conditional
        slope = (
            conditional[..., at] * scale + law.conditional[..., at] * expert_terms[..., None, at]
        )
        across = law.slope[..., at, :] * expert_terms[..., at, None]
        among = -scale[:, None] * slope[..., at, :]
        among += expert_terms[..., at, None] * np.eye(len(at)) - across
        pull = np.swapaxes(law.slope, -1, -2) @ (xy - seen)[..., None]
        pull -= np.swapaxes(law.apart, -1, -2) @ penalty[..., None]
        rest = yy - 2.0 * np.vecdot(base, xy) + np.vecdot(seen + penalty, base)
        solved = _products(law.conditional, xy - seen - penalty)
        return cls(solved, slope, conditional, among, pull[..., 0], rest)


@dataclass(frozen=True)
class _Change:
    """Directional derivatives of a coupled posterior, directions on the first axis."""

    tau: Float[np.ndarray, "many experts"]
    rate: Float[np.ndarray, "many experts"]
    mean: Float[np.ndarray, "many experts terms"]
    slope: Float[np.ndarray, "many experts terms columns"]
    conditional: Float[np.ndarray, "many experts terms terms"]
    common: Float[np.ndarray, "many columns"]
    common_covariance: Float[np.ndarray, "many columns columns"]

    @classmethod
    def of(
        cls,
        law: CoupledNormalGamma,
        weight: Float[np.ndarray, "many experts"],
        xx: Float[np.ndarray, "many experts terms terms"],
        xy: Float[np.ndarray, "many experts terms"],
        yy: Float[np.ndarray, "many experts"],
        terms: Float[np.ndarray, "many terms"],
        ell: Float[np.ndarray, "many columns"],
    ) -> _Change:
        """Chain rule through one update, then the fixed point of ``q(b)`` and ``q(tau)``."""
        tau, rate = law.expected_precision[..., 0], law.rate[..., 0]
        sums, common, middle = _OfSums.of(law, xx, xy, yy, terms), law.common, law.common_covariance
        # At fixed tau.
        of_precision = np.einsum("k,nkij->nij", tau, sums.among)
        of_precision += ell[:, None] * np.eye(ell.shape[1])
        of_common = (np.einsum("k,nkj->nj", tau, sums.pull) - of_precision @ common) @ middle
        of_middle = -middle @ of_precision @ middle
        among = law.prior.information(law.slope)
        score = law.prior.pull(law.base) - among @ common
        explicit = sums.rest - 2.0 * np.vecdot(sums.pull, common)
        explicit += np.vecdot(sums.among @ common, common)
        explicit += np.einsum("nkij,ij->nk", sums.among, middle)
        explicit -= 2.0 * np.einsum("kj,nj->nk", score, of_common)
        explicit += np.einsum("kij,nij->nk", among, of_middle)
        # How the rates change with tau through q(b), which closes the circle.
        through = noise_through_common(score, middle, among)
        right = tau * (0.5 * weight / law.shape - 0.5 * explicit / rate)
        of_tau = np.linalg.solve(np.eye(len(tau)) + (tau / rate)[:, None] * through, right.T).T
        of_common = of_common + of_tau @ (score @ middle)
        of_middle = of_middle - np.einsum("nk,kij->nij", of_tau, middle @ among @ middle)
        of_mean = sums.base + sums.slope @ common + np.einsum("kij,nj->nki", law.slope, of_common)
        of_rate = 0.5 * explicit + of_tau @ through.T
        return cls(of_tau, of_rate, of_mean, sums.slope, sums.conditional, of_common, of_middle)

    def squares(self, law: CoupledNormalGamma) -> Float[np.ndarray, "many entries"]:
        """Changes of ``summed_squares``."""
        at, tau = law.prior.columns.places, law.expected_precision[..., 0]
        shift, moved = law.mean[..., 0, :].copy(), self.mean.copy()
        shift[..., at] -= law.common
        moved[..., at] -= self.common[:, None]
        apart, middle = law.apart, law.common_covariance
        across = (apart @ middle * apart).sum(axis=-1)
        of_across = 2.0 * (self.slope @ middle * apart).sum(axis=-1)
        of_across += (apart @ self.common_covariance[:, None] * apart).sum(axis=-1)
        squares = self.tau[..., None] * (shift**2 + across)
        squares += tau[:, None] * (2.0 * shift * moved + of_across)
        squares += np.diagonal(self.conditional, axis1=-2, axis2=-1)
        spread = np.diagonal(self.common_covariance, axis1=-2, axis2=-1)
        common = 2.0 * law.common * self.common + spread
        return np.concatenate([squares.sum(axis=1), common], axis=1)


def _products(
    matrix: Float[np.ndarray, "*many experts terms terms"],
    vector: Float[np.ndarray, "*vectors experts terms"],
) -> Float[np.ndarray, "*all experts terms"]:
    """Each matrix times the vector of its component."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


Regressions = MatrixNormalGamma | CoupledNormalGamma
"""Posterior of the regressions of all components, independent of each other or coupled."""
