"""Class probabilities: along the covariate that moves them most, and over the plane of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.distributions.intervals import PROB, tails
from bayesvb.drawing import marks
from bayesvb.effects.average_predictions import average_predictions
from bayesvb.effects.covariates import quantiles
from bayesvb.effects.effect_draws import drawn_distributions_of
from bayesvb.models.ensemble import thinned
from bayesvb.results.named_draws import ModelDraws, count
from bayesvb.results.subsampling import RowSample, sample

from ..cells.numerals import PROBABILITY, percent
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.class_regions import regions
from ..figures.label_spacing import apart
from ..figures.scatter import level_axis, places
from ..figures.svg import LINE, colour, dash, drawn, marker, shortened
from ..rows.average_effects import rows_averaged, rows_words
from ..rows.profiles import (
    Covariate,
    Profile,
    compared,
    covariate,
    labels,
    most_moving,
    profile,
)
from ..rows.sampling import POINTS_SHOWN, choice_note
from ..rows.unseen import unseen, unseen_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesvb.results.base import AbstractFit

BAND_DRAWS = 200
"""Draws behind the bands."""

MOST_CURVES = 8
"""Classes that are drawn: those that move most."""

DOT = 0.045
"""Half the height of a row's mark, in strips."""

MOST_LEVELS = 12
"""Classes of the table."""

MOST_INTERVALS = 3
"""Classes up to which the table has intervals."""

PLACES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantiles of the covariate in the table, the ends those of average effects."""


def short(fit: AbstractFit) -> Summary | None:
    """Curves with bands along the covariate that moves the probabilities most."""
    if not fit.model.response.level_names:
        return None
    along = most_moving(fit, probabilities_moved)
    curves = None if along is None else _curves(fit, profile(fit, along))
    return {"along": along, "curves": curves}


def summary(fit: AbstractFit) -> Summary | None:
    """Curves with bands, a table and, of two numbers, the regions of the classes."""
    first = short(fit)
    if first is None:
        return None
    along = first["along"]
    return {
        "levels": fit.model.response.level_names,
        "compared": len(compared(fit.model.design)),
        "prob": PROB,
        "covariance": fit.covariance,
        **({"only_points": True} if fit.is_point_estimate else {}),
        **first,
        "regions": regions(fit) if fit.model.response.is_categorical else None,
        "table": _constant(fit) if along is None else _table(fit, along),
    }


def probabilities_moved(fit: AbstractFit, rows: Profile, response: str) -> float:
    """Largest change of a class probability, on average over rows."""
    found = fit.predict(rows.frame, kind="probability").to_numpy()
    return float(rows.moved(found.T).max())


def probabilities(fit: AbstractFit, rows: Profile) -> Float[np.ndarray, "values classes"]:
    """Predictive probabilities of the classes at each value."""
    return rows.averaged(fit.predict(rows.frame, kind="probability").to_numpy(), axis=0)


def drawn_probabilities(
    fit: AbstractFit, rows: Profile, n_draws: int
) -> Float[np.ndarray, "draws classes values"]:
    """The same under some draws of the parameters."""
    block = fit.model.block(fit.model.design.of_typical_groups.new(rows.frame))
    draws = thinned(fit.draws, min(n_draws, count(fit.draws)))
    if fit.model.response.is_categorical:
        return rows.averaged(fit.core.drawn_probabilities(draws, block))
    given = ModelDraws(fit.core, draws)
    mixture: Any = drawn_distributions_of(fit).drawn_mixture(given, block, 0)
    return rows.averaged(np.moveaxis(mixture.levels, -1, 1))


def _band(fit: AbstractFit, rows: Profile) -> Float[np.ndarray, "3 rows classes"]:
    """Predictive probabilities, and the ends of their intervals."""
    ends = np.quantile(drawn_probabilities(fit, rows, BAND_DRAWS), tails(PROB), axis=0)
    return np.concatenate([probabilities(fit, rows)[None], np.moveaxis(ends, 1, 2)])


def _constant(fit: AbstractFit) -> Summary:
    """Probabilities that are the same in all rows."""
    first = fit.model.design.data_at(np.arange(1))
    rows = Profile(Covariate("", True, ("every row",)), ["every row"], first, "")
    return _probability_table(fit, pd.Index(["every row"]), _band(fit, rows), "")


def _table(fit: AbstractFit, along: str) -> Summary:
    """Average probabilities, of which average effects are the differences."""
    design, rows = fit.model.design, rows_averaged(fit)
    one = covariate(design, along)
    values = list(one.values) if one.discrete else quantiles(design, along, PLACES).tolist()
    values = list(dict.fromkeys(values))
    draws = average_predictions(fit, rows, along, values, ("probability",))["probability"][:, :, 0]
    ends = np.quantile(draws, tails(PROB), axis=0)
    band = np.concatenate([draws.mean(axis=0)[None], ends])
    others = len(design.covariates) > 1
    note = (
        f" Other covariates as observed, averaged over {rows_words(fit, rows)}." if others else ""
    )
    index = pd.Series(labels(values), name=design.label(along), dtype=object)
    return _probability_table(fit, pd.Index(index), band, note)


def _probability_table(
    fit: AbstractFit, index: pd.Index, band: Float[np.ndarray, "3 rows classes"], note: str
) -> Summary:
    mean, low, high = band
    levels = fit.model.response.level_names
    narrow = len(levels) <= MOST_INTERVALS
    columns: dict[str, object] = {}
    for k, level in enumerate(levels[:MOST_LEVELS]):
        columns[str(level)] = mean[:, k]
        if narrow:
            ends = np.column_stack([low[:, k], high[:, k]]).tolist()
            columns[f"{level}, {percent(PROB)}\u00a0interval"] = pd.Series(ends, index)
    more = (
        f" The first {MOST_LEVELS} of {len(levels)} {_noun(fit, 2)}."
        if len(levels) > MOST_LEVELS
        else ""
    )
    also = f", with {percent(PROB)} intervals" if narrow else ""
    caption = f"Predicted probability of each {_noun(fit)}{also}.{note}{more}"
    return table(
        pd.DataFrame(columns, index), caption, decimals=dict.fromkeys(columns, PROBABILITY)
    )


def _shown(band: Float[np.ndarray, "3 rows classes"]) -> list[int]:
    """Classes that are drawn: of two the second, of many those that move most."""
    n_classes = band.shape[2]
    if n_classes == 2:
        return [1]
    moved = np.ptp(band[0], axis=0) + band[0].max(axis=0)
    return sorted(np.argsort(-moved, kind="stable")[:MOST_CURVES].tolist())


def _curves(fit: AbstractFit, rows: Profile) -> Summary:
    levels = fit.model.response.level_names
    band = _band(fit, rows)
    shown, one = _shown(band), rows.covariate
    alone = unseen(fit, rows)
    chosen = sample(fit, POINTS_SHOWN)

    def draw(figure: Figure) -> None:
        upper, lower = figure.subplots(
            2, 1, sharex=True, height_ratios=[4.0, 0.25 + 0.22 * len(levels)]
        )
        for place, k in enumerate(shown):
            shift = 0.5 * (place / max(len(shown) - 1, 1) - 0.5)
            _line(upper, rows, band[:, :, k], k, (dash(place), shift))
        marks.hatched(upper, rows.x, alone, LINE)
        upper.set_ylim(-0.02, 1.02)
        upper.set_ylabel(
            f"probability of {shortened(str(levels[1]), 24)}" if shown == [1] else "probability"
        )
        upper.grid(axis="y")
        upper.tick_params(axis="x", length=0)
        if len(shown) > 1:
            _named(upper, rows, band[0], [(k, str(levels[k])) for k in shown])
        _strips(lower, fit, rows, chosen)
        lower.set_xlabel(shortened(fit.model.design.label(one.name)))

    fixed = f" Other covariates {rows.fixed}." if rows.fixed else ""
    note = choice_note("Marks:", chosen)
    shape = "dots and bars" if one.discrete else "lines and bands"
    caption = (
        f"Predicted {_noun(fit)} probabilities as {one.name} changes ({shape}: posterior mean and "
        f"{percent(PROB)} intervals).{fixed}{unseen_words(alone, rows)} "
        f"Below: where the rows of each {_noun(fit)} are."
        f"{_hidden(fit, len(shown))}{note}"
    )
    alt = _alt(one.name, {str(levels[k]): band[0, :, k] for k in shown})
    height = 3.5 + 0.18 * len(levels)
    return drawn(draw, alt=alt, caption=caption, size=(7.4, height))


def _hidden(fit: AbstractFit, n_shown: int) -> str:
    """Sentence on values of the response that are not drawn; empty if all are."""
    left = len(fit.model.response.level_names) - n_shown
    more = f" {left} {_noun(fit, left)} that move less are not drawn."
    return more if n_shown > 1 and left else ""


def _noun(fit: AbstractFit, number: int = 1) -> str:
    """Name of one value of the response, or of several."""
    names = ("class", "classes") if fit.model.response.is_categorical else ("level", "levels")
    return names[number != 1]


def _alt(name: str, curves: Mapping[str, Float[np.ndarray, " rows"]]) -> str:
    """The ends of the curves of the classes, in words."""
    ends = "; ".join(
        f"{level} from {percent(float(curve[0]))} to {percent(float(curve[-1]))}"
        for level, curve in curves.items()
    )
    return f"Class probabilities from the first to the last value of {name}: {ends}."


def _line(
    axes: Axes, rows: Profile, lines: Float[np.ndarray, "3 rows"], k: int, look: tuple[Any, float]
) -> None:
    """One class: a line of this style with its band, or dots with bars moved by so much."""
    mean, low, high = lines
    style, shift = look
    if rows.covariate.discrete:
        axes.vlines(rows.x + shift, low, high, color=colour(k), linewidth=1.6)
        axes.plot(rows.x + shift, mean, marker(k), color=colour(k), markersize=5.5)
        return
    axes.fill_between(rows.x, low, high, color=colour(k), alpha=0.18, linewidth=0)
    axes.plot(rows.x, mean, color=colour(k), linestyle=style, linewidth=2.0)


def _named(
    axes: Axes, rows: Profile, mean: Float[np.ndarray, "rows classes"], classes: list[Any]
) -> None:
    """Names of the classes beside the ends of their curves, or above dots."""
    if rows.covariate.discrete:
        handles = [
            axes.plot([], [], marker(k), color=colour(k), label=shortened(name, 20))[0]
            for k, name in classes
        ]
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)
        return
    ends = np.array([mean[-1, k] for k, _ in classes])
    for (k, name), height in zip(classes, apart(ends, 0.075, 0.0, 1.0), strict=True):
        axes.annotate(shortened(name, 18), (1.01, height), xycoords="axes fraction", va="center",
                      color=colour(k), fontsize=10, annotation_clip=False)  # fmt: skip


def _strips(axes: Axes, fit: AbstractFit, rows: Profile, chosen: RowSample) -> None:
    """One strip per class with a mark for each of its rows."""
    design, one = fit.model.design, rows.covariate
    x = places(design.frame, covariate(design, one.name), chosen.at)
    levels, order = fit.model.response.level_names, fit.model.response.order
    response = np.asarray(design.response)[chosen.at]
    codes: Int[np.ndarray, " shown"]
    codes = order.places(response[:, 0]) if order.values else response.astype(int)
    # the golden ratio spreads consecutive rows evenly, and the same way each time
    spread = (np.arange(len(x)) * 0.6180339887498949) % 1.0
    height = codes + 0.56 * (spread - 0.5)
    for k in range(len(levels)):
        own = codes == k
        # short strokes in one path are a tenth of the size of as many marks
        ends = np.stack([height[own] - DOT, height[own] + DOT, np.full(own.sum(), np.nan)])
        axes.plot(np.repeat(x[own], 3), ends.T.ravel(), color=colour(k), linewidth=2.2, alpha=0.75,
                  solid_capstyle="butt")  # fmt: skip
    axes.set_yticks(range(len(levels)), [shortened(str(one), 18) for one in levels])
    axes.set_ylim(len(levels) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if one.discrete:
        level_axis(axes, rows.values)
