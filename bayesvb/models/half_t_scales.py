r"""Exact posterior of one regression whose terms have prior standard deviations to be learned.

Given the standard deviations of the terms in units of noise, ``exp(t)``, their correlations within
a group, and the noise ``exp(s)``, coefficients are normal. What remains is an integral over few
numbers: ``s`` on a grid, ``t`` and numbers of the correlations by importance sampling at points of
a low-discrepancy sequence. Sums over rows are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln, logsumexp, ndtr, stdtrit

from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.half_t import log_half_t
from bayesvb.factors.uniform_correlation import UniformCorrelation
from bayesvb.linear.designs import AbstractDesign
from bayesvb.models.arrow_regression import (
    ArrowRegressions,
    CorrelatedEffects,
    RegressionSums,
)
from bayesvb.numerics.arrays import BlockVector, DrawParameters, DrawVector, RowVector, TermVector
from bayesvb.numerics.pieces import AT_ONCE, IN_MEMORY, pieces
from bayesvb.numerics.special import LOG_2PI, log_total

POINTS, MOST_POINTS = 128, 8192
"""Values of the scales at first, and in the last of the rounds; each has twice as many."""

ENOUGH = 60.0
"""Effective values of the scales: quantiles of their posterior to about 0.05 sd."""

PROPOSAL_DOF = 5.0
"""Degrees of freedom of what values of the scales are proposed from."""

FALL = 2.0
"""Nats by which the log posterior has fallen where the scale of a side is read off: two sd."""

FORWARD = float(np.finfo(float).eps) ** 0.5
"""Step of forward differences."""

FARTHEST = 12.0
"""Range of a scale in units of noise, in logarithms: 6e-6 to 2e5."""

ATOMS = 25
"""Values of the scales, from strata of equal probability, over which predictions average."""

CORRELATED_ATOMS = 200
"""Values of the scales if there are correlations. Compared with all values, standard deviations of
new groups differ by up to 2%, and log densities of held-out rows by 0.05 nats in all; with 25
values by 7% and 0.2 nats."""


@dataclass(frozen=True)
class ScaledRegression:
    """One regression and its prior.

    Attributes
    ----------
    sums : RegressionSums
    membership : ndarray, shape (blocks, terms)
        One where a term belongs to a block whose scale is learned: a column, or one effect of all
        groups.
    fixed : ndarray, shape (terms,)
        Prior precisions, in units of noise, of terms in no block; zero for the others.
    unit : ndarray, shape (blocks,)
        Scale of the half-t prior of the standard deviation of a block's coefficients, in units of
        the response.
    shape, rate : float
        Of the gamma prior of the noise precision.
    correlated : tuple of tuple of int
        Blocks whose coefficients are correlated within each group, groups in the same order.
    free : tuple of int and float
        Number of terms in no block whose coefficients are independent of the noise, and the
        logarithm of the noise at which ``fixed`` are their precisions.
    curves : tuple of int
        Blocks without a half-t prior: ``1 / s^2`` of their scale ``s``, in units of the noise, has
        the prior ``curve_precision``.
    curve_precision : Gamma
        Prior of these blocks. It excludes curves that are nearly flat, which a half-t prior does
        not: curves of three standard errors were shrunk by 0.8 of one, and are by 0.6
        (bench_scale_rates.py).

    The numbers integrated over are the logarithms of the scales of all blocks, then of each set of
    correlated blocks the numbers ``z`` of ``UniformCorrelation``: ``t`` of the methods.
    """

    sums: RegressionSums
    membership: Float[np.ndarray, "blocks terms"]
    fixed: TermVector
    unit: BlockVector
    shape: float
    rate: float
    correlated: tuple[tuple[int, ...], ...] = ()
    free: tuple[int, float] = (0, 0.0)
    curves: tuple[int, ...] = ()
    curve_precision: Gamma = field(default_factory=lambda: Gamma(np.empty(0), np.empty(0)))

    @property
    def noise_shape(self) -> float:
        """Shape of the gamma distribution of the noise precision given the scales."""
        return self.shape + 0.5 * (self.sums.weight - self.free[0])

    @cached_property
    def priors(self) -> list[UniformCorrelation]:
        """Priors of the correlations of each set."""
        return [UniformCorrelation(len(blocks)) for blocks in self.correlated]

    @property
    def n_numbers(self) -> int:
        """Number of logarithms of scales and of partial correlations."""
        return len(self.unit) + sum(len(prior.pairs) for prior in self.priors)

    def parted(
        self, t: Float[np.ndarray, "many numbers"]
    ) -> tuple[Float[np.ndarray, "many blocks"], list[Float[np.ndarray, "many _"]]]:
        """Logarithms of the scales, and numbers of the correlations of each set."""
        sizes = np.cumsum([len(self.unit), *(len(prior.pairs) for prior in self.priors)])
        logs, *each = np.split(t, sizes[:-1] if self.priors else [], axis=1)
        return logs, each

    def given(self, t: Float[np.ndarray, "many numbers"]) -> ArrowRegressions:
        """Posterior of the coefficients given the logarithms of the scales."""
        logs, each = self.parted(t)
        precision, correlated = self.fixed + np.exp(-2.0 * logs) @ self.membership, []
        for blocks, prior, z in zip(self.correlated, self.priors, each, strict=True):
            root = np.exp(logs[:, blocks, None]) * prior.root(z)
            inverse = np.linalg.inv(root)
            whole = np.swapaxes(inverse, -1, -2) @ inverse
            columns = np.stack([np.flatnonzero(self.membership[block]) for block in blocks])
            for i, column in enumerate(columns):
                precision[:, column] = whole[:, i, i, None]
            correlated.append(CorrelatedEffects(columns, whole))
        return self.sums.regressions(precision, correlated)

    def log_joint(
        self,
        t: Float[np.ndarray, "many numbers"],
        s: Float[np.ndarray, "many noises"],
        residual: Float[np.ndarray, " many"],
        log_volume: Float[np.ndarray, " many"],
    ) -> Float[np.ndarray, "many noises"]:
        """Log density of the rows, of ``t`` and of ``s``, coefficients integrated out."""
        rate = self.rate + 0.5 * residual[:, None]
        noise = self.shape * np.log(self.rate) - gammaln(self.shape) + np.log(2.0)
        noise -= 0.5 * self.sums.weight * np.log(2.0 * np.pi) + self.free[0] * self.free[1]
        rows = noise + log_volume[:, None]
        logs, each = self.parted(t)
        sd = logs[:, None, :] + s[:, :, None]
        of_blocks = log_half_t(np.exp(sd), self.unit) + sd
        if self.curves:
            tau = np.exp(-2.0 * logs[:, None, self.curves])
            of_blocks[..., self.curves] = self.curve_precision.log_density(tau) + np.log(2.0 * tau)
        prior = of_blocks.sum(axis=-1)
        for known, z in zip(self.priors, each, strict=True):
            prior = prior + known.log_density(z)[:, None]
        return np.asarray(rows - 2.0 * self.noise_shape * s - rate * np.exp(-2.0 * s) + prior)

    def noises(self, known: ArrowRegressions) -> Float[np.ndarray, "many noises"]:
        """Logarithms of the noise around those that the rows and its own prior make likely."""
        shape = self.noise_shape
        centre = 0.5 * np.log((self.rate + 0.5 * known.residual) / shape)
        # Posterior standard deviations on both sides that these cover.
        reach = 5.0 / np.sqrt(4.0 * shape) * (1.0 + 3.0 / shape)
        # Values of the noise: cells of 0.2 posterior sd, within which draws are uniform.
        return np.asarray(centre[:, None] + np.linspace(-reach, reach, 41))

    @property
    def most_values(self) -> int:
        """Values of ``t`` whose eliminations are held at once."""
        gram = self.sums.gram
        return max(IN_MEMORY // (1 + gram.cross.size + gram.group_blocks.size), 1)

    def log_marginal(self, t: Float[np.ndarray, "many numbers"]) -> Float[np.ndarray, " many"]:
        """Log density of the rows and of ``t``, a few values at a time where groups are many."""
        size = self.most_values
        return np.concatenate(
            [self._log_marginal(t[start : start + size]) for start in range(0, len(t), size)]
        )

    def _log_marginal(self, t: Float[np.ndarray, "many numbers"]) -> Float[np.ndarray, " many"]:
        """Log marginal density of all values at once."""
        known = self.given(t)
        s = self.noises(known)
        log_p = self.log_joint(t, s, known.residual, known.log_volume)
        return np.asarray(log_total(log_p, axis=1) + np.log(s[:, 1] - s[:, 0]))


@dataclass(frozen=True)
class HalfTScales:
    """Posterior of a regression as a mixture over values of the scales of its terms.

    Attributes
    ----------
    model : ScaledRegression
    t : ndarray, shape (values, numbers)
        Logarithms of the scales in units of noise, and numbers of the correlations.
    log_weight : ndarray, shape (values,)
        Logarithms of their probabilities.
    log_evidence : float
        Log density of the rows, all parameters integrated out.
    """

    model: ScaledRegression
    t: Float[np.ndarray, "values numbers"]
    log_weight: Float[np.ndarray, " values"]
    log_evidence: float

    @classmethod
    def of(cls, model: ScaledRegression) -> HalfTScales | None:
        """The posterior; None where too few values of the scales are effective.

        References
        ----------
        Cornuet, Marin, Mira, Robert (2012), Adaptive Multiple Importance Sampling, Scandinavian
        Journal of Statistics 39(4): every value is weighted by the mixture of all proposals.
        """
        proposal = ScaleProposal.at_mode(model)
        n, enough = POINTS, ENOUGH
        if model.correlated and model.most_values > POINTS:  # of fewer groups than thousands
            n, enough = 4 * POINTS, 3.0 * ENOUGH
        t, log_p = np.empty((0, model.n_numbers)), np.empty(0)
        proposals: list[tuple[ScaleProposal, int]] = []
        while n <= MOST_POINTS:
            proposals.append((proposal, n))
            new = proposal.points(n)
            t, log_p = np.vstack([t, new]), np.append(log_p, model.log_marginal(new))
            each = [one.log_density(t) + np.log(m / len(t)) for one, m in proposals]
            log_ratio = log_p - np.logaddexp.reduce(each)
            total = logsumexp(log_ratio)
            scales = cls(model, t, log_ratio - total, float(total - np.log(len(t))))
            if scales.effective >= enough:
                return scales
            proposal = proposal.adapted(t, np.exp(scales.log_weight))
            n *= 2
        return None

    @property
    def effective(self) -> float:
        """Effective number of values of the scales."""
        return float(np.exp(-logsumexp(2.0 * self.log_weight)))

    def draws(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "draws _"], DrawVector,
               DrawParameters, DrawVector]:  # fmt: skip
        """Coefficients, noise precision, precisions of terms, and their joint log density.

        Behind the precisions of terms are the correlations of each set of correlated terms. Effects
        of groups are among the coefficients if the sums are complete.
        """
        chosen = self._strata(self._n_values(n), float(rng.random()))
        values, index = np.unique(np.resize(chosen, n), return_inverse=True)
        index = rng.permutation(index)
        known = self.model.given(self.t[values])
        grid = self.model.noises(known)
        residual, volume = known.residual, known.log_volume
        log_p = self.model.log_joint(self.t[values], grid, residual, volume)
        below = np.exp(log_p - log_p.max(axis=1, keepdims=True)).cumsum(axis=1)[index]
        cell = (rng.random((n, 1)) * below[:, -1:] > below).sum(axis=1)
        s = grid[index, cell] + (rng.random(n) - 0.5) * (grid[:, 1] - grid[:, 0])[index]
        coefficients, log_q = known.draws(index, np.exp(s), rng)
        t = self.t[values][index]
        # densities of 1 / sigma^2 and 1 / scale^2, whose logarithms are -2 s and -2 t
        logs, each = self.model.parted(t)
        jacobian = 2.0 * s + 2.0 * logs.sum(axis=1) - (1 + logs.shape[1]) * np.log(2.0)
        correlations = []
        for prior, z in zip(self.model.priors, each, strict=True):
            jacobian -= prior.log_jacobian(z)
            correlations.append(prior.correlations(z))
        log_q += self.model.log_joint(t, s[:, None], residual[index], volume[index])[:, 0]
        return (
            coefficients,
            np.exp(-2.0 * s),
            np.hstack([np.exp(-2.0 * logs), *correlations]),
            log_q + jacobian - self.log_evidence,
        )

    def predictive(self, design: AbstractDesign, noise: float = 1.0) -> StudentMixture:
        """Predictive distribution of the response of each row, a component for each atom.

        Distribution of each row's mean without ``noise``, which is in units of the noise variance.
        """
        known, shape, rate = self._atoms
        location, spread = known.lines(design)
        scale = np.sqrt((rate / shape)[:, None] * (noise + spread))
        weights = np.full(location.shape, 1.0 / len(location))
        return StudentMixture(weights, location, scale, 2.0 * shape)

    @cached_property
    def _atoms(
        self,
    ) -> tuple[ArrowRegressions, Float[np.ndarray, " atoms"], Float[np.ndarray, " atoms"]]:
        """Regressions of equal probability, and gamma distributions of their noise precision.

        Each has the mean and variance of the precision given the scales.
        """
        known, s, log_weight = self._noisy_atoms
        weight, precision = np.exp(log_weight), np.exp(-2.0 * s)
        mean = (weight * precision).sum(axis=1)
        variance = (weight * (precision - mean[:, None]) ** 2).sum(axis=1)
        return known, mean**2 / variance, mean / variance

    @cached_property
    def _noisy_atoms(
        self,
    ) -> tuple[
        ArrowRegressions, Float[np.ndarray, "atoms noises"], Float[np.ndarray, "atoms noises"]
    ]:
        """Regressions of equal probability, logarithms of their noise, and of its probabilities."""
        n = CORRELATED_ATOMS if self.model.correlated else ATOMS
        t = self.t[self._strata(self._n_values(n), 0.5)]
        known = self.model.given(t)
        s = self.model.noises(known)
        log_p = self.model.log_joint(t, s, known.residual, known.log_volume)
        return known, s, log_p - logsumexp(log_p, axis=1, keepdims=True)

    def predictions_without(
        self, design: AbstractDesign, response: RowVector, copies: RowVector
    ) -> Float[np.ndarray, "2 rows"]:
        """Leave-one-out log predictive density and distribution function of each row.

        ``copies`` of the row are removed. Given scales and noise the removal is exact; the
        probabilities of scales and noise change by the ratio of the density of the remaining rows
        to the density of all rows.

        References
        ----------
        Cook, Weisberg (1982), Residuals and Influence in Regression, section 2.2, for the downdate.
        """
        known, s, log_weight = self._noisy_atoms
        location, spread = known.lines(design)
        each = [
            _without_rows(
                s, log_weight, response[rows] - location[:, rows], spread[:, rows], copies[rows]
            )
            for rows in pieces(len(response), s.size, AT_ONCE)
        ]
        return np.concatenate(each, axis=1)

    def _n_values(self, n: int) -> int:
        """At most ``n`` values of the scales, down to 25 for very many groups.

        Their standard deviations are then known to a few per cent.
        """
        return min(n, max(8 * self.model.most_values, ATOMS))

    def _strata(self, n: int, place: float) -> Int[np.ndarray, " n"]:
        """Values of the scales, one of each of ``n`` strata of equal probability.

        Strata go along the sum of the logarithms, the direction in which predictions differ most.
        """
        order = np.argsort(self.model.parted(self.t)[0].sum(axis=1), kind="stable")
        below = np.exp(self.log_weight[order]).cumsum()
        at = np.searchsorted(below, (np.arange(n) + place) / n * below[-1])
        return np.asarray(order[np.minimum(at, len(order) - 1)])


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleProposal:
    """Distribution that values of the scales are proposed from: t, with a scale for each side.

    Attributes
    ----------
    centre : ndarray, shape (numbers,)
        Its mode.
    axes : ndarray, shape (numbers, numbers)
        Directions in which it is independent, in columns.
    sides : ndarray, shape (numbers, 2)
        Scale below and above the centre along every axis, in units of the axis.
    """

    centre: Float[np.ndarray, " numbers"]
    axes: Float[np.ndarray, "numbers numbers"]
    sides: Float[np.ndarray, "numbers 2"]

    @classmethod
    def at_mode(cls, model: ScaledRegression) -> ScaleProposal:
        """The first proposal, with the curvature and the two sides of the posterior at its mode."""
        centre, axes = _mode(model)
        return cls(centre=centre, axes=axes, sides=_sides(model, centre, axes))

    def points(self, n: int) -> Float[np.ndarray, "values numbers"]:
        """Values of low discrepancy.

        Side and distance come from one number, so that the density is continuous at the centre.
        """
        uniform = low_discrepancy(n, len(self.sides))
        left = self.sides[:, 0] / self.sides.sum(axis=1)
        below = uniform < left
        share = np.where(below, 0.5 * uniform / left, 0.5 + 0.5 * (uniform - left) / (1.0 - left))
        steps = stdtrit(PROPOSAL_DOF, share) * np.where(below, *self.sides.T)
        return np.asarray(self.centre + steps @ self.axes.T)

    def log_density(self, t: Float[np.ndarray, "values numbers"]) -> Float[np.ndarray, " values"]:
        """Log density of values."""
        steps = np.linalg.solve(self.axes, (t - self.centre).T).T
        z = steps / np.where(steps < 0.0, *self.sides.T)
        half = 0.5 * (PROPOSAL_DOF + 1.0)
        constant = gammaln(half) - gammaln(0.5 * PROPOSAL_DOF) - 0.5 * np.log(PROPOSAL_DOF * np.pi)
        log_t = constant - half * np.log1p(z**2 / PROPOSAL_DOF)
        log_q = (np.log(2.0 / self.sides.sum(axis=1)) + log_t).sum(axis=1)
        return np.asarray(log_q - np.linalg.slogdet(self.axes)[1])

    def adapted(
        self, t: Float[np.ndarray, "values numbers"], weight: Float[np.ndarray, " values"]
    ) -> ScaleProposal:
        """The proposal with the mean and covariance of weighted values; shrunk where few count."""
        n, effective = len(self.centre), 1.0 / (weight**2).sum()
        if effective < 2.0 * n:
            return self
        mean = weight @ t
        root = self.axes * self.sides.mean(axis=1)
        known = (weight[:, None] * (t - mean)).T @ (t - mean)
        covariance = (effective * known + n * (root @ root.T)) / (effective + n)
        return ScaleProposal(
            centre=mean, axes=np.linalg.cholesky(covariance), sides=np.ones((n, 2))
        )


def _without_rows(
    s: Float[np.ndarray, "atoms noises"],
    log_weight: Float[np.ndarray, "atoms noises"],
    residual: Float[np.ndarray, "atoms rows"],
    spread: Float[np.ndarray, "atoms rows"],
    copies: RowVector,
) -> Float[np.ndarray, "2 rows"]:
    """Log predictive density and distribution function of each row without copies of itself."""
    kept = 1.0 - copies * spread
    away = residual / kept
    wider = np.sqrt(1.0 + spread / kept)
    z = (away / wider)[:, None] * np.exp(-s)[..., None]
    log_density = -0.5 * z**2 - (np.log(wider)[:, None] + s[..., None] + 0.5 * LOG_2PI)
    if (copies == 1.0).all():
        weight = log_weight[..., None] - log_density
    elif copies.any():  # the ratio is not the density, in which the row is new
        square = (kept * away**2)[:, None] * np.exp(-2.0 * s)[..., None]
        log_ratio = copies * (s[..., None] + 0.5 * LOG_2PI + 0.5 * square)
        weight = log_weight[..., None] + log_ratio - 0.5 * np.log(kept)[:, None]
    else:
        weight = log_weight[..., None].copy()
    highest = weight.max(axis=(0, 1))
    np.exp(np.subtract(weight, highest, out=weight), out=weight)
    total = weight.sum(axis=(0, 1))
    below = np.einsum("anr,anr->r", weight, ndtr(z)) / total
    if (copies == 1.0).all():
        return np.stack([np.log(len(s)) - highest - np.log(total), below])
    with np.errstate(divide="ignore"):
        log_density += np.log(weight / total)
    return np.stack([logsumexp(log_density, axis=(0, 1)), below])


def _mode(
    model: ScaledRegression,
) -> tuple[Float[np.ndarray, " numbers"], Float[np.ndarray, "numbers numbers"]]:
    """Mode of the log posterior of ``t``, and axes of one standard deviation there, in columns."""
    n, n_blocks = model.n_numbers, len(model.unit)
    ways = FORWARD * np.concatenate([np.zeros((1, n)), np.eye(n)])

    def objective(t: Float[np.ndarray, " numbers"]) -> tuple[float, Float[np.ndarray, " numbers"]]:
        # Value and forward differences at once: a call costs the same for one point and for a few.
        values = -model.log_marginal(np.clip(t + ways, -FARTHEST, FARTHEST))
        return float(values[0]), (values[1:] - values[0]) / FORWARD

    starts = np.outer([0.0, -1.5, -3.0], np.arange(n) < n_blocks)
    start = starts[np.argmax(model.log_marginal(starts))]
    options = {"gtol": 1e-3}
    from scipy.optimize import minimize  # here: it takes a tenth of importing a model

    run = minimize(objective, start, jac=True, method="BFGS", options=options)
    best = np.clip(run.x, -FARTHEST, FARTHEST)
    # Points are around a round number: rounding errors of the search would move all results.
    mode = np.round(best, 2)
    values, basis = np.linalg.eigh(_hessian(model, mode))
    # A flat direction, as of a scale that the data leave open, is as wide as its prior.
    axes = basis / np.sqrt(np.maximum(values, 0.25))
    return mode, np.asarray(axes * np.where(axes.sum(axis=0) < 0.0, -1.0, 1.0))


def _hessian(
    model: ScaledRegression, mode: Float[np.ndarray, " numbers"]
) -> Float[np.ndarray, "numbers numbers"]:
    """Negative second derivatives of the log posterior of ``t``, by differences."""
    n, step = len(mode), 0.15
    signs = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    first, second = np.tril_indices(n)
    ways = step * np.eye(n)
    moved = signs[:, :1, None] * ways[first] + signs[:, 1:, None] * ways[second]
    values = model.log_marginal((mode + moved).reshape(-1, n)).reshape(4, -1)
    hessian = np.zeros((n, n))
    hessian[first, second] = -(values[0] - values[1] - values[2] + values[3]) / (4.0 * step**2)
    return np.asarray(hessian + np.tril(hessian, -1).T)


def _sides(
    model: ScaledRegression,
    mode: Float[np.ndarray, " numbers"],
    axes: Float[np.ndarray, "numbers numbers"],
) -> Float[np.ndarray, "numbers 2"]:
    """Scale of the posterior along both sides of every axis, in units of the axis."""
    steps = np.geomspace(0.5, 16.0, 16)
    top = model.log_marginal(mode[None])[0]
    sides = np.empty((len(mode), 2))
    for axis in range(len(mode)):
        for side, sign in enumerate((-1.0, 1.0)):
            t = np.clip(mode + sign * steps[:, None] * axes[:, axis], -FARTHEST, FARTHEST)
            fallen = model.log_marginal(t[:8]) < top - FALL
            if not fallen.any():
                fallen = np.append(fallen, model.log_marginal(t[8:]) < top - FALL)
            last = int(np.argmax(fallen)) if fallen.any() else len(steps) - 1
            before = steps[last - 1] if last else 0.5 * steps[0]
            sides[axis, side] = 0.25 * (before + steps[last])
    return sides


def low_discrepancy(n: int, n_axes: int) -> Float[np.ndarray, "n axes"]:
    """Points of the unit cube: multiples of powers of a generalised golden ratio.

    References
    ----------
    Roberts (2018), The unreasonable effectiveness of quasirandom sequences.
    """
    ratio = 2.0
    for _ in range(60):  # the positive root of ratio^(axes + 1) = ratio + 1
        ratio = (1.0 + ratio) ** (1.0 / (n_axes + 1))
    each = ratio ** -np.arange(1.0, n_axes + 1.0)
    points = (0.5 + np.arange(1.0, n + 1.0)[:, None] * each) % 1.0
    return np.clip(points, 1e-9, 1.0 - 1e-9)
