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

from bayesvb.formula.smooth_margins import Basis, fit_margin, row_products
from bayesvb.formula.smooth_terms import SmoothTerm
from bayesvb.formula.surface_columns import SurfaceColumns
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.numerics.arrays import PointVector, RowColumns


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """One curve of a smooth term: which coefficients make it, and of which functions.

    Attributes
    ----------
    name : str
        As its block of wiggles is called.
    variable : str
        Covariate of the curve.
    places : tuple of int
        Columns with its coefficients: a constant if there is one, the line, the wiggles.
    spline : NaturalSpline or PeriodicCurve
    constant : bool
        Whether the first of its coefficients is a constant.
    """

    name: str
    variable: str
    places: tuple[int, ...]
    spline: Basis
    constant: bool

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value of the variable that was there, or the ends of the period."""
        return self.spline.ends

    def functions(self, x: PointVector) -> Float[np.ndarray, "points _"]:
        """Multipliers of the coefficients at values of the variable."""
        parts = [self.spline.unpenalised(x), self.spline.wiggles(x)]
        return np.hstack([np.ones((len(x), 1)), *parts] if self.constant else parts)


@dataclass(frozen=True, eq=False)
class SmoothColumns(AbstractTermColumns):
    """A smooth with its knots.

    Attributes
    ----------
    variable : str
        Covariate of the curve, as written in the formula.
    spline : NaturalSpline or PeriodicCurve
        The curve.
    by : str or None
        Column of whose levels each has a curve, or by which the curve is multiplied.
    levels : pandas.Index or None
        Levels of that column.
    """

    variable: str
    spline: Basis
    by: str | None
    levels: pd.Index | None

    @property
    def curves(self) -> tuple[str, ...]:
        """Names of the curves: one, or one per level."""
        label = f"s({self.variable})"
        if self.by is None:
            return (label,)
        if self.levels is None:
            return (f"{label}:{self.by}",)
        return tuple(f"{label}:{self.by}[{level}]" for level in self.levels)

    def curves_from(self, first: int) -> tuple[SmoothCurve, ...]:
        """The curves, in a matrix in which the columns of the term begin at a place."""
        curves = []
        for number, name in enumerate(self.curves):
            begin = first + self.n_lines + number * self.n_wiggles
            lines = range(self.n_lines) if self._multiplied else [number] * self.spline.n_lines
            places = (*(first + j for j in lines), *range(begin, begin + self.n_wiggles))
            curves.append(SmoothCurve(name, self.variable, places, self.spline, self._multiplied))
        return tuple(curves)

    @property
    def n_lines(self) -> int:
        """Columns that do not bend: a line of each curve, and a constant of a multiplier."""
        return len(self.curves) * self.spline.n_lines + self._multiplied

    @property
    def _multiplied(self) -> bool:
        return self.by is not None and self.levels is None

    @property
    def n_wiggles(self) -> int:
        """Columns of one curve that bend."""
        return self.spline.n_wiggles

    @property
    def names(self) -> tuple[str, ...]:
        """The constant of a multiplier, the lines, then the wiggles, curve by curve."""
        constant = [f"{self.curves[0]}.constant"] if self._multiplied else []
        lines = [f"{curve}.line" for curve in self.curves] * self.spline.n_lines
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
            factor = [TermBlock(name, tuple(range(first)), "factor")] * self.spline.n_lines
            return (*factor, *wiggles)
        lines = [TermBlock(self.names[i], (i,), "covariate") for i in range(first)]
        return (*lines, *wiggles)

    @property
    def together(self) -> tuple[tuple[int, ...], ...]:
        """The wiggles of all curves: a unit of their own for each would weigh levels by size."""
        return (tuple(range(self.n_lines, len(self.names))),)

    def matrix(self, data: TermData) -> RowColumns:
        (x,) = data.numbers
        line, wiggles = self.spline.unpenalised(x), self.spline.wiggles(x)
        if self.by is None:
            return np.hstack([line, wiggles])
        (by,) = data.columns
        if self.levels is None:
            factor = by[:, None]
            return np.hstack([factor, line * factor, wiggles * factor])
        indicators = (by[:, None] == np.arange(len(self.levels))).astype(float)
        each = [wiggles * indicators[:, [level]] for level in range(len(self.levels))]
        return np.hstack([row_products(line, indicators), *each])


def fit_smooth(
    term: SmoothTerm, codes: tuple[str, ...], data: TermData
) -> SmoothColumns | SurfaceColumns:
    """The smooth of the first rows, its knots at quantiles of the distinct values.

    Raises
    ------
    DataError
        If all values are equal up to rounding, there are fewer distinct values than knots, or
        knots nearly coincide.
    """
    margins = [
        fit_margin(term, number, code, values)
        for number, (code, values) in enumerate(zip(codes, data.numbers, strict=True))
    ]
    if len(margins) > 1:
        return SurfaceColumns(tuple(margins))
    (margin,) = margins
    levels = data.levels[0] if data.levels else None
    return SmoothColumns(margin.variable, margin.basis, term.by, levels)
