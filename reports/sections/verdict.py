"""Verdict box: the table of ``fit.check()``, problems first, with their remedies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bayesvb.results.checks.base import Check
from bayesvb.results.checks.computation import khat_error
from bayesvb.results.checks.table import first_of_all, worst
from bayesvb.results.limits import LIMITS

from ..cells.checks import checks_table, shown
from ..cells.numerals import counted, numeral
from ..cells.plain import Summary

COVARIANCES = {
    "linear-response": "Intervals have the linear-response covariance.",
    "mean-field": "Intervals are mean-field, usually too narrow.",
    "importance": "Intervals come from importance-weighted draws.",
    "exact": "Intervals come from the exact posterior.",
    "robust": "Intervals have the robust covariance.",
    "engine": "Intervals come from the draws that the engine returned.",
}

RESAMPLED = "Importance-weighted draws are available: fit.with_covariance('importance')."

NOT_RESAMPLED = "Importance-weighted draws are not available: k-hat is above 0.7."

SAYS = {
    "ok": "All checks passed.",
    "note": "Usable; read the notes.",
    "problem": "Read the checks that are marked as problems before using the numbers.",
}

COUNTING_PASSED = "All checks that count towards the verdict passed."
"""Words where a check that is informational has a note."""

GROUPS = {
    "fit": {
        "ok": "No misfit detected.",
        "note": "No clear misfit; see the notes.",
        "problem": "The model does not fit the data.",
    },
    "computation": {
        "ok": "No computational problem detected.",
        "note": "Usable; see the notes.",
        "problem": "The computation is not reliable.",
    },
    "accuracy": {
        "ok": "The linear baseline does not predict held-out rows better.",
        "note": "The linear baseline predicts held-out rows about as well.",
        "problem": "The linear baseline predicts held-out rows better.",
    },
}
"""Meaning of each grade of a group."""


def verdict(found: Sequence[Check], computation: Summary | None = None) -> Summary:
    """Checks by group, those that are not in order on cards, and all of them as a table.

    Parameters
    ----------
    found : sequence of Check
        As ``fit.check()`` has them.
    computation : mapping, optional
        Summary of the section on the computation.
    """
    groups = []
    for name, says in GROUPS.items():
        own = [one for one in found if one.group == name]
        if own:
            grade = worst(own)
            passed = sum(one.grade == "ok" for one in own)
            groups.append({"name": name, "grade": grade, "says": says[grade], "passed": passed,
                           "n": len(own)})  # fmt: skip
    overall, left = worst(found), any(one.grade != "ok" for one in found)
    worst_first = sorted(found, key=lambda one: (one.grade != "problem", not one.weighs))
    return {
        "worst": overall,
        "says": SAYS[overall] if overall != "ok" or not left else COUNTING_PASSED,
        "first": first_of_all({one.name: one.grade for one in found if one.group == "fit"}),
        "groups": groups,
        "checks": [shown(one) for one in worst_first if one.grade != "ok"],
        "n_passed": sum(one.grade == "ok" for one in found),
        "n_checks": len(found),
        "table": checks_table(found),
        "notes": [] if computation is None else _notes(computation),
    }


def _notes(computation: Summary) -> list[str]:
    """Notes on the intervals, their reach, and the agreement of restarts."""
    covariance, k = computation["covariance"], computation["khat"]
    notes = [computation.get("intervals", COVARIANCES[covariance])]
    if "intervals" not in computation and covariance == "mean-field" and computation["failure"]:
        notes = [f"{notes[0][:-1]} (linear response: {computation['failure']})."]
    if k is None and "objective" not in computation:
        if computation["identified"]:
            notes.append("k-hat was not computed: there are too many rows.")
    elif k is not None and math.isnan(k):
        notes.append("Posterior means are exact to 0.05 standard deviations.")
    elif k is not None:
        error = khat_error(k, computation["khat_draws"])
        notes.append(f"k-hat {numeral(k, 2)} (Monte Carlo error {numeral(error, 2)}).")
        if covariance not in ("importance", "exact"):
            notes.append(RESAMPLED if k <= LIMITS.usable_khat else NOT_RESAMPLED)
    near, n_restarts = computation["n_near"], computation["n_restarts"]
    if computation["combined"] == 1 < n_restarts:
        notes.append(f"Of {n_restarts} restarts the one that predicts held-out rows best is kept.")
    elif computation["combined"]:
        notes.append(f"{computation['combined']} of {n_restarts} restarts are combined by weight.")
    elif n_restarts > 1:
        end = "ends" if near == 1 else "end"
        restarts = counted(n_restarts, "restart")
        notes.append(f"{near} of {restarts} {end} within a nat of the best bound.")
    return notes
