"""Free-form distribution of a positive parameter from sums of log densities at nodes of its log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import comb, factorial

from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import Floats, SameShape
from bayesvb.numerics.special import LOG_2PI

DEGREE = 7
"""Degree of the local polynomials. With 32 nodes and 100,000 rows the mean of a gamma shape is off
by 0.002 posterior standard deviations, of a Weibull shape by 0.03; with degree 5 by 0.04 and
0.12."""

DEPTH = 60.0
"""Log density below its largest value, in nats, from which it counts as zero."""

N_POINTS = 129
"""Points of the quadrature: three or more within a standard deviation, as the range shrinks until
the density is not negligible (``DEPTH``, 11 standard deviations) in half of it."""

UNIT = np.linspace(0.0, 1.0, N_POINTS)
"""Points of the quadrature on the unit interval."""

STENCIL = np.arange(DEGREE + 1)
"""Nodes of a local polynomial, from its first."""

BARYCENTRIC = (-1.0) ** np.arange(DEGREE, -1, -1) * comb(DEGREE, np.arange(DEGREE + 1))
BARYCENTRIC /= factorial(DEGREE)
"""Inverses of the products of distances between equidistant nodes."""


@dataclass(frozen=True)
class LogGrid:
    r"""Log-normal prior of a positive parameter, and nodes at which rows report log densities.

    Given the rest of the posterior, the coordinate update of a parameter :math:`\phi` is

    .. math:: \log q(\phi) = \log p(\phi) + \sum_n r_n e_n(\phi) + \text{const},

    and each row reports :math:`e_n(\phi_j)` at equidistant values :math:`\log\phi_j`. Between the
    nodes the sum is a local polynomial. Node probabilities alone would fix the
    parameter to one node from a few hundred rows on, where the posterior is narrower than the
    spacing. As the interpolation is linear in the values, the sums at the nodes are natural
    parameters, and the expected interpolation weights are their expectations: the update is
    exact and the ELBO does not fall.

    Attributes
    ----------
    low, high : float
        Ends of the log of the parameter; the posterior has no mass beyond.
    centre, sd : float
        Mean and standard deviation of the log a priori.
    n_nodes : int

    Examples
    --------
    >>> grid = LogGrid(low=-4.0, high=4.0, centre=0.0, sd=1.0)
    >>> rate = 50.0 * np.log(grid.values) - 25.0 * grid.values  # gamma with shape 50, rate 25
    >>> law = grid.posterior(rate[None])
    >>> law.mean_log.round(3), law.sd_log.round(3)
    (array([0.67]), array([0.142]))
    """

    low: float
    high: float
    centre: float
    sd: float
    n_nodes: int = 32

    @property
    def step(self) -> float:
        """Distance between neighbouring nodes."""
        return (self.high - self.low) / (self.n_nodes - 1)

    @cached_property
    def logs(self) -> Float[np.ndarray, " nodes"]:
        """Logarithms at the nodes."""
        return np.linspace(self.low, self.high, self.n_nodes)

    @cached_property
    def values(self) -> Float[np.ndarray, " nodes"]:
        """Values of the parameter at the nodes."""
        return np.asarray(np.exp(self.logs))

    def log_density_of_logs(self, logs: SameShape) -> SameShape:
        """Log prior density of the log of the parameter."""
        standard = (logs - self.centre) / self.sd
        log_density: SameShape = -0.5 * (standard**2 + LOG_2PI) - np.log(self.sd)
        return log_density

    def log_prior(self, values: SameShape) -> SameShape:
        """Log prior density of values of the parameter, in NumPy or JAX."""
        logs = namespace(values).log(values)
        prior: SameShape = self.log_density_of_logs(logs) - logs
        return prior

    def prior_draws(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Values of the parameter drawn from the prior."""
        return np.asarray(np.exp(self.centre + self.sd * rng.standard_normal(shape)))

    def stencil(
        self, logs: SameShape
    ) -> tuple[Int[np.ndarray, "*shape stencil"], Float[np.ndarray, "*shape stencil"]]:
        """Nodes of the polynomial at each point, and their weights; constant beyond the ends."""
        at = (np.minimum(np.maximum(logs, self.low), self.high) - self.low) / self.step
        first = np.minimum(np.maximum(at.astype(int) - DEGREE // 2, 0), self.n_nodes - DEGREE - 1)
        distance = (at - first)[..., None] - STENCIL
        # Products of the other distances, by prefix and suffix: exact where a point is a node.
        others = np.empty_like(distance)
        others[..., :1] = 1.0
        np.cumprod(distance[..., :-1], axis=-1, out=others[..., 1:])
        others[..., :-1] *= np.cumprod(distance[..., :0:-1], axis=-1)[..., ::-1]
        return first[..., None] + STENCIL, others * BARYCENTRIC

    def interpolate(
        self, sums: Float[np.ndarray, "*laws nodes"], logs: Float[np.ndarray, "*laws points"]
    ) -> Float[np.ndarray, "*laws points"]:
        """Sums at points between the nodes."""
        nodes, weights = self.stencil(logs)
        law = np.arange(sums.size // self.n_nodes).reshape(*sums.shape[:-1], 1, 1)
        return np.asarray(np.vecdot(np.take(sums, nodes + self.n_nodes * law), weights))

    def to_the_power(self, power: float) -> LogGrid:
        """Grid of the same nodes, with the prior density of the log raised to a power."""
        return replace(self, sd=self.sd / power**0.5)

    def posterior(self, sums: Float[np.ndarray, "*laws nodes"]) -> GridLaw:
        """Distribution proportional to the prior times the exponential of interpolated sums.

        Raises
        ------
        numpy.linalg.LinAlgError
            If a sum is not finite.
        """
        if not np.isfinite(sums).all():
            raise np.linalg.LinAlgError("sums at the nodes are not finite")
        low, high = self._support(sums)
        while True:
            points, log_density = self._on_points(sums, low, high)
            within = _range_within(points, log_density)
            if (within[1] - within[0] >= 0.5 * (high - low)).all():
                break
            low, high = within
        log_density += np.log((high - low) / (N_POINTS - 1))[..., None]
        log_density[..., [0, -1]] -= np.log(2.0)  # trapezoid rule
        top = log_density.max(axis=-1)  # not by scipy's logsumexp: 20 times as long for one row
        mass = np.exp(log_density - top[..., None])
        total = mass.sum(axis=-1)
        return GridLaw(self, sums, points, mass / total[..., None], top + np.log(total))

    def _on_points(
        self,
        sums: Float[np.ndarray, "*laws nodes"],
        low: Float[np.ndarray, "*laws"],
        high: Float[np.ndarray, "*laws"],
    ) -> tuple[Float[np.ndarray, "*laws points"], Float[np.ndarray, "*laws points"]]:
        """Points between two ends, and the log density there, which is not normalised."""
        points = low[..., None] + (high - low)[..., None] * UNIT
        return points, self.interpolate(sums, points) + self.log_density_of_logs(points)

    def trimmed(self, sums: Float[np.ndarray, "*laws nodes"]) -> Float[np.ndarray, "*laws nodes"]:
        """Sums less their largest, cut off where they have no influence on the posterior.

        A sum that is doubly exponential in the log of the parameter would otherwise outweigh all
        other statistics in the norms by which engines judge the length of a step.
        """
        known = sums + self.log_density_of_logs(self.logs)
        top = np.argmax(known, axis=-1)[..., None]
        near = np.abs(np.arange(self.n_nodes) - top) <= DEGREE + 1
        high = np.take_along_axis(sums, top, axis=-1)
        floor = np.min(np.where(near, sums, np.inf), axis=-1, keepdims=True)
        return np.asarray(np.maximum(sums, np.minimum(floor, high - 4.0 * DEPTH)) - high)

    def _support(
        self, sums: Float[np.ndarray, "*laws nodes"]
    ) -> tuple[Float[np.ndarray, "*laws"], Float[np.ndarray, "*laws"]]:
        """Range between nodes beyond which the density is zero.

        The polynomials are not used where sums fall so fast that they would overshoot.
        """
        known = sums + self.log_density_of_logs(self.logs)
        near = known >= known.max(axis=-1, keepdims=True) - DEPTH
        first = np.argmax(near, axis=-1)
        last = self.n_nodes - 1 - np.argmax(near[..., ::-1], axis=-1)
        return self.logs[np.maximum(first - 1, 0)], self.logs[
            np.minimum(last + 1, self.n_nodes - 1)
        ]


def _range_within(
    points: Float[np.ndarray, "*laws points"], log_density: Float[np.ndarray, "*laws points"]
) -> tuple[Float[np.ndarray, "*laws"], Float[np.ndarray, "*laws"]]:
    """Points next to the outermost ones whose density is not negligible."""
    near = log_density >= log_density.max(axis=-1, keepdims=True) - DEPTH
    first = np.maximum(np.argmax(near, axis=-1) - 1, 0)
    last = np.minimum(N_POINTS - np.argmax(near[..., ::-1], axis=-1), N_POINTS - 1)
    ends = [np.take_along_axis(points, at[..., None], axis=-1)[..., 0] for at in (first, last)]
    return ends[0], ends[1]


@dataclass(frozen=True)
class GridLaw:
    """Distributions of the logs of positive parameters, each on quadrature points of its own.

    Attributes
    ----------
    grid : LogGrid
    sums : ndarray, shape (..., nodes)
        Natural parameters: sums over rows at the nodes.
    points, probabilities : ndarray, shape (..., points)
        Logs of the parameter, and their probabilities by the trapezoid rule.
    log_norm : ndarray, shape (...)
        Log of the integral of the prior density times the exponential of the sums.
    """

    grid: LogGrid
    sums: Float[np.ndarray, "*laws nodes"]
    points: Float[np.ndarray, "*laws points"]
    probabilities: Float[np.ndarray, "*laws points"]
    log_norm: Float[np.ndarray, "*laws"]

    @cached_property
    def _basis(self) -> Float[np.ndarray, "*laws points nodes"]:
        """Interpolation weights of all nodes at each point."""
        basis = np.zeros((*self.points.shape, self.grid.n_nodes))
        np.put_along_axis(basis, *self.grid.stencil(self.points), axis=-1)
        return basis

    @cached_property
    def weights(self) -> Float[np.ndarray, "*laws nodes"]:
        """Expected interpolation weights: an expectation is their product with node values."""
        return np.asarray((self.probabilities[..., None, :] @ self._basis)[..., 0, :])

    @cached_property
    def covariance(self) -> Float[np.ndarray, "*laws nodes nodes"]:
        """Covariance of the interpolation weights: derivative of ``weights`` in the sums."""
        deviation = self._basis - self.weights[..., None, :]
        spread = np.swapaxes(deviation * self.probabilities[..., None], -1, -2)
        return np.asarray(spread @ deviation)

    @cached_property
    def active(self) -> Bool[np.ndarray, "*laws nodes"]:
        """Nodes whose interpolation weight is not zero, under each law."""
        # Probability of a point below which it has no part in derivatives.
        used = (self._basis != 0.0) & (self.probabilities > 1e-14)[..., None]
        return np.asarray(used.any(axis=-2))

    @property
    def near(self) -> Bool[np.ndarray, "*laws nodes"]:
        """The active nodes and their neighbours, which show where sums rise, under each law."""
        near = self.active.copy()
        near[..., 1:] |= self.active[..., :-1]
        near[..., :-1] |= self.active[..., 1:]
        return near

    @property
    def mean_log(self) -> Float[np.ndarray, "*laws"]:
        """Mean of the log of the parameter."""
        return np.asarray(np.vecdot(self.points, self.probabilities))

    @property
    def sd_log(self) -> Float[np.ndarray, "*laws"]:
        """Standard deviation of the log of the parameter."""
        deviation = self.points - self.mean_log[..., None]
        return np.asarray(np.sqrt(np.vecdot(deviation**2, self.probabilities)))

    def kl(self) -> float:
        """``KL(q || p)``, summed over the parameters."""
        return float(np.sum(self.weights * self.sums) - self.log_norm.sum())

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, " draws *laws"]:
        """Values of the parameter; the distribution function is linear between the points."""
        below = np.cumsum(self.probabilities, axis=-1) - 0.5 * self.probabilities
        flat = zip(below.reshape(-1, N_POINTS), self.points.reshape(-1, N_POINTS), strict=True)
        draws = [np.interp(rng.random(n), weights, points) for weights, points in flat]
        return np.reshape(np.exp(np.stack(draws, axis=1)), (n, *self.log_norm.shape))

    def log_density(
        self, values: Float[np.ndarray, "draws laws"]
    ) -> Float[np.ndarray, "draws laws"]:
        """Log density of values of each parameter."""
        logs = np.log(values)
        sums = np.broadcast_to(self.sums, (*values.shape, self.grid.n_nodes))
        log_density = self.grid.interpolate(sums, logs[..., None])[..., 0] - self.log_norm
        return np.asarray(log_density + self.grid.log_density_of_logs(logs) - logs)
