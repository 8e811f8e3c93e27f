"""Verdict box: the checks of all sections in one place."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bayesvb.results.importance import LARGEST_K

from ..cells.numerals import counted, numeral
from ..cells.plain import Summary

PARAMETERS_ONLY = (
    "Judge this fit by its predictions: the intervals of its parameters are not to be trusted."
)

COVARIANCES = {
    "linear-response": "Intervals have the linear-response covariance.",
    "mean-field": "Intervals are those of the mean-field posterior, usually too narrow.",
    "importance": "Intervals are those of draws by importance weights.",
    "engine": "Intervals are those of the draws that the engine returned.",
}

CLOSE_K = 0.5
"""Pareto k up to which the approximation is good."""

RESAMPLED = (
    "Draws corrected by importance weights are to be had: fit.with_covariance('importance')."
)

NOT_RESAMPLED = "Draws corrected by importance weights are not to be had: k-hat is above 0.7."

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
    computation = summaries.get("computation")
    notes = [] if computation is None else _notes(computation)
    return {"checks": checks, "worst": worst, "says": says, "counts": counts, "notes": notes}


def _notes(computation: Summary) -> list[str]:
    """What intervals are made of, how far they carry, and whether restarts agree."""
    covariance, k = computation["covariance"], computation["khat"]
    notes = [COVARIANCES[covariance]]
    if covariance == "mean-field" and computation["failure"]:
        notes = [f"{notes[0][:-1]} (linear response: {computation['failure']})."]
    if k is None:
        notes.append("k-hat was not computed: there are too many rows.")
    elif math.isnan(k):
        notes.append("The approximation is the exact posterior.")
    else:
        notes.append(f"k-hat {numeral(k, 2)}: {_meaning(k)}")
        if covariance != "importance":
            notes.append(RESAMPLED if k <= LARGEST_K else NOT_RESAMPLED)
    near, n_restarts = computation["n_near"], computation["n_restarts"]
    if computation["combined"] == 1 < n_restarts:
        notes.append(f"Of {n_restarts} restarts the one that predicts rows left out best is kept.")
    elif computation["combined"]:
        notes.append(f"{computation['combined']} of {n_restarts} restarts are combined by weight.")
    elif n_restarts > 1:
        agree = "agrees" if near == 1 else "agree"
        notes.append(f"{near} of {counted(n_restarts, 'restart')} {agree} on the best bound.")
    return notes


def _meaning(k: float) -> str:
    if k <= CLOSE_K:
        return "the approximation is close to the posterior."
    if k <= LARGEST_K:
        return "the approximation is usable, its intervals are rough."
    return "the approximation differs from the posterior in its tails or correlations."
