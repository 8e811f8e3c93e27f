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
from ..rows.average_effects import Change
from ..rows.contrasts import averaged_words, by_size
from ..rows.profiles import compared
from ..rows.sampling import gated

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_CLASSES = 5
"""Classes of which each covariate has an effect."""


def summary(fit: AbstractFit) -> Summary | None:
    """One line per covariate and comparison; for several responses or classes one for each."""
    design = fit.model.design
    levels = design.class_labels
    if not gated(fit) or not design.covariates or len(levels) > MOST_CLASSES:
        return None
    lines = list(_lines(fit))
    if not lines:
        return None
    return {
        "prob": PROB,
        "only_points": fit.is_point_estimate,
        "response": ", ".join(map(design.label, design.response_names)),
        "left_out": len(compared(design)) - len({one["covariate"] for one in lines}),
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


def _lines(fit: AbstractFit) -> Iterator[dict[str, object]]:
    """Effects on every target: later values of a covariate are compared with the first."""
    design = fit.model.design
    several = len(design.response_names) > 1
    for one in by_size(fit):
        whose = f" of {design.called(design.response_names[one.response])}" if several else ""
        for change in one.changes:
            yield {"covariate": design.label(one.covariate), "from": one.words[0],
                   "to": one.words[1], **_numbers(change, whose)}  # fmt: skip


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
    caption = (
        f"Change of the response's distribution when one covariate changes: {averaged_words(fit)}."
    )
    return table(
        frame.set_index(["covariate", "from", "to", "effect on"])[["difference", "interval"]],
        caption,
        titles={"interval": f"{percent(PROB)} interval", "effect on": "effect on"},
        decimals={"difference": each, "interval": each},
        rest="bvb.effects.comparisons(fit, ...)",
    )
