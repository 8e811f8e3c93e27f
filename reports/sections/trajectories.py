"""Trajectories: rows in groups, each group's line and the mean curve of every component."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.grouping import Grouping
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.drawing import marks
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.groups import grouping_of
from bayesvb.results.summary import modal_table

from ..cells.numerals import numeral, percent
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.svg import axes_of, colour, drawn
from ..rows.profiles import Profile, covariate, profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesvb.results.base import AbstractFit

LINES_SHOWN = 150
"""Groups whose lines are drawn: of more an even choice."""

FEWEST = 0.01
"""Share of the groups that a component must have to be drawn."""


def summary(fit: AbstractFit) -> Summary | None:
    """Classification of the groups, and their lines; None where rows come in no groups."""
    grouping = grouping_of(fit.model)
    if grouping is None:
        return None
    modal = modal_table(fit)
    along = varying(fit, grouping)
    several = range(0 if along is None else len(fit.model.design.response_names))
    return {
        "group": grouping.name,
        "n_groups": len(grouping.labels),
        "smallest": int(grouping.sizes.min()),
        "largest": int(grouping.sizes.max()),
        "entropy": modal.attrs["relative_entropy"],
        "table": _table(modal),
        "along": along,
        "figures": [_lines(fit, grouping, str(along), number) for number in several],
    }


def varying(fit: AbstractFit, grouping: Grouping) -> str | None:
    """The first covariate that is a number and differs within groups: mostly time."""
    frame = fit.model.design.frame
    for name in fit.model.design.covariates:
        if covariate(fit.model.design, name).discrete:
            continue
        values = frame[name].to_numpy(dtype=float)
        if (values != values[grouping.first][grouping.number]).any():
            return name
    return None


def _table(modal: pd.DataFrame) -> Summary:
    frame = modal.rename(columns={k: f"component {k}" for k in modal.index})
    caption = (
        "Groups by their most likely component: how many, and the mean probability of each "
        "component among them. Near 1 on the diagonal: the groups of this component are told apart "
        "from those of the others."
    )
    decimals = {"percent": 1, **{f"component {k}": 3 for k in modal.index}}
    return table(frame, caption, decimals=decimals)


def _lines(fit: AbstractFit, grouping: Grouping, along: str, number: int) -> Summary:
    """Lines of the groups behind the mean curves of the components."""
    design = fit.model.design
    name = design.response_names[number]
    curve = profile(fit, along)
    means = component_means(fit, curve, number)
    low, middle, high = np.quantile(means, [tails(PROB)[0], 0.5, tails(PROB)[1]], axis=1)
    likely = fit.responsibilities().to_numpy().argmax(axis=1) % fit.model.size
    counts = np.bincount(likely, minlength=fit.model.size)
    shown = [k for k in range(fit.model.size) if counts[k] >= FEWEST * len(likely)]
    x = fit.model.design.frame[along].to_numpy(dtype=float)
    y = np.asarray(fit.model.design.response, dtype=float)[:, number]
    chosen = np.unique(np.linspace(0, len(likely) - 1, LINES_SHOWN).round().astype(int))

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=design.label(along), y=design.label(name), grid="y")
        for group in chosen:
            rows = np.flatnonzero(grouping.number == group)
            rows = rows[np.argsort(x[rows], kind="stable")]
            axes.plot(x[rows], y[rows], color=colour(int(likely[group])), alpha=0.25, linewidth=0.7)
        for k in shown:
            lines = (middle[k], low[k], high[k])
            marks.banded_curve(axes, curve.x, lines, k, colour=colour(k), label=str(k + 1))
        figure.legend(loc="outside upper center", ncols=min(len(shown), 6), title="component")

    part = f" {len(chosen)} of {len(likely)} groups are drawn." if len(chosen) < len(likely) else ""
    fixed = f" Other covariates {curve.fixed}." if curve.fixed else ""
    caption = (
        f"Mean of {name} along {along} in each component, with {percent(PROB)} bands, over the "
        f"lines of the groups, each in the colour of its most likely component.{part}{fixed}"
    )
    ends = "; ".join(
        f"component {k + 1} from {numeral(float(middle[k, 0]))} to {numeral(float(middle[k, -1]))}"
        for k in shown[:6]
    )
    return drawn(draw, alt=f"Mean curves along {along}: {ends}.", caption=caption, size=(7.4, 4.4))


def component_means(
    fit: AbstractFit, curve: Profile, number: int
) -> Float[np.ndarray, "experts draws rows"]:
    """Mean of a response in each component at the rows of a curve, for every draw."""
    model: object = fit.model
    if not isinstance(model, HasDrawnDistributions):
        raise TypeError(f"{type(model).__name__} has no distributions for every draw")
    block = fit.model.block(fit.model.design.of_typical_groups.new(curve.frame))
    law = model.drawn_mixture(fit, block, number)
    found = []
    for component in range(len(law.weights)):
        only = np.zeros_like(law.weights)
        only[component] = 1.0
        found.append(replace(law, weights=only).mean())  # type: ignore[type-var]
    return np.stack(found)[: fit.model.size]
