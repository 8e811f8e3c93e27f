"""The first sentences of a report, with their intervals and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.column_units import measured
from bayesvb.distributions.intervals import PROB
from bayesvb.results.capabilities import HasExactPosterior, HasJointDensity, HasScores
from bayesvb.results.checks.table import checks as all_checks

from ..cells.clauses import Clause, written
from ..cells.names import called
from ..cells.numerals import counted, numeral, percent, significant
from ..cells.plain import Summary
from ..figures.plot import FEW_TICKS
from ..rows.cluster_profiles import ClusterProfile, cluster_sentence
from ..rows.contrasts import is_extrapolated, main_covariate
from ..rows.group_effects import group_sentences
from ..rows.loadings import component_sentence
from ..rows.profiles import compared, quantiles_moved
from ..rows.sampling import regresses
from .classes import observed_share, probabilities_moved
from .effect_sentence import effect_clauses
from .trajectories import course_sentence, varying

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.checks.base import Check

WIDE = (0.05, 0.5, 0.95)
"""Quantiles of the response: its median, and the ends of its middle 90%."""

MOST_RESPONSES = 2
"""Responses of which a page says first what changes them."""

MOST_PICTURES = 4
"""Largest number of responses that are drawn side by side."""

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
        Clauses by section, from ``clauses_of``; by default computed here.
    checks : sequence of Check, optional
        Checks of the fit; by default computed here.
    """
    for name, (_, picture) in KINDS.items():
        if name not in sections or not _leads(name, sections[name]):
            continue
        section = sections[name]
        several = "responses" in section
        each = section["responses"] if several else [section]
        stated = clauses_of(fit, name, section) if clauses is None else clauses[name]
        n_more = len(section["responses"]) - MOST_RESPONSES if several else 0
        more = [f"{counted(n_more, 'more response')}: see all effects."] if n_more > 0 else []
        pictures = [one[picture] for one in each[:MOST_PICTURES]] if picture else [None]
        summary = {
            "sentences": [*_written(fit, stated, checks), *more],
            "figure": pictures[0],
            "multiples": _multiples(pictures),
        }
        if picture is None:
            return summary, sections
        taken = [{**one, picture: None} for one in each[:MOST_PICTURES]]
        kept = {**section, "responses": [*taken, *each[MOST_PICTURES:]]} if several else taken[0]
        return summary, {**sections, name: kept}
    return {"sentences": [], "figure": None, "multiples": []}, sections


def _multiples(pictures: Sequence[Summary | None]) -> list[Summary]:
    """Small pictures of several responses; none of a single one."""
    drawn = [one for one in pictures if one is not None]
    return [small_multiple(one) for one in drawn] if len(drawn) > 1 else []


def small_multiple(picture: Summary) -> Summary:
    """A picture in a row: without caption, and with every other one of many numbers."""
    if "x_labels" not in picture:  # of several drawings
        return {**picture, "caption": ""}
    ticks = picture["x_labels"]
    are_numbers = all(text.lstrip("−")[:1].isdigit() for _, text in ticks)
    every = 2 if len(ticks) > FEW_TICKS and are_numbers else 1
    return {**picture, "x_labels": ticks[::every], "end_labels": [], "caption": ""}


def clauses_of(fit: AbstractFit, name: str, section: Summary | None) -> Sentences:
    """Clauses of a page that begins with this section; none for other sections."""
    if section is None or name not in KINDS or not _leads(name, section):
        return []
    clauses, _ = KINDS[name]
    each = section["responses"][:MOST_RESPONSES] if "responses" in section else [section]
    return [sentence for one in each for sentence in clauses(fit, one)]


def _leads(name: str, section: Summary) -> bool:
    """Whether a page begins with a section: with courses only if classes differ in them."""
    return name != "trajectories" or section["lines"] is not None


def sentences(
    fit: AbstractFit, checks: Sequence[Check] | None = None, along: str | None = None
) -> list[str]:
    """First sentences of the report, without its pictures; of several responses for each."""
    return _written(fit, _clauses(fit, along), checks)


def _written(fit: AbstractFit, stated: Sentences, checks: Sequence[Check] | None) -> list[str]:
    known = all_checks(fit) if checks is None else checks
    return written(stated, known, fit.model.design.response_names)


def _clauses(fit: AbstractFit, along: str | None) -> Sentences:
    model = fit.model
    if model.response.level_names:
        return _of_classes(fit, {"along": along or main_covariate(fit, probabilities_moved)})
    grouping = model.grouping
    if grouping is not None and model.size > 1 and (time := varying(fit, grouping)):
        return _of_courses(fit, {"along": time})
    if regresses(fit):
        names = model.design.response_names
        sections = [{"name": name, "along": along or main_covariate(fit, quantiles_moved, name)}
                    for name in names]  # fmt: skip
        return [one for section in sections for one in _of_numbers(fit, section)]
    if isinstance(model, HasJointDensity):
        return _of_clusters(fit, {})
    if isinstance(model, HasScores):
        return _of_scores(fit, {})
    return _of_a_sample(fit, {}) if isinstance(model, HasExactPosterior) else []


def _of_numbers(fit: AbstractFit, section: Summary) -> Sentences:
    """Effect of the covariate that changes a response most."""
    y, along = section["name"], section["along"]
    called_y = called(fit.model.design, y)
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
        what = str(described.label("mean")).format(y=called_y)
        return _alone(f"{_no_covariate(fit)}the {what} is {percent(share)}", y)
    predictive = fit.predictive(fit.model.design.data_at(np.arange(1)), response=y)
    kind = int if described.is_discrete else float
    low, middle, high = (
        numeral(kind(one)) for one in predictive.quantile(np.array(WIDE))[:, 0].tolist()
    )
    return _alone(
        f"{_no_covariate(fit)}the median of {called_y} is {middle}, and its middle {percent(0.9)} "
        f"goes from {low} to {measured(high, y, units)}",
        y,
    )


def _of_classes(fit: AbstractFit, section: Summary) -> Sentences:
    """Effect of the covariate that changes the probabilities of a categorical response most."""
    y = fit.model.design.response_names[0]
    along = section["along"]
    if along is not None and is_extrapolated(fit, along) and (seen := observed_share(fit, along)):
        return [(Clause(seen, seen, covariate=along, response=y),)]
    if along is not None:
        return effect_clauses(fit, along, y)
    probability = fit.predict(fit.model.design.data_at(np.arange(1)), kind="probability")
    most = int(probability.to_numpy()[0].argmax())
    level, share = fit.model.response.level_names[most], float(probability.to_numpy()[0, most])
    what = "class" if fit.model.response.is_categorical else "level"
    return _alone(
        f"{_no_covariate(fit)}{called(fit.model.design, y)} = {level} is the most probable {what}, "
        f"with {percent(share)}",
        y,
    )


def _no_covariate(fit: AbstractFit) -> str:
    """Why no effect is stated."""
    if fit.model.design.covariates:
        return "No covariate changes the fitted distribution: "
    return "The formula has no covariate: "


def _alone(text: str, response: str = "") -> Sentences:
    """One sentence of one clause about all rows."""
    return [(Clause(text, text, response=response),)]


def _of_courses(fit: AbstractFit, section: Summary) -> Sentences:
    """Courses of the classes of groups, and how many groups follow each."""
    return _alone(course_sentence(fit, section["along"]), fit.model.design.response_names[0])


def _of_clusters(fit: AbstractFit, section: Summary) -> Sentences:
    """Sizes of the clusters, and the variable that separates them best."""
    assert isinstance(fit.model, HasJointDensity)  # as their section is there
    profile, n_all = ClusterProfile.from_fit(fit, fit.model.variables), len(fit.components())
    if len(profile.number) > 1:
        return _alone(cluster_sentence(fit, profile))
    of = f" of the {numeral(n_all)} of the model" if n_all > 1 else ""
    return _alone(f"One cluster{of} holds all rows")


def _of_scores(fit: AbstractFit, section: Summary) -> Sentences:
    """Share of the variance that the effective components carry."""
    assert isinstance(fit.model, HasScores)  # as their section is there
    return _alone(component_sentence(fit, fit.model))


def _of_a_sample(fit: AbstractFit, section: Summary) -> Sentences:
    """Mean and standard deviation with their intervals, both of the exact posterior."""
    assert isinstance(fit.model, HasExactPosterior)  # as their section is there
    frame = fit.model.exact(fit)[["mean", "lower", "upper"]]
    known = dict(zip(frame.index, frame.to_numpy(dtype=float), strict=True))
    name, moments = fit.model.design.response_names[0], []
    for part, lead in (("mu", f"{percent(PROB)} interval "), ("sigma", "")):
        each = known[part, "exact"]
        mean, low, high = (numeral(float(one), significant(np.diff(each[1:]), 2)) for one in each)
        mean = measured(mean, name, fit.model.design.known_units)
        moments.append(f"{mean} ({lead}{low} to {high})")
    what = f"The mean of {called(fit.model.design, name)} is {moments[0]}"
    return _alone(f"{what}, its standard deviation {moments[1]}", name)


KINDS: dict[str, tuple[Callable[[AbstractFit, Summary], Sentences], str | None]] = {
    "trajectories": (_of_courses, "lines"),
    "conditional": (_of_numbers, "bands"),
    "classes": (_of_classes, "curves"),
    "pairs": (_of_clusters, "clusters"),
    "scores": (_of_scores, "scores"),
    "exact": (_of_a_sample, "histogram"),
}
"""Section -> what makes its sentences, and the key of its picture if one says the same."""
