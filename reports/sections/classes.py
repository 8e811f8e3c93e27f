"""Class probabilities: along the covariate that moves them most, and over the plane of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.column_units import measured
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.effects.average_predictions import average_predictions
from bayesvb.effects.covariates import quantiles
from bayesvb.effects.effect_draws import drawn_distributions_of
from bayesvb.models.ensemble import thinned
from bayesvb.results.named_draws import ModelDraws, count

from ..cells.names import called
from ..cells.numerals import PROBABILITY, counted, percent
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.class_curves import ClassCurve, class_curves, class_numbers
from ..figures.class_regions import regions
from ..rows.average_effects import rows_averaged, rows_words
from ..rows.bins import Bin, bins
from ..rows.contrasts import contrasts, main_covariate
from ..rows.profiles import (
    Covariate,
    Profile,
    compared,
    covariate,
    labels,
    profile,
    rough_probabilities,
)

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

BAND_DRAWS = 200
"""Draws behind the bands."""

MOST_CURVES = 8
"""Classes that are drawn: those that move most."""

MOST_LEVELS = 12
"""Classes of the table."""

MOST_INTERVALS = 3
"""Classes up to which the table has intervals."""

QUARTILES = (0.25, 0.5, 0.75)
"""Quantiles of the covariate in the table, between the ends of its contrast."""


def short(fit: AbstractFit, along: str | None = None) -> Summary | None:
    """Curves with bands along a covariate, or the one that moves the probabilities most."""
    if not fit.model.response.level_names:
        return None
    along = along or main_covariate(fit, probabilities_moved)
    curves = None if along is None else _curves(fit, profile(fit, along))
    return {"along": along, "curves": curves}


def summary(fit: AbstractFit, along: str | None = None) -> Summary | None:
    """Curves with bands, a table and, of two numbers, the regions of the classes."""
    first = short(fit, along)
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
    return float(rows.moved(rough_probabilities(fit, rows.frame).T).max())


def probabilities(fit: AbstractFit, rows: Profile) -> Float[np.ndarray, "values classes"]:
    """Predictive probabilities of the classes at each value."""
    return rows.averaged(fit.predict(rows.frame, kind="probability").to_numpy(), axis=0)


def drawn_probabilities(
    fit: AbstractFit, rows: Profile, n_draws: int
) -> Float[np.ndarray, "draws classes values"]:
    """Probabilities of the classes at each value, for some draws of the parameters."""
    block = fit.model.block(fit.model.design.of_typical_groups.new(rows.frame))
    draws = thinned(fit.draws, min(n_draws, count(fit.draws)))
    if fit.model.response.is_categorical:
        return rows.averaged(fit.classifier.drawn_probabilities(draws, block, few_points=True))
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
    values = list(one.values)
    known = [each for each in contrasts(fit) if each.covariate == along]

    def averages(values: list[object]) -> Float[np.ndarray, "draws values *classes"]:
        averaged = average_predictions(fit, rows, along, values, ("probability",))
        return averaged["probability"][:, :, 0]

    if one.discrete or not known:
        draws = averages(values)
    else:  # the contrast that the page states, and quartiles between its ends
        low, high = (float(str(value)) for value in known[0].ends)
        between = dict.fromkeys(quantiles(design, along, QUARTILES).tolist())
        inner = [value for value in between if low < value < high]
        values = [low, *inner, high]
        if "probability" in known[0].draws:  # of classes; contrasts of levels are of their mean
            first, last = np.split(known[0].draws["probability"], 2, axis=1)
            between_ends = [averages(inner)] if inner else []
            draws = np.concatenate([first, *between_ends, last], axis=1)
        else:
            draws = averages(values)
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
    band, levels = _band(fit, rows), fit.model.response.level_names
    curves = [ClassCurve(k, str(levels[k]), *band[:, :, k]) for k in _shown(band)]
    return class_curves(fit, rows, curves)


def observed_share(fit: AbstractFit, name: str) -> str:
    """Observed and predicted share of a class in the rows where one value of it is most frequent.

    Of a number these are the rows in its lowest or highest sixth; empty if none has enough rows.
    """
    design, levels = fit.model.design, fit.model.response.level_names
    codes, shown = class_numbers(fit), bins(design, name, np.arange(design.n_rows))
    if not covariate(design, name).discrete:
        shown = [one for one in (shown[:1] + shown[-1:]) if len(shown) > 1]
    if not shown:
        return ""
    counts = [np.bincount(codes[one.rows], minlength=len(levels)) for one in shown]
    place = int(np.argmax([each.max() / each.sum() for each in counts]))
    most, rows = int(counts[place].argmax()), design.data_at(shown[place].rows)
    predicted = fit.predict(rows, kind="probability").to_numpy()[:, most].mean()
    return (
        f"With {_where(fit, name, shown, place)} {called(design, design.response_names[0])} is "
        f"{levels[most]} in {counts[place][most]} of {counted(len(rows), 'row')}; the model "
        f"predicts {percent(float(predicted))}"
    )


def _where(fit: AbstractFit, name: str, shown: Sequence[Bin], place: int) -> str:
    """Value of a covariate in a bin: a level, or how low or high a number is."""
    design, one = fit.model.design, shown[place]
    if covariate(design, name).discrete:
        return f"{called(design, name)} = {one.label}"
    known = design.frame[name].iloc[one.rows].to_numpy(dtype=float)
    end = float(known.min() if place else known.max())
    value = measured(labels([end])[0], name, design.known_units)
    return f"{called(design, name)} {f'from {value} on' if place else f'up to {value}'}"


def _noun(fit: AbstractFit, number: int = 1) -> str:
    """Name of one value of the response, or of several."""
    names = ("class", "classes") if fit.model.response.is_categorical else ("level", "levels")
    return names[number != 1]
