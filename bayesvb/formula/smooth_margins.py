"""Stage 3, encode: the functions of one covariate that a smooth is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import khatri_rao

from bayesvb.errors import DataError
from bayesvb.formula.columns import with_own_names
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.smooth_terms import SmoothTerm
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.natural_splines import NaturalSpline, natural_spline, spread_knots
from bayesvb.numerics.periodic_curves import PeriodicCurve, periodic_curve
from bayesvb.numerics.special import ROUNDING

Basis = NaturalSpline | PeriodicCurve
"""Functions that do not bend, at most a line, and functions that do."""


@dataclass(frozen=True, eq=False)
class Margin:
    """One covariate of a smooth, with its functions.

    Attributes
    ----------
    variable : str
        As the formula writes it.
    basis : NaturalSpline or PeriodicCurve
    spread : float
        Standard deviation of the distinct values, the unit of the line in products.
    """

    variable: str
    basis: Basis
    spread: float


def fit_margin(term: SmoothTerm, number: int, code: str, values: RowVector) -> Margin:
    """The functions of one of the covariates of a term, from its values.

    Raises
    ------
    DataError
        If all values are equal up to rounding, there are fewer distinct values than knots, or
        knots nearly coincide.
    """
    variable, n_knots, period = with_own_names(code), term.n_knots[number], term.periods[number]
    distinct = np.unique(values)
    if distinct[-1] - distinct[0] <= ROUNDING * np.abs(distinct[[0, -1]]).max():
        raise DataError(
            f"`{term.place.text}`: `{variable}` is {distinct[0]:g} in every row, up to rounding",
            hint="omit it",
        )
    if len(distinct) < n_knots:
        raise _too_few(term, variable, n_knots, len(distinct))
    spread = float(distinct.std())
    if period is not None:
        return Margin(variable, periodic_curve(distinct, period, (n_knots - 1) // 2), spread)
    knots = spread_knots(distinct, n_knots)
    if np.diff(knots).min() < LIMITS.rounding * (knots[-1] - knots[0]):
        raise DataError(
            f"values of `{variable}` nearly coincide, and s() has no second derivative there",
            hint=f"round them, take fewer knots, s({variable}, k=...), or a transform: s(log(x))",
        )
    return Margin(variable, natural_spline(distinct, knots), spread)


def row_products(
    first: Float[np.ndarray, "rows a"], second: Float[np.ndarray, "rows b"]
) -> Float[np.ndarray, "rows ab"]:
    """Products of each column of one matrix with each of another."""
    return np.asarray(khatri_rao(first.T, second.T).T)


def _too_few(term: SmoothTerm, variable: str, n_knots: int, n_distinct: int) -> DataError:
    """More knots than distinct values."""
    enough = n_distinct >= LIMITS.least_knots
    curve = term.place.text.partition("(")[0] if len(term.variables) == 1 else "te"
    others = variable if len(term.variables) == 1 else "x, z"
    return DataError(
        f"`{term.place.text}` has {n_knots} knots, and `{variable}` has {n_distinct} "
        "distinct values",
        hint=f"write {curve}({others}, k={n_distinct})"
        if enough
        else f"write {variable} for a line, or C({variable}) for levels",
    )
