"""Data: rows used and left out, what each column is, the response alone and against a covariate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from matplotlib.figure import Figure

from bayesvb.frames import kind_of

from ..figures import BAND, POINT, axes_of, drawn
from ..numerals import numeral, significant
from ..plain import Summary
from ..profiles import Covariate, covariate
from ..sampling import POINTS_SHOWN, sample
from ..scatter import cloud, level_axis
from ..tables import table

if TYPE_CHECKING:
    from bayesvb.fit import Fit

NUMBERS = ("min", "q25", "median", "q75", "max", "mean", "sd")
TITLES = {"min": "smallest", "q25": "25 %", "median": "50 %", "q75": "75 %", "max": "largest",
          "levels": "levels (rows)"}  # fmt: skip

SHOWN_LEVELS = 8
"""Levels of a column that the table counts."""


def summary(fit: Fit) -> Summary:
    """Rows, columns, and pictures of each response."""
    model = fit.model
    weights = None
    if model.weights is not None:
        weights = {"total": model.weights.sum(), "smallest": model.weights.min(),
                   "largest": model.weights.max()}  # fmt: skip
    return {
        "n_rows": len(model.design.frame),
        "n_left_out": model.design.n_missing,
        "weights": weights,
        "columns": _columns(fit),
        "responses": [
            {"name": name, **_pictures(fit, number)}
            for number, name in enumerate(model.design.response_names)
        ],
    }


def _columns(fit: Fit) -> Summary:
    design = fit.model.design
    roles = {name: "covariate" for name in design.covariates}
    rows = {}
    for name, values in design.frame.items():
        role = roles.get(str(name), "response")
        rows[str(name)] = {"role": role, **_described(values, str(name))}
    response = np.asarray(design.response, dtype=float)
    for number, name in enumerate(design.response_names):
        if name not in rows:
            column = pd.Series(response[:, number])
            rows[name] = {"role": "response, as modelled", **_described(column, name)}
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("column")
    caption = (
        "Columns that the formula reads, over the rows used. Numbers: range, quartiles, mean and "
        "standard deviation. Levels: how many there are and how often each occurs."
    )
    each = [significant([one], 3) for one in frame["sd"].astype(float)]
    if (frame["levels"] == "").all():
        frame = frame.drop(columns="levels")
    return table(frame, caption, titles=TITLES, decimals=dict.fromkeys(NUMBERS, each))


def _described(column: pd.Series, name: str) -> Summary:
    """Type, range and moments, or levels with their counts."""
    empty = dict.fromkeys(NUMBERS, np.nan)
    if kind_of(column, name) == "number" and column.dtype.kind != "b":
        values = column.to_numpy(dtype=float)
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


def _pictures(fit: Fit, number: int) -> Summary:
    design = fit.model.design
    name = design.response_names[number]
    values = np.asarray(design.response, dtype=float)[:, number]
    pictures: Summary = {"histogram": _histogram(name, values), "scatter": None}
    if design.covariates:
        first = covariate(design.frame, design.covariates[0])
        chosen = sample(fit, POINTS_SHOWN)
        pictures["scatter"] = _scatter(fit, first, name, values, at=chosen.at, note=chosen.words)
    return pictures


def _histogram(name: str, values: Float[np.ndarray, " rows"]) -> Summary:
    edges = np.histogram_bin_edges(values, bins=int(np.clip(2.0 * len(values) ** (1 / 3), 8, 60)))
    counts = np.histogram(values, edges)[0]

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=name, y="rows", grid="y")
        axes.stairs(counts, edges, fill=True, color=BAND, alpha=0.35)
        axes.stairs(counts, edges, color=BAND, linewidth=1.2)

    middle = 0.5 * (edges[counts.argmax()] + edges[counts.argmax() + 1])
    alt = (
        f"Histogram of {name}: {len(values)} rows from {numeral(float(values.min()))} to "
        f"{numeral(float(values.max()))}, most of them near {numeral(float(middle))}."
    )
    return drawn(draw, alt=alt, caption=f"How often each value of {name} occurs.")


def _scatter(
    fit: Fit,
    first: Covariate,
    name: str,
    values: Float[np.ndarray, " rows"],
    *,
    at: Int[np.ndarray, " rows"],
    note: str,
) -> Summary:
    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=first.name, y=name, grid="y")
        cloud(axes, fit.model.design.frame, first, values, at=at, color=POINT)
        if first.discrete:
            level_axis(axes, list(first.values))

    kind = "levels" if first.discrete else "value"
    caption = f"{name} of each row by {kind} of {first.name}. {note}".strip()
    alt = f"Scatter plot of {name} against {first.name}, {len(at)} points."
    if not first.discrete:
        x = fit.model.design.frame[first.name].to_numpy(dtype=float)
        if np.ptp(x) > 0.0:
            alt += f" Their correlation is {np.corrcoef(x, values)[0, 1]:.2f}."
    return drawn(draw, alt=alt, caption=caption)
