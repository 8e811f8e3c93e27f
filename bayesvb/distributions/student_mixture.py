"""Posterior-predictive distribution of one response: a mixture of Student t per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import poch, stdtr, stdtrit

from bayesvb.distributions.base import AbstractComponentMixture, check_probabilities
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    ExpertTerms,
    ExpertValues,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
    SameShape,
)
from bayesvb.numerics.pieces import AT_ONCE, pieces
from bayesvb.numerics.root_finding import invert_log_cdf
from bayesvb.numerics.special import log_total
from bayesvb.numerics.student_cdf import FARTHEST, MANY, expanded_cdf_and_density

SLACK = 1e-6
"""Relative widening of the bracket; scipy's t quantile is wrong by 1e-9 near the median."""

LEAST_TAIL = 0.01
"""Tails from which quantiles come of the expansion of the distribution function: its error of 1e-12
moves them by less than 1e-10 of the scale."""


@dataclass(frozen=True)
class StudentMixture(AbstractComponentMixture):
    r"""Mixture of Student t distributions, one mixture per row.

    .. math:: p(y) = \sum_k w_k\, \mathrm{St}(y \mid \mu_k, \sigma_k, \nu_k)

    The predictive distribution of a mixture of linear Gaussian experts with normal-gamma
    posteriors, given the expected weights of its gate. It does not depend on the order of the
    experts.

    Parameters
    ----------
    weights : array, shape (experts, rows)
        Non-negative, summing to one over the experts.
    location, scale : array, shape (experts, rows)
        In the units of the response; the scale is positive and is not the standard deviation.
    dof : array, shape (experts,) or (experts, rows)
        Degrees of freedom, positive; the same for all rows in the first case.

    Raises
    ------
    DataError
        If a parameter is not finite, a weight negative, or a scale or ``dof`` not positive.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, eq. 10.81.

    Examples
    --------
    >>> import numpy as np
    >>> even = np.full((2, 1), 0.5)
    >>> y = StudentMixture(even, np.array([[-1.0], [1.0]]), even, np.array([5.0, 9.0]))
    >>> y.mean()
    array([0.])
    >>> y.cdf(y.quantile(np.array([0.1]))[0]).round(9)
    array([0.1])
    """

    weights: ExpertRows
    location: ExpertRows
    scale: ExpertRows
    dof: ExpertValues

    def __post_init__(self) -> None:
        """Raise if parameters do not define a mixture."""
        for name in ("weights", "location", "scale", "dof"):
            if not np.isfinite(getattr(self, name)).all():
                raise _bad_parameter(name, getattr(self, name), np.isfinite, "finite")
        for name in ("scale", "dof"):
            if (getattr(self, name) <= 0).any():
                raise _bad_parameter(name, getattr(self, name), lambda x: x > 0, "positive")
        if (self.weights < 0).any():
            raise _bad_parameter("weights", self.weights, lambda x: x >= 0, "non-negative")
        totals = self.weights.sum(axis=0)
        if not np.allclose(totals, 1.0, rtol=0.0, atol=1e-6):
            raise _bad_parameter(
                "weights", totals, lambda x: np.abs(x - 1.0) <= 1e-6, "one in sum over the experts"
            )

    @property
    def _tails(self) -> ExpertTerms:
        """Degrees of freedom, on two axes."""
        return self.dof.reshape(len(self.dof), -1)

    def mean(self) -> RowVector:
        """Mean of each row, Σ w μ.

        With a component of ``dof <= 1`` the integral does not converge; the value is then its
        symmetric limit, which is still the centre of the distribution.
        """
        return np.asarray((self.weights * self.location).sum(axis=0))

    def sd(self) -> RowVector:
        r"""Standard deviation by the law of total variance; infinite where there is none.

        .. math:: \mathrm{Var}(y) = \sum_k w_k \Big[\sigma_k^2 \frac{\nu_k}{\nu_k - 2}
                                    + (\mu_k - \mathrm{E}\,y)^2\Big]

        A component with positive weight, however small, and ``dof <= 2`` makes it infinite:
        quantiles and intervals are then the description to use.
        """
        dof = self._tails
        heavy = dof <= 2.0
        excess = np.sqrt(dof / np.where(heavy, np.inf, dof - 2.0))
        spread = np.hypot(self.scale * excess, self.location - self.mean())
        sd = np.linalg.norm(np.sqrt(self.weights) * spread, axis=0)
        return np.where((heavy & (self.weights > 0.0)).any(axis=0), np.inf, sd)

    def log_density(self, y: RowVector) -> RowVector:
        """Log density of each row at its own point; NaN where the point is NaN."""
        with np.errstate(divide="ignore"):
            terms = np.log(self.weights) - np.log(self.scale)
        terms += _log_student((y - self.location) / self.scale, self._tails)
        return np.asarray(log_total(terms, axis=0))

    def density_at(self, points: PointVector) -> PointRows:
        rows = self.weights.shape[1]
        values = [np.exp(self.log_density(np.full(rows, point))) for point in points]
        return np.array(values).reshape(len(points), rows)

    def component_log_mass(self, lower: RowVector, upper: RowVector) -> ExpertRows:
        """Log probability of an interval per row under each component, from the nearer tail."""
        low, high = ((end - self.location) / self.scale for end in (lower, upper))
        with np.errstate(invalid="ignore", divide="ignore"):
            flipped = low + high > 0.0
            first, last = np.where(flipped, -high, low), np.where(flipped, -low, high)
            return np.asarray(np.log(stdtr(self._tails, last) - stdtr(self._tails, first)))

    def cdf(self, y: RowVector) -> RowVector:
        """Probability of a value up to ``y``, each row at its own point."""
        below = stdtr(self._tails, (y - self.location) / self.scale)
        return np.asarray(np.minimum((self.weights * below).sum(axis=0), 1.0))

    def cdf_at(self, points: PointVector) -> PointRows:
        """Probability of a value up to each of the same points, for every row."""
        rows = self.weights.shape[1]
        values = [self.cdf(np.full(rows, point)) for point in points]
        return np.array(values).reshape(len(points), rows)

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Quantiles of every row, to 1e-10 of the scale; increasing in ``q``.

        Probabilities 0 and 1 give minus and plus infinity. Quantiles farther than 1e150 scales
        from the centre (probabilities below 1e-30 at ``dof = 0.2``) are returned as that distance.

        Raises
        ------
        DataError
            If a probability is NaN or outside 0 to 1.
        """
        check_probabilities(q)
        rows = self.weights.shape[1]
        quantiles = np.where(q > 0.5, np.inf, -np.inf)[:, None].repeat(rows, axis=1)
        (inner,) = np.nonzero((q > 0.0) & (q < 1.0))
        for some in pieces(inner.size * rows, len(self.weights), AT_ONCE):
            points = np.arange(some.start, some.stop)
            at = inner[points // rows], points % rows
            quantiles[at] = _quantiles(self, q, *at)
        order = np.argsort(q, kind="stable")
        quantiles[order] = np.maximum.accumulate(quantiles[order], axis=0)
        return quantiles

    def quantile_by_row(self, q: RowVector) -> RowVector:
        """Quantile of each row at its own probability, strictly between 0 and 1.

        Raises
        ------
        DataError
            If a probability is NaN or outside 0 to 1.
        """
        check_probabilities(q)
        inner = q.clip(np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
        each = np.arange(len(q))
        return _quantiles(self, inner, each, each)

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        rows = self.weights.shape[1]
        cumulative = np.cumsum(self.weights, axis=0)
        uniform = rng.random((n, rows)) * cumulative[-1]
        expert = sum((uniform >= edge).astype(np.intp) for edge in cumulative[:-1])
        expert = np.broadcast_to(expert, (n, rows))
        row = np.arange(rows)
        student = rng.standard_t(np.broadcast_to(self._tails, self.scale.shape)[expert, row])
        return np.asarray(self.location[expert, row] + self.scale[expert, row] * student)

    def affine(self, shift: float | RowVector, factor: float) -> StudentMixture:
        if factor == 0.0:
            raise DataError("factor=0 is not a change of units", hint="give a factor that is not 0")
        return replace(
            self, location=shift + factor * self.location, scale=abs(factor) * self.scale
        )

    def component_log_density(self, y: RowVector) -> ExpertRows:
        dof = self._tails
        size = np.hypot(1.0, (y - self.location) / (self.scale * np.sqrt(dof)))
        constant = np.log(poch(0.5 * dof, 0.5)) - 0.5 * np.log(np.pi * dof)
        return np.asarray(constant - np.log(self.scale) - (dof + 1.0) * np.log(size))

    def joined(self, others: Sequence[StudentMixture]) -> StudentMixture:
        pieces = (self, *others)
        return StudentMixture(
            weights=np.concatenate([piece.weights for piece in pieces], axis=1),
            location=np.concatenate([piece.location for piece in pieces], axis=1),
            scale=np.concatenate([piece.scale for piece in pieces], axis=1),
            dof=self._joined_dof(others),
        )

    def _joined_dof(self, others: Sequence[StudentMixture]) -> ExpertValues:
        """Degrees of freedom of all rows; the first ones if they are the same for all."""
        if self.dof.ndim == 1:
            return self.dof
        return np.concatenate([self.dof, *(piece.dof for piece in others)], axis=1)

    def stacked(
        self, others: Sequence[StudentMixture], weights: Float[np.ndarray, " members"]
    ) -> StudentMixture:
        each = (self, *others)
        return StudentMixture(
            weights=np.concatenate([w * one.weights for w, one in zip(weights, each, strict=True)]),
            location=np.concatenate([one.location for one in each]),
            scale=np.concatenate([one.scale for one in each]),
            dof=np.concatenate([one.dof for one in each]),
        )

    def by_label(self, n_components: int) -> StudentMixture:
        n_rows = self.weights.shape[1]
        n_members = len(self.weights) // n_components
        weights = self.weights.reshape(n_members, n_components, n_rows).sum(axis=0)
        first = slice(n_components)
        return StudentMixture(weights, self.location[first], self.scale[first], self.dof[first])


def _log_student(z: ExpertRows, dof: ExpertTerms) -> ExpertRows:
    """Log density of the standard Student t, without overflow for any double."""
    # the ratio of gamma functions as one: their logarithms cancel for a large dof
    constant = np.log(poch(0.5 * dof, 0.5)) - 0.5 * np.log(np.pi * dof)
    size = np.abs(z) / np.sqrt(dof)
    with np.errstate(divide="ignore"):
        log_square = 2.0 * np.log(size)
    small = np.minimum(size, 1e8)
    kernel = np.where(size > 1e8, log_square, np.log1p(small * small))
    return np.asarray(constant - 0.5 * (dof + 1.0) * kernel)


def _cdf_and_density(
    dof: ExpertTerms, z: Float[np.ndarray, "experts points"]
) -> tuple[Float[np.ndarray, "experts points"], Float[np.ndarray, "experts points"]]:
    """Distribution function of the standard Student t, exact in the lower tail, and density."""
    return stdtr(dof, z), np.exp(_log_student(z, dof))


def _quantiles(
    mixture: StudentMixture,
    q: ProbVector,
    prob: Int[np.ndarray, " points"],
    row: Int[np.ndarray, " points"],
) -> PointVector:
    """Quantiles ``q[prob]`` of the rows ``row``; the upper half as lower tails of the mirror."""
    tail = np.where(q > 0.5, 1.0 - q, q)[prob]
    expanded = tail >= LEAST_TAIL
    if mixture.dof.ndim > 1:
        expanded &= (mixture.dof[:, row] >= MANY).all(axis=0)
    quantiles = np.empty(len(row))
    for points, law in ((expanded, _expanded_where_many), (~expanded, _cdf_and_density)):
        if points.any():
            quantiles[points] = _solved(mixture, q, prob[points], row[points], law)
    return quantiles


def _expanded_where_many(
    dof: ExpertTerms, z: Float[np.ndarray, "experts points"]
) -> tuple[Float[np.ndarray, "experts points"], Float[np.ndarray, "experts points"]]:
    """Distribution function and density, by the expansion where degrees of freedom are many."""
    many = (dof >= MANY).all(axis=1)
    if many.all():
        return expanded_cdf_and_density(dof, z)
    below, density = np.empty((2, *z.shape))
    for components, law in ((many, expanded_cdf_and_density), (~many, _cdf_and_density)):
        below[components], density[components] = law(dof[components], z[components])
    return below, density


def _solved(
    mixture: StudentMixture,
    q: ProbVector,
    prob: Int[np.ndarray, " points"],
    row: Int[np.ndarray, " points"],
    law: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> PointVector:
    """Quantiles from this distribution function and density of the standard Student t."""
    weights, location, scale = (
        part[:, row] for part in (mixture.weights, mixture.location, mixture.scale)
    )
    dof = mixture.dof[:, None] if mixture.dof.ndim == 1 else mixture.dof[:, row]
    centre = (weights * location).sum(axis=0)
    unit = (weights * scale).sum(axis=0)
    side, tail = np.where(q > 0.5, -1.0, 1.0), np.where(q > 0.5, 1.0 - q, q)
    location = side[prob] * (location - centre) / unit
    scale = scale / unit

    def log_cdf(
        x: Float[np.ndarray, " some"], which: Int[np.ndarray, " some"]
    ) -> tuple[Float[np.ndarray, " some"], Float[np.ndarray, " some"]]:
        share, width = weights.take(which, axis=1), scale.take(which, axis=1)
        z = (x - location.take(which, axis=1)) / width
        parts, densities = law(dof if dof.shape[1] == 1 else dof[:, which], z)
        below = np.einsum("kn,kn->n", share, parts)
        return np.log(below), np.einsum("kn,kn->n", share, densities / width) / below

    if mixture.dof.ndim == 1:
        unequal, which_dof = np.unique(mixture.dof, return_inverse=True)
        ends = _ends(unequal[:, None], tail)[:, which_dof][:, :, prob]
    else:
        ends = _ends(dof, tail[prob])
    lower, upper, start, width = _bracket(weights, location, scale, ends)
    log_tail = np.log(tail[prob])
    root = invert_log_cdf(log_cdf, log_tail, bracket=(lower, upper), start=start, width=width)
    return np.asarray(centre + side[prob] * unit * root)


def _ends(dof: ExpertTerms, tail: ProbVector) -> Float[np.ndarray, "2 experts probs"]:
    """Points below and above each component's quantile, standardised, for tails up to a half."""
    quantile = stdtrit(dof, tail)
    # far out in a tail scipy returns infinity of either sign, or the end of its own search
    inside = (quantile > -FARTHEST) & (quantile < SLACK)
    bound_gap = SLACK * (1.0 + np.abs(np.where(inside, quantile, 0.0)))
    lower = np.where(inside, quantile - bound_gap, -FARTHEST)
    upper = np.where(inside, quantile + bound_gap, 0.0)
    return np.stack([lower, upper])


def _bracket(
    weights: Float[np.ndarray, "experts points"],
    location: Float[np.ndarray, "experts points"],
    scale: Float[np.ndarray, "experts points"],
    ends: Float[np.ndarray, "2 experts points"],
) -> tuple[
    PointVector,
    PointVector,
    PointVector,
    PointVector,
]:
    """Lower end, upper end, first guess and narrowest scale over the components with weight."""
    used = weights > 0.0
    lower, upper = location + scale * ends
    guess = (weights * np.arcsinh(0.5 * (lower + upper))).sum(axis=0)
    lower = np.where(used, lower, np.inf).min(axis=0)
    upper = np.where(used, upper, -np.inf).max(axis=0)
    width = np.where(used, scale, np.inf).min(axis=0)
    return lower, upper, np.clip(np.sinh(guess), lower, upper), width


def _bad_parameter(
    name: str,
    value: SameShape,
    test: Callable[[SameShape], Bool[np.ndarray, "*shape"]],
    wanted: str,
) -> DataError:
    """Error naming the parameter, its first bad value and where it stands."""
    at = tuple(int(i) for i in np.argwhere(~test(value))[0])
    return DataError(
        f"{name}[{', '.join(map(str, at))}] = {value[at]:g} of the mixture is not {wanted}",
        hint="the last position is the row: look for extreme values among its covariates",
    )
