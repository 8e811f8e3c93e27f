"""The first screen of a report: the question, the answer, its reliability, and the data.

Every part reads the same contrasts and the same checks, so that the sentence, the panel of effects,
the table of all effects, ``report_text()`` and the JSON agree to the last digit shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.results.capabilities import HasExactPosterior, HasJointDensity, HasScores
from bayesvb.results.checks.base import Check
from bayesvb.results.checks.table import worst

from .cells.names import called, cut
from .cells.numerals import counted, enumerated, numeral, percent
from .cells.plain import Summary
from .panels import panels
from .rows.average_effects import has_one_occupied
from .rows.held_out_entries import held_out_entries
from .rows.sampling import gated

if TYPE_CHECKING:
    from bayesvb.formula.design import Design
    from bayesvb.formula.missing import MissingValues
    from bayesvb.results.base import AbstractFit

MOST_ASKED, LONGEST = 5, 90
"""Columns that the question names, and their signs in all."""

LONGEST_REMEDY = 100
"""Characters of a remedy that the strip has room for; longer ones stand with the checks."""

CONSTANT_SPREAD = "The model holds the spread constant."
"""Text of the strip for models whose spread does not depend on covariates."""

CLASSES, MISCALIBRATED = "Class probabilities", 0.05
"""Check of class probabilities, and the p-value below which probabilities are off."""

SURE, OVERLAP = 0.9, 0.5
"""Probability from which on a row belongs to a cluster, and share of such rows below which clusters
overlap."""

NEAR = 2.0
"""Standard errors by which the share of rows in their intervals may differ from 90%."""


def answer(
    fit: AbstractFit,
    sections: Mapping[str, Summary],
    checks: Sequence[Check],
    question: str | None = None,
) -> Summary:
    """Question, strip of verdicts, panels next to the picture and line on the data.

    Parameters
    ----------
    fit : Fit
    sections : mapping
        Summaries of the sections of the page.
    checks : sequence of Check
        Checks of ``fit.check()``.
    question : str, optional
        Heading instead of the question made from the names of the columns.
    """
    return {
        "question": question or question_of(fit),
        "strip": strip(sections, checks, constant_spread=_holds_spread(fit), of_rows=_of_rows(fit)),
        "panels": panels(fit),
        "data": _data(fit),
        "worst_covered": _worst_covered(sections.get("calibration")),
    }


def question_of(fit: AbstractFit) -> str:
    """Question that a fit of this kind answers, with the names of its columns.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("engel")
    >>> model = bvb.DensityRegression("foodexp ~ income", data, n_components=1)
    >>> question_of(model.fit(seed=1, draws=50))
    'How does foodexp depend on income?'
    """
    model, design = fit.model, fit.model.design
    if isinstance(model, HasJointDensity):
        return f"Which clusters are there in {listed(_called(design, model.variables))}?"
    if isinstance(model, HasScores):
        variables = listed(_called(design, model.variables))
        return f"How many components carry the variation of {variables}?"
    names = listed(_called(design, design.response_names))
    if not design.covariates:
        exact = isinstance(model, HasExactPosterior)
        return f"What is the mean of {names}?" if exact else f"How is {names} distributed?"
    known = design.groupings | design.exposures
    others = [name for name in design.covariates if name not in known]
    covariates = listed(_called(design, others or design.covariates))
    verb = "does" if len(design.response_names) == 1 else "do"
    return f"How {verb} {names} depend on {covariates}?"


def _called(design: Design, names: Sequence[str]) -> list[str]:
    return [called(design, name) for name in names]


def listed(names: Sequence[str]) -> str:
    """Names as a list in words, of which the first few are written."""
    shown = [str(one) for one in names[:MOST_ASKED]]
    while len(shown) > 1 and sum(map(len, shown)) > LONGEST:
        shown.pop()
    if len(shown) < len(names):
        shown.append(f"{len(names) - len(shown)} more")
    return enumerated(shown)


def _holds_spread(fit: AbstractFit) -> bool:
    """Whether the spread of a continuous response is the same in all rows by assumption."""
    return fit.model.response.kind == "continuous" and gated(fit) and has_one_occupied(fit)


def strip(
    sections: Mapping[str, Summary],
    checks: Sequence[Check],
    *,
    constant_spread: bool = False,
    of_rows: Summary | None = None,
) -> list[Summary]:
    """Fit to the data, new observations, computation: each with a grade and one fact.

    ``of_rows`` is the second cell of models without a response.
    """
    own = {name: [one for one in checks if one.group == name] for name in ("fit", "computation")}
    n_tests = sum(not math.isnan(one.p_value) for one in own["fit"])
    tests = f" in {counted(n_tests, 'test')}" if n_tests else ""
    fit = _cell("Fit to the data", own["fit"], f"No misfit detected{tests}.")
    if fit is not None and constant_spread:
        fit["says"] = f"{fit['says']} {CONSTANT_SPREAD}"
    cells = [
        fit,
        of_rows or _new_observations(sections, checks),
        _cell("Computation", own["computation"], "No computational problem detected."),
    ]
    return [one for one in cells if one is not None]


def _cell(title: str, checks: Sequence[Check], passed: str) -> Summary | None:
    """The worst check of a group in a line, with what to do."""
    if not checks:
        return None
    grade = worst(checks)
    graded = [one for one in checks if one.grade == grade and one.weighs]
    if grade == "ok":
        return {"title": title, "grade": grade, "word": "ok", "says": passed, "remedy": False}
    word = counted(len(graded), grade)
    more = f" and {len(graded) - 1} more" if len(graded) > 1 else ""
    first = graded[0]
    remedy = _brief(first.remedy)
    says = f"{first.name}{more}{f': {remedy}' if remedy else '.'}"
    return {"title": title, "grade": grade, "word": word, "says": says, "remedy": True}


def _brief(remedy: str) -> str:
    """A remedy, or its first sentence, if the strip has room for it; nothing otherwise."""
    first = f"{remedy.split('. ')[0].removesuffix('.')}."
    return next((text for text in (remedy, first) if 0 < len(text) <= LONGEST_REMEDY), "")


def _new_observations(sections: Mapping[str, Summary], checks: Sequence[Check]) -> Summary | None:
    """Coverage of intervals for held-out rows, or how well their probabilities are calibrated."""
    title = "New observations"
    accuracy = [one for one in checks if one.group == "accuracy"]
    if accuracy and worst(accuracy) != "ok":
        return _cell(title, accuracy, "")
    found, of_classes = sections.get("calibration"), [one for one in checks if one.name == CLASSES]
    if of_classes:
        return _calibrated(of_classes[0].p_value, "held-out rows (folds)")
    if not found or not found["left_out"]:
        return _cell(title, accuracy, "A linear model does not predict held-out rows better.")
    if "p_value" in found:
        return _calibrated(float(found["p_value"]), _left_out(found))
    if found.get("censored"):
        return {"title": title, "grade": "note", "word": "not tested", "remedy": False,
                "says": "Coverage is not tested: some values are censored."}  # fmt: skip
    if not found["responses"]:
        return None
    name = _worst_covered(found)
    (observed, deviation), *_ = (_coverage(one) for one in found["responses"]
                                 if one["name"] == name)  # fmt: skip
    says = f"90% intervals hold {numeral(observed, 1)}% of {_left_out(found)}"
    if len(found["responses"]) > 1:
        says = f"{says} for {cut(name)}, the worst of {len(found['responses'])} responses"
    if groups := found.get("new_groups"):
        share, deviation = groups["observed"], max(deviation, groups["deviation"], key=abs)
        says = f"{says}, {numeral(share, 1)}% if their groups are held out too"
    near = abs(deviation) <= NEAR
    says = f"{says}."
    if not near:
        says = f"{says} That is {numeral(abs(deviation), 1)} standard errors from 90%."
    return {"title": title, "grade": "ok" if near else "note", "word": "ok" if near else "1 note",
            "says": says, "remedy": False}  # fmt: skip


def _of_rows(fit: AbstractFit) -> Summary | None:
    """Certainty of the clusters of rows, or accuracy of predicted entries of rows."""
    if isinstance(fit.model, HasJointDensity):
        return _assignment(fit)
    found = held_out_entries(fit)
    if found is None:
        return None
    deviation = (found.inside - 0.9) / (found.standard_error or 1.0)
    near = abs(deviation) <= NEAR
    off = "" if near else f" That is {numeral(abs(deviation), 1)} standard errors from 90%."
    explained = percent(max(found.explained, 0.0))
    says = (
        f"90% intervals hold {numeral(100.0 * found.inside, 1)}% of {numeral(found.n)} entries "
        f"held out in turn.{off} The other variables predict {explained} of their variance."
    )
    return {"title": "New observations", "grade": "ok" if near else "note",
            "word": "ok" if near else "1 note", "says": says, "remedy": False}  # fmt: skip


def _assignment(fit: AbstractFit) -> Summary | None:
    """Share of the rows that belong to one cluster with high probability; None of one cluster."""
    if fit.core.n_components < 2 or not fit.model.design.n_rows:
        return None
    sure = float((fit.responsibilities().max(axis=1) > SURE).mean())
    clear = sure >= OVERLAP
    overlap = "" if clear else " Most rows lie between clusters."
    return {"title": "Assignment of rows", "grade": "ok" if clear else "note",
            "word": "clear" if clear else "clusters overlap",
            "says": f"{percent(sure)} of the rows belong to one cluster with probability above "
                    f"{SURE:g}.{overlap}", "remedy": False}  # fmt: skip


def _calibrated(p: float, rows: str) -> Summary:
    """Whether probabilities agree with the observed frequencies of their events."""
    fits = not p < MISCALIBRATED
    what = "No miscalibration of probabilities detected in" if fits else "Miscalibrated in"
    return {"title": "New observations", "grade": "ok" if fits else "note",
            "word": "ok" if fits else "1 note",
            "says": f"{what} {rows}, p {f'= {p:.2f}' if p >= 0.01 else '< 0.01'}.",
            "remedy": False}  # fmt: skip


def _worst_covered(found: Summary | None) -> str:
    """Name of the response whose intervals hold a share of the rows farthest from 90%."""
    known = [one for one in (found or {}).get("responses", []) if one.get("coverage")]
    return str(max(known, key=lambda one: abs(_coverage(one)[1]))["name"]) if known else ""


def _coverage(one: Summary) -> tuple[float, float]:
    """Per cent of the rows in their 90% interval, and its deviation in standard errors."""
    (row,) = (row for row in one["coverage"]["rows"] if row["heads"] == ["middle 90%"])
    return float(row["cells"][1]), float(row["cells"][3])


def _left_out(found: Summary) -> str:
    if found["left_out"] == "before":
        return f"{counted(found['n_rows'], 'row')} predicted from those before them"
    way = {"row": "leave-one-out", "fold": "folds"}[found["left_out"]]
    return f"{counted(found['n_rows'], 'held-out row')} ({way})"


def _data(fit: AbstractFit) -> Summary:
    """Rows used of rows given, and whether effects are stated."""
    design, ends = fit.model.design, fit.model.design.interval
    return {
        "used": design.n_fitted,
        "given": design.n_fitted + design.n_missing,
        "censored": 0 if ends is None else int(np.isinf(ends).any(axis=1).sum()),
        "missing_in": _labelled(design).columns if design.n_missing else "",
        "imputed": design.filled_in,
        "gaps": sum(int(np.isnan(values).sum()) for values in fit.model.observed().values()),
        "association": bool(design.covariates) and gated(fit),
    }


def _labelled(design: Design) -> MissingValues:
    """Excluded rows, with the labels of the columns that lack values."""
    lacking = design.left_out
    return replace(lacking, counts={called(design, name): n for name, n in lacking.counts.items()})
