"""The first screen of a report: what was asked, the answer, whether to believe it, on which data.

Every part reads the same contrasts and the same checks, so that the sentence, the panel of effects,
the table of all effects, ``report_text()`` and the JSON agree to the last digit shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bayesvb.distributions.intervals import PROB
from bayesvb.effects.estimands import target_words
from bayesvb.results.capabilities import HasExactPosterior, HasJointDensity, HasScores
from bayesvb.results.checks.base import Check
from bayesvb.results.checks.table import worst

from .cells.numerals import counted, numeral, percent, significant
from .cells.plain import Summary
from .figures.plot import number_axis
from .rows.average_effects import Change, rows_averaged, rows_words
from .rows.contrasts import Contrast, by_size
from .rows.sampling import gated

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_ASKED, LONGEST = 5, 90
"""Columns that the question names, and their signs in all."""

MOST_EFFECTS = 6
"""Effects beside the picture: more do not fit on a screen."""

MOST_LEVELS = 8
"""Levels of a covariate from which on its effects are left to the table of all effects."""

LARGEST = 3
"""Effects in full ink."""

NEAR = 2.0
"""Standard errors by which the share of rows in their intervals may differ from 90%."""


def answer(
    fit: AbstractFit,
    sections: Mapping[str, Summary],
    checks: Sequence[Check],
    question: str | None = None,
) -> Summary:
    """Question, strip of verdicts, panel of effects and line on the data.

    Parameters
    ----------
    fit : Fit
    sections : mapping
        Summaries of the sections of the page.
    checks : sequence of Check
        Those of ``fit.check()``.
    question : str, optional
        In place of the one that the names of the columns make.
    """
    return {
        "question": question or question_of(fit),
        "strip": strip(sections, checks),
        "effects": effects_panel(fit),
        "data": _data(fit),
    }


def question_of(fit: AbstractFit) -> str:
    """What a fit of this kind is asked, with the names of its columns.

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
        return f"Which clusters are there in {listed(model.variables)}?"
    if isinstance(model, HasScores):
        return f"How many components carry the variation of {listed(model.variables)}?"
    names = listed(design.response_names)
    if not design.covariates:
        exact = isinstance(model, HasExactPosterior)
        return f"What is the mean of {names}?" if exact else f"How is {names} distributed?"
    verb = "does" if len(design.response_names) == 1 else "do"
    return f"How {verb} {names} depend on {listed(design.covariates)}?"


def listed(names: Sequence[str]) -> str:
    """Names as a list in words, of which the first few are written."""
    shown = [str(one) for one in names[:MOST_ASKED]]
    while len(shown) > 1 and sum(map(len, shown)) > LONGEST:
        shown.pop()
    if len(shown) < len(names):
        shown.append(f"{len(names) - len(shown)} more")
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def strip(sections: Mapping[str, Summary], checks: Sequence[Check]) -> list[Summary]:
    """Fit to the data, new observations, computation: each with a grade and one fact."""
    own = {name: [one for one in checks if one.group == name] for name in ("fit", "computation")}
    n_tests = sum(not math.isnan(one.p_value) for one in own["fit"])
    passed = f"No misfit detected in {counted(n_tests, 'test')}."
    cells = [
        _cell("Fit to the data", own["fit"], passed if n_tests else "No misfit detected."),
        _new_observations(sections, [one for one in checks if one.group == "accuracy"]),
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
    return {"title": title, "grade": grade, "word": word, "says": f"{first.name}{more}.",
            "remedy": True}  # fmt: skip


def _new_observations(sections: Mapping[str, Summary], accuracy: Sequence[Check]) -> Summary | None:
    """Coverage of intervals for rows left out, or how well their probabilities are calibrated."""
    title = "New observations"
    worse = worst(accuracy) if accuracy else "ok"
    if worse != "ok":
        return _cell(title, accuracy, "")
    found = sections.get("calibration")
    if not found or not found["left_out"]:
        return _cell(title, accuracy, "A linear model does not predict rows left out better.")
    cover = [_coverage(one) for one in found["responses"] if not found.get("censored")]
    if not cover:
        return None
    observed, deviation = max(cover, key=lambda one: abs(one[1]))
    near = abs(deviation) <= NEAR
    says = f"90% intervals hold {numeral(observed, 1)}% of {_left_out(found)}."
    if not near:
        says = f"{says} That is {numeral(abs(deviation), 1)} standard errors from 90%."
    return {"title": title, "grade": "ok" if near else "note", "word": "ok" if near else "1 note",
            "says": says, "remedy": False}  # fmt: skip


def _coverage(one: Summary) -> tuple[float, float]:
    """Per cent of the rows in their 90% interval, and its deviation in standard errors."""
    (row,) = (row for row in one["coverage"]["rows"] if row["heads"] == ["middle 90%"])
    return float(row["cells"][1]), float(row["cells"][3])


def _left_out(found: Summary) -> str:
    rows = counted(found["n_rows"], "row")
    ways = {"row": "left out one at a time", "fold": "left out by folds",
            "before": "predicted from those before them"}  # fmt: skip
    return f"{rows} {ways[found['left_out']]}"


def effects_panel(fit: AbstractFit) -> Summary | None:
    """The largest average differences, each as a dot on a bar with its interval.

    Of several responses those of the first; of classes those of the class that changes most.
    """
    if not gated(fit) or not fit.model.design.covariates:
        return None
    pairs = [
        (one, _stated(fit, one))
        for one in by_size(fit)
        if one.response == 0 and one.n_values <= MOST_LEVELS
    ]
    if not pairs:
        return None
    pairs = _of_one_class(fit, pairs)
    pairs = sorted(pairs, key=lambda pair: -abs(pair[1].estimate))
    clear = [pair for pair in pairs if fit.is_point_estimate or not _has_zero(pair[1])]
    shown = (clear or pairs)[:MOST_EFFECTS]
    return {
        "title": f"Largest differences of the {_quantity(fit, shown[0][1])}",
        "caption": _caption(fit),
        "rows": _drawn(fit, shown),
        "n_smaller": len(clear) - len(shown) if clear else 0,
        "n_unclear": len(pairs) - len(clear) if clear else 0,
        "ruler": _scale([change for _, change in shown]),
    }


def _stated(fit: AbstractFit, one: Contrast) -> Change:
    """The change of the mean, or of the probability that changes most."""
    if not fit.model.response.is_categorical:
        return one.changes[0]
    return max(one.changes, key=lambda change: abs(change.estimate))


def _of_one_class(
    fit: AbstractFit, pairs: Sequence[tuple[Contrast, Change]]
) -> list[tuple[Contrast, Change]]:
    """Changes of the probability of one class in all contrasts: that of the largest change."""
    if not fit.model.response.is_categorical:
        return list(pairs)
    level = max(pairs, key=lambda pair: abs(pair[1].estimate))[1].level
    if len(pairs[0][0].changes) == 2:  # both change alike: the second one is stated
        level = pairs[0][0].changes[1].level
    return [
        (one, next(change for change in one.changes if change.level == level)) for one, _ in pairs
    ]


def _quantity(fit: AbstractFit, change: Change) -> str:
    name = fit.model.design.response_names[0]
    if change.level:
        return f"probability of {name} = {change.level}"
    return target_words(change.target, fit.model.response).format(y=fit.model.design.label(name))


def _has_zero(change: Change) -> bool:
    return change.lower <= 0.0 <= change.upper


def _caption(fit: AbstractFit) -> str:
    interval = "" if fit.is_point_estimate else f" Dot: estimate; bar: {percent(PROB)} interval."
    others = ""
    if len(fit.model.design.covariates) > 1:
        others = f" Averaged over {rows_words(fit, rows_averaged(fit))}, the others as observed."
    return f"Differences when one covariate changes.{others}{interval}"


def _drawn(fit: AbstractFit, shown: Sequence[tuple[Contrast, Change]]) -> list[Summary]:
    """Rows of the panel, with places of dot and bar in per cent of its width."""
    low, high = _ends([change for _, change in shown])
    decimals = significant([change.upper - change.lower or change.estimate
                            for _, change in shown], 2)  # fmt: skip
    return [
        {
            "covariate": fit.model.design.label(one.covariate),
            "from": one.words[0],
            "to": one.words[1],
            "estimate": change.estimate,
            "interval": None if fit.is_point_estimate else [change.lower, change.upper],
            "decimals": decimals,
            "places": [_place(value, low, high)
                       for value in (change.lower, change.estimate, change.upper)],
            "less": number >= LARGEST,
        }
        for number, (one, change) in enumerate(shown)
    ]  # fmt: skip


def _ends(shown: Sequence[Change]) -> tuple[float, float]:
    """Ends of the scale of the panel, zero among them."""
    return min(0.0, *(one.lower for one in shown)), max(0.0, *(one.upper for one in shown))


def _place(value: float, low: float, high: float) -> float:
    return round(100.0 * (value - low) / ((high - low) or 1.0), 1)


def _scale(shown: Sequence[Change]) -> Summary:
    """Place of zero in the panel, and up to three labels under it."""
    low, high = _ends(shown)
    ticks = number_axis(low, high).ticks
    ticks = [ticks[0], ticks[len(ticks) // 2], ticks[-1]] if len(ticks) > 3 else ticks
    return {
        "origin": _place(0.0, low, high),
        "labels": [(_place(at, low, high), text) for at, text in ticks],
    }


def _data(fit: AbstractFit) -> Summary:
    """Rows used of rows given, and whether effects are stated."""
    design = fit.model.design
    return {
        "used": design.n_fitted,
        "given": design.n_fitted + design.n_missing,
        "missing_in": design.left_out.columns if design.n_missing else "",
        "association": bool(design.covariates),
    }
