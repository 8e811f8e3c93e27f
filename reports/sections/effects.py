"""Average effects of each covariate on the response, with intervals, before any coefficient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from bayesvb.distributions.intervals import PROB
from bayesvb.effects.estimands import target_words

from ..cells.numerals import percent
from ..cells.plain import Summary
from ..cells.tables import table
from ..rows.average_effects import (
    ENDS,
    Change,
    average_draws,
    changes,
    compared_values,
    rows_averaged,
    rows_words,
    targets_of,
)
from ..rows.profiles import covariate, labels
from ..rows.sampling import gated

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_COVARIATES = 20
"""Covariates of the table."""

MOST_LEVELS = 8
"""Levels that are compared with the first; of more the effect is no line of a short table."""

MOST_CLASSES = 5
"""Classes of which each covariate has an effect."""


def summary(fit: AbstractFit) -> Summary | None:
    """One line per covariate and comparison; for several responses or classes one for each."""
    design = fit.model.design
    levels = design.class_labels
    if not gated(fit) or not design.covariates or len(levels) > MOST_CLASSES:
        return None
    lines = [
        line for name in design.covariates[:MOST_COVARIATES] for line in _lines(fit, str(name))
    ]
    if not lines:
        return None
    more = len(design.covariates) - MOST_COVARIATES
    return {
        "prob": PROB,
        "only_points": fit.is_point_estimate,
        "response": ", ".join(map(design.label, design.response_names)),
        "left_out": max(more, 0),
        "classes": bool(levels),
        "summaries": _summaries(fit, {str(line["target"]) for line in lines}),
        "table": _table(fit, pd.DataFrame(lines)),
    }


def _summaries(fit: AbstractFit, targets: set[str]) -> str:
    """Names of the quantities that are compared, of all responses."""
    design, described = fit.model.design, fit.model.response
    names = ", ".join(map(design.label, design.response_names))
    if described.is_categorical:
        return "probabilities"
    *first, last = (target_words(one, described) for one in described.targets if one in targets)
    before = "".join(f"{one.removesuffix(' of {y}')} and of the " for one in first)
    return f"{before}{last}".format(y=names)


def _lines(fit: AbstractFit, name: str) -> Iterator[dict[str, object]]:
    """Effects of one covariate on every target: later values are compared with the first."""
    design, values = fit.model.design, compared_values(fit, name)
    discrete = covariate(design, name).discrete
    if len(values) < 2 or (discrete and len(values) > MOST_LEVELS):
        return
    draws = average_draws(fit, name, values, targets_of(fit))
    first, *others = labels(values)
    for target in draws:
        for place, later in enumerate(others, start=1):
            for number, response in enumerate(design.response_names):
                whose = f" of {response}" if len(design.response_names) > 1 else ""
                for change in changes(fit, {target: draws[target]}, (0, place), number):
                    yield {"covariate": design.label(name), "from": first, "to": later,
                           **_numbers(change, whose)}  # fmt: skip


def _numbers(change: Change, whose: str) -> dict[str, object]:
    return {
        "effect on": (change.level or change.target) + whose,
        "difference": change.estimate,
        "interval": [change.lower, change.upper],
        "decimals": change.decimals,
        "target": change.target,
    }


def _table(fit: AbstractFit, frame: pd.DataFrame) -> Summary:
    each = frame["decimals"].tolist()
    ends = " to ".join(percent(end) for end in ENDS)
    caption = (
        "Change of the response's distribution when one covariate changes and the others stay as "
        f"observed, averaged over {rows_words(fit, rows_averaged(fit))}. Numeric covariates go "
        f"from their {ends} quantile."
    )
    return table(
        frame.set_index(["covariate", "from", "to", "effect on"])[["difference", "interval"]],
        caption,
        titles={"interval": f"{percent(PROB)} interval", "effect on": "effect on"},
        decimals={"difference": each, "interval": each},
        rest="bvb.effects.comparisons(fit, ...)",
    )
