"""The highest and the lowest groups of a model with group-level effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bayesvb.distributions.intervals import PROB
from bayesvb.effects.curves import groups
from bayesvb.formula.group_columns import UNSEEN

from ..cells.names import called
from ..cells.numerals import counted, percent, significant
from ..cells.plain import Summary
from ..rows.group_effects import LEVEL, GroupSpread, group_spreads
from ..rows.profiles import compared
from .dots import Dot, dot_panel

if TYPE_CHECKING:
    from bayesvb.formula.design import Design
    from bayesvb.results.base import AbstractFit

MOST_AT_EACH_END, FEWER = 3, 2
"""Groups at either end; fewer below the effects of more than one covariate."""


def groups_panel(fit: AbstractFit) -> Summary | None:
    """Groups at both ends: their difference from the typical group, or of their slopes.

    Of several groupings the one that differs most; of a term with slopes the last slope.
    """
    spreads = [one for one in group_spreads(fit) if one.n_groups > 1]
    if not spreads:
        return None
    widest = max(spreads, key=lambda one: (one.share or 0.0, one.sd[0]))
    spread = [one for one in spreads if one.grouping == widest.grouping][-1]
    table = groups(fit)
    is_own = table["term"] == f"({spread.effect} | {spread.grouping})"
    frame = table.loc[is_own & (table["group"] != UNSEEN)]
    frame = frame.sort_values("estimate", ascending=False, kind="stable")
    n_each = MOST_AT_EACH_END if len(compared(fit.model.design)) <= 1 else FEWER
    shown = frame
    if len(frame) > 2 * n_each:
        shown = pd.concat([frame.head(n_each), frame.tail(n_each)])
    decimals = significant((shown["upper"] - shown["lower"]).to_numpy(), 2)
    dots = [
        Dot(label=str(group), estimate=float(estimate), interval=(float(low), float(high)),
            decimals=decimals)
        for group, estimate, low, high in shown[["group", "estimate", "lower", "upper"]].to_numpy()
    ]  # fmt: skip
    left = len(frame) - len(shown)
    return dot_panel(
        dots,
        title=_title(fit.model.design, spread, len(shown), len(frame)),
        caption=f"Difference from the typical group{_scale(fit)}. Bar: {percent(PROB)} interval.",
        heads=(called(fit.model.design, spread.grouping), "Difference"),
        is_difference=True,
        more=f"{counted(left, 'group')} between them" if left else "",
    )


def _title(design: Design, spread: GroupSpread, n_shown: int, n_all: int) -> str:
    """Title: the compared effects, and their groups."""
    what = "" if spread.effect == LEVEL else f"Slopes of {called(design, spread.effect)}: "
    ends = f"{n_shown // 2} highest and {n_shown // 2} lowest of " if n_shown < n_all else ""
    return f"{what}{ends}{n_all} groups of {called(design, spread.grouping)}"


def _scale(fit: AbstractFit) -> str:
    """Scale of the effects if it is not the response's."""
    link = fit.model.response.link
    return {"identity": "", "log": " in the log of the mean", "logit": " in log odds"}[link]
