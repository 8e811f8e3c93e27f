"""The largest average differences of the response, beside the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayesvb.distributions.intervals import PROB
from bayesvb.effects.estimands import target_words
from bayesvb.results.groups import grouping_of

from ..cells.names import called, cut, level_scale
from ..cells.numerals import counted, percent, significant
from ..cells.plain import Summary
from ..rows.average_effects import Change, rows_averaged, rows_words
from ..rows.contrasts import Contrast, by_size
from ..rows.sampling import gated
from .dots import LARGEST, Dot, dot_panel

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_EFFECTS = 6
"""Effects beside the picture: more do not fit on a screen."""

MOST_LEVELS = 8
"""Levels of a covariate from which on its effects are left to the table of all effects."""


def effects_panel(fit: AbstractFit) -> Summary | None:
    """The largest average differences, each as a dot on a bar with its interval.

    Of several responses those of the first; of classes those of the class that changes most. None
    where groups follow courses of their own, as an average over these describes none of them.
    """
    if grouping_of(fit.model) is not None and fit.model.size > 1:
        return None
    if not gated(fit) or not fit.model.design.covariates:
        return None
    pairs = [
        (one, one.of_mean)
        for one in by_size(fit)
        if one.response == 0 and one.n_values <= MOST_LEVELS
    ]
    if not pairs:
        return None
    pairs = _of_one_class(fit, pairs)
    pairs = sorted(pairs, key=lambda pair: -abs(pair[1].estimate))
    clear = [pair for pair in pairs if fit.is_point_estimate or pair[1].is_clear]
    shown = (clear or pairs)[:MOST_EFFECTS]
    n_smaller = len(clear) - len(shown) if clear else 0
    n_unclear = len(pairs) - len(clear) if clear else 0
    panel = dot_panel(
        _dots(fit, shown),
        title=f"Largest differences of the {_quantity(fit, shown[0][1])}",
        caption=_caption(fit),
        heads=("Change", "Difference"),
        is_difference=True,
        n_in_full=LARGEST,
        more=_more(n_smaller, n_unclear),
    )
    return {**panel, "n_smaller": n_smaller, "n_unclear": n_unclear}


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
        return f"probability of {called(fit.model.design, name)} = {change.level}"
    label = cut(fit.model.design.label(name))
    words = target_words(change.target, fit.model.response).format(y=label)
    return words + level_scale(fit.model.response)


def _caption(fit: AbstractFit) -> str:
    interval = "" if fit.is_point_estimate else f" Dot: estimate; bar: {percent(PROB)} interval."
    others = ""
    if len(fit.model.design.covariates) > 1:
        others = f" Averaged over {rows_words(fit, rows_averaged(fit))}, the others as observed."
    return f"Differences when one covariate changes.{others}{interval}"


def _dots(fit: AbstractFit, shown: Sequence[tuple[Contrast, Change]]) -> list[Dot]:
    """Effects with one precision, that of their intervals."""
    decimals = significant([change.upper - change.lower or change.estimate
                            for _, change in shown], 2)  # fmt: skip
    return [
        Dot(
            label=fit.model.design.label(one.covariate),
            note=f"{one.words[0]} → {one.words[1]}",
            estimate=change.estimate,
            interval=None if fit.is_point_estimate else (change.lower, change.upper),
            decimals=decimals,
        )
        for one, change in shown
    ]


def _more(n_smaller: int, n_unclear: int) -> str:
    """How many effects are not shown, and why."""
    smaller = counted(n_smaller, "smaller effect") if n_smaller else ""
    unclear = f"{counted(n_unclear, 'effect')} whose interval includes zero" if n_unclear else ""
    return ", ".join(filter(None, [smaller, unclear]))
