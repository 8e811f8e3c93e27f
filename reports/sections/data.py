"""Data: rows used and excluded, kinds of columns, the response alone and against a covariate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.frames import kind_of
from bayesvb.results.printing import imputation_words
from bayesvb.results.subsampling import sample

from ..cells.numerals import numeral, significant
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.histogram import binned, histogram
from ..figures.plot import Canvas, covariate_axis, plotted, spread_axis
from ..figures.scatter import places
from ..rows.profiles import Covariate, covariate
from ..rows.sampling import POINTS_SHOWN, choice_note

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

NUMBERS = ("min", "q25", "median", "q75", "max", "mean", "sd")

TITLES = {"min": "smallest", "q25": "25%", "median": "50%", "q75": "75%", "max": "largest",
          "levels": "levels (rows)"}  # fmt: skip

MOST_PICTURES = 6
"""Variables that are drawn, if there are many."""

SHOWN_LEVELS = 8
"""Levels of a column that the table counts."""


def summary(fit: AbstractFit) -> Summary:
    """Rows, columns, and pictures of each response."""
    model = fit.model
    weights = None
    if model.weights is not None:
        weights = {"total": model.weights.sum(), "smallest": model.weights.min(),
                   "largest": model.weights.max()}  # fmt: skip
    return {
        "n_rows": model.design.n_fitted,
        **_sample(fit),
        "n_left_out": model.design.n_missing,
        "missing_in": model.design.left_out.columns,
        **_imputed(fit),
        "n_gaps": sum(int(np.isnan(values).sum()) for values in model.observed().values()),
        "weights": weights,
        "columns": _columns(fit),
        "responses": [
            {"name": name, **_pictures(fit, name, values)} for name, values in _drawable(fit)
        ],
    }


def _imputed(fit: AbstractFit) -> Summary:
    """Sentence on the imputation of missing values; None without it."""
    filled_in = fit.model.design.filled_in
    return {"imputed": f"Values are {filled_in}. {imputation_words(fit)}"} if filled_in else {}


def _sample(fit: AbstractFit) -> Summary:
    """Rows of the report if not all are in memory, and their source."""
    known = fit.model.design.all_rows
    if known is None:
        return {}
    sampled = fit.model.design.n_rows if known.n_rows > fit.model.design.n_rows else 0
    return {"read": {"words": known.words, "times": known.count.times, "sampled": sampled}}


def _drawable(fit: AbstractFit) -> list[tuple[str, Float[np.ndarray, " rows"]]]:
    """Responses that are numbers: the table counts classes."""
    if fit.model.response.level_names:
        return []
    return list(fit.model.observed().items())[:MOST_PICTURES]


def _columns(fit: AbstractFit) -> Summary:
    design, observed = fit.model.design, fit.model.observed()
    role = "covariate" if design.response_names else "variable"
    roles = dict.fromkeys(design.covariates, role)
    columns = {str(name): column for name, column in design.frame.items()}
    numeric = {} if fit.model.response.is_categorical else observed
    modelled = {name: pd.Series(one) for name, one in numeric.items() if name not in columns}
    rows = {
        name: {"role": roles.get(name, "response"), **_described(column, name)}
        for name, column in columns.items()
    }
    rows |= {
        name: {"role": "as modelled", **_described(column, name)}
        for name, column in modelled.items()
    }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("column")
    caption = (
        "Columns that the formula reads, over the rows used. Numbers: range, quartiles, mean and "
        "standard deviation. Levels: how many there are and how often each occurs."
    )
    each = [significant([one], 3) for one in frame["sd"].astype(float)]
    if design.frame.isna().any(axis=None):
        frame.insert(2, "missing", [int(design.frame[one].isna().sum()) if one in design.frame
                                    else 0 for one in frame.index])  # fmt: skip
    if (frame["levels"] == "").all():
        frame = frame.drop(columns="levels")
    if design.known_units:
        frame.insert(2, "unit", [design.known_units.get(str(one), "") for one in frame.index])
    return table(frame, caption, titles=TITLES, decimals=dict.fromkeys(NUMBERS, each))


def _described(column: pd.Series, name: str) -> Summary:
    """Type, range and moments, or levels with their counts."""
    empty = dict.fromkeys(NUMBERS, np.nan)
    if kind_of(column, name) == "number" and column.dtype.kind != "b":
        values = column.dropna().to_numpy(dtype=float)
        quartiles = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0])
        return {
            "type": "number",
            **dict(zip(NUMBERS, quartiles, strict=False)),
            "mean": values.mean(),
            "sd": values.std(ddof=1),
            "levels": "",
        }
    counts = column.value_counts()
    counts = counts[counts > 0]
    named = [f"{level} ({numeral(int(n))})" for level, n in counts.iloc[:SHOWN_LEVELS].items()]
    more = f", {len(counts) - SHOWN_LEVELS} more" if len(counts) > SHOWN_LEVELS else ""
    kind = "yes or no" if column.dtype.kind == "b" else "levels"
    return {"type": kind, **empty, "levels": f"{len(counts)}: {', '.join(named)}{more}"}


def _pictures(fit: AbstractFit, name: str, values: Float[np.ndarray, " rows"]) -> Summary:
    pictures: Summary = {
        "histogram": _histogram(
            fit.model.design.label(name), values, whole=fit.model.response.is_discrete
        ),
        "scatter": None,
    }
    others = [other for other in fit.model.design.covariates if other != name]
    if others:
        first = covariate(fit.model.design, others[0])
        pictures["scatter"] = _scatter(fit, first, name, values)
    return pictures


def _histogram(name: str, values: Float[np.ndarray, " rows"], *, whole: bool) -> Summary:
    """Histogram of numbers; of whole numbers each bin holds the same number of values."""
    values = values[np.isfinite(values)]
    edges, counts = binned(values, whole=whole)
    canvas = histogram(values, {}, whole=whole)
    middle = 0.5 * (edges[counts.argmax()] + edges[counts.argmax() + 1])
    alt = (
        f"Histogram of {name}: {len(values)} rows from {numeral(float(values.min()))} to "
        f"{numeral(float(values.max()))}, most of them near {numeral(float(middle))}."
    )
    caption = f"How often each value of {name} occurs."
    return plotted(canvas, x=name, y="rows", alt=alt, caption=caption)


def _scatter(
    fit: AbstractFit, first: Covariate, name: str, values: Float[np.ndarray, " rows"]
) -> Summary:
    chosen, design = sample(fit, POINTS_SHOWN), fit.model.design
    at = chosen.at
    canvas = Canvas(covariate_axis(design, first)[0], spread_axis(values))
    canvas.dots("pts", places(design.frame, first, at), values[at])
    kind = "level" if first.discrete else "value"
    note = choice_note("Points:", chosen)
    caption = f"{name} of each row by {kind} of {first.name}.{note}"
    alt = f"Scatter plot of {name} against {first.name}, {len(at)} points."
    if not first.discrete:
        x = fit.model.design.frame[first.name].to_numpy(dtype=float)
        seen = np.isfinite(x) & np.isfinite(values)
        alt += f" Their correlation is {np.corrcoef(x[seen], values[seen])[0, 1]:.2f}."
    return plotted(
        canvas,
        x=design.label(first.name),
        y=design.label(name),
        alt=alt,
        caption=caption,
    )
