"""Contrasts of a covariate: the values that are compared, the steps of a derivative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.argument_checks import check_positive
from bayesvb.data.line_width import number_text
from bayesvb.effects.covariates import (
    average,
    covariate,
    is_number,
    levels_from_reference,
    quantiles,
)
from bayesvb.effects.curve_settings import CURVES
from bayesvb.effects.estimands import Values
from bayesvb.effects.grid import EvaluationGrid, check_covariates
from bayesvb.errors import DataError, ExtrapolationWarning, warn

if TYPE_CHECKING:
    from bayesvb.formula.design import Design
    from bayesvb.results.base import AbstractFit

COMPARISONS = {"difference": "{b} - {a}", "ratio": "{b} / {a}", "lift": "({b} - {a}) / {a}"}
"""Comparisons of two predictions, with their words."""

SLOPES = ("dydx", "eyex", "eydx", "dyex")


def compared(a: Values, b: Values, comparison: str) -> Values:
    """``b`` compared with ``a``; infinite or NaN where ``a`` is zero and divides."""
    if comparison == "difference":
        return np.asarray(b - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(b / a if comparison == "ratio" else (b - a) / a)


def contrasted(
    fit: AbstractFit, contrast: object, rows: EvaluationGrid
) -> tuple[str, list[object]]:
    """The covariate that changes, and its values."""
    design = fit.model.design
    named = {contrast: None} if isinstance(contrast, str) else contrast
    if not isinstance(named, Mapping) or len(named) != 1:
        raise DataError(
            f"contrast={contrast!r} is neither the name of a covariate nor {{name: values}}",
            hint='write contrast="x" or contrast={"x": [1, 2]}',
        )
    ((name, given),) = named.items()
    check_covariates("contrast", [name], design.covariates)
    if rows.gridded and name in rows.by:
        raise DataError(f"`{name}` is in contrast and in conditional", hint="omit one of them")
    if given is None:
        return name, _usual_values(design, name)
    values = [given] if isinstance(given, str) or np.ndim(given) == 0 else list(given)
    if len(values) < 2:
        raise DataError(f"contrast={contrast!r} has fewer than two values to compare")
    return name, design.in_days(name, values)


def _usual_values(design: Design, name: str) -> list[object]:
    """All levels, the most frequent first; of a number its mean less and plus half a unit."""
    one = covariate(design, name)
    if one.discrete:
        if len(one.values) < 2:
            raise DataError(f"`{name}` has a single value in the rows of the fit")
        return levels_from_reference(design, name)
    low, high = one.ends
    # Range of a number in its own units below which one unit is far outside of the data.
    if high - low < 0.5:
        warn(
            f"one unit of `{name}` is an extrapolation: it lies between {number_text(low)} and "
            f"{number_text(high)} in the fit. Give two values, "
            f"{{{name!r}: [{number_text(low)}, {number_text(high)}]}}",
            ExtrapolationWarning,
        )
    mean = average(design, name)
    return [mean - 0.5, mean + 0.5]


def steps(
    fit: AbstractFit, wrt: object, rows: EvaluationGrid, eps: float | None
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """The covariate in each row, and the points below and above it."""
    design = fit.model.design
    check_covariates("wrt", [wrt], design.covariates)
    name = str(wrt)
    if not is_number(design, name):
        raise DataError(
            f"`{name}` has levels, and no slope", hint=f'compare them: comparisons(fit, "{name}")'
        )
    first, last = quantiles(design, name, [0.0, 1.0]).tolist()
    if eps is not None:
        check_positive("eps", eps)
    width = float(eps) if eps is not None else CURVES.step * ((last - first) or 1.0)
    x = rows.frame[name].to_numpy(dtype=float)
    outside = (x < first) | (x > last)  # far away the step would be lost in the rounding of x
    widths = np.where(outside, np.maximum(width, CURVES.step * np.abs(x)), width)
    low = np.where(x >= first, np.maximum(x - widths, first), x - widths)
    high = np.where(x <= last, np.minimum(x + widths, last), x + widths)
    return x, low, high
