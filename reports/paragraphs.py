"""Methods and results of a fit as two paragraphs of prose, for a paper."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.case_weights import sum_and_error
from bayesvb.distributions.intervals import PROB
from bayesvb.results.checks.table import checks
from bayesvb.results.printing import formula_text, interval_line
from bayesvb.results.subsampling import criteria_at, unit_sample

from .cells.numerals import counted, numeral, percent
from .rows.sampling import ROWS_LEFT_OUT, choice_words
from .sections.finding import sentences
from .sections.reproduce import changed_priors

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def paragraphs(fit: AbstractFit) -> str:
    """Two paragraphs: how the fit was made, and what it says; a blank line between them."""
    return "\n\n".join(" ".join(part) for part in (_methods(fit), _results(fit)))


def _methods(fit: AbstractFit) -> list[str]:
    model, design = fit.model, fit.model.design
    rows = counted(design.n_fitted, "row")
    if design.n_missing:
        rows += f" ({numeral(design.n_missing)} left out for missing values)"
    restarts = len(fit.restarts)
    runs = f" from {counted(restarts, 'start')}" if restarts > 1 else ""
    return [
        f"{model.description()}: the formula {formula_text(model)} was fitted to {rows} with "
        f"bayesvb {version('bayesvb')} (seed {fit.seed}){runs}.",
        fit.engine.description(model.factor_words),
        _priors(fit),
        f"{interval_line(fit)} They are central {percent(PROB)} intervals.",
    ]


def _priors(fit: AbstractFit) -> str:
    usual = fit.model.priors == type(fit.model.priors)()
    if usual:
        return "Priors were the weakly informative defaults of the package."
    changed = ", ".join(changed_priors(fit.model.priors))
    return f"Priors were the weakly informative defaults of the package but for {changed}."


def _results(fit: AbstractFit) -> list[str]:
    return [*sentences(fit), *_accuracy(fit), _checked(fit)]


def _accuracy(fit: AbstractFit) -> list[str]:
    """Log density per row left out, of all rows or of a stated choice of them."""
    chosen = unit_sample(fit, ROWS_LEFT_OUT)
    found = criteria_at(fit, chosen.at)[0]
    weights = np.ones(len(found.pointwise)) if found.weights is None else found.weights
    total, se = sum_and_error(found.pointwise, weights)
    unit = chosen.plural.removesuffix("s")
    of = "" if chosen.whole else f" ({choice_words(chosen)})"
    return [
        f"The mean expected log density of a {unit} left out{of} was "
        f"{numeral(total / weights.sum(), 3)} nats (standard error "
        f"{numeral(se / weights.sum(), 3)}; {numeral(total, 1)} in all)."
    ]


def _checked(fit: AbstractFit) -> str:
    found = [one for one in checks(fit) if one.weighs]
    passed = sum(one.grade == "ok" for one in found)
    told = f"{passed} of {counted(len(found), 'check')} of the fit were in order"
    for grade, words in (("problem", "not in order"), ("note", "doubtful")):
        names = list(dict.fromkeys(one.name for one in found if one.grade == grade))
        if names:
            told += f"; {words}: {', '.join(names).lower()}"
    return told + "."
