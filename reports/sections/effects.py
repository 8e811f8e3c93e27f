"""Average effects of each covariate on the response, with intervals, before any coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.distributions.intervals import PROB
from bayesvb.effects.covariates import Covariate
from bayesvb.effects.marginal_effects import average_differences
from bayesvb.errors import DataError
from bayesvb.results.subsampling import sample

from ..cells.numerals import percent, significant
from ..cells.plain import Summary
from ..cells.tables import table
from ..rows.profiles import covariate, labels
from ..rows.sampling import choice_note, gated

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

ROWS = 300
"""Rows over which effects are averaged: the error of that is small beside the interval."""

MOST_COVARIATES = 20
"""Covariates of the table."""

MOST_LEVELS = 8
"""Levels that are compared with the first; of more the effect is no line of a short table."""

MOST_CLASSES = 5
"""Classes of which each covariate has an effect."""

QUARTILES = (0.25, 0.75)


def summary(fit: AbstractFit) -> Summary | None:
    """One line per covariate and comparison; for several responses or classes one for each."""
    design = fit.model.design
    levels = design.class_labels if design.levels else ()
    if not gated(fit) or not design.covariates or len(levels) > MOST_CLASSES:
        return None
    chosen = sample(fit, ROWS)
    rows = design.frame.iloc[chosen.at][list(design.covariates)]
    targets = ("probability",) if levels else ("mean", "sd")
    found = []
    for name in design.covariates[:MOST_COVARIATES]:
        values = _compared(design.frame, covariate(design, name))
        own = None if values is None else _of(fit, name, values, rows, targets)
        if own is not None:
            found.append(own)
    if not found:
        return None
    more = len(design.covariates) - MOST_COVARIATES
    return {
        "prob": PROB,
        "only_points": fit.only_points,
        "response": ", ".join(map(design.label, design.response_names)),
        "weighted": fit.model.weights is not None,
        "left_out": max(more, 0),
        "classes": bool(levels),
        "table": _table(pd.concat(found), choice_note("Averages are over", chosen)),
    }


def _compared(frame: pd.DataFrame, one: Covariate) -> list[object] | None:
    """Quartiles of a number; all levels of anything else; None if there are too many, or one."""
    if one.discrete:
        values = list(one.values)
        return values if 2 <= len(values) <= MOST_LEVELS else None
    low, high = np.quantile(frame[one.name].to_numpy(dtype=float), QUARTILES)
    return [float(low), float(high)] if low < high else list(one.values)


def _of(
    fit: AbstractFit,
    name: str,
    values: list[object],
    rows: pd.DataFrame,
    targets: tuple[str, ...],
) -> pd.DataFrame | None:
    """Effects of one covariate on every target: later levels are compared with the first."""
    first, *others = labels(values)
    lines = []
    for target, found in _effects(fit, {name: values}, rows, targets).items():
        pairs = found["contrast"].drop_duplicates()[: len(others)]  # the first level comes first
        lines += [
            _line(fit, found[found["contrast"] == pair], name, target, (first, later))
            for pair, later in zip(pairs, others, strict=True)
        ]
    return pd.concat(lines) if lines else None


def _effects(
    fit: AbstractFit, contrast: dict[str, object], rows: pd.DataFrame, targets: tuple[str, ...]
) -> dict[str, pd.DataFrame]:
    """Average differences of each target; not of standard deviations of heavy tails."""
    try:
        found = average_differences(fit, contrast, targets, data=rows, prob=PROB)
    except DataError:  # one is infinite
        if len(targets) == 1:
            return {}
        each = [_effects(fit, contrast, rows, (target,)) for target in targets]
        return {target: one for own in each for target, one in own.items()}
    return {target: one.summary for target, one in zip(targets, found, strict=True)}


def _line(
    fit: AbstractFit, frame: pd.DataFrame, name: str, target: str, ends: tuple[str, str]
) -> pd.DataFrame:
    what = frame["level"].astype(str) if "level" in frame else pd.Series(target, frame.index)
    if "response" in frame:
        what = what + " of " + frame["response"].astype(str)
    return pd.DataFrame(
        {
            "covariate": fit.model.design.label(name),
            "from": ends[0],
            "to": ends[1],
            "effect on": what.to_numpy(),
            "difference": frame["estimate"].to_numpy(dtype=float),
            "interval": frame[["lower", "upper"]].to_numpy(dtype=float).tolist(),
        }
    )


def _table(frame: pd.DataFrame, note: str) -> Summary:
    width = [high - low for low, high in frame["interval"]]
    each = [significant([one or abs(size)], 2)
            for one, size in zip(width, frame["difference"], strict=True)]  # fmt: skip
    caption = (
        "Change of the response's distribution when one covariate changes and the others stay as "
        f"they are, on average over the rows: numbers go from first to third quartile.{note}"
    )
    return table(
        frame.set_index(["covariate", "from", "to", "effect on"]),
        caption,
        titles={"interval": f"{percent(PROB)} interval", "effect on": "effect on"},
        decimals={"difference": each, "interval": each},
        rest="bvb.effects.comparisons(fit, ...)",
    )
