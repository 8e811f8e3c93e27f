"""Elementwise functions of the variational updates, written for whole blocks of rows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, ndtr, ndtri

from bayesvb.numerics.array_library import namespace, special
from bayesvb.numerics.arrays import ExpertRows, Floats, RowVector, SameShape
from bayesvb.numerics.pieces import IN_CACHE, pieces
from bayesvb.numerics.sobol import sobol_points

LOG_2PI = float(np.log(2.0 * np.pi))

SMALLEST_XI = 1e-5
"""Below this ``tanh(xi / 2) / (2 xi)`` is 1/4 to ten digits and the quotient loses accuracy."""

SMALL_SQUARE = 1e-4
"""Below this two terms of the series of ``omega`` in ``xi^2`` are right to ten digits."""


def log_sum_exp(terms: ExpertRows) -> tuple[RowVector, ExpertRows]:
    """Log of the sum of exponentials over the first axis, and the normalised exponentials.

    Both are wanted together for responsibilities, and share the one pass of ``exp``.
    """
    # The largest term becomes exp(0) = 1, so that nothing overflows and the sum is not zero.
    top = terms.max(axis=0)
    shares = terms - top
    np.exp(shares, out=shares)
    total = shares.sum(axis=0)
    shares /= total
    return top + np.log(total), shares


def log_total(terms: SameShape, axis: int) -> Float[np.ndarray, "*_"]:
    """Log of the sum of exponentials over one axis, in NumPy or JAX.

    Several times as fast as SciPy's, which corrects the last bit; here the error is a sum's
    rounding error.

    Examples
    --------
    >>> np.exp(log_total(np.log([[1.0], [3.0]]), axis=0)).round(12).tolist()
    [4.0]
    """
    if namespace(terms) is not np:
        total: Float[np.ndarray, "*_"] = special(terms).logsumexp(terms, axis=axis)
        return total
    top = terms.max(axis=axis, keepdims=True)
    # Minus infinity less itself would be nan: an event without probability has log zero.
    top = np.where(np.isfinite(top), top, 0.0)
    shares = terms - top
    np.exp(shares, out=shares)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares.sum(axis=axis)) + top.squeeze(axis))


def softplus(logits: SameShape) -> SameShape:
    """``log(1 + exp(u))`` in NumPy or JAX, to the rounding of one."""
    if namespace(logits) is not np:
        values: SameShape = namespace(logits).logaddexp(0.0, logits)
        return values
    tail = np.abs(logits)
    np.exp(np.negative(tail, out=tail), out=tail)
    tail += 1.0
    np.log(tail, out=tail)
    tail += np.maximum(logits, 0.0)
    return np.asarray(tail)


def softmax_spread(share: ExpertRows) -> Float[np.ndarray, "experts experts rows"]:
    """``diag(p) - p p'`` of every row: the derivative of a softmax in its logits."""
    spread = -share[:, None] * share
    experts = np.arange(len(share))
    spread[experts, experts] += share
    return np.asarray(spread)


def jaakkola(xi: SameShape) -> tuple[SameShape, SameShape]:
    r"""``log(2 cosh(xi / 2))`` and ``2 lambda(xi) = tanh(xi / 2) / (2 xi)`` for ``xi >= 0``.

    The first is the constant of the quadratic bound on ``log(1 + exp(u))`` at its best ``xi``,
    the second the expectation of a Polya-Gamma variable PG(1, xi).

    References
    ----------
    Jaakkola, Jordan (2000), Bayesian parameter estimation via variational methods, Statistics and
    Computing 10, 25-37, eq. 11. Polson, Scott, Windle (2013), doi:10.1080/01621459.2013.829001,
    theorem 1 and eq. 4.
    """
    xi = np.maximum(xi, SMALLEST_XI)
    total = np.negative(xi)
    np.exp(total, out=total)
    total += 1.0
    # tanh(xi / 2) / 2 = sigma(xi) - 1 / 2, from the exponential that the logarithm needs too.
    omega = 1.0 / total
    omega -= 0.5
    omega /= xi
    log_cosh = np.log(total, out=total)  # at least log(2), so there is no need of log1p
    xi *= 0.5
    log_cosh += xi
    return log_cosh, omega


def omega_slope(second_moment: SameShape, omega: SameShape) -> SameShape:
    """Derivative of ``omega``, the second value of ``jaakkola``, in ``xi^2``.

    Examples
    --------
    >>> square = np.array([1.0, 1.0 + 1e-6])
    >>> omega = jaakkola(np.sqrt(square))[1]
    >>> np.isclose(omega_slope(square, omega)[0], (omega[1] - omega[0]) / 1e-6)
    np.True_
    """
    large = np.maximum(second_moment, SMALL_SQUARE)
    slope = (0.25 - omega * omega * large - omega) / (2.0 * large)
    near = second_moment / 240.0 - 1.0 / 48.0
    return np.asarray(np.where(second_moment < SMALL_SQUARE, near, slope))


def polya_gamma_mean(second_moment: SameShape) -> SameShape:
    r"""``tanh(xi / 2) / xi`` with ``xi^2 = E[u^2]``, twice the mean of PG(1, xi), in place.

    ``jaakkola`` without the constant and without a new array, for inner iterations.
    """
    # Added to squares whose roots are divided by; without effect on those that are not zero.
    second_moment += 1e-300
    xi: SameShape = np.sqrt(second_moment, out=second_moment)
    mean = 0.5 * xi
    np.tanh(mean, out=mean)
    np.divide(mean, xi, out=xi)
    return xi


NORMAL_MIXTURE = (
    (0.003246343272134, 1.365340806296348),
    (0.051517477033972, 1.059523971016916),
    (0.195077912673858, 0.830791313765644),
    (0.315569823632818, 0.650732166639391),
    (0.274149576158423, 0.508135425366489),
    (0.131076880695470, 0.396313345166341),
    (0.027912418727972, 0.308904252267995),
    (0.001449567805354, 0.238212616409306),
)
"""Weights and inverse scales of normals whose mixed distribution function is the logistic one."""


def expected_expit(mean: SameShape, variance: SameShape) -> SameShape:
    r"""Mean of ``1 / (1 + exp(-u))`` for ``u ~ N(mean, variance)``, to 3e-9 for any variance.

    The logistic function is, to 2.1e-9, ``sum_i p_i Phi(c_i u)``, and a normal distribution
    function has the mean ``Phi(c m / sqrt(1 + c^2 v))``. Quadrature over ``u`` would lose digits
    as the variance grows.

    References
    ----------
    Monahan, Stefanski (1992), Normal scale mixture approximations to F*(z) and computation of the
    logistic-normal integral, in Handbook of the Logistic Distribution, table 22.4.2 (8 normals).
    """
    total = np.zeros_like(mean)
    for weight, inverse_scale in NORMAL_MIXTURE:
        spread = np.sqrt(1.0 + inverse_scale**2 * variance)
        total += weight * ndtr(inverse_scale * mean / spread)
    return np.asarray(np.minimum(total, 1.0))  # the weights sum to one and a little rounding


LARGE_SHAPE = 1e6
"""Argument from which the rest of Stirling's series, of order ``1 / a^3``, is below rounding."""


def digamma_excess(a: float | Floats) -> Floats:
    """``a digamma(a) - log Gamma(a) - a``, in which terms that are large cancel."""
    a = np.asarray(a, dtype=float)
    usual = np.minimum(a, LARGE_SHAPE)
    exact = usual * digamma(usual) - gammaln(usual) - usual
    series = 0.5 * (np.log(a) - 1.0 - LOG_2PI) - 1.0 / (6.0 * a)
    return np.asarray(np.where(a < LARGE_SHAPE, exact, series))


@lru_cache(maxsize=16)
@lru_cache(maxsize=64)
def normal_points(n_dims: int, n_points: int = 256) -> Float[np.ndarray, "points dims"]:
    """Low-discrepancy points of the standard normal in ``n_dims`` dimensions, always the same."""
    uniform = sobol_points(n_dims, n_points)
    points = np.asarray(ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12)))
    points.flags.writeable = False
    return points


@lru_cache(maxsize=64)
def balanced_points(n_dims: int, n_points: int) -> Float[np.ndarray, "points dims"]:
    r"""Points of the standard normal, few for each dimension, with its mean and its covariance.

    Coordinate ``j`` of an additive sequence advances by ``\phi^-j`` modulo one, with ``\phi^{d+1} =
    \phi + 1``. Each point is paired with its negative, and a linear map corrects the covariance:
    averages over 64 of smooth functions have errors half as large as with ``normal_points``,
    without a further import.

    Parameters
    ----------
    n_dims : int
    n_points : int
        Even, and more than twice the dimensions.

    References
    ----------
    Niederreiter (1992), Random Number Generation and Quasi-Monte Carlo Methods,
    doi:10.1137/1.9781611970081, on such sequences.

    Examples
    --------
    >>> points = balanced_points(3, 64)
    >>> moments = points.mean(axis=0), np.cov(points.T, ddof=0) - np.eye(3)
    >>> [bool(np.abs(moment).max() < 1e-12) for moment in moments]
    [True, True]
    """
    base = 2.0
    for _ in range(60):
        base = (1.0 + base) ** (1.0 / (n_dims + 1))
    steps = base ** -np.arange(1.0, n_dims + 1.0)
    uniform = (0.5 + np.outer(np.arange(1.0, n_points // 2 + 1.0), steps)) % 1.0
    half = ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12))
    root = np.linalg.cholesky(half.T @ half / len(half))
    half = np.linalg.solve(root, half.T).T
    points = np.concatenate([half, -half])
    points.flags.writeable = False
    return points


NO_VARIANCE = 1e-8
"""Variances below this move a weight by less: it is that at the means."""

ROUNDING = 1e-12
"""Relative error of a sum that is put down to rounding."""

LARGEST_EXPONENT = 300.0
"""Exponentials up to here, and their inverses, are floats far from either end.

Predictors are cut off there: a component without rows has a wide posterior, and its infinite mean
times a responsibility of zero would not be a number.
"""


def expected_softmax(mean: ExpertRows, variance: ExpertRows) -> ExpertRows:
    """Mean of ``softmax(u)`` for independent ``u_k ~ N(mean_k, variance_k)``; columns sum to one.

    Two experts need one integral, over ``u_1 - u_2``; more are averaged over 256 quasi-Monte Carlo
    points, which leaves errors below 0.003 in a weight for variances up to 4, 0.007 up to 16.
    """
    if len(mean) == 1:
        return np.ones_like(mean)
    if variance.max(initial=0.0) < NO_VARIANCE:
        return log_sum_exp(mean)[1]
    if len(mean) == 2:
        first = expected_expit(mean[0] - mean[1], variance[0] + variance[1])
        return np.stack([first, 1.0 - first])
    spread = np.sqrt(variance)[:, None]
    total = np.zeros_like(mean)
    points = np.ascontiguousarray(normal_points(len(mean)).T)
    mean = np.ascontiguousarray(mean - mean.max(axis=0))
    far = spread.max() * np.abs(points).max() > LARGEST_EXPONENT
    for some in pieces(points.shape[1], mean.size, IN_CACHE):
        shares = np.multiply(points[:, some, None], spread, order="C")
        shares += mean[:, None]
        if far:
            shares -= shares.max(axis=0)
        np.exp(shares, out=shares)
        total += np.einsum("kpn,pn->kn", shares, 1.0 / shares.sum(axis=0))
    return np.asarray(total / points.shape[1])
