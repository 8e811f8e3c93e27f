"""A check of a fit: its question, its result, its grade, and the remedy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bayesvb.evaluation.family_wise import holm
from bayesvb.numerics.arrays import RowVector
from bayesvb.results.checks.edits import Edit, Remedy
from bayesvb.results.checks.grading import GRADES, Grade

Group = Literal["fit", "computation", "accuracy"]


@dataclass(frozen=True)
class Check:
    """One row of the verdict.

    Attributes
    ----------
    name : str
        Question of the check.
    group : {"fit", "computation", "accuracy"}
    grade : {"ok", "note", "problem"}
    number : float
        Result; NaN if it is not available.
    measure : str
        Meaning of the number.
    p_value : float
        Of a test, adjusted for all tests of the fit; NaN if the check is not a test.
    threshold : str
        Where grades begin.
    remedy : str
        What to do, one sentence; empty if the grade is ``"ok"``.
    section : str
        Section of the report that shows more.
    weighs : bool
        Whether the grade counts in the verdict as a whole.
    """

    name: str
    group: Group
    grade: Grade
    number: float
    measure: str
    p_value: float
    threshold: str
    remedy: str
    section: str
    weighs: bool = True

    @property
    def edits(self) -> tuple[Edit, ...]:
        """Changes that the remedy names, alternatives of one another; empty if it names none."""
        return self.remedy.edits if isinstance(self.remedy, Remedy) else ()


@dataclass(frozen=True)
class Misfit:
    """One test, before its p-value is adjusted for all the others.

    Attributes
    ----------
    name, number, measure, remedy, section
        As of the ``Check`` that it becomes.
    p_value : float
        Of this test alone.
    matters : bool
        Whether the misfit is large enough to be a problem, however sure it is: with many rows the
        least of them is.
    limit : str
        Where it begins to matter, in words; empty if it always does.
    group : {"fit", "accuracy"}
    noted : str
        Text of the note if the test detects nothing; no note if empty.
    without : callable, optional
        Scores of the rows without this misfit, given them with it.
    """

    name: str
    number: float
    measure: str
    remedy: str
    section: str
    p_value: float
    matters: bool
    limit: str
    group: Group = "fit"
    noted: str = ""
    without: Callable[[RowVector], RowVector] | None = None


def judged(tests: Sequence[Misfit]) -> list[Check]:
    """Tests of one fit as checks, their p-values adjusted for their number by Holm's rule.

    Examples
    --------
    >>> one = Misfit("Skew", 0.9, "skewness", "do so", "calibration", 1e-4, True, "above 0.2")
    >>> [check.grade for check in judged([one, one])]
    ['problem', 'problem']
    """
    adjusted = holm(np.array([one.p_value for one in tests], dtype=float))
    return [_judged(one, float(p)) for one, p in zip(tests, adjusted, strict=True)]


def _judged(one: Misfit, p: float) -> Check:
    limits = GRADES["p-value"]
    grade: Grade = "note" if p < limits.note or one.noted else "ok"
    if p < limits.problem and one.matters:
        grade = "problem"
    limit = f" and {one.limit}" if one.limit else ""
    threshold = f"note: adjusted p < {limits.note:g}; problem: < {limits.problem:g}{limit}"
    remedy = "" if grade == "ok" else one.remedy if p < limits.note else one.noted
    return Check(
        one.name, one.group, grade, one.number, one.measure, p, threshold, remedy, one.section
    )


def decided(
    name: str,
    group: Group,
    grade: Grade,
    number: float,
    measure: str,
    *,
    threshold: str,
    remedy: str,
    section: str,
    weighs: bool = True,
) -> Check:
    """A check that is not a test; the remedy is dropped if the grade is good."""
    said = "" if grade == "ok" else remedy
    return Check(name, group, grade, number, measure, math.nan, threshold, said, section, weighs)
