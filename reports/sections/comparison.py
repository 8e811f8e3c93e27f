"""Comparison: several fits to the same rows, by leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import Elpd, compare, elpd_data
from bayesvb.results.back_transformation import log_jacobian, untransformed
from bayesvb.results.comparison import check_comparable, folds_for_all, places_of_units
from bayesvb.results.printing import formula_text
from bayesvb.results.subsampling import RowSample, folds_affordable, left_out_at, unit_sample

from ..cells.numerals import counted, numeral
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.plot import Canvas, number_axis, plotted, spread_axis
from ..panels.dots import Dot, dot_panel
from ..rows.sampling import ROWS_LEFT_OUT, choice_note, choice_words

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def comparison(fits: Mapping[str, AbstractFit]) -> Summary:
    """Table of the fits, best first, and where they differ."""
    jacobian = on_several_scales(fits)
    try:
        check_comparable(fits, jacobian=jacobian)
    except DataError as error:
        return {"why_not": str(error), "models": _models(fits)}
    chosen = unit_sample(next(iter(fits.values())), ROWS_LEFT_OUT)
    folds = folds_for_all(fits) and all(folds_affordable(fit) for fit in fits.values())
    at = {name: _chosen_of(fit, fits, chosen) for name, fit in fits.items()}
    found = {name: left_out_at(fit, at[name], folds) for name, fit in fits.items()}
    if jacobian:
        found = {
            name: replace(one, pointwise=one.pointwise + log_jacobian(fits[name].model)[at[name]])
            for name, one in found.items()
        }
    frame = compare_elpds(found)
    best, second = frame.index[0], frame.index[1]
    return {
        "why_not": None,
        "models": _models(fits),
        "rows_note": choice_words(chosen),
        "best": best,
        "reading": reading(frame),
        "left_out": " ".join(filter(None, [_left_out(fits, folds=folds), _scales(fits, jacobian)])),
        "table": _table(
            frame, chosen, folds=folds, ratios=all(one.method == "psis" for one in found.values())
        ),
        "strip": [_clear(frame), _held_out(frame, chosen, folds=folds)],
        "panel": _panel(frame),
        "pointwise": _pointwise(found, (str(best), str(second)), chosen),
    }


def _chosen_of(
    fit: AbstractFit, fits: Mapping[str, AbstractFit], chosen: RowSample
) -> Int[np.ndarray, " units"]:
    """Positions of the first fit's sampled rows among the rows of another."""
    places = places_of_units(next(iter(fits.values())), fit)
    assert places is not None  # as these fits are comparable
    return np.asarray(places[chosen.at])


def on_several_scales(fits: Mapping[str, AbstractFit]) -> bool:
    """Whether fits explain one response by different functions of it, as ``log(y)`` and ``y``."""
    names = [fit.model.design.response_names for fit in fits.values()]
    alike = all(untransformed(one) == untransformed(names[0]) for one in names)
    return alike and any(one != names[0] for one in names)


def _scales(fits: Mapping[str, AbstractFit], jacobian: bool) -> str:
    """Sentence on the scales of densities, where formulas transform the response differently."""
    if not jacobian:
        return ""
    names = untransformed(next(iter(fits.values())).model.design.response_names)
    return (
        f"Formulas transform the response differently: log densities refer to "
        f"{', '.join(names)} in the units of the data (Jacobian of each formula included)."
    )


def compare_elpds(found: Mapping[str, Elpd]) -> pd.DataFrame:
    """Table of ``bayesvb.compare`` from results that are there already."""
    return compare({name: elpd_data(one) for name, one in found.items()})


def _models(fits: Mapping[str, AbstractFit]) -> Summary:
    rows = {
        name: {
            "formula": formula_text(fit.model),
            "model": fit.model.description(),
            "rows used": fit.model.design.n_rows,
            "converged": fit.converged,
        }
        for name, fit in fits.items()
    }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("fit")
    return table(frame, "Fits of this report.")


def reading(frame: pd.DataFrame) -> str:
    """Sentence on the distance of the best fit from the second."""
    best, second = frame.index[:2]
    gap, se = -float(frame["elpd_diff"].iloc[1]), float(frame["dse"].iloc[1])
    clear = gap > 2.0 * se
    how = "clearly better than" if clear else "ahead of, but not distinguishable by 2 se from,"
    return f"{best} is {how} {second}: {numeral(gap, 1)} nats (SE {numeral(se, 1)})."


def _left_out(fits: Mapping[str, AbstractFit], *, folds: bool) -> str:
    """Method of cross-validation, if one of the fits is a network."""
    if folds:
        return (
            "Five folds, the same for every fit: each run continued without a fold, and "
            "predicted it."
        )
    if folds_for_all(fits):
        return (
            "There are too many rows for held-out densities. They are in-sample, from draws, which "
            "is optimistic for networks."
        )
    return ""


def _table(frame: pd.DataFrame, chosen: RowSample, *, folds: bool, ratios: bool) -> Summary:
    caption = (
        "Log densities of held-out rows, in nats, the best fit first. Difference and its "
        "se are against the best; weight: share in the best combination of the fits (stacking); p: "
        "effective number of parameters"
    )
    doubt = "of a high Pareto k" if ratios else "that would have to be refitted to be sure"
    caption += "." if folds else f"; the last column marks fits with {chosen.plural} {doubt}."
    caption += choice_note("From", chosen)
    titles = {"name": "fit", "elpd_diff": "difference", "dse": "se of difference",
              "warning": "high Pareto k" if ratios else "in doubt"}  # fmt: skip
    digits = {"elpd": 1, "se": 1, "p": 1, "elpd_diff": 1, "dse": 1, "weight": 2}
    unread = ["rank", "warning"] if folds else ["rank"]
    return table(frame.drop(columns=unread), caption, titles=titles, decimals=digits)


def _clear(frame: pd.DataFrame) -> Summary:
    """Whether the best fit and the second differ clearly, by their standard error."""
    best, second = frame.index[:2]
    gap, se = -float(frame["elpd_diff"].iloc[1]), float(frame["dse"].iloc[1])
    clear = gap > 2.0 * se
    says = f"{numeral(gap / se, 2)} standard errors" if se else "No difference"
    return {
        "title": "Difference",
        "grade": "ok" if clear else "note",
        "word": "clear" if clear else "not clear",
        "says": f"{says} between {best} and {second}.",
        "remedy": False,
    }


def _held_out(frame: pd.DataFrame, chosen: RowSample, *, folds: bool) -> Summary:
    """Sentence on how rows were held out, and whether that is approximate."""
    rows = f"same {counted(len(chosen.at), chosen.plural.removesuffix('s'))}"
    way = "five-fold cross-validation" if folds else "leave-one-out"
    says = f"The {rows} held out of every fit ({way})."
    doubt = [str(name) for name in frame.index[frame["warning"]]]
    if doubt:
        says = f"{says} Approximate for {', '.join(doubt)}."
    return {"title": "Held-out scores", "grade": "note" if doubt else "ok",
            "word": "1 note" if doubt else "ok", "says": says, "remedy": False}  # fmt: skip


def _panel(frame: pd.DataFrame) -> Summary:
    """Differences to the best fit, with two standard errors."""
    dots = [
        Dot(label=str(name), estimate=difference, decimals=1,
            interval=(difference - 2.0 * error, difference + 2.0 * error) if error else None)
        for name, (difference, error) in zip(
            frame.index, frame[["elpd_diff", "dse"]].to_numpy(dtype=float).tolist(), strict=True
        )
    ]  # fmt: skip
    return dot_panel(
        dots,
        title="Held-out score of each fit",
        caption="Difference in expected log predictive density to the best fit, in nats. Bar: two "
        "standard errors; if it reaches zero, the two fits cannot be distinguished.",
        heads=("Fit", "Difference"),
        is_difference=True,
    )


def _pointwise(found: Mapping[str, Elpd], pair: tuple[str, str], chosen: RowSample) -> Summary:
    best, second = pair
    gain: Float[np.ndarray, " rows"] = found[best].pointwise - found[second].pointwise

    across = number_axis(float(chosen.at.min()), float(chosen.at.max()))
    canvas = Canvas(across, spread_axis(np.append(gain, 0.0)))
    canvas.across("axis", 0.0)
    canvas.dots("pts", chosen.at.astype(float), gain)
    better = int((gain > 0.0).sum())
    caption = (
        f"Leave-one-out density of each row under {best} minus that under {second}. Above zero: "
        f"{best} predicts the row better. A few far points that carry the whole difference are a "
        "reason to look at these rows."
    )
    alt = f"Pointwise differences: {best} is better in {better} of {counted(len(gain), 'row')}."
    return plotted(
        canvas,
        x="row, in the order of the data",
        y=f"{best} minus {second} (nats)",
        alt=alt,
        caption=caption,
    )
