"""The first sentences of a report, with their intervals and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.column_units import measured
from bayesvb.distributions.intervals import PROB
from bayesvb.results.capabilities import HasExactPosterior, HasJointDensity, HasScores
from bayesvb.results.checks.table import checks as all_checks
from bayesvb.results.summary import coefficient_table

from ..cells.clauses import Clause, written
from ..cells.numerals import counted, numeral, percent, significant
from ..cells.plain import Summary
from ..rows.group_effects import group_sentences
from ..rows.profiles import compared, most_moving, quantiles_moved
from ..rows.sampling import regresses
from .classes import probabilities_moved
from .effect_sentence import effect_clauses

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.checks.base import Check

WIDE = (0.05, 0.5, 0.95)
"""Quantiles of the response: its median, and the ends of its middle 90%."""

MOST_RESPONSES = 2
"""Responses of which a page says first what changes them."""

Sentences = Sequence[Sequence[Clause]]
"""Clauses of each sentence."""


def finding(
    fit: AbstractFit,
    sections: Summary,
    clauses: Mapping[str, Sentences] | None = None,
    checks: Sequence[Check] | None = None,
) -> tuple[Summary, Summary]:
    """Sentences and a picture, and the sections without the picture: a page has it once.

    Parameters
    ----------
    fit : Fit
    sections : mapping
        Summaries of the sections of the page.
    clauses : mapping, optional
        Clauses by section, from ``clauses_of``; computed here if left out.
    checks : sequence of Check, optional
        Checks of the fit; computed here if left out.
    """
    for name, (_, picture) in KINDS.items():
        if name not in sections:
            continue
        section = sections[name]
        several = "responses" in section
        first = section["responses"][0] if several else section
        stated = clauses_of(fit, name, section) if clauses is None else clauses[name]
        summary = {
            "sentences": _written(fit, stated, checks),
            "figure": first[picture] if picture else None,
        }
        if picture is None:
            return summary, sections
        remaining = {**first, picture: None}
        if several:
            remaining = {**section, "responses": [remaining, *section["responses"][1:]]}
        return summary, {**sections, name: remaining}
    return {"sentences": [], "figure": None}, sections


def clauses_of(fit: AbstractFit, name: str, section: Summary | None) -> Sentences:
    """Clauses of a page that begins with this section; none for other sections."""
    if section is None or name not in KINDS:
        return []
    clauses, _ = KINDS[name]
    each = section["responses"][:MOST_RESPONSES] if "responses" in section else [section]
    return [sentence for one in each for sentence in clauses(fit, one)]


def sentences(fit: AbstractFit, checks: Sequence[Check] | None = None) -> list[str]:
    """First sentences of the report, without its pictures; of several responses for each."""
    return _written(fit, _clauses(fit), checks)


def _written(fit: AbstractFit, stated: Sentences, checks: Sequence[Check] | None) -> list[str]:
    known = all_checks(fit) if checks is None else checks
    return written(stated, known, fit.model.design.response_names)


def _clauses(fit: AbstractFit) -> Sentences:
    model = fit.model
    if model.response.level_names:
        return _of_classes(fit, {"along": most_moving(fit, probabilities_moved)})
    if regresses(fit):
        names = model.design.response_names
        sections = [{"name": name, "along": most_moving(fit, quantiles_moved, name)}
                    for name in names]  # fmt: skip
        return [one for section in sections for one in _of_numbers(fit, section)]
    if isinstance(model, HasJointDensity):
        return _of_groups(fit, {"n_variables": len(model.variables)})
    if isinstance(model, HasScores):
        return _of_scores(fit, {})
    return _of_a_sample(fit, {}) if isinstance(model, HasExactPosterior) else []


def _of_numbers(fit: AbstractFit, section: Summary) -> Sentences:
    """Effect of the covariate that changes a response most."""
    y, along = section["name"], section["along"]
    differ = [
        (Clause(text, covariate=grouping, response=y),)
        for grouping, text in group_sentences(fit).items()
    ]
    if differ and compared(fit.model.design)[0] in fit.model.design.groupings:
        return differ  # there is no other covariate
    if along is not None:
        return [*effect_clauses(fit, along, y), *differ]
    units = fit.model.design.known_units
    described = fit.model.response
    if described.is_probability:
        probability = fit.predict(fit.model.design.data_at(np.arange(1)), "probability")
        share = float(np.asarray(probability)[0])
        what = str(described.label("mean")).format(y=y)
        return _alone(f"{_no_covariate(fit)}the {what} is {percent(share)}", y)
    predictive = fit.predictive(fit.model.design.data_at(np.arange(1)), response=y)
    kind = int if described.is_discrete else float
    low, middle, high = (
        numeral(kind(one)) for one in predictive.quantile(np.array(WIDE))[:, 0].tolist()
    )
    return _alone(
        f"{_no_covariate(fit)}the median of {y} is {middle}, and its middle {percent(0.9)} goes "
        f"from {low} to {measured(high, y, units)}",
        y,
    )


def _of_classes(fit: AbstractFit, section: Summary) -> Sentences:
    """Effect of the covariate that changes the probabilities of a categorical response most."""
    y = fit.model.design.response_names[0]
    if section["along"] is not None:
        return effect_clauses(fit, section["along"], y)
    probability = fit.predict(fit.model.design.data_at(np.arange(1)), kind="probability")
    most = int(probability.to_numpy()[0].argmax())
    level, share = fit.model.response.level_names[most], float(probability.to_numpy()[0, most])
    what = "class" if fit.model.response.is_categorical else "level"
    return _alone(
        f"{_no_covariate(fit)}{y} = {level} is the most probable {what}, with {percent(share)}", y
    )


def _no_covariate(fit: AbstractFit) -> str:
    """Why no effect is stated."""
    if fit.model.design.covariates:
        return "No covariate changes the fitted distribution: "
    return "The formula has no covariate: "


def _alone(text: str, response: str = "") -> Sentences:
    """One sentence of one clause about all rows."""
    return [(Clause(text, text, response=response),)]


def _of_groups(fit: AbstractFit, section: Summary) -> Sentences:
    """How many components hold rows, and the largest."""
    frame = fit.components()
    held = int((frame["rows"] > 0).sum())
    first = frame.iloc[0]
    low, high = float(first["share_lower"]), float(first["share_upper"])
    interval = (
        ""
        if fit.is_point_estimate
        else f" ({percent(PROB)} interval {percent(low)} to {percent(high)})"
    )
    verb = "holds" if held == 1 else "hold"
    share = percent(float(first["share"]))
    if len(frame) == 1:
        return _alone(f"The model has one component for {section['n_variables']} variables")
    which = _of_all(held, len(frame))
    return _alone(f"{which} {verb} rows, the largest {share} of them{interval}")


def _of_all(number: int, total: int) -> str:
    """Number of components out of all."""
    if number == total == 2:
        return "Both components"
    if number == total > 1:
        return f"All {counted(total, 'component')}"
    return f"Of {counted(total, 'component')} {numeral(number)}"


def _of_scores(fit: AbstractFit, section: Summary) -> Sentences:
    """How much of the variance the components explain that carry signal."""
    frame = fit.components()
    effective = frame[frame["effective"]]
    if effective.empty:
        return _alone("No component has a variance above the noise")
    shares = effective["variance"].to_numpy(dtype=float)
    more = f", the first alone {percent(shares[0])}" if len(shares) > 1 else ""
    one = len(effective) == 1
    verbs = ("has", "explains") if one else ("have", "explain")
    return _alone(
        f"{_of_all(len(effective), len(frame))} {verbs[0]} a variance above the noise and "
        f"{verbs[1]} {percent(shares.sum())} of the variance{more}"
    )


def _of_a_sample(fit: AbstractFit, section: Summary) -> Sentences:
    """Mean and standard deviation with their intervals."""
    frame = coefficient_table(fit).droplevel(["component", "term"])
    name, moments = fit.model.design.response_names[0], []
    for part, word in (("mu", "mean"), ("sigma", "standard deviation")):
        each = frame.loc[[part], ["mean", "lower", "upper"]].to_numpy(dtype=float)[0]
        mean, low, high = (numeral(float(one), significant(np.diff(each[1:]), 2)) for one in each)
        mean = measured(mean, name, fit.model.design.known_units)
        moments.append(f"{word} {mean} ({percent(PROB)} interval {low} to {high})")
    return _alone(f"{name} has {' and '.join(moments)}", name)


KINDS: dict[str, tuple[Callable[[AbstractFit, Summary], Sentences], str | None]] = {
    "conditional": (_of_numbers, "bands"),
    "classes": (_of_classes, "curves"),
    "pairs": (_of_groups, "clusters"),
    "scores": (_of_scores, "scores"),
    "exact": (_of_a_sample, "histogram"),
}
"""Section -> what makes its sentences, and the key of its picture if one says the same."""
