"""Classes of groups: their sizes, or how covariates change the probability of the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.distributions.intervals import PROB, tails
from bayesvb.distributions.row_averages import averaged_rows
from bayesvb.effects.observed_rows import observed_rows
from bayesvb.results.named_draws import count

from ..cells.numerals import percent
from ..cells.plain import Summary
from ..rows.average_effects import compared_values
from ..rows.profiles import compared, labels
from .dots import Dot, dot_panel

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

ROWS, DRAWS = 200, 300
"""Rows over which probabilities of classes are averaged, and draws of them."""

MOST_CHANGES, MOST_CLASSES = 6, 8
"""Lines of the panel."""


def subjects_panel(fit: AbstractFit) -> Summary | None:
    """Changes of the probability of class 1 with covariates, or the sizes of the classes."""
    if fit.model.grouping is None or fit.model.size < 2:
        return None
    changes = [dot for name in compared(fit.model.design) for dot in _changes(fit, name)]
    if not changes:
        return _sizes(fit)
    changes.sort(key=lambda dot: -abs(dot.estimate))
    return dot_panel(
        changes[:MOST_CHANGES],
        title="Differences of the probability of class 1",
        caption="Differences when one covariate changes, the others as observed. "
        f"Bar: {percent(PROB)} interval.",
        heads=("Change", "Difference"),
        is_difference=True,
    )


def _changes(fit: AbstractFit, name: str) -> list[Dot]:
    """Contrasts of one covariate with its first value; none if it does not change the weights."""
    values, rows = compared_values(fit, name), observed_rows(fit, ROWS)
    weights = fit.weights_at(rows.frame_of(name, values), draws=min(DRAWS, count(fit.draws)))
    draws = averaged_rows(weights, len(rows.frame), rows.shares, 1)
    differences = draws[:, 1:, 0] - draws[:, :1, 0]
    if not np.abs(differences).max(initial=0.0) > 1e-9:
        return []
    words = labels(values)
    ends = np.quantile(differences, tails(PROB), axis=0).T.tolist()
    return [
        Dot(label=fit.model.design.label(name), note=f"{words[0]} → {word}", estimate=float(centre),
            interval=(low, high), decimals=2)
        for word, centre, (low, high) in zip(words[1:], differences.mean(axis=0), ends, strict=True)
    ]  # fmt: skip


def _sizes(fit: AbstractFit) -> Summary:
    frame = fit.components()
    frame = frame[frame["groups"] > 0].head(MOST_CLASSES)
    columns = ["share", "share_lower", "share_upper"]
    return dot_panel(
        [
            Dot(label=f"class {number}", estimate=share, interval=(low, high), decimals=2,
                series=int(number))
            for number, (share, low, high) in zip(frame.index, frame[columns].to_numpy().tolist(),
                                                  strict=True)
        ],
        title="Sizes of the classes",
        caption=f"Share of the groups. Bar: {percent(PROB)} interval.",
        heads=("Class", "Share"),
    )  # fmt: skip
