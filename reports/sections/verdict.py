"""Verdict box: the checks of all sections in one place."""

from __future__ import annotations

from collections.abc import Mapping

from ..plain import Summary

PARAMETERS_ONLY = (
    "Judge this fit by its predictions: the intervals of its parameters are not to be trusted."
)

SAYS = {
    "ok": "All checks passed.",
    "look": "Usable, with something to look at.",
    "problem": "Do not use the numbers before reading what is marked as a problem.",
}


def verdict(summaries: Mapping[str, Summary]) -> Summary:
    """Checks of the sections, each with the section that explains it.

    Parameters
    ----------
    summaries : mapping
        Name of a section to its summary.
    """
    checks = [
        {**one, "section": name}
        for name, summary in summaries.items()
        for one in summary.get("checks", [])
    ]
    found = {one["verdict"] for one in checks}
    worst = next((each for each in ("problem", "look") if each in found), "ok")
    counts = {each: sum(one["verdict"] == each for one in checks) for each in SAYS}
    doubted = {one["reach"] for one in checks if one["verdict"] == "problem"}
    says = PARAMETERS_ONLY if doubted == {"parameters"} else SAYS[worst]
    return {"checks": checks, "worst": worst, "says": says, "counts": counts}
