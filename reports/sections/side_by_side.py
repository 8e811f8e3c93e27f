"""What several fits have in common, once, and their grades in one table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..cells.plain import Summary, plain
from ..cells.tables import table

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
        SHARED: shared,
    }
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


def _shared(sections: Sequence[Summary]) -> Summary | None:
    """The section if it is the same in all fits."""
    first = sections[0].get(SHARED)
    return first if all(one.get(SHARED) == first for one in sections[1:]) else None


def _without(sections: Summary, name: str) -> Summary:
    return {key: one for key, one in sections.items() if key != name}


def _grades(fits: Sequence[Summary]) -> Summary:
    """One line per fit: the grade of each group of checks, and what is not in order."""
    lines = {}
    for fit in fits:
        verdict = fit["verdict"]
        grades = {TITLES[group["name"]]: group["grade"] for group in verdict["groups"]}
        names = dict.fromkeys(one["name"] for one in verdict["checks"])
        lines[fit["name"]] = grades | {"to look at": "; ".join(names) or "nothing"}
    frame = pd.DataFrame.from_dict(lines, orient="index").rename_axis("fit")
    caption = "Grades of the checks of each fit; the cards of each say what to do."
    return table(frame, caption)
