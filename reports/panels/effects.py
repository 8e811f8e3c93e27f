"""The largest average differences of the response, next to the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesvb.distributions.intervals import PROB
from bayesvb.effects.estimands import target_words

from ..cells.names import called, cut, level_scale
from ..cells.numerals import counted, percent, significant
from ..cells.plain import Summary
from ..rows.average_effects import Change, rows_averaged, rows_words
from ..rows.contrasts import Contrast, by_size
from ..rows.group_effects import group_spreads
from ..rows.sampling import gated
from .dots import LARGEST, Dot, dot_panel, fitting

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_EFFECTS = 6
"""Largest number of effects next to the picture that fit on a screen."""

MOST_RESPONSES = 4
"""Responses whose effects are shown."""

LINES, LINES_ABOVE_GROUPS = 17.0, 8.0
"""Lines that fit next to the picture of a first screen, and above the panel of groups."""


def effects_panel(fit: AbstractFit) -> Summary | None:
    """The largest average differences, each as a dot on a bar with its interval.

    For several responses the largest of each; for classes, of the class with the largest change.
    None if groups have separate regression lines, as an average over these describes none of them.
    """
    if fit.model.grouping is not None and fit.model.size > 1:
        return None
    if not gated(fit) or not fit.model.design.covariates:
        return None
    n_responses = min(len(fit.model.design.response_names), MOST_RESPONSES)
    choices = [one for number in range(n_responses) if (one := _chosen(fit, number))]
    if not choices:
        return None
    n_lines = (LINES_ABOVE_GROUPS if group_spreads(fit) else LINES) / len(choices)
    dots = [fitting(_dots(fit, one, len(choices)), n_lines) for one in choices]
    n_smaller = sum(len(one.pairs) for one in choices) - sum(map(len, dots))
    n_unclear = sum(one.n_unclear for one in choices)
    panel = dot_panel(
        [dot for each in dots for dot in each],
        title=_title(fit, choices),
        caption=_caption(fit, len(choices)),
        heads=("Change", "Difference"),
        is_difference=True,
        n_in_full=LARGEST if len(choices) == 1 else None,
        more=_more(n_smaller, n_unclear),
    )
    return {**panel, "n_smaller": n_smaller, "n_unclear": n_unclear}


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """Contrasts of one response, the largest first: the clear ones, or all where none is clear."""

    response: int
    pairs: list[tuple[Contrast, Change]]
    n_unclear: int


def _chosen(fit: AbstractFit, response: int) -> _Choice | None:
    """Contrasts of one response; None if it has none."""
    pairs = [(one, one.of_mean) for one in by_size(fit) if one.response == response]
    if not pairs:
        return None
    pairs = sorted(_of_one_class(fit, pairs), key=lambda pair: -abs(pair[1].estimate))
    clear = [pair for pair in pairs if fit.is_point_estimate or pair[1].is_clear]
    n_unclear = len(pairs) - len(clear) if clear else 0
    return _Choice(response=response, pairs=clear or pairs, n_unclear=n_unclear)


def _of_one_class(
    fit: AbstractFit, pairs: Sequence[tuple[Contrast, Change]]
) -> list[tuple[Contrast, Change]]:
    """Changes of one class's probability in all contrasts: the one with the largest change."""
    if not fit.model.response.is_categorical:
        return list(pairs)
    level = max(pairs, key=lambda pair: abs(pair[1].estimate))[1].level
    if len(pairs[0][0].changes) == 2:  # both change alike: the second one is stated
        level = pairs[0][0].changes[1].level
    return [
        (one, next(change for change in one.changes if change.level == level)) for one, _ in pairs
    ]


def _title(fit: AbstractFit, choices: Sequence[_Choice]) -> str:
    """Quantity of the only response, or that there are several."""
    if len(choices) > 1:
        return "Largest differences of the mean of each response"
    name, change = fit.model.design.response_names[0], choices[0].pairs[0][1]
    if change.level:
        quantity = f"probability of {called(fit.model.design, name)} = {change.level}"
    else:
        label = cut(fit.model.design.label(name))
        quantity = target_words(change.target, fit.model.response).format(y=label)
    return f"Largest differences of the {quantity}{level_scale(fit.model.response)}"


def _caption(fit: AbstractFit, n_responses: int) -> str:
    narrow = " (mean-field, usually too narrow)" if fit.covariance == "mean-field" else ""
    interval = f" Dot: estimate; bar: {percent(PROB)} interval{narrow}."
    if fit.is_point_estimate:
        interval = ""
    others = ""
    if len(fit.model.design.covariates) > 1:
        others = f" Averaged over {rows_words(fit, rows_averaged(fit))}, the others as observed."
    scale = " Bars in standard deviations of each response." if n_responses > 1 else ""
    return f"Differences when one covariate changes.{others}{interval}{scale}"


def _dots(fit: AbstractFit, choice: _Choice, n_responses: int) -> list[Dot]:
    """Effects on one response, with the precision of their intervals."""
    design, shown = fit.model.design, choice.pairs[:MOST_EFFECTS]
    decimals = significant([change.upper - change.lower or change.estimate
                            for _, change in shown], 2)  # fmt: skip
    several, spread = n_responses > 1, 1.0
    if several:
        spread = float(design.responses[:, choice.response].std())
    own = design.label(design.response_names[choice.response])
    names = [design.label(one.covariate) for one, _ in shown]
    steps = [_step(one) for one, _ in shown]
    return [
        Dot(
            label=own if several else name,
            note=f"{cut(name)} {step}" if several else step,
            estimate=change.estimate,
            interval=None if fit.is_point_estimate else (change.lower, change.upper),
            decimals=decimals,
            scale=(0.0, spread),
        )
        for (_, change), name, step in zip(shown, names, steps, strict=True)
    ]


def _step(one: Contrast) -> str:
    """From which value to which, and whether that is an extrapolation for many rows."""
    far = ", extrapolated" if one.reach == "extrapolated" else ""
    return f"{one.words[0]} → {one.words[1]}{far}"


def _more(n_smaller: int, n_unclear: int) -> str:
    """Numbers of effects that are not shown, with the reasons."""
    smaller = counted(n_smaller, "smaller effect") if n_smaller else ""
    unclear = f"{counted(n_unclear, 'effect')} whose interval includes zero" if n_unclear else ""
    return ", ".join(filter(None, [smaller, unclear]))
