"""From fits to the plain summary of a page, and from that to HTML."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from importlib.metadata import version
from importlib.util import cache_from_source
from typing import TYPE_CHECKING, Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemBytecodeCache,
    PackageLoader,
    StrictUndefined,
)
from jinja2.bccache import Bucket
from markupsafe import Markup

from bayesvb.engines.side_by_side import side_by_side
from bayesvb.errors import without_controls
from bayesvb.numerics.runtime import processors
from bayesvb.results.checks.computation import computation_checks
from bayesvb.results.checks.table import fit_checks, ordered
from bayesvb.results.printing import formula_text
from bayesvb.results.subsampling import leave_rows_out

from .answer import answer, listed
from .cells.markup import breakable, code
from .cells.names import called, cut
from .cells.numerals import counted, numeral, percent, signed
from .cells.plain import Summary, numbers_only, plain
from .choices import UNCHOSEN, Choices, along_of, check_along, labelled_fits
from .rows.contrasts import contrasts
from .rows.sampling import gated
from .sections import SECTIONS
from .sections.candidates import HasCandidates, candidates, with_choice
from .sections.comparison import comparison
from .sections.finding import Sentences, clauses_of, finding
from .sections.side_by_side import side_by_side as compared_fits
from .sections.verdict import verdict

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.checks.base import Check

NAMED = 4
"""Variables that the title names."""

FIT, COMPUTATION = "checks of the fit", "checks of the computation"
"""Parts of a page in addition to its sections."""

TOGETHER = (("classification", FIT), (COMPUTATION, "computation"))
"""Parts that share computations, each tuple made by one process."""

LONGEST = (
    COMPUTATION,
    "influence",
    "classification",
    FIT,
    "classes",
    "conditional",
    "effects",
    "calibration",
    "accuracy",
    "replicates",
    "learning",
    "sensitivity",
    "posterior",
    "components",
)
"""Parts that may take longest, begun first: no process then waits for one of them."""

ABOUT_ONE = ("conditional", "classes", "calibration")
"""Sections about the covariate of the finding."""

SHORT = ("effects", "limits")
"""Sections of the short edition, which the full one does not repeat."""

READ = (*SHORT, "calibration", "model", "reproduce")
"""Sections from which the short edition is written."""

TITLES = {"effects": "All effects", "trust": "Can it be trusted?", "verdict": "Every check",
          "limits": "What this does not say", "reproduce": "Versions and citations"}  # fmt: skip
"""Headings that differ from the names of the sections."""

FORMAT = 2
"""Raised when a reader of the JSON twin has to change."""


def page_summary(
    fits: Mapping[str, AbstractFit],
    choices: Choices = UNCHOSEN,
    selection: HasCandidates | None = None,
) -> Summary:
    """Everything that the page says, as JSON-able values; figures also as drawings.

    Parameters
    ----------
    fits : mapping
        Name to fit. A single fit needs no name.
    choices : Choices, optional
    selection : Selection, optional
        Selection from which the fits were chosen.
    """
    check_along(list(fits.values()), choices.along)
    fits, several = labelled_fits(fits, choices.labels), len(fits) > 1
    reports: list[Summary] = []
    for number, (name, fit) in enumerate(fits.items(), start=1):
        prefix = f"fit{number}-" if several else ""
        own = choices if not reports else replace(choices, along=_along(choices, reports[0]))
        reports.append(_fit_summary(fit, name, prefix, own))
    if not several:
        reports = [with_choice(reports[0], selection)]
    whole = plain(
        {
            "format": FORMAT,
            "title": _title(fits),
            "kind": _kind(fits),
            "question": _question(fits, reports, choices),
            "date": choices.date,
            "edition": choices.edition,
            "source": choices.source,
            "notes": list(choices.notes),
            "version": version("bayesvb"),
            "candidates": candidates(selection),
            "comparison": comparison(fits) if several else None,
            "fits": reports,
        }
    )
    found: Summary = identified(compared_fits(whole) if several else whole, "page")
    return found


def _along(choices: Choices, first: Summary) -> str | None:
    """Covariate along which all fits are drawn: the one that the author chose or the first has."""
    return choices.along or first["along"]


def _fit_summary(fit: AbstractFit, name: str, prefix: str, choices: Choices) -> Summary:
    makers = _makers(along_of(fit, choices.along), short=choices.edition == "short")
    kept, clauses, verdicts = _parts(fit, makers)
    found, sections = finding(fit, kept, clauses, verdicts)
    if choices.edition == "short":
        sections = {key: one for key, one in sections.items() if key in READ}
    drawn = (kept.get(name, {}) for name in ("conditional", "classes"))
    model, along = fit.model, next((each for one in drawn for each in _alongs(one)), None)
    components = kept.get("components", {"occupied": fit.core.n_components})
    return {
        "name": name,
        "prefix": prefix,
        "formula": formula_text(model),
        "along": along,
        "in_short": {
            "rows": model.design.n_fitted,
            "left_out": model.design.n_missing,
            "components": fit.core.n_components,
            "occupied": components["occupied"],
            "description": model.description(),
            "seconds": fit.seconds,
        },
        "finding": found,
        "answer": answer(fit, kept, verdicts, choices.question),
        "verdict": verdict(verdicts, kept.get("computation")),
        "sections": sections,
    }


def _alongs(section: Summary) -> list[str]:
    """Covariates along which a section is drawn."""
    return [one["along"] for one in section.get("responses", [section]) if one.get("along")]


@dataclass(frozen=True)
class _Part:
    """A section, or checks, with the clauses of its sentences."""

    content: Any
    clauses: Sentences = ()


@dataclass(frozen=True)
class Maker:
    """Function that makes a section, or checks, of a fit.

    Attributes
    ----------
    make : callable
    along : str or None
        The covariate that the author chose, where the section is about one.
    """

    make: Callable[..., Any]
    along: str | None = None

    def __call__(self, fit: AbstractFit) -> Any:
        """Return the part of this fit."""
        return self.make(fit) if self.along is None else self.make(fit, self.along)


def _makers(along: str | None = None, *, short: bool) -> dict[str, Maker]:
    """Functions that make the parts of an edition."""
    made = {name: one.short if short else one.summary for name, one in SECTIONS.items()}
    sections = {
        name: Maker(make, along if name in ABOUT_ONE else None)
        for name, make in made.items()
        if make is not None
    }
    return {**sections, FIT: Maker(fit_checks), COMPUTATION: Maker(computation_checks)}


def _parts(
    fit: AbstractFit, makers: Mapping[str, Maker]
) -> tuple[dict[str, Summary], dict[str, Sentences], list[Check]]:
    """Sections that apply, the clauses of their sentences, and the checks.

    The fit keeps them: another page, or another format, is written from them.
    """
    known: dict[Maker, _Part] = fit.cache.once("report parts", dict)
    missing = {name: maker for name, maker in makers.items() if maker not in known}
    if missing:
        known |= {makers[name]: part for name, part in _computed(fit, missing).items()}
    found = {name: known[maker] for name, maker in makers.items()}
    kept = {name: found[name] for name in SECTIONS if name in found}
    kept = {name: part for name, part in kept.items() if part.content is not None}
    return (
        {name: part.content for name, part in kept.items()},
        {name: part.clauses for name, part in kept.items()},
        ordered([*found[FIT].content, *found[COMPUTATION].content]),
    )


def _computed(fit: AbstractFit, makers: Mapping[str, Maker]) -> dict[str, _Part]:
    """Parts of the report by name, computed in parallel after leave-one-out."""
    leave_rows_out(fit)
    if gated(fit):
        contrasts(fit)  # here, as sentence, table and panel of effects would each compute them
    tasks = [
        partial(_made, {name: makers[name] for name in names}, fit) for names in _tasks(makers)
    ]
    return {name: part for made in side_by_side(tasks, processors()) for name, part in made.items()}


def _tasks(names: Collection[str]) -> list[tuple[str, ...]]:
    """Parts of a page that one process makes in turn, in the order in which they are begun."""
    shared = {name for together in TOGETHER for name in together}
    alone = [(name,) for name in names if name not in shared]
    together = [tuple(name for name in each if name in names) for each in TOGETHER]
    places = {name: place for place, name in enumerate(LONGEST)}
    tasks = [*filter(None, together), *alone]
    return sorted(tasks, key=lambda names: places.get(names[0], len(places)))


def _made(makers: Mapping[str, Maker], fit: AbstractFit, told: object) -> dict[str, _Part]:
    """Parts of a report, without progress reports."""
    found = {}
    for name, maker in makers.items():
        content = maker(fit)
        clauses = clauses_of(fit, name, content) if name in SECTIONS else ()
        found[name] = _Part(content, clauses)
    return found


def _kind(fits: Mapping[str, AbstractFit]) -> str:
    """Kind of model in words, or that they are of several kinds."""
    kinds = {re.sub("(?<=[a-z])(?=[A-Z])", " ", type(fit.model).__name__) for fit in fits.values()}
    words = kinds.pop().split() if len(kinds) == 1 else ["Fits"]
    return " ".join([words[0], *(one if one.isupper() else one.lower() for one in words[1:])])


def _title(fits: Mapping[str, AbstractFit]) -> str:
    names = _observed(fits)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    what = f"{_kind(fits)} of {', '.join(names[:NAMED])}{more}"
    return what if len(fits) == 1 else f"{what}: {len(fits)} fits"


def _question(fits: Mapping[str, AbstractFit], reports: Sequence[Summary], choices: Choices) -> str:
    """The question of the only fit, or which of several predicts best."""
    if choices.question or len(fits) == 1:
        return choices.question or str(reports[0]["answer"]["question"])
    return f"Which of {len(fits)} models predicts {listed(_observed(fits))} best?"


def _observed(fits: Mapping[str, AbstractFit]) -> list[str]:
    """Names of the responses of the models, each once."""
    models = [fit.model for fit in fits.values()]
    names = (called(model.design, name) for model in models for name in model.observed())
    return list(dict.fromkeys(names))


def identified(value: Any, key: str) -> Any:
    """The summary with an id in each figure and table."""
    if isinstance(value, list):
        return [identified(one, f"{key}-{i}") for i, one in enumerate(value)]
    if not isinstance(value, dict):
        return value
    named = {
        name: identified(one, f"{key}-{name.replace(' ', '-')}") for name, one in value.items()
    }
    return {**named, "id": key} if "caption" in named else named


def html(summary: Summary) -> str:
    """The page of a summary."""
    titles = {name: section.title for name, section in SECTIONS.items()} | TITLES
    style = resources.files("bayesvb.reports").joinpath("static/report.css")
    template = _environment().get_template("page.html")
    return without_controls(
        template.render(
            summary=summary,
            titles=titles,
            short=SHORT,
            style=Markup(style.read_text(encoding="utf-8")),
            twin=Markup(twin(summary)),
        )
    )


def twin(summary: Summary) -> str:
    """The numbers of a summary as JSON that may stand in a script element."""
    text = json.dumps(
        numbers_only(summary), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    for sign in "<>&":  # no tag, comment or entity can begin inside the element
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def indented(summary: Summary) -> str:
    """The numbers of a summary as JSON that can be read."""
    return json.dumps(numbers_only(summary), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


class CompiledTemplates(FileSystemBytecodeCache):
    """Bytecode of templates in the folder of compiled modules, for each version that may differ.

    Compiling the templates takes a quarter of the time of a first report. Nothing is
    written where Python writes no bytecode or the folder cannot be written to.
    """

    def __init__(self) -> None:
        versions = "-".join([version("bayesvb"), version("jinja2"), sys.implementation.cache_tag])
        super().__init__(os.path.dirname(cache_from_source(__file__)), f"%s.{versions}.template")

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write one template, if possible."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)


@cache
def _environment() -> Environment:
    """Environment of the templates: made once, as it keeps those that it has compiled."""
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("bayesvb.reports", "templates"),
                PackageLoader("bayesvb.reports.sections", "."),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        bytecode_cache=CompiledTemplates(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "numeral": numeral, "percent": percent, "code": code, "signed": signed, "counted": counted,
        "cut": cut, "breakable": breakable,
    }  # fmt: skip
    return environment
