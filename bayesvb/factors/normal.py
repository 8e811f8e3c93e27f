"""Gaussian factor: a batch of vectors with one precision matrix each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.linear.precisions import AbstractPrecision, DensePrecision, as_precision
from bayesvb.linear.quadratic_forms import Forms, VectorForms
from bayesvb.numerics.arrays import PackedBatch, TermRows
from bayesvb.numerics.linalg import inverse_and_log_det, lower_pairs, times_each
from bayesvb.numerics.product_covariance import product_covariance
from bayesvb.numerics.special import LOG_2PI


@dataclass(frozen=True)
class Normal:
    """``N(mean, precision^-1)``, with everything that the updates read.

    A prior may share one precision among many means: the matrices then have fewer leading axes.

    Attributes
    ----------
    mean : ndarray, shape (..., terms)
    operator : AbstractPrecision
        Precision, of whatever structure.
    """

    mean: Float[np.ndarray, "*batch terms"]
    operator: AbstractPrecision

    @classmethod
    def from_precision(
        cls,
        mean: Float[np.ndarray, "*batch terms"],
        precision: Float[np.ndarray, "*matrices terms terms"],
    ) -> Normal:
        """Gaussian with this mean and precision, a matrix without structure.

        Raises
        ------
        numpy.linalg.LinAlgError
            A precision is not positive definite.
        """
        return cls(mean, DensePrecision(precision, inverse_and_log_det(precision)))

    @classmethod
    def from_natural(
        cls,
        linear: Float[np.ndarray, "*batch terms"],
        precision: Float[np.ndarray, "*batch terms terms"] | AbstractPrecision,
    ) -> Normal:
        """Gaussian with density proportional to ``exp(linear' x - x' precision x / 2)``."""
        operator = as_precision(precision)
        return cls(operator.solve(linear[..., None, :])[..., 0, :], operator)

    @property
    def precision(self) -> Float[np.ndarray, "*matrices terms terms"]:
        """Precision as a matrix, of the coefficients that all rows share."""
        return self.operator.shared.matrix

    @property
    def covariance(self) -> Float[np.ndarray, "*matrices terms terms"]:
        """Covariance of the coefficients that all rows share."""
        return self.operator.shared.inverse

    @property
    def log_det(self) -> Float[np.ndarray, "*matrices"]:
        """Log-determinant of the precision, all coefficients."""
        return self.operator.log_det

    @property
    def shared(self) -> Normal:
        """Marginal law of the coefficients that all rows share."""
        if self.operator.is_complete:
            return self
        operator = self.operator.shared
        return Normal(self.mean[..., : operator.n_coefficients], operator)

    def plus(self, curvature: PackedBatch, linear: Float[np.ndarray, "*batch terms"]) -> Normal:
        """The law times ``exp(linear' x - x' curvature x / 2)``, the curvature packed.

        Raises
        ------
        numpy.linalg.LinAlgError
            A precision is not positive definite.
        """
        return Normal.from_natural(self.pull(self.mean) + linear, self.operator.plus(curvature))

    def pull(self, vector: Float[np.ndarray, "*batch terms"]) -> Float[np.ndarray, "*both terms"]:
        """Precision times vector; leading axes of both broadcast."""
        return np.asarray(self.operator.times(vector[..., None, :])[..., 0, :])

    def to_the_power(self, power: float) -> Normal:
        """The normal law whose density is this one's to a power, up to a constant."""
        return Normal(self.mean, self.operator.scaled(power))

    @property
    def precisions(self) -> Float[np.ndarray, "*matrices terms"]:
        """Prior precisions of the terms, whose coefficients are independent."""
        return self.operator.entries

    def with_mean(self, mean: Float[np.ndarray, "*batch terms"]) -> Normal:
        """The law with other means."""
        return replace(self, mean=mean)

    def with_precision(self, precision: Float[np.ndarray, "*many terms"]) -> Normal:
        """The law with these means, coefficients independent, with these precisions of the terms.

        Of precisions by row a matrix for each, which their axes lead, before one of vectors.
        """
        return Normal(self.mean, self.operator.diagonal(precision))

    def start(self, more: float) -> Normal:
        """Return where runs start: a law of each vector, with so much more precision than this."""
        none = np.zeros((*self.mean.shape[:-1], 1))
        ones = self.operator.diagonal(np.ones(self.precisions.shape[-1])).packed()
        return Normal(self.mean, self.operator.plus(none + more * ones))

    def squares(self) -> Float[np.ndarray, "*batch terms"]:
        """``E[x_j^2]``, summed over the coefficients of each term."""
        return np.asarray(self.operator.by_term(self.mean**2 + self.operator.variances))

    def second_moments(self) -> PackedBatch:
        """Weights of packed products: ``E[x x']``."""
        mean = self.mean[..., None, :]
        return self.operator.second_moments(mean, mean)

    def expectations_along(
        self,
        linear: Float[np.ndarray, "many *batch terms"],
        precision: Float[np.ndarray, "many *batch terms terms"] | AbstractPrecision,
    ) -> tuple[Float[np.ndarray, "many *batch packed"], Float[np.ndarray, "many *batch terms"]]:
        """Changes of ``-E[x x'] / 2``, packed, and of ``E[x]`` with natural parameters.

        Directional derivatives, exact, in many directions at once.
        """
        change, mean = as_precision(precision), self.mean[..., None, :]
        shift = self.operator.solve(linear[..., None, :] - change.times(mean))
        mean = np.broadcast_to(mean, shift.shape)
        both = np.concatenate([shift, mean], axis=-2), np.concatenate([mean, shift], axis=-2)
        return -0.5 * self.operator.moments_along(*both, change), shift[..., 0, :]

    def statistics_covariance(self) -> Float[np.ndarray, "entries entries"]:
        """Covariance of ``-x x' / 2`` of all vectors ``x``, packed, then of ``x``."""
        n_vectors, n_terms = self.mean.shape
        first, second = lower_pairs(n_terms)
        one = np.full(n_terms, n_terms)
        pairs = np.concatenate([first, np.arange(n_terms)]), np.concatenate([second, one])
        sign = np.concatenate([-0.5 * (2.0 - (first == second)), np.ones(n_terms)])
        spread = np.zeros((n_vectors, n_terms + 1, n_terms + 1))
        spread[:, :-1, :-1] = self.covariance
        mean = np.concatenate([self.mean, np.ones((n_vectors, 1))], axis=1)
        each = product_covariance(mean[:, :, None] * mean[:, None], spread, pairs)
        squares = np.arange(n_vectors * len(first)).reshape(n_vectors, -1)
        linear = squares.size + np.arange(n_vectors * n_terms).reshape(n_vectors, -1)
        covariance = np.zeros((squares.size + linear.size,) * 2)
        for at, products in zip(np.concatenate([squares, linear], axis=1), each, strict=True):
            covariance[np.ix_(at, at)] = sign[:, None] * products * sign
        return covariance

    def forms(self, columns: TermRows, blocks: Float[np.ndarray, "blocks _"]) -> Forms:
        """``-v^2 / 2`` and ``v`` of the predictors of rows, and ``-x_j^2 / 2`` of coefficients.

        Of one vector for each predictor, with a covariance matrix each.
        """
        squares = blocks.T if len(blocks) else np.empty((0, 0))
        rows = np.concatenate([columns.T, np.eye(len(columns))[: len(squares)]])
        linear = np.pad(np.ones(columns.shape[1]), (0, len(squares)))
        none = np.empty((len(rows), 0))
        vectors = tuple(
            VectorForms(
                own=rows @ root,
                common=none,
                slopes=np.stack([-rows @ mean, linear]),
                noise=none,
                rows=np.arange(columns.shape[1]),
                squares=squares,
                statistics=root,
            )
            for mean, root in zip(self.mean, np.linalg.cholesky(self.covariance), strict=True)
        )
        return Forms(vectors=vectors, noise=np.empty((0, 0)))

    def kl(self, prior: Normal) -> float:
        """Sum over the batch of ``KL(self || prior)``; the prior broadcasts over the batch."""
        shift = self.mean - prior.mean
        quadratic = np.vecdot(prior.pull(shift), shift)
        trace = prior.operator.trace_with(self.operator)
        return float(
            0.5 * np.sum(quadratic + trace - shift.shape[-1] + self.log_det - prior.log_det)
        )

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "draws *batch terms"]:
        """Independent draws of the coefficients that all rows share."""
        mean = self.shared.mean
        noise = rng.standard_normal((n, *mean.shape))
        return np.asarray(mean + times_each(np.linalg.cholesky(self.covariance), noise))

    def log_density(
        self, value: Float[np.ndarray, "draws *batch terms"]
    ) -> Float[np.ndarray, " draws *batch"]:
        """Log density of each vector of coefficients that all rows share."""
        law = self.shared
        shift = value - law.mean
        pulled = self.operator.times_drawn(shift[..., None, :])[..., 0, :]
        quadratic = (pulled * shift).sum(axis=-1)
        density: Float[np.ndarray, " draws *batch"]
        density = 0.5 * (law.log_det - shift.shape[-1] * LOG_2PI - quadratic)
        return density
