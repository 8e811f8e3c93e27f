"""Stage 3, encode: a smooth curve as a straight line and wiggles that are penalised alike.

The coefficients of the wiggles are such that the sum of their squares is the integral of the
curve's squared second derivative. A normal prior with one scale for all of them is the penalty of a
smoothing spline, and the scale is its smoothness.

References
----------
Wood (2017), Generalized Additive Models, 2nd edition, sections 4.2 and 5.8. Ruppert, Wand, Carroll
(2003), Semiparametric Regression, chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.column_moments import ROUNDING
from bayesvb.errors import DataError
from bayesvb.formula.columns import with_own_names
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.smooth_terms import SmoothTerm
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.numerics.natural_splines import NaturalSpline, natural_spline, spread_knots

__all__ = ["SmoothColumns", "SmoothCurve", "fit_smooth"]


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """One curve of a smooth term: which coefficients make it, and of which functions.

    Attributes
    ----------
    name : str
        As its block of wiggles is called.
    variable : str
        What it is a curve of.
    places : tuple of int
        Columns with its coefficients: a constant if there is one, the line, the wiggles.
    spline : NaturalSpline
    constant : bool
        Whether the first of its coefficients is a constant.
    """

    name: str
    variable: str
    places: tuple[int, ...]
    spline: NaturalSpline
    constant: bool

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value of the variable that was there."""
        return float(self.spline.knots[0]), float(self.spline.knots[-1])

    def functions(self, x: Float[np.ndarray, " points"]) -> Float[np.ndarray, "points _"]:
        """What the coefficients are multiplied by at values of the variable."""
        parts = [self.spline.line(x)[:, None], self.spline.wiggles(x)]
        return np.hstack([np.ones((len(x), 1)), *parts] if self.constant else parts)


@dataclass(frozen=True, eq=False)
class SmoothColumns(AbstractTermColumns):
    """A smooth with its knots.

    Attributes
    ----------
    variable : str
        What it is a curve of, as the formula writes it.
    spline : NaturalSpline
        The curve.
    by : str or None
        Column of whose levels each has a curve, or by which the curve is multiplied.
    levels : pandas.Index or None
        Levels of that column.
    """

    variable: str
    spline: NaturalSpline
    by: str | None
    levels: pd.Index | None

    @property
    def curves(self) -> tuple[str, ...]:
        """Names of the curves: one, or one per level."""
        own = f"s({self.variable})"
        if self.by is None:
            return (own,)
        if self.levels is None:
            return (f"{own}:{self.by}",)
        return tuple(f"{own}:{self.by}[{level}]" for level in self.levels)

    def curves_from(self, first: int) -> tuple[SmoothCurve, ...]:
        """The curves, in a matrix in which the columns of the term begin at a place."""
        found = []
        for number, name in enumerate(self.curves):
            begin = first + self.n_lines + number * self.n_wiggles
            lines = [0, 1] if self._multiplied else [number]
            places = (*(first + j for j in lines), *range(begin, begin + self.n_wiggles))
            found.append(SmoothCurve(name, self.variable, places, self.spline, self._multiplied))
        return tuple(found)

    @property
    def n_lines(self) -> int:
        """Columns of straight lines: one per curve, and a constant of a numeric multiplier."""
        return len(self.curves) + self._multiplied

    @property
    def _multiplied(self) -> bool:
        return self.by is not None and self.levels is None

    @property
    def n_wiggles(self) -> int:
        """Columns of one curve that bend."""
        return int(self.spline.rotation.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """The constant of a multiplier, the lines, then the wiggles, curve by curve."""
        constant = [f"{self.curves[0]}.constant"] if self._multiplied else []
        lines = [f"{curve}.line" for curve in self.curves]
        bends = range(1, self.n_wiggles + 1)
        return (*constant, *lines, *(f"{curve}.{i}" for curve in self.curves for i in bends))

    @property
    def term_blocks(self) -> tuple[TermBlock, ...]:
        """The lines of all levels together, as in ``x:g``; the wiggles of each curve."""
        first, n_wiggles = self.n_lines, self.n_wiggles
        wiggles = [
            TermBlock(
                curve, tuple(range(first + i * n_wiggles, first + (i + 1) * n_wiggles)), "smooth"
            )
            for i, curve in enumerate(self.curves)
        ]
        if self.levels is not None:
            name = f"s({self.variable}):{self.by}.line"
            return (TermBlock(name, tuple(range(first)), "factor"), *wiggles)
        lines = [TermBlock(self.names[i], (i,), "covariate") for i in range(first)]
        return (*lines, *wiggles)

    @property
    def together(self) -> tuple[tuple[int, ...], ...]:
        """The wiggles of all curves: a unit of their own for each would weigh levels by size."""
        return (tuple(range(self.n_lines, len(self.names))),)

    def matrix(self, data: TermData) -> Float[np.ndarray, "rows _"]:
        """The columns of these rows."""
        (x,) = data.numbers
        line, wiggles = self.spline.line(x)[:, None], self.spline.wiggles(x)
        if self.by is None:
            return np.hstack([line, wiggles])
        (by,) = data.columns
        if self.levels is None:
            factor = by[:, None]
            return np.hstack([factor, line * factor, wiggles * factor])
        own = (by[:, None] == np.arange(len(self.levels))).astype(float)
        each = [wiggles * own[:, [level]] for level in range(len(self.levels))]
        return np.hstack([line * own, *each])


def fit_smooth(term: SmoothTerm, codes: tuple[str, ...], data: TermData) -> SmoothColumns:
    """The smooth of the first rows, its knots at quantiles of the distinct values.

    Raises
    ------
    DataError
        If all values are equal up to rounding, there are fewer distinct values than knots, or
        knots nearly coincide.
    """
    variable = with_own_names(codes[0])
    distinct = np.unique(data.numbers[0])
    if distinct[-1] - distinct[0] <= ROUNDING * np.abs(distinct[[0, -1]]).max():
        raise DataError(
            f"`{term.place.text}`: `{variable}` is {distinct[0]:g} in every row, up to rounding",
            hint="leave it out",
        )
    if len(distinct) < term.n_knots:
        few = len(distinct)
        raise DataError(
            f"`{term.place.text}` has {term.n_knots} knots, and `{variable}` has {few} distinct "
            "values",
            hint=f"write s({variable}, k={few})"
            if few >= LIMITS.least_knots
            else f"write {variable} for a line, or C({variable}) for levels",
        )
    knots = spread_knots(distinct, term.n_knots)
    if np.diff(knots).min() < LIMITS.rounding * (knots[-1] - knots[0]):
        raise DataError(
            f"values of `{variable}` nearly coincide, and s() has no second derivative there",
            hint=f"round them, take fewer knots, s({variable}, k=...), or a transform: s(log(x))",
        )
    levels = data.levels[0] if data.levels else None
    return SmoothColumns(variable, natural_spline(distinct, knots), term.by, levels)
