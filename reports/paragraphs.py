"""Methods and results of a fit as two paragraphs of prose, for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.case_weights import sum_and_error
from bayesvb.distributions.intervals import PROB
from bayesvb.results.checks.table import checks as all_checks
from bayesvb.results.printing import formula_text, imputation_words, interval_line
from bayesvb.results.subsampling import left_out_at, unit_sample

from .cells.numerals import counted, numeral, percent
from .choices import check_along, labelled_fits
from .prior_clauses import prior_sentence
from .rows.contrasts import averaged_words, contrasts
from .rows.sampling import ROWS_LEFT_OUT, choice_words, gated
from .sections.finding import sentences

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.checks.base import Check


def paragraphs(
    fit: AbstractFit, along: str | None = None, labels: Mapping[str, str] | None = None
) -> str:
    """Two paragraphs: methods and results; a blank line between them."""
    check_along([fit], along)
    named = labelled_fits({"": fit}, labels)[""]
    return "\n\n".join(" ".join(part) for part in (_methods(fit), _results(named, along)))


def _methods(fit: AbstractFit) -> list[str]:
    model, design = fit.model, fit.model.design
    rows = counted(design.n_fitted, "row")
    if design.n_missing:
        columns = f" of {design.left_out.columns}" if design.left_out.columns else ""
        rows += f" ({numeral(design.n_missing)} omitted for missing values{columns})"
    restarts = len(fit.restarts)
    imputed = [f"Values were {design.filled_in}. {imputation_words(fit)}"] if design.imputed else []
    runs = f" with {numeral(restarts)} random initialisations" if restarts > 1 else ""
    return [
        f"{model.description()}: the formula {formula_text(model)} was fitted to {rows}{runs} by "
        f"bayesvb {version('bayesvb')} (seed {fit.seed}).",
        *imputed,
        fit.engine.description(model.factor_words),
        prior_sentence(fit),
        f"{interval_line(fit)} They are central {percent(PROB)} intervals.",
    ]


def _results(fit: AbstractFit, along: str | None) -> list[str]:
    checks = all_checks(fit)
    return [*sentences(fit, checks, along), *_averaged(fit), *_accuracy(fit), _checked(checks)]


def _averaged(fit: AbstractFit) -> list[str]:
    """Over which rows, and between which values, effects are averages."""
    if not gated(fit) or not contrasts(fit):
        return []
    return [f"Effects are {averaged_words(fit)}."]


def _accuracy(fit: AbstractFit) -> list[str]:
    """Log density per row held out, of all rows or of a stated choice of them."""
    chosen = unit_sample(fit, ROWS_LEFT_OUT)
    elpd = left_out_at(fit, chosen.at)
    weights = np.ones(len(elpd.pointwise)) if elpd.weights is None else elpd.weights
    total, se = sum_and_error(elpd.pointwise, weights)
    unit = chosen.plural.removesuffix("s")
    of = "" if chosen.whole else f" of {choice_words(chosen)}"
    return [
        f"The held-out expected log predictive density{of} was {numeral(total, 1)} nats "
        f"(SE {numeral(se, 1)}), {numeral(total / weights.sum(), 3)} per {unit}."
    ]


COUNTED = "that count towards the verdict"


def _checked(checks: Sequence[Check]) -> str:
    """Number of checks that passed, and the names of the others."""
    graded = [check for check in checks if check.weighs]
    passed = sum(check.grade == "ok" for check in graded)
    if passed == len(graded):
        return f"All {numeral(passed)} checks {COUNTED} passed."
    text = f"{numeral(passed)} of the {numeral(len(graded))} checks {COUNTED} passed"
    for grade, words in (("problem", "problems"), ("note", "notes")):
        names = list(dict.fromkeys(check.name for check in graded if check.grade == grade))
        if names:
            text += f"; {words}: {', '.join(names)}"
    return text + "."
