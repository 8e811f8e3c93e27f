"""Trajectories: rows in groups, each group's line and the mean curve of every component."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.grouping import Grouping
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.effects.covariates import is_number
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.summary import modal_table

from ..cells.numerals import covariate_numeral, enumerated, numeral, percent, significant
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.plot import Canvas, number_axis, plotted, series, spread_axis
from ..rows.profiles import Profile, labels, profile

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_LISTED = 4
"""Classes whose courses a sentence has."""

LINES_SHOWN = 150
"""Groups whose lines are drawn: of more an even choice."""

POINTS = 33
"""Points of a mean curve."""

CERTAIN = 0.9
"""Probability of its most likely component from which a group counts as certain."""

FEWEST = 0.01
"""Share of the groups that a component must have to be drawn."""


def summary(fit: AbstractFit) -> Summary | None:
    """Classification of the groups, and their lines; None where rows come in no groups."""
    grouping = fit.model.grouping
    if grouping is None:
        return None
    modal = modal_table(fit)
    along = varying(fit, grouping)
    names = fit.model.design.response_names if along is not None else ()
    figures = [_lines(fit, grouping, str(along), number) for number in range(len(names))]
    lead = figures.pop(0) if figures and fit.model.size > 1 else None
    return {
        "group": grouping.name,
        "n_groups": len(grouping.labels),
        "smallest": int(grouping.sizes.min()),
        "largest": int(grouping.sizes.max()),
        "entropy": modal.attrs["relative_entropy"],
        "n_certain": int((fit.responsibilities().max(axis=1) >= CERTAIN).sum()),
        "table": _table(modal),
        "along": along,
        "lines": lead,
        "figures": figures,
    }


def varying(fit: AbstractFit, grouping: Grouping) -> str | None:
    """The first covariate that is a number and differs within groups: mostly time."""
    frame = fit.model.design.frame
    for name in fit.model.design.covariates:
        if not is_number(fit.model.design, name):
            continue
        values = frame[name].to_numpy(dtype=float)
        if (values != values[grouping.first][grouping.number]).any():
            return name
    return None


def _table(modal: pd.DataFrame) -> Summary:
    frame = modal.rename(columns={k: f"component {k}" for k in modal.index})
    caption = (
        "Groups by their most likely component: how many, and the mean probability of each "
        "component among them. Near 1 on the diagonal: the component is clearly separated from the "
        "others."
    )
    decimals = {"percent": 1, **{f"component {k}": 3 for k in modal.index}}
    return table(frame, caption, decimals=decimals)


def _lines(fit: AbstractFit, grouping: Grouping, along: str, number: int) -> Summary:
    """Lines of the groups behind the mean curves of the components."""
    design = fit.model.design
    name = design.response_names[number]
    x = design.frame[along].to_numpy(dtype=float)
    y = design.responses[:, number]
    grid = np.linspace(x.min(), x.max(), POINTS)
    curve = profile(fit, along, grid.tolist())
    means = component_means(fit, curve, number)
    low, middle, high = np.quantile(means, [tails(PROB)[0], 0.5, tails(PROB)[1]], axis=1)
    likely = fit.responsibilities().to_numpy().argmax(axis=1) % fit.model.size
    counts = np.bincount(likely, minlength=fit.model.size)
    shown = [k for k in range(fit.model.size) if counts[k] >= FEWEST * len(likely)]
    chosen = np.unique(np.linspace(0, len(likely) - 1, LINES_SHOWN).round().astype(int))
    canvas = Canvas(number_axis(x.min(), x.max(), covariate_numeral(x)), spread_axis(y))
    for group in chosen:
        rows = np.flatnonzero(grouping.number == group)
        rows = rows[np.argsort(x[rows], kind="stable")]
        canvas.line(f"own {series(int(likely[group]))}", x[rows], y[rows])
    for k in shown:
        canvas.band(f"shade {series(k)}", grid, low[k], high[k])
        canvas.line(f"curve {series(k)}", grid, middle[k])
        canvas.end(float(middle[k, -1]), f"{k + 1}: {percent(counts[k] / len(likely))}", series(k))
    part = f" {len(chosen)} of {len(likely)} groups are drawn." if len(chosen) < len(likely) else ""
    fixed = f" Other covariates {curve.fixed}." if curve.fixed else ""
    caption = (
        f"Mean of {name} along {along} in each component, with {percent(PROB)} bands, over the "
        f"lines of the groups, each in the colour of its most likely component, whose number and "
        f"share of the groups stand at the end.{part}{fixed}"
    )
    ends = "; ".join(
        f"component {k + 1} from {numeral(float(middle[k, 0]))} to {numeral(float(middle[k, -1]))}"
        for k in shown[:6]
    )
    alt = f"Mean curves along {along}: {ends}."
    return plotted(canvas, x=design.label(along), y=design.label(name), alt=alt, caption=caption)


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


def course_sentence(fit: AbstractFit, along: str) -> str:
    """Course of the first response in each component, and the share of the groups in it."""
    grouping, design = fit.model.grouping, fit.model.design
    assert grouping is not None  # as their courses are there
    x, name = design.frame[along], design.response_names[0]
    ends = [float(x.min()), float(x.max())]
    draws = component_means(fit, profile(fit, along, list(ends)), 0)
    frame = fit.components()
    held = [k for k in range(fit.model.size) if frame["groups"].iloc[k] > 0]
    shown = held[:MOST_LISTED]
    decimals = significant(np.ptp(draws[shown].mean(axis=1), axis=1), 2)
    texts: list[str] = []
    for k in shown:
        share = percent(float(frame["share"].iloc[k]))
        if not texts and not fit.is_point_estimate:
            low, high = (
                percent(float(frame[f"share_{end}"].iloc[k])) for end in ("lower", "upper")
            )
            share += f" ({percent(PROB)} interval {low} to {high})"
        texts.append(f"{_course(draws[k], decimals)} in {share}")
    more = f"; {len(held) - len(shown)} more classes" if len(held) > len(shown) else ""
    where = f"From {along} = {' to '.join(labels(list(ends)))}"
    groups = f"the {numeral(len(grouping.labels))} groups of {grouping.name}"
    return f"{where}, {name} {enumerated(texts)} of {groups}{more}"


def _course(draws: Float[np.ndarray, "draws 2"], decimals: int) -> str:
    """Change of a mean between both ends; none where its interval includes zero."""
    first, last = (numeral(float(one), decimals) for one in draws.mean(axis=0))
    low, high = np.quantile(draws[:, 1] - draws[:, 0], tails(PROB))
    if low <= 0.0 <= high:
        return f"stays near {first}"
    return f"{'rises' if low > 0.0 else 'falls'} from {first} to {last}"
