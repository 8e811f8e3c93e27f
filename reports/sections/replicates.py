"""Predictive check: data simulated from the fit and the observed data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.data.ordered_levels import OrderedLevels
from bayesvb.results import subsampling as replicated_rows
from bayesvb.results.named_draws import count
from bayesvb.results.subsampling import sample

from ..cells.numerals import PROBABILITY, numeral
from ..cells.plain import Summary
from ..cells.tables import after_uncertainty, table
from ..figures.plot import (
    FEW_TICKS,
    Axis,
    Canvas,
    level_axis,
    number_axis,
    panelled,
    plotted,
    scaled_axis,
    spread_axis,
)
from ..rows.sampling import ROWS_CHECKED, choice_words, regresses

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

Values = Float[np.ndarray, "sets rows"]

Rows = Float[np.ndarray, " rows"]

CURVES = 20
"""Replicated data sets that are drawn."""

PANEL_BINS = 24
"""Bars of a statistic over replicated data sets."""

MOST_VALUES = 2_500_000
"""Replicated values that are held at one time; with many rows there are fewer data sets."""

MOST_SETS = 500

MOST_VARIABLES = 6

TAIL = 0.005
"""A p-value nearer than this to 0 or 1 is stated: 5% on both sides over five statistics."""

GRID = 101

MOST_SHARES = 60
"""Values of a discrete response whose shares are drawn, the smallest first."""


def skewness(values: Values) -> Float[np.ndarray, " sets"]:
    """Third standardised moment of each data set."""
    centred = values - values.mean(axis=1, keepdims=True)
    # cubes of what heavy tails replicate overflow; powers of two leave all digits as they are
    centred = np.ldexp(centred, -np.frexp(np.abs(centred).max(axis=1, keepdims=True))[1])
    return np.asarray((centred**3).mean(axis=1) / (centred**2).mean(axis=1) ** 1.5)


Statistics = dict[str, Callable[[Values], Float[np.ndarray, " sets"]]]

STATISTICS: Statistics = {
    "mean": lambda values: np.asarray(values.mean(axis=1)),
    "sd": lambda values: np.asarray(values.std(axis=1, ddof=1)),
    "smallest": lambda values: np.asarray(values.min(axis=1)),
    "largest": lambda values: np.asarray(values.max(axis=1)),
    "skewness": skewness,
}

CENTRAL: Statistics = {"mean": STATISTICS["mean"]}
"""Statistics for zeros and ones, of which all others are functions of the mean."""


def summary(fit: AbstractFit) -> Summary | None:
    """Densities and statistics of replicated data sets, for each response.

    None for classes, and where rows are censored: replicated ones are not.
    """
    if fit.model.response.is_categorical or fit.model.design.is_censored:
        return None
    chosen = sample(fit, ROWS_CHECKED)
    whole = replicated(fit, chosen.at)
    described = fit.model.response
    few = described.is_binary or bool(described.order.values)
    discrete = _of_discrete(CENTRAL if few else STATISTICS, described.order)
    own = discrete if described.is_discrete else _of
    return {
        "n_sets": len(whole),
        "n_rows": len(chosen.at),
        "rows_note": choice_words(chosen),
        "weighted": fit.model.weights is not None,
        "given_covariates": regresses(fit) and bool(fit.model.design.covariates),
        "responses": [
            own(fit.model.design.label(name), whole[:, number], values[chosen.at])
            for number, (name, values) in enumerate(fit.model.observed().items())
            if number < MOST_VARIABLES and np.isfinite(values[chosen.at]).any()
        ],
    }


def replicated(
    fit: AbstractFit, at: Int[np.ndarray, " rows"]
) -> Float[np.ndarray, "sets responses rows"]:
    """One data set per draw, as many as memory holds, at rows of the fit, in the data's units."""
    n_sets = min(MOST_SETS, count(fit.draws), max(MOST_VALUES // len(at), CURVES))
    return replicated_rows.replicated(fit, at, n_sets)


def _of(name: str, sets: Values, values: Float[np.ndarray, " rows"]) -> Summary:
    seen = np.isfinite(values)  # replicates are missing where the data are
    sets, values = sets[:, seen], values[seen]
    picture = _densities(name, sets[:CURVES], values)
    return {"name": name, "densities": picture, **_statistics(name, sets, values, STATISTICS)}


def _of_discrete(used: Statistics, order: OrderedLevels) -> Callable[[str, Values, Rows], Summary]:
    """Shares of the values of a response, and these statistics."""
    return lambda name, sets, values: {
        "name": name,
        "densities": _shares(name, sets, values, order),
        **_statistics(name, sets, values, used),
    }


def _statistics(name: str, sets: Values, values: Rows, used: Statistics) -> Summary:
    """Statistics of replicated data sets compared with the data's: table, pictures and words."""
    given = {key: float(one(values[None])[0]) for key, one in used.items()}
    found = {key: one(sets) for key, one in used.items()}
    p_values = {
        key: float(((found[key] > given[key]) + 0.5 * (found[key] == given[key])).mean())
        for key in used
    }
    return {
        "statistics": _table(name, given, found, p_values),
        "panels": _panels(name, given, found),
        "reading": reading(p_values),
    }


def reading(p_values: dict[str, float]) -> str:
    """Statistics in which replicated data differ from the observed ones, in words."""
    far = [key for key, p in p_values.items() if min(p, 1.0 - p) < TAIL]
    if not far:
        return "Replicated data sets are like the observed one in all of these respects."
    sides = [f"{key} ({'too small' if p_values[key] < 0.5 else 'too large'})" for key in far]
    return f"Replicated data sets differ from the observed one in: {', '.join(sides)}."


def _table(
    name: str,
    given: dict[str, float],
    found: dict[str, Float[np.ndarray, " sets"]],
    p_values: dict[str, float],
) -> Summary:
    rows = {
        key: {
            "observed": given[key],
            "low": np.quantile(found[key], 0.05),
            "middle": np.median(found[key]),
            "high": np.quantile(found[key], 0.95),
            "p": p_values[key],
        }
        for key in given
    }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("statistic")
    caption = (
        f"Statistics of {name}: observed, and over replicated data sets. p: share of replicated "
        "data sets whose value is at least the observed one, equal ones counted half; flagged "
        f"below {TAIL:g} or above {1 - TAIL:g}."
    )
    titles = {"low": "replicated, 5%", "middle": "50%", "high": "95%"}
    each = after_uncertainty((frame["high"] - frame["low"]).to_numpy(), frame["middle"].to_numpy())
    decimals = dict.fromkeys(["observed", "low", "middle", "high"], each)
    return table(frame, caption, titles=titles, decimals={**decimals, "p": PROBABILITY})


def density(
    values: Values, points: Float[np.ndarray, " points"], width: float
) -> Float[np.ndarray, "sets points"]:
    """Kernel densities on an even grid, from counts smoothed with a Gaussian of this width."""
    step = points[1] - points[0]
    edges = np.append(points - 0.5 * step, points[-1] + 0.5 * step)
    counts = np.array([np.histogram(one, edges)[0] for one in values], dtype=float)
    reach = np.arange(-len(points) + 1, len(points)) * step
    kernel = np.exp(-0.5 * (reach / width) ** 2)
    kernel /= kernel.sum() * step * values.shape[1]
    return np.array([np.convolve(one, kernel, mode="valid") for one in counts])


def _densities(name: str, sets: Values, values: Float[np.ndarray, " rows"]) -> Summary:
    spread = float(np.ptp(values))
    points = np.linspace(values.min() - 0.15 * spread, values.max() + 0.15 * spread, GRID)
    quartiles = np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.34
    scale = min(float(values.std()), float(quartiles) or np.inf)
    width = max(0.9 * scale * len(values) ** -0.2, 0.5 * (points[1] - points[0]))
    curves = density(sets, points, width)
    own = density(values[None], points, width)[0]

    top = 1.06 * max(float(own.max()), float(curves.max()))
    canvas = Canvas(number_axis(points[0], points[-1]), number_axis(0.0, top))
    for curve in curves:
        canvas.line("faint", points, curve)
    canvas.line("med", points, own)
    inside = ((own >= curves.min(axis=0)) & (own <= curves.max(axis=0))).mean()
    alt = (
        f"Density of {name}, observed and in {len(sets)} replicated data sets; the observed curve "
        f"is inside their range over {100 * inside:.0f}% of the axis."
    )
    caption = (
        "Smoothed densities of the observed response (thick) and of replicated data sets "
        "(thin). The "
        "thick line should look like one of the thin lines."
    )
    legend = [("observed", ""), (f"{len(sets)} replicated data sets", "grey")]
    return plotted(canvas, x=name, y="density", alt=alt, caption=caption, legend=legend)


def _shares(
    name: str, sets: Values, values: Float[np.ndarray, " rows"], order: OrderedLevels
) -> Summary:
    """Share of the rows with each value, observed and over replicated data sets."""
    places = np.unique(values)[:MOST_SHARES]
    own = np.array([(values == place).mean() for place in places])
    each = np.array([(sets == place).mean(axis=1) for place in places])
    low, high = np.quantile(each, [0.05, 0.95], axis=1)

    ticks = [one for one in number_axis(places[0], places[-1]).ticks if one[0].is_integer()]
    if order.values:
        places = np.asarray(order.places(places), dtype=float)
        ticks = level_axis(order.labels).ticks
    across = Axis(float(places[0]) - 0.5, float(places[-1]) + 0.5, ticks)
    top = 1.06 * max(float(own.max()), float(high.max()))
    canvas = Canvas(across, scaled_axis(number_axis(0.0, top), math.sqrt))
    canvas.bars("thick grey", places, np.sqrt(low), np.sqrt(high))
    canvas.dots("dot", places, np.sqrt(own))
    inside = int(((own >= low) & (own <= high)).sum())
    alt = f"Share of each value of {name}; {inside} of {len(places)} are inside their bars."
    caption = (
        "Share of rows with each value, on a square-root scale: observed (dots), and in "
        "replicated data sets (bars). Dots should be inside the bars."
    )
    legend = [("observed", ""), (f"{len(sets)} replicates, middle 90%", "grey")]
    return plotted(canvas, x=name, y="share of rows", alt=alt, caption=caption, legend=legend)


def _panels(
    name: str, given: dict[str, float], found: dict[str, Float[np.ndarray, " sets"]]
) -> Summary:
    panels = [(key, _panel(value, found[key])) for key, value in given.items()]
    caption = (
        f"Statistics of {name} over replicated data sets (bars, middle 98%) and as observed "
        "(line). A line in the thick of the bars: the fit reproduces the statistic."
    )
    alt = "Histograms of statistics of replicated data sets with the observed value: " + (
        "; ".join(f"{key} {numeral(value)}" for key, value in given.items())
    )
    return panelled(panels, x="", y="", alt=alt, caption=caption)


def _panel(value: float, found: Float[np.ndarray, " sets"]) -> Canvas:
    """Histogram of a statistic over replicated data sets, and its observed value."""
    low, high = np.quantile(found, [0.01, 0.99])
    ends = min(float(low), value), max(float(high), value)
    counts, edges = np.histogram(found, PANEL_BINS, ends if ends[0] < ends[1] else None)
    up = Axis(0.0, 1.06 * float(max(counts.max(), 1)))
    canvas = Canvas(spread_axis(edges, FEW_TICKS), up)
    canvas.boxes("shade grey", edges[:-1], edges[1:], np.zeros(PANEL_BINS), counts.astype(float))
    canvas.upright("curve ink", value)
    return canvas
