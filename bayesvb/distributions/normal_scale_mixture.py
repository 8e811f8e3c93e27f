"""Predictive distribution under a factorised posterior: a normal whose variance is random.

``x ~ N(m, 1 / lambda + 1 / kappa)`` with ``lambda ~ Ga(a, b)`` has no closed form. In
``t = log lambda`` the gamma density is analytic and dies off on both sides, so the trapezoidal
rule converges geometrically: the predictive is, to rounding, a finite mixture of normals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr, ndtri

from bayesvb.distributions.base import AbstractRowDistribution, check_probabilities
from bayesvb.factors.normal_gamma import FactorisedNormalGamma, ScalarGamma
from bayesvb.numerics.arrays import (
    DrawRows,
    DrawVector,
    ExpertRows,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
)
from bayesvb.numerics.root_finding import invert_log_cdf
from bayesvb.numerics.special import LOG_2PI, log_total

LEFT_OUT = 1e-60
"""Probability of the precision beyond either end of the rule: farther tails are cut off."""

POINTS_PER_BLOCK = 4096
"""Points evaluated together: one row of work for each node of the rule."""


@dataclass(frozen=True)
class NormalScaleMixture:
    r"""Mixture of normals about one centre: the same distribution for every row.

    .. math:: p(x) = \int N(x \mid m, 1/\lambda + 1/\kappa)\, Ga(\lambda \mid a, b)\, d\lambda

    Attributes
    ----------
    location : float
    scale, weights : ndarray, shape (nodes,)
        Standard deviations of the normals, and their probabilities.
    dof : float
        ``2 a``: the tails are as heavy as a Student t's with these degrees of freedom.

    References
    ----------
    Trefethen, Weideman (2014), The exponentially convergent trapezoidal rule,
    doi:10.1137/130932132, section 5.

    Examples
    --------
    >>> q = FactorisedNormalGamma(1.0, 20.0, ScalarGamma(5.0, 10.0))
    >>> x = NormalScaleMixture.predictive(q)
    >>> x.quantile(np.array([0.1, 0.5]))
    array([-0.96287235,  1.        ])
    """

    location: float
    scale: Float[np.ndarray, " nodes"]
    weights: Float[np.ndarray, " nodes"]
    dof: float

    @classmethod
    def predictive(cls, posterior: FactorisedNormalGamma) -> NormalScaleMixture:
        """Distribution of one more value, by the trapezoidal rule in ``log lambda``."""
        log_precision, weights = _rule(posterior.precision)
        variance = np.exp(-log_precision) + 1.0 / posterior.mean_precision
        return cls(posterior.mean, np.sqrt(variance), weights, 2.0 * posterior.precision.shape)

    def mean(self) -> float:
        """Centre of the distribution, its mean where there is one."""
        return self.location

    def sd(self) -> float:
        """Standard deviation; infinite with two degrees of freedom or fewer."""
        if self.dof <= 2.0:
            return np.inf
        return float(np.sqrt(self.weights @ self.scale**2))

    def log_density(self, x: PointVector) -> PointVector:
        """Log density at each point."""
        log_weights = np.log(self.weights) - np.log(self.scale) - 0.5 * LOG_2PI

        def piece(z: Float[np.ndarray, " some"]) -> Float[np.ndarray, " some"]:
            exponent = -0.5 * (z / self.scale[:, None]) ** 2
            return np.asarray(log_total(exponent + log_weights[:, None], axis=0))

        return _in_pieces(piece, x - self.location)

    def cdf(self, x: PointVector) -> PointVector:
        """Probability of a value up to each point."""

        def piece(z: Float[np.ndarray, " some"]) -> Float[np.ndarray, " some"]:
            return np.asarray(self.weights @ ndtr(z / self.scale[:, None]))

        return _in_pieces(piece, x - self.location)

    def quantile(self, q: ProbVector) -> ProbVector:
        """Quantiles, to 1e-10 of the scale; the upper half as lower tails of the mirror.

        Raises
        ------
        DataError
            If a probability is NaN or outside 0 to 1.
        """
        check_probabilities(q)
        tail = np.where(q > 0.5, 1.0 - q, q)
        below = np.full(len(q), -np.inf)
        inner = tail > 0.0
        below[inner] = self._lower_quantiles(tail[inner])
        return self.location + np.where(q > 0.5, -below, below)

    def _lower_quantiles(self, tail: ProbVector) -> ProbVector:
        """Quantiles about the centre, for probabilities up to a half."""
        unit = float(np.exp(self.weights @ np.log(self.scale)))
        scale = self.scale[:, None] / unit
        log_weights = np.log(self.weights)[:, None]

        def log_cdf(
            x: Float[np.ndarray, " some"], which: Int[np.ndarray, " some"]
        ) -> tuple[Float[np.ndarray, " some"], Float[np.ndarray, " some"]]:
            z = x / scale
            value = log_total(log_ndtr(z) + log_weights, axis=0)
            normal = -0.5 * (z * z + LOG_2PI) - np.log(scale) + log_weights
            return value, np.exp(log_total(normal, axis=0) - value)

        standard = ndtri(tail)
        root = invert_log_cdf(
            log_cdf,
            np.log(tail),
            bracket=(standard * float(scale.max()), np.zeros(len(tail))),
            start=standard,
            width=np.full(len(tail), float(scale.min())),
        )
        return unit * root

    def draws(self, n: int, rng: np.random.Generator) -> DrawVector:
        """Independent draws."""
        scale = rng.choice(self.scale, n, p=self.weights)
        return np.asarray(self.location + scale * rng.standard_normal(n))

    def affine(self, shift: float, factor: float) -> NormalScaleMixture:
        """Distribution of ``shift + factor * x``: a change of units; the factor is not zero."""
        return replace(
            self, location=shift + factor * self.location, scale=abs(factor) * self.scale
        )


@dataclass(frozen=True)
class SameForEveryRow(AbstractRowDistribution):
    """One distribution, for each of several rows."""

    one: NormalScaleMixture
    n_rows: int

    @property
    def weights(self) -> ExpertRows:  # type: ignore[override]
        """Ones: there is one component."""
        return np.ones((1, self.n_rows))

    def mean(self) -> RowVector:
        return np.full(self.n_rows, self.one.mean())

    def sd(self) -> RowVector:
        return np.full(self.n_rows, self.one.sd())

    def log_density(self, y: RowVector) -> RowVector:
        return self.one.log_density(y)

    def density_at(self, points: PointVector) -> PointRows:
        return self._repeated(np.exp(self.one.log_density(points)))

    def cdf(self, y: RowVector) -> RowVector:
        return self.one.cdf(y)

    def cdf_at(self, points: PointVector) -> PointRows:
        return self._repeated(self.one.cdf(points))

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        return self._repeated(self.one.quantile(q))

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        return self.one.draws(n * self.n_rows, rng).reshape(n, self.n_rows)

    def _repeated(self, values: PointVector) -> PointRows:
        return np.repeat(values[:, None], self.n_rows, axis=1)


def densities_by_row(
    z: RowVector, shape: float, *, rate: RowVector, variance: RowVector
) -> Float[np.ndarray, "2 rows"]:
    """Log density and distribution function of one value in each row, about a centre of its own.

    Parameters
    ----------
    z : ndarray, shape (rows,)
        Values less their centres.
    shape : float
        Of the gamma law of the precision, the same in all rows.
    rate : ndarray, shape (rows,)
        Of that law.
    variance : ndarray, shape (rows,)
        Of the centre.
    """
    log_precision, weights = _rule(ScalarGamma(shape, 1.0))
    log_weights, inverse = np.log(weights)[:, None] - 0.5 * LOG_2PI, np.exp(-log_precision)[:, None]

    def piece(rows: Int[np.ndarray, " some"]) -> Float[np.ndarray, "2 some"]:
        total = inverse * rate[rows] + variance[rows]
        standard = z[rows] / np.sqrt(total)
        exponent = log_weights - 0.5 * (np.log(total) + standard * standard)
        return np.stack([log_total(exponent, axis=0), weights @ ndtr(standard)])

    rows = np.arange(len(z))
    starts = range(0, max(len(z), 1), POINTS_PER_BLOCK)
    return np.concatenate([piece(rows[at : at + POINTS_PER_BLOCK]) for at in starts], axis=1)


def _rule(
    precision: ScalarGamma,
) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Nodes in ``log lambda`` and their probabilities."""
    shape = precision.shape
    # With steps of 0.25 in ``log lambda`` the rule errs by ``exp(-pi^2 / step)``, which is 7e-18;
    # gammas that are nearly normal need half a standard deviation of ``log lambda``.
    step = min(0.25, 0.5 / np.sqrt(shape))
    last = np.log(gammainccinv(shape, LEFT_OUT))
    if shape < 1.0:  # the inverse underflows; the distribution function is below this power
        first = (np.log(LEFT_OUT) + gammaln(shape + 1.0)) / shape
    else:
        first = np.log(gammaincinv(shape, LEFT_OUT))
    nodes = np.arange(np.floor(first / step), np.ceil(last / step) + 1.0) * step
    log_weights = shape * nodes - np.exp(nodes)
    weights = np.exp(log_weights - log_weights.max())
    used = weights > 0.0
    weights = weights[used]
    return nodes[used] - np.log(precision.rate), weights / weights.sum()


def _in_pieces(
    function: Callable[[Float[np.ndarray, " some"]], Float[np.ndarray, " some"]], x: PointVector
) -> PointVector:
    """Values of a function at all points, a block at a time."""
    starts = range(0, max(len(x), 1), POINTS_PER_BLOCK)
    return np.concatenate([function(x[start : start + POINTS_PER_BLOCK]) for start in starts])
