"""Natural cubic splines: their values, and the directions in which their curvature is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import RowVector


@dataclass(frozen=True)
class NaturalSpline:
    r"""A smooth curve as a line and wiggles: ``a + b (x - centre) + sum_j c_j u_j(x)``.

    The functions ``u_j`` span the natural cubic splines with these knots less the straight lines,
    and are such that

    .. math:: (t_k - t_1)^3 \int f''(x)^2 dx = \mathrm{bend} \sum_j c_j^2,

    with the outermost knots ``t_1`` and ``t_k``. Their mean squares over the values that they were
    made for sum to one, the first of them the largest. Beyond the knots every curve is a straight
    line.

    Attributes
    ----------
    knots : ndarray, shape (knots,)
        Ascending.
    centre : float
        Where the line is zero.
    rotation : ndarray, shape (knots, wiggles)
        Values of the ``u_j`` at the knots, before lines are taken away.
    lines : ndarray, shape (2, wiggles)
        Constant and slope that each has taken away, in units of the range of the knots.
    bend : float

    References
    ----------
    Green and Silverman (1994), Nonparametric Regression and Generalized Linear Models, section
    2.1. Wood (2017), Generalized Additive Models, 2nd edition, sections 5.3.1 and 5.8.
    """

    knots: Float[np.ndarray, " knots"]
    centre: float
    rotation: Float[np.ndarray, "knots wiggles"]
    lines: Float[np.ndarray, "2 wiggles"]
    bend: float

    @property
    def ends(self) -> tuple[float, float]:
        """The outermost knots."""
        return float(self.knots[0]), float(self.knots[-1])

    @property
    def n_knots(self) -> int:
        """Number of knots."""
        return len(self.knots)

    @property
    def n_lines(self) -> int:
        """One straight line."""
        return 1

    @property
    def n_wiggles(self) -> int:
        """Number of functions that bend."""
        return int(self.rotation.shape[1])

    def unpenalised(self, x: RowVector) -> Float[np.ndarray, "rows 1"]:
        """The straight line through zero at the centre with slope one."""
        return np.asarray(x - self.centre)[:, None]

    def wiggles(self, x: RowVector) -> Float[np.ndarray, "rows wiggles"]:
        """The functions that bend, at these places."""
        place = _placed(x, self.knots)
        values = _cardinal(place, _placed(self.knots, self.knots)) @ self.rotation
        return np.asarray(values - self.lines[0] - place[:, None] * self.lines[1])


def spread_knots(distinct: Float[np.ndarray, " values"], size: int) -> Float[np.ndarray, " knots"]:
    """Evenly spaced quantiles of ascending values, the smallest and the largest among them."""
    return np.asarray(np.quantile(distinct, np.linspace(0.0, 1.0, size)))


def natural_spline(
    distinct: Float[np.ndarray, " values"], knots: Float[np.ndarray, " knots"]
) -> NaturalSpline:
    """The spline with these knots whose wiggles have no mean and no slope over some values."""
    inner = _placed(knots, knots)
    rotation = _unit_curvature(inner)
    place = _placed(distinct, knots)
    lines = np.stack([np.ones(len(place)), place], axis=1)
    values = _cardinal(place, inner) @ rotation
    taken, *_ = np.linalg.lstsq(lines, values, rcond=None)
    size = float(np.sqrt(((values - lines @ taken) ** 2).mean(axis=0).sum()))
    return NaturalSpline(knots, float(distinct.mean()), rotation / size, taken / size, size**-2.0)


def _placed(x: RowVector, knots: Float[np.ndarray, " knots"]) -> RowVector:
    """Places on the scale on which the outermost knots are zero and one."""
    return np.asarray((x - knots[0]) / (knots[-1] - knots[0]))


def _cardinal(
    place: RowVector, knots: Float[np.ndarray, " knots"]
) -> Float[np.ndarray, "rows knots"]:
    """The splines that are one at a knot and zero at the others; lines beyond the knots.

    See Green and Silverman (1994), section 2.4.
    """
    heights, bends = np.eye(len(knots)), _curvatures(knots)
    inside = np.clip(place, knots[0], knots[-1])
    i = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
    step, left, right = np.diff(knots)[i], inside - knots[i], knots[i + 1] - inside
    over, under = (left / step)[:, None], (right / step)[:, None]
    curved = (1.0 + over) * bends[i + 1] + (1.0 + under) * bends[i]
    values = over * heights[i + 1] + under * heights[i] - (left * right / 6.0)[:, None] * curved
    slopes = np.diff(heights[[0, 1, -2, -1]], axis=0)[[0, 2]] / np.diff(knots)[[0, -1], None]
    slopes += np.diff(knots)[[0, -1], None] / 6.0 * np.stack([-bends[1], bends[-2]])
    beyond = (place - inside)[:, None]
    return np.asarray(values + beyond * np.where(beyond < 0.0, slopes[0], slopes[1]))


def _curvatures(knots: Float[np.ndarray, " knots"]) -> Float[np.ndarray, "knots knots"]:
    """Second derivatives at the knots of the cardinal splines, zero at the ends."""
    rates = np.diff(np.eye(len(knots)), axis=0) / np.diff(knots)[:, None]
    bends = np.linalg.solve(_hats(knots), np.diff(rates, axis=0))
    return np.asarray(np.pad(bends, ((1, 1), (0, 0))))


def _hats(knots: Float[np.ndarray, " knots"]) -> Float[np.ndarray, "inner inner"]:
    """Integrals of products of the hat functions at the inner knots."""
    steps = np.diff(knots)
    hats = np.diag((steps[:-1] + steps[1:]) / 3.0)
    return hats + np.diag(steps[1:-1] / 6.0, 1) + np.diag(steps[1:-1] / 6.0, -1)


def _unit_curvature(knots: Float[np.ndarray, " knots"]) -> Float[np.ndarray, "knots wiggles"]:
    """Values at the knots of the splines with ``int u_i'' u_j'' = 1 if i == j else 0``.

    The second derivative is linear between knots, so that its integrals are integrals of hat
    functions: ``c' S c = c' M' W M c`` with its values ``M c`` at the inner knots. With ``W = L
    L'`` and the singular values ``L' M = U d V'`` the columns of ``V / d`` are such splines.
    """
    root = np.linalg.cholesky(_hats(knots))
    _, sizes, directions = np.linalg.svd(root.T @ _curvatures(knots)[1:-1], full_matrices=False)
    curvature = (directions / sizes[:, None]).T[:, ::-1]  # those that bend least come first
    largest = np.abs(curvature).argmax(axis=0)
    return np.asarray(curvature * np.sign(curvature[largest, np.arange(curvature.shape[1])]))
