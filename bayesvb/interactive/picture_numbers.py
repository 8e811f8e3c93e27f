"""Numbers of a picture as a table, for those who cannot see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.effects.covariates import covariate, quantiles
from bayesvb.effects.curve_settings import CURVES
from bayesvb.interactive.messages import PictureNumbers
from bayesvb.reports.cells.numerals import PROBABILITY, Decimals, numeral, significant
from bayesvb.reports.rows.profiles import Profile, labels, profile

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_VALUES = 12
"""Levels of a covariate that have a row, the first ones."""


def picture_numbers(fit: AbstractFit, along: str) -> PictureNumbers | None:
    """Return quantiles of the first response, or probabilities, along a covariate.

    None without a response.
    """
    design = fit.model.design
    if not along or not design.response_names:
        return None
    one = covariate(design, along)
    values: list[object] = (
        list(one.values)[:MOST_VALUES]
        if one.discrete
        else [float(value) for value in dict.fromkeys(quantiles(design, along, CURVES.quantiles))]
    )
    rows = profile(fit, along, values)
    label = design.label(design.response_names[0])
    titles, cells = _cells(fit, rows)
    kind = "Quantiles" if titles[0] == "5%" else "Probabilities"
    heads = labels(_dated(fit, along, values))
    return PictureNumbers(
        caption=f"{kind} of {label}" + (f", other covariates {rows.fixed}." if rows.fixed else "."),
        titles=(design.label(along), *titles),
        rows=tuple((head, *line) for head, line in zip(heads, cells, strict=True)),
    )


def _dated(fit: AbstractFit, along: str, values: list[object]) -> list[object]:
    """Dates as text, other values as they are."""
    design = fit.model.design
    if along not in design.dates:
        return values
    return [str(design.date_of(along, value))[:10] for value in values]


def _cells(fit: AbstractFit, rows: Profile) -> tuple[tuple[str, ...], list[list[str]]]:
    """Titles of the columns, and text of their cells."""
    response = fit.model.response
    if response.level_names:
        each = fit.predict(rows.frame, "probability").to_numpy(dtype=float).T
        return response.level_names, _texts(rows.averaged(each).T, PROBABILITY)
    predictive = rows.predictive(fit, fit.model.design.response_names[0])
    if response.is_probability:
        return ("probability",), _texts(predictive.mean()[:, None], PROBABILITY)
    found = predictive.quantile(np.array(CURVES.quantiles)).T
    decimals = 0 if response.is_discrete else significant([float(np.ptp(found)) or 1.0])
    return tuple(f"{100 * p:g}%" for p in CURVES.quantiles), _texts(found, decimals)


def _texts(values: Float[np.ndarray, "rows columns"], decimals: Decimals) -> list[list[str]]:
    return [[numeral(float(value), decimals) for value in row] for row in values]
