"""Loadings of the first principal component, the largest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.distributions.intervals import PROB, tails
from bayesvb.results.capabilities import HasScores

from ..cells.numerals import counted, percent, significant
from ..cells.plain import Summary
from ..rows.loadings import loadings, scale_words
from .dots import Dot, dot_panel

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_VARIABLES = 12
"""Lines of the panel: more do not fit on a screen."""


def loadings_panel(fit: AbstractFit) -> Summary | None:
    """Loadings of component 1 with their intervals, by size; None if no component is effective."""
    if not isinstance(fit.model, HasScores) or not fit.components()["effective"].any():
        return None
    draws, names = loadings(fit), list(fit.model.observed())
    mean, (low, high) = draws.mean(axis=0), np.quantile(draws, tails(PROB), axis=0)
    shown = np.argsort(-np.abs(mean), kind="stable")[:MOST_VARIABLES].tolist()
    decimals = min(significant([1.0], 3), significant((high - low)[shown], 2))
    left = len(names) - len(shown)
    return dot_panel(
        [
            Dot(label=fit.model.design.label(names[j]), estimate=float(mean[j]),
                interval=(float(low[j]), float(high[j])), decimals=decimals)
            for j in shown
        ],
        title="Loadings of component 1",
        caption="Change of each variable, in its standard deviations, per unit of the score. Bar: "
        f"{percent(PROB)} interval given the scores. {scale_words(fit, fit.model)}",
        heads=("Variable", "Loading"),
        is_difference=True,
        more=counted(left, "smaller loading") if left else "",
    )  # fmt: skip
