"""Common facts of several fits, once, and their grades in one table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..cells.numerals import counted
from ..cells.plain import Summary, plain
from ..cells.tables import table
from .finding import MOST_PICTURES, small_multiple

SHARED = "data"
"""The section that is the same for fits whose formulas read the same columns."""

TITLES = {"fit": "fit to the data", "computation": "computation", "accuracy": "accuracy"}
"""Group of checks -> column of the table."""


def side_by_side(page: Summary) -> Summary:
    """The summary of a page of several fits, with their grades and the shared section on top.

    Parameters
    ----------
    page : mapping
        Plain values, with ``comparison`` and ``fits``.
    """
    fits: Sequence[Summary] = page["fits"]
    shared = _shared([fit["sections"] for fit in fits])
    if shared is not None:
        fits = [{**fit, "sections": _without(fit["sections"], SHARED)} for fit in fits]
    comparison = {
        **_hedged(page["comparison"], fits),
        "grades": plain(_grades(fits)),
        "coverage": plain(_coverage(fits)),
        "prefix": None,
        SHARED: shared,
    }
    if "panel" in comparison:  # it can be compared
        comparison |= plain(_first_screen(comparison, fits))
        fits = _without_pictures(fits)
    return {**page, "comparison": comparison, "fits": fits}


def _hedged(comparison: Summary, fits: Sequence[Summary]) -> Summary:
    """The comparison, whose reading says first if the best fit does not fit the data."""
    best = comparison.get("best")
    problems = [
        check["name"]
        for fit in fits
        for check in fit["verdict"]["checks"]
        if (fit["name"], check["group"], check["grade"]) == (best, "fit", "problem")
    ]
    if not problems:
        return comparison
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    doubt = f"{best} predicts best but does not fit the data ({problems[0]}{more}). "
    return {**comparison, "reading": doubt + comparison["reading"]}


def _first_screen(comparison: Summary, fits: Sequence[Summary]) -> Summary:
    """Finding and answer of the comparison, as a single fit has them."""
    (best,) = (fit for fit in fits if fit["name"] == comparison["best"])
    pictures = [_named(fit["finding"]["figure"], fit["name"]) for fit in fits if _is_drawn(fit)]
    clear, held_out = comparison["strip"]
    fit = [{**cell, "title": f"Best fit, {best['name']}"} for cell in best["answer"]["strip"][:1]]
    problems = {one["name"]: _n_problems(one["verdict"]["checks"]) for one in fits}
    panel = comparison["panel"]
    rows = [{**row, "note": problems[row["label"]]} for row in panel["rows"]]
    return {
        "finding": {
            "sentences": [comparison["reading"]],
            "figure": best["finding"]["figure"],
            "multiples": pictures[:MOST_PICTURES] if len(pictures) > 1 else [],
        },
        "answer": {
            "strip": [clear, *fit, held_out],
            "panels": [{**panel, "rows": rows, "compact": False}],
            "data": best["answer"]["data"],
        },
        "prefix": best["prefix"],
    }


def _is_drawn(fit: Summary) -> bool:
    """Whether the picture of a fit is one of one response."""
    return bool(fit["finding"]["figure"]) and not fit["finding"]["multiples"]


def _named(figure: Summary, name: str) -> Summary:
    """The picture of a fit in a row of pictures, which are read as the first one."""
    return {**small_multiple(figure), "y_title": f"{name}: {figure['y_title']}"}


def _without_pictures(fits: Sequence[Summary]) -> list[Summary]:
    """Fits without the pictures that the comparison shows."""
    shown = [fit["name"] for fit in fits if _is_drawn(fit)][:MOST_PICTURES]
    return [
        {**fit, "finding": {**fit["finding"], "figure": None}}
        if len(shown) > 1 and fit["name"] in shown
        else fit
        for fit in fits
    ]


def _n_problems(checks: Sequence[Summary]) -> str:
    """Problems of the fit to the data, counted."""
    n = sum((check["group"], check["grade"]) == ("fit", "problem") for check in checks)
    return counted(n, "problem") if n else "no misfit detected"


def _coverage(fits: Sequence[Summary]) -> Summary | None:
    """Share of the rows of each bin of a covariate in their 90% intervals, by fit.

    None where fits have other bins, or several responses.
    """
    found = [fit["sections"].get("calibration", {}).get("responses", []) for fit in fits]
    tables = [each[0].get("coverage_by") if len(each) == 1 else None for each in found]
    bins = [one and [one["heads"], *([*row["heads"], row["cells"][0]] for row in one["rows"])]
            for one in tables]  # fmt: skip
    first = tables[0]
    if not first or any(one != bins[0] for one in bins):
        return None
    frame = pd.DataFrame(
        {
            "rows": [row["cells"][0] for row in first["rows"]],
            **{
                fit["name"]: [row["cells"][1] for row in one["rows"]]
                for fit, one in zip(fits, filter(None, tables), strict=True)
            },
            "se": [row["cells"][2] for row in first["rows"]],
        },
        index=pd.Index([row["heads"][0] for row in first["rows"]], name=first["heads"][0]),
    )
    caption = (
        "Rows inside their 90% predictive interval, in per cent, with the standard error of a "
        "share of 90%. Predictions are leave-one-out."
    )
    return table(frame, caption, decimals={name: 1 for name in frame.columns if name != "rows"})


def _shared(sections: Sequence[Summary]) -> Summary | None:
    """The section if it is the same in all fits."""
    first = sections[0].get(SHARED)
    return first if all(one.get(SHARED) == first for one in sections[1:]) else None


def _without(sections: Summary, name: str) -> Summary:
    return {key: one for key, one in sections.items() if key != name}


def _grades(fits: Sequence[Summary]) -> Summary:
    """One line per fit: the grade of each group of checks, and its problems and notes."""
    lines = {}
    for fit in fits:
        verdict = fit["verdict"]
        grades = {TITLES[group["name"]]: group["grade"] for group in verdict["groups"]}
        names = dict.fromkeys(one["name"] for one in verdict["checks"])
        lines[fit["name"]] = grades | {"to look at": "; ".join(names) or "nothing"}
    frame = pd.DataFrame.from_dict(lines, orient="index").rename_axis("fit")
    caption = "Grades of the checks of each fit; the cards of each say what to do."
    return table(frame, caption)
