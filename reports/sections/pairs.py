"""Joint density: each pair of variables with the components, and how well both fit together."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.distributions.multivariate_student import AbstractJointStudent
from bayesvb.evaluation.calibration import PitEcdf, pit_ecdf, uniformity_p_value
from bayesvb.results.capabilities import HasJointDensity
from bayesvb.results.subsampling import RowSample, sample

from ..cells.names import cut
from ..cells.numerals import PROBABILITY, counted, percent
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.clusters import DEVIATIONS, OCCUPIED, clusters, ellipse, occupied
from ..figures.ecdf import ecdf_canvas
from ..figures.histogram import Density, histogram
from ..figures.plot import (
    FEW_TICKS,
    LONGEST_NAME,
    Canvas,
    number_axis,
    panelled,
    plotted,
    row_axis,
    series,
    spread_axis,
)
from ..rows.sampling import ROWS_CHECKED, choice_note, choice_words

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_VARIABLES = 4
"""Variables of the pairs plot: the first."""

MOST_CURVES = 8
"""Variables whose PIT values are drawn."""

CERTAIN = 0.9
"""Largest responsibility from which a row counts as certain."""

POINTS_OF_PAIRS = 500
"""Rows that are drawn as points of each pair: there are up to six."""

CERTAINTY_BINS = 24

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
    labels = [fit.model.design.label(name) for name in model.variables[:MOST_VARIABLES]]
    x = fit.model.design.matrices["variables"].T[: len(labels)]
    chosen, draws = sample(fit, POINTS_OF_PAIRS), fit.named_draws.values
    centres, covariances = draws["mean"].mean(axis=0), draws["covariance"].mean(axis=0)
    panels = [(label, _marginal(joint, shown, i, x[i])) for i, label in enumerate(labels)]
    for i, j in combinations(range(len(labels)), 2):
        canvas = Canvas(spread_axis(x[i], FEW_TICKS), spread_axis(x[j], FEW_TICKS))
        canvas.dots("pts", x[i, chosen.at], x[j, chosen.at])
        pair = np.array([i, j])
        for k in shown:
            for deviations in DEVIATIONS:
                curve = ellipse(centres[k, pair], covariances[k][np.ix_(pair, pair)], deviations)
                canvas.line(f"curve {series(k)}", *curve)
        panels.append((f"{labels[j]} against {labels[i]}", canvas))
    alt = (
        f"Scatter plots of {counted(len(labels), 'variable')} in pairs with ellipses of "
        f"{counted(len(shown), 'component')}, and histograms of each with its density."
    )
    caption = _pairs_caption(len(labels), len(model.variables), chosen)
    legend = [(f"component {k + 1}", series(k)) for k in shown]
    return panelled(panels, x="", y="", alt=alt, caption=caption, legend=legend)


def _pairs_caption(n_drawn: int, n_all: int, chosen: RowSample) -> str:
    more = f" The first {n_drawn} of {n_all} variables." if n_drawn < n_all else ""
    note = choice_note("Points:", chosen)
    return (
        "Histogram of each variable, with its predictive density (thick) and the contribution "
        "of each "
        "component. Pairs: rows as points, and each component as ellipses at one and two standard "
        "deviations (posterior means), which hold 39 and 86% of its rows. Components below "
        f"{percent(OCCUPIED)} are omitted.{more}{note}"
    )


def _marginal(
    joint: AbstractJointStudent, shown: list[int], i: int, values: Float[np.ndarray, " rows"]
) -> Canvas:
    """Histogram of one variable under its density and the components' densities."""
    one, alone = joint.marginal(i), joint.subset([i])
    curves: dict[str, Density] = {
        f"curve {series(k)}": partial(_part, alone, float(joint.weights[k]), k) for k in shown
    }
    curves["med"] = lambda at: np.asarray(one.density_at(at)[:, 0])
    return histogram(values, curves, most=FEW_TICKS)


def _part(
    alone: AbstractJointStudent, weight: float, k: int, at: Float[np.ndarray, " points"]
) -> Float[np.ndarray, " points"]:
    """Contribution of one component to the density of a variable."""
    return np.asarray(weight * np.exp(alone.component_log_density(at[None])[k]))


def _certainty(responsibilities: Float[np.ndarray, "experts rows"]) -> Summary:
    """Histogram of the largest responsibility, and its mean by component."""
    largest, which = responsibilities.max(axis=0), responsibilities.argmax(axis=0)
    held = [int(k) for k in np.unique(which)]
    means = [float(largest[which == k].mean()) for k in held]
    sure = float((largest >= CERTAIN).mean())

    edges = np.linspace(1.0 / len(responsibilities), 1.0, CERTAINTY_BINS + 1)
    counts = np.histogram(largest, edges)[0].astype(float)
    left = Canvas(number_axis(edges[0], 1.0), number_axis(0.0, 1.06 * float(counts.max())))
    left.boxes("b2", edges[:-1], edges[1:], np.zeros(CERTAINTY_BINS), counts)
    right = Canvas(number_axis(0.0, 1.05), row_axis([str(k + 1) for k in held]))
    for place, (k, mean) in enumerate(zip(held, means, strict=True)):
        own = np.array([-float(place)])
        right.steps(f"thin {series(k)}", np.zeros(1), np.array([mean]), own)
        right.dots(f"dot {series(k)}", np.array([mean]), own)
    caption = (
        f"How certain the component of a row is. First: probability of its most likely component; "
        f"it is {CERTAIN:g} or more in {percent(sure)} of the rows. Second: mean of that, over the "
        "rows of each component; near 1 it stands apart, lower it overlaps with others."
    )
    alt = "Histogram of the largest responsibility, and its mean: " + ", ".join(
        f"{mean:.2f} in component {k + 1}" for k, mean in zip(held, means, strict=True)
    )
    panels = [
        ("rows by their largest responsibility", left),
        ("its mean in the rows of each component", right),
    ]
    return panelled(panels, x="", y="", alt=alt, caption=caption)


def _pit(found: dict[str, PitEcdf]) -> Summary:
    shown = dict(list(found.items())[:MOST_CURVES])
    band = next(iter(shown.values()))
    canvas = ecdf_canvas(list(shown.values()))
    names = [(cut(name, LONGEST_NAME), series(i)) for i, name in enumerate(shown)]
    outside = [name for name, one in shown.items() if not one.inside]
    caption = (
        "Share of PIT values up to each value, minus the same share of uniform ones, for each "
        "variable given the others, with a band that calibrated predictions leave nowhere with "
        f"probability {percent(band.prob)}. A slope up: too many observations there."
    )
    alt = (
        f"PIT ECDF differences of {counted(len(shown), 'variable')}; outside the band: "
        f"{', '.join(outside) or 'none'}."
    )
    return plotted(
        canvas,
        x="PIT value",
        y="ECDF minus uniform",
        alt=alt,
        caption=caption,
        legend=names if len(names) > 1 else [],
    )


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
        f"values, and rows inside the middle 50 and 90% of their predictions.{note}"
    )
    titles = {"inside": "in the band", "middle": "in the middle 50% (%)",
              "wide": "in the middle 90% (%)"}  # fmt: skip
    return table(frame, caption, titles=titles, decimals={"p": PROBABILITY, "middle": 1, "wide": 1})
