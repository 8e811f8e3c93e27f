"""Verdict box: the checks of all sections in one place."""

from __future__ import annotations

from collections.abc import Mapping

from ..plain import Summary

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
    return {"checks": checks, "worst": worst, "says": SAYS[worst], "counts": counts}
