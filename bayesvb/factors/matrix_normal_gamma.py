"""Matrix-normal-gamma factor: regression coefficients and noise precisions, one pair per response.

``B_i | tau_i ~ N(M_i, (tau_i V)^-1)`` and ``tau_i ~ Ga(a, b_i)`` for responses ``i``, with one
scaled precision ``V`` and one shape ``a`` for all of them. One response is the normal-gamma.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln, polygamma

from bayesvb.factors.coefficient_basis import ExpertBasis
from bayesvb.factors.gamma import gamma_kl, gamma_log_density
from bayesvb.factors.normal import Normal
from bayesvb.factors.regression_factor import AbstractRegressionFactor
from bayesvb.linear.designs import AbstractDesign
from bayesvb.linear.precisions import AbstractPrecision, as_precision
from bayesvb.linear.quadratic_forms import Forms, VectorForms
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    BatchArray,
    ExpertTerms,
    Floats,
    Indices,
    PackedBatch,
    RowVector,
    TermRows,
    TermVector,
)
from bayesvb.numerics.linalg import (
    effective_dof,
    lower_pairs,
    pack,
    times_each,
)
from bayesvb.numerics.pieces import AT_ONCE, pieces
from bayesvb.numerics.special import LOG_2PI

Moments = tuple[
    Float[np.ndarray, "many experts"],
    Float[np.ndarray, "many experts pairs"],
    Float[np.ndarray, "many experts responses terms"],
    Float[np.ndarray, "many experts responses"],
]
"""Changes of ``E log tau / 2``, ``-E[tau b b'] / 2``, ``E[tau b]`` and ``-E[tau] / 2``."""


@dataclass(frozen=True)
class MatrixNormalGamma(AbstractRegressionFactor):
    """Conjugate factor of Gaussian linear regression.

    Attributes
    ----------
    mean : ndarray, shape (..., responses, terms)
        ``M``.
    operator : AbstractPrecision
        Scaled precision ``V``, of whatever structure: the precision is ``tau_i V``.
    shape : ndarray, shape (...)
        ``a``.
    rate : ndarray, shape (..., responses)
        ``b_i``.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, section 3.3 and exercise 3.12.
    """

    mean: Float[np.ndarray, "*batch responses terms"]
    operator: AbstractPrecision
    shape: BatchArray
    rate: Float[np.ndarray, "*batch responses"]

    @classmethod
    def prior(
        cls,
        mean: Float[np.ndarray, "responses terms"],
        precision: Float[np.ndarray, "terms terms"] | AbstractPrecision,
        shape: float,
        rate: Float[np.ndarray, " responses"],
    ) -> MatrixNormalGamma:
        """Prior shared by all experts, its scaled precision a matrix or one with structure."""
        return cls(mean, as_precision(precision), np.asarray(float(shape)), rate)

    @property
    def precision(self) -> Float[np.ndarray, "*batch terms terms"]:
        """``V`` as a matrix, of the coefficients that all rows share."""
        return self.operator.shared.matrix

    @property
    def covariance(self) -> Float[np.ndarray, "*batch terms terms"]:  # type: ignore[override]
        """``V^-1`` of the coefficients that all rows share."""
        return self.operator.shared.inverse

    @property
    def log_det(self) -> BatchArray:
        """Log-determinant of ``V``, all coefficients."""
        return self.operator.log_det

    @property
    def shared(self) -> MatrixNormalGamma:
        if self.operator.is_complete:
            return self
        operator = self.operator.shared
        return replace(self, mean=self.mean[..., : operator.n_coefficients], operator=operator)

    def regression(self, response: int) -> MatrixNormalGamma:
        """Law of the coefficients and the noise of one response."""
        if self.mean.shape[-2] == 1:
            return self
        at = [response]
        return replace(self, mean=self.mean[..., at, :], rate=self.rate[..., at])

    def of_response(self, response: int) -> Normal:
        """Law of the coefficients of one response in units of its noise."""
        return Normal(self.mean[..., response, :], self.operator)

    def take(self, chosen: Indices) -> MatrixNormalGamma:
        """Return some laws of a batch."""
        parts = self.mean[chosen], self.operator.take(chosen), self.shape[chosen], self.rate[chosen]
        return MatrixNormalGamma(*parts)

    def posterior(
        self,
        weight: BatchArray,
        xx: PackedBatch,
        xy: Float[np.ndarray, "*batch responses terms"],
        yy: Float[np.ndarray, "*batch responses"],
    ) -> MatrixNormalGamma:
        """Posterior given weighted sums of ``1``, ``x x'`` (packed), ``y_i x`` and ``y_i^2``.

        The rate adds the residual sum of squares and the pull of the prior, neither of which is
        negative. The residuals come from sums, so their rounding is relative to ``yy``: responses
        should be centred.

        Raises
        ------
        numpy.linalg.LinAlgError
            The statistics are of no data: a precision not positive definite, a rate not positive.
        """
        operator = self.operator.plus(xx)
        mean = operator.solve(xy + self.operator.times(self.mean))
        shift = mean - self.mean
        squares = np.vecdot(operator.like(xx).times(mean), mean)
        residual = yy - 2.0 * np.vecdot(mean, xy) + squares
        pull = np.vecdot(self.operator.times(shift), shift)
        shape = self.shape + 0.5 * weight
        rate = self.rate + 0.5 * (residual + pull)
        check_gamma(shape, rate)
        return MatrixNormalGamma(mean, operator, shape, rate)

    def statistics_covariance(
        self, some: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "experts some entries"]:
        """Covariance of some of ``log tau / 2, -tau b b' / 2, tau b, -tau / 2`` with all.

        Logarithms and products, packed, summed over responses; the same numbers for each expert.
        """
        n_experts, n_responses, n_terms = self.mean.shape
        n_pairs = n_terms * (n_terms + 1) // 2
        covariance = np.zeros((n_experts, len(some), 1 + n_pairs + n_responses * (n_terms + 1)))
        covariance[:, some == 0, 0] = 0.25 * n_responses * polygamma(1, self.shape)[:, None]
        for i in range(n_responses):
            of_terms = 1 + n_pairs + i * n_terms + np.arange(n_terms)
            last = 1 + n_pairs + n_responses * n_terms + i
            at = np.concatenate([1 + np.arange(n_pairs), of_terms, [last]])
            number = np.full(covariance.shape[-1], -1)
            number[at] = np.arange(len(at))
            rows = np.flatnonzero(number[some] >= 0)
            moments, sign = self._augmented(i), _signs(n_terms)
            mean = (
                sign
                * pack(moments[:, :, None] * moments[:, None, :])
                * (0.5 / self.rate[:, i, None])
            )
            covariance[:, np.flatnonzero(some == 0)[:, None], at] += mean[:, None]
            covariance[:, rows, 0] += mean[:, number[some[rows]]]
            for some_rows in pieces(len(rows), n_experts * (n_terms + 1) ** 2, AT_ONCE):
                part = rows[some_rows]
                which = number[some[part]]
                each = self._products_covariance(i, moments, which) * sign * sign[which, None]
                covariance[:, part[:, None], at] += each
        return covariance

    def expectations_along(
        self,
        weight: Float[np.ndarray, "many experts"],
        xx: AbstractPrecision,
        xy: Float[np.ndarray, "many experts responses terms"],
        yy: Float[np.ndarray, "many experts responses"],
        precision: Float[np.ndarray, "many entries"] | None = None,
    ) -> tuple[Moments, Float[np.ndarray, "many entries"]]:
        """Changes of the expectations of ``statistics_covariance`` with these of the sums.

        Directional derivatives of ``posterior``, exact, in many directions at once; ``precision``
        is added to the precisions of coefficients. The second result is the change of
        ``summed_squares``.
        """
        xx = xx if precision is None else xx.plus_diagonal(precision)
        tau, n_responses = self.expected_precision, self.rate.shape[-1]
        across = xx.times(self.mean)
        shift = self.operator.solve(xy - across)
        residual = yy - 2.0 * np.vecdot(self.mean, xy) + np.vecdot(across, self.mean)
        rate, shape = 0.5 * residual / self.rate, 0.5 * weight
        of_tau = tau * (shape / self.shape)[..., None] - tau * rate
        of_log = n_responses * polygamma(1, self.shape) * shape - rate.sum(axis=-1)
        moved = tau[..., None] * shift
        scaled = of_tau[..., None] * self.mean + moved
        mean = np.broadcast_to(self.mean, scaled.shape)
        both = np.concatenate([scaled, mean], axis=-2), np.concatenate([mean, moved], axis=-2)
        second = self.operator.moments_along(*both, xx)
        squares = self.operator.packed_squares(second).sum(axis=1)
        return (0.5 * of_log, -0.5 * second, scaled, -0.5 * of_tau), squares

    def forms(
        self, columns: TermRows, response: RowVector, blocks: Float[np.ndarray, "blocks terms"]
    ) -> Forms:
        """Expected log densities of rows and sums of squares of coefficients; one response.

        With ``r = sqrt(tau) (y - x'm)`` a log density is ``log(tau) / 2 - (r - u)^2 / 2``, and a
        square of a coefficient, times ``-tau / 2``, is the log density of a row ``x = e_j``, ``y =
        0``.
        """
        tau, mean = self.expected_precision[:, 0], self.mean[:, 0]
        squares = blocks.T if len(blocks) else np.empty((0, 0))
        n_experts, n_squares = len(tau), len(squares)
        rows = np.concatenate([columns.T, np.eye(len(columns))[:n_squares]])
        target = np.pad(response, (0, n_squares))
        weight = np.pad(np.full(len(response), 0.5), (0, n_squares))
        vectors = []
        for k, root in enumerate(np.linalg.cholesky(self.covariance)):
            residual = target - rows @ mean[k]
            noise = np.zeros((len(rows), 2 * n_experts))
            noise[:, k], noise[:, n_experts + k] = weight / tau[k] - 0.5 * residual**2, weight
            statistics = np.zeros((len(root) + 2, len(root) + 2 * n_experts))
            statistics[1:-1, : len(root)] = np.sqrt(tau[k]) * root
            statistics[:, len(root) + k] = [0.5 / tau[k], *mean[k], -0.5]
            statistics[0, len(root) + n_experts + k] = 0.5
            vectors.append(
                VectorForms(
                    own=rows @ root,
                    common=np.empty((len(rows), 0)),
                    slopes=np.sqrt(tau[k]) * residual[None],
                    noise=noise,
                    rows=np.arange(len(response)),
                    squares=squares,
                    statistics=statistics,
                )
            )
        of_log = polygamma(1, self.shape) - 1.0 / self.shape
        variances = np.concatenate([tau / self.rate[:, 0], of_log])
        return Forms(vectors=tuple(vectors), noise=np.diag(variances))

    def _augmented(self, response: int) -> Float[np.ndarray, "experts more"]:
        """Means of the coefficients of a response, and one."""
        ones = np.ones((len(self.mean), 1))
        return np.concatenate([self.mean[:, response], ones], axis=1)

    def _products_covariance(
        self,
        response: int,
        mean: Float[np.ndarray, "experts more"],
        which: Int[np.ndarray, " some"],
    ) -> Float[np.ndarray, "experts some products"]:
        """Covariance of some products ``tau c_p c_q`` with all, packed; ``c`` is ``[b, 1]``.

        Given ``tau`` they are of normal variables, and their means are ``tau m_p m_q`` and more.
        """
        first, second = (one[which] for one in lower_pairs(mean.shape[1]))
        spread = np.zeros((*mean.shape, mean.shape[1]))
        spread[:, :-1, :-1] = self.covariance
        tau = self.expected_precision[:, response, None, None]
        of_tau = 0.5 * tau**2 / self.shape[:, None, None]  # half its variance
        across = spread[:, first], spread[:, second]
        first_mean, other = mean[:, first, None], mean[:, second, None]
        whole = np.broadcast_to(mean[:, None], across[0].shape)
        left = (
            across[0] + tau * first_mean * whole,
            tau * other * whole,
            of_tau * first_mean * other * whole,
        )
        right = (across[1], across[0], whole)
        covariance = np.stack(left, axis=-1) @ np.stack(right, axis=-2)
        return np.asarray(pack(covariance) + pack(np.swapaxes(covariance, -1, -2)))

    def spread_at(self, design: AbstractDesign) -> ExpertTerms:
        """Variance of the linear predictor of each row, in units of the noise variance."""
        return design.quadratic(self.operator)

    def to_the_power(self, power: float) -> MatrixNormalGamma:
        """The law with this one's density to a power, as densities of ``B_i`` and ``log tau_i``."""
        n_terms = self.mean.shape[-1]
        shape = np.asarray(power * self.shape + 0.5 * (power - 1.0) * n_terms)
        return MatrixNormalGamma(self.mean, self.operator.scaled(power), shape, power * self.rate)

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, "*many terms"]
    ) -> MatrixNormalGamma:
        """The law whose coefficients are independent, with these scaled precisions of the terms.

        Of precisions by row a law for each, which their axes lead, before one of experts.
        """
        many = (*precision.shape[:-1], *(1,) * (precision.ndim > 1))
        return MatrixNormalGamma(
            np.broadcast_to(self.mean, (*many, *self.mean.shape)),
            self.operator.diagonal(precision),
            np.broadcast_to(self.shape, many),
            np.broadcast_to(self.rate, (*many, *self.rate.shape)),
        )

    @property
    def basis(self) -> ExpertBasis:
        """Standard coordinates of shared coefficients, of each component by itself."""
        return ExpertBasis(self.precision, self.expected_precision)

    @property
    def regressions(self) -> MatrixNormalGamma:
        """Independent regressions of the components: this factor."""
        return self

    def summed_squares(self) -> TermVector:
        """``scaled_squares`` summed over components."""
        return np.asarray(self.scaled_squares().sum(axis=-2))

    def second_moments(self) -> PackedBatch:
        return self.operator.second_moments(
            self.expected_precision[..., None] * self.mean, self.mean
        )

    def effective_dof(self, prior: MatrixNormalGamma) -> Float[np.ndarray, "experts terms"]:
        """Effective degrees of freedom of each shared coefficient, the same for all responses."""
        return effective_dof(self.covariance, prior.precision)

    def scaled_squares(self) -> Float[np.ndarray, "*batch terms"]:
        """``sum_i E[tau_i B_ij^2]``: squares by term, in units of the noise."""
        of_means = (self.expected_precision[..., None] * self.mean**2).sum(axis=-2)
        squares = of_means + self.mean.shape[-2] * self.operator.variances
        return np.asarray(self.operator.by_term(squares))

    def log_evidence(self) -> BatchArray:
        """Log density of the observed rows, up to a constant shared by all posteriors.

        The difference from the prior's value, less ``log(2 pi) / 2`` for each number, is their
        marginal log density.
        """
        n_responses = self.rate.shape[-1]
        noise = n_responses * gammaln(self.shape) - self.shape * np.log(self.rate).sum(axis=-1)
        return np.asarray(noise - 0.5 * n_responses * self.log_det)

    def kl(self, prior: MatrixNormalGamma) -> float:
        """Sum over the batch of ``KL(self || prior)``; the prior broadcasts over the batch."""
        n_responses, n_terms = self.mean.shape[-2:]
        shift = self.mean - prior.mean
        pull = np.vecdot(prior.operator.times(shift), shift)
        spread = prior.operator.trace_with(self.operator) - n_terms
        shared = 0.5 * n_responses * (spread + self.log_det - prior.log_det)
        gamma = gamma_kl(self.shape[..., None], self.rate, prior.shape[..., None], prior.rate)
        of_mean = 0.5 * self.expected_precision * pull + gamma
        return float(np.sum(shared) + np.sum(of_mean))

    def draws(
        self, n: int, rng: np.random.Generator
    ) -> tuple[
        Float[np.ndarray, "draws *batch responses terms"],
        Float[np.ndarray, "draws *batch responses"],
    ]:
        """Independent draws of the coefficients that all rows share, and of the noise precisions.

        A precision that underflowed is taken at the smallest float.
        """
        shape = np.broadcast_to(self.shape[..., None], self.rate.shape)
        precision = rng.gamma(shape, size=(n, *self.rate.shape)) / self.rate
        precision = np.maximum(precision, np.finfo(float).tiny)
        mean = self.shared.mean
        noise = rng.standard_normal((n, *mean.shape))
        root = np.linalg.cholesky(self.covariance)[..., None, :, :]
        return mean + times_each(root, noise) / np.sqrt(precision)[..., None], precision

    def log_density(
        self,
        coefficients: Float[np.ndarray, "draws *batch responses terms"],
        precision: Float[np.ndarray, "draws *batch responses"],
    ) -> Float[np.ndarray, "draws *batch responses"]:
        """Log density of each response's coefficients that all rows share, and precision."""
        law = self.shared
        shift = coefficients - law.mean
        pull = (self.operator.times_drawn(shift) * shift).sum(axis=-1)
        n_terms = shift.shape[-1]
        log_precision = namespace(precision).log(precision)
        shape = self.shape[..., None]
        normal = 0.5 * (
            law.log_det[..., None] + n_terms * (log_precision - LOG_2PI) - precision * pull
        )
        density: Float[np.ndarray, "draws *batch responses"]
        density = normal + gamma_log_density(precision, shape, self.rate)
        return density


def check_gamma(shape: Floats, rate: Floats) -> None:
    """Refuse what statistics of no data lead to."""
    if not ((shape > 0.0).all() and (rate > 0.0).all()):
        raise np.linalg.LinAlgError("shape and rate of a gamma distribution must be positive")


def _signs(n_terms: int) -> Float[np.ndarray, " products"]:
    """Factors of ``tau c_p c_q`` as statistics, where ``c`` holds the coefficients and one."""
    first, second = lower_pairs(n_terms + 1)
    single = (first == n_terms) & (second < n_terms)
    return np.where(single, 1.0, -0.5 * (2.0 - (first == second)))
