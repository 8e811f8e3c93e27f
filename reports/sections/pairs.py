"""Joint density: each pair of variables with the components, and how well both fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.distributions.multivariate_student import AbstractJointStudent
from bayesvb.evaluation.calibration import PitEcdf, pit_ecdf, uniformity_p_value
from bayesvb.results.capabilities import HasJointDensity
from bayesvb.results.subsampling import RowSample, sample

from ..cells.numerals import PROBABILITY, counted, percent
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.clusters import OCCUPIED, clusters, occupied
from ..figures.ellipses import DEVIATIONS, ellipse
from ..figures.svg import BAND, INK, LINE, POINT, colour, dash, drawn, shortened
from ..rows.sampling import POINTS_SHOWN, ROWS_CHECKED, choice_note, choice_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesvb.results.base import AbstractFit

MOST_VARIABLES = 4
"""Variables of the pairs plot: the first."""

MOST_CURVES = 8
"""Variables whose PIT values are drawn."""

CERTAIN = 0.9
"""Largest responsibility from which a row counts as certain."""

POINTS = 161

SIZES = {1: (5.4, 3.6), 2: (5.6, 4.9), 3: (6.6, 6.0), 4: (7.8, 7.4)}
"""Inches of a pairs plot by its number of variables."""

Rows = Float[np.ndarray, "dims rows"]


def short(fit: AbstractFit) -> Summary | None:
    """Picture of the components over two variables."""
    model = fit.model
    if not isinstance(model, HasJointDensity):
        return None
    return {"n_variables": len(model.variables), "clusters": clusters(fit, model, model.joint(fit))}


def summary(fit: AbstractFit) -> Summary | None:
    """Pairs plot, certainty of the responsibilities, and PIT of each variable given the others."""
    model = fit.model
    if not isinstance(model, HasJointDensity):
        return None
    joint, chosen = model.joint(fit), sample(fit, ROWS_CHECKED)
    x = np.ascontiguousarray(model.design.matrices["variables"].T)
    found = {
        name: joint.conditional(i, x[:, chosen.at]).cdf(x[i, chosen.at])
        for i, name in enumerate(model.variables)
    }
    largest = joint.responsibilities(x)
    return {
        "n_variables": len(model.variables),
        "clusters": clusters(fit, model, joint),
        "n_components": len(occupied(joint)),
        "rows_note": choice_words(chosen),
        "weighted": fit.model.weights is not None,
        "pairs": _pairs(fit, model, joint),
        "certainty": _certainty(largest) if len(joint.weights) > 1 else None,
        "pit": _pit({name: pit_ecdf(pit) for name, pit in found.items()}),
        "table": _table(found, chosen),
    }


def _pairs(fit: AbstractFit, model: HasJointDensity, joint: AbstractJointStudent) -> Summary:
    shown = occupied(joint)
    names = model.variables[:MOST_VARIABLES]
    x = fit.model.design.matrices["variables"].T[: len(names)]
    chosen, draws = sample(fit, POINTS_SHOWN), fit.named_draws.values
    centres, covariances = draws["mean"].mean(axis=0), draws["covariance"].mean(axis=0)

    def draw(figure: Figure) -> None:
        grid: Any = figure.subplots(len(names), len(names), squeeze=False)
        for i, j in np.ndindex(grid.shape):
            axes = grid[i, j]
            if j > i:
                axes.set_axis_off()
            elif i == j:
                _marginal(axes, joint, i, x[i])
            else:
                size = 10.0 if len(chosen.at) <= 400 else 5.0
                axes.scatter(x[j, chosen.at], x[i, chosen.at], s=size, color=POINT, alpha=0.6,
                             linewidths=0, rasterized=True)  # fmt: skip
                for k in shown:
                    _outline(axes, centres[k, [j, i]], covariances[k][np.ix_([j, i], [j, i])], k)
            _label(axes, tuple(map(fit.model.design.label, names)), i, j)
        _legend(figure, shown)

    caption = _pairs_caption(len(names), len(model.variables), chosen)
    alt = (
        f"Scatter plots of {counted(len(names), 'variable')} in pairs with ellipses of "
        f"{counted(len(shown), 'component')}, and histograms of each with its density."
    )
    return drawn(draw, alt=alt, caption=caption, size=SIZES[len(names)])


def _pairs_caption(n_drawn: int, n_all: int, chosen: RowSample) -> str:
    more = f" The first {n_drawn} of {n_all} variables." if n_drawn < n_all else ""
    note = choice_note("Points:", chosen)
    return (
        "Below the diagonal: rows as points, and each component as ellipses at one and two "
        "standard deviations (posterior means), which hold 39 and 86\u202f% of its rows. Diagonal: "
        "histogram of each variable, with its predictive density (thick) and what each component "
        f"adds to it. Components below {percent(OCCUPIED)} are left out.{more}{note}"
    )


def _outline(axes: Axes, centre: np.ndarray, covariance: np.ndarray, k: int) -> None:
    for deviations in DEVIATIONS:
        axes.plot(*ellipse(centre, covariance, deviations), color=colour(k), linestyle=dash(k),
                  linewidth=1.7 if deviations == min(DEVIATIONS) else 1.1)  # fmt: skip


def _marginal(
    axes: Axes, joint: AbstractJointStudent, i: int, values: Float[np.ndarray, " rows"]
) -> None:
    """Histogram of one variable under its density and those of the components."""
    margin = 0.05 * float(np.ptp(values))
    points = np.linspace(values.min() - margin, values.max() + margin, POINTS)
    one = joint.marginal(i)
    bins = int(np.clip(2.0 * len(values) ** (1 / 3), 8, 40))
    axes.hist(values, bins=bins, density=True, histtype="stepfilled", color=BAND, alpha=0.25)
    for k, weight in enumerate(joint.weights):
        if weight >= OCCUPIED:
            alone = weight * _alone(joint, i, k, points)
            axes.plot(points, alone, color=colour(k), linestyle=dash(k), linewidth=1.1)
    axes.plot(points, one.density_at(points)[:, 0], color=INK, linewidth=1.5)
    axes.set_ylim(0.0, None)


def _alone(
    joint: AbstractJointStudent, i: int, k: int, points: Float[np.ndarray, " points"]
) -> Float[np.ndarray, " points"]:
    """Marginal density of one variable in one component."""
    one = joint.subset([i])
    return np.asarray(np.exp(one.component_log_density(points[None])[k]))


def _label(axes: Axes, names: tuple[str, ...], i: int, j: int) -> None:
    """Names at the edge of the triangle only."""
    axes.locator_params(nbins=4)
    if i == j:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    if i == len(names) - 1:
        axes.set_xlabel(shortened(names[j], 20))
    if j == 0 and i > 0:
        axes.set_ylabel(shortened(names[i], 20))
    axes.tick_params(labelbottom=i == len(names) - 1, labelleft=j == 0 and i > 0)


def _legend(figure: Figure, shown: list[int]) -> None:
    axes: Any = figure.axes[0]
    lines = [axes.plot([], [], color=colour(k), linestyle=dash(k))[0] for k in shown]
    figure.legend(lines, [str(k + 1) for k in shown], loc="outside upper center",
                  ncols=min(len(shown), 8), title="component")  # fmt: skip


def _certainty(responsibilities: Float[np.ndarray, "experts rows"]) -> Summary:
    """Histogram of the largest responsibility, and its mean by component."""
    largest, which = responsibilities.max(axis=0), responsibilities.argmax(axis=0)
    held = [int(k) for k in np.unique(which)]
    means = [float(largest[which == k].mean()) for k in held]
    sure = float((largest >= CERTAIN).mean())

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
        left.hist(largest, bins=np.linspace(1.0 / len(responsibilities), 1.0, 25), color=BAND,
                  histtype="stepfilled", alpha=0.45)  # fmt: skip
        left.set_xlabel("largest responsibility of a row")
        left.set_ylabel("rows")
        left.grid(axis="y")
        left.set_axisbelow(True)
        for place, (k, mean) in enumerate(zip(held, means, strict=True)):
            right.plot([0.0, mean], [place, place], color=colour(k), linestyle=dash(k))
            right.plot(mean, place, "o", color=colour(k), markersize=6)
        right.set_yticks(range(len(held)), [str(k + 1) for k in held])
        right.set_ylim(len(held) - 0.5, -0.5)
        right.set_xlim(0.0, 1.05)
        right.set_xlabel("mean in its rows")
        right.set_ylabel("component")

    caption = (
        f"How certain the component of a row is. Left: probability of its most likely component; "
        f"it is {CERTAIN:g} or more in {percent(sure)} of the rows. Right: mean of that, over the "
        "rows of each component; near 1 it stands apart, lower it overlaps with others."
    )
    alt = "Histogram of the largest responsibility, and its mean: " + ", ".join(
        f"{mean:.2f} in component {k + 1}" for k, mean in zip(held, means, strict=True)
    )
    return drawn(draw, alt=alt, caption=caption, size=(5.8, 2.6 + 0.12 * max(len(held) - 6, 0)))


def _pit(found: dict[str, PitEcdf]) -> Summary:
    shown = dict(list(found.items())[:MOST_CURVES])
    band = next(iter(shown.values()))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.fill_between(band.points, band.lower, band.upper, step="mid", color=BAND, alpha=0.16,
                          linewidth=0)  # fmt: skip
        axes.axhline(0.0, color=LINE, linewidth=1.0)
        for i, (name, one) in enumerate(shown.items()):
            axes.step(one.points, one.difference, where="mid", color=colour(i), linestyle=dash(i),
                      label=shortened(name, 20))  # fmt: skip
        axes.set_xlim(0.0, 1.0)
        axes.set_xlabel("PIT value")
        axes.set_ylabel("ECDF minus uniform")
        figure.legend(loc="outside upper center", ncols=min(len(shown), 3))

    outside = [name for name, one in shown.items() if not one.inside]
    caption = (
        "Share of PIT values up to each value, minus the same share of uniform ones, for each "
        "variable given the others, with a band that calibrated predictions leave nowhere with "
        f"probability {percent(band.prob)}. A slope up: too many observations there."
    )
    names = ", ".join(outside) if outside else "none"
    alt = f"PIT ECDF differences of {counted(len(shown), 'variable')}; outside the band: {names}."
    return drawn(draw, alt=alt, caption=caption)


def _table(found: dict[str, Float[np.ndarray, " rows"]], chosen: RowSample) -> Summary:
    rows = {
        name: {
            "inside": pit_ecdf(pit).inside,
            "p": uniformity_p_value(pit),
            "middle": 100.0 * float((np.abs(pit - 0.5) <= 0.25).mean()),
            "wide": 100.0 * float((np.abs(pit - 0.5) <= 0.45).mean()),
        }
        for name, pit in found.items()
    }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("variable")
    note = choice_note("From", chosen)
    caption = (
        "Each variable given the others: whether its curve stays in the band, p of uniform PIT "
        f"values, and rows inside the middle 50 and 90\u202f% of their predictions.{note}"
    )
    titles = {"inside": "in the band", "middle": "in the middle 50% (%)",
              "wide": "in the middle 90% (%)"}  # fmt: skip
    return table(frame, caption, titles=titles, decimals={"p": PROBABILITY, "middle": 1, "wide": 1})
