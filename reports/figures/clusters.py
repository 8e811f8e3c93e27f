"""Components of a mixture over the two variables that separate them best."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.multivariate_student import AbstractJointStudent
from bayesvb.results.subsampling import sample

from ..cells.numerals import percent
from ..cells.plain import Summary
from ..rows.cluster_profiles import ClusterProfile
from ..rows.sampling import POINTS_SHOWN, choice_note
from .histogram import histogram
from .plot import Canvas, plotted, series, spread_axis

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.capabilities import HasJointDensity

Points = Float[np.ndarray, " points"]

OCCUPIED = 0.01
"""Share from which a component is drawn."""


def clusters(fit: AbstractFit, model: HasJointDensity, joint: AbstractJointStudent) -> Summary:
    """Rows as points and components as ellipses; of one variable a histogram with densities."""
    x = fit.model.design.matrices["variables"].T
    shown, names = occupied(joint), model.variables
    if len(names) == 1:
        return _histogram(fit.model.design.label(names[0]), x[0], joint)
    draws = fit.named_draws.values
    centres, covariances = draws["mean"].mean(axis=0), draws["covariance"].mean(axis=0)
    across, up = np.sort(ClusterProfile.from_fit(fit, names).order[:2])
    chosen = sample(fit, POINTS_SHOWN)
    canvas = Canvas(spread_axis(x[across]), spread_axis(x[up]))
    canvas.dots("pts", x[across, chosen.at], x[up, chosen.at])
    pair = np.array([across, up])
    for k in shown:
        centre, covariance = centres[k, pair], covariances[k][np.ix_(pair, pair)]
        for deviations in DEVIATIONS:
            canvas.line(f"curve {series(k)}", *ellipse(centre, covariance, deviations))
        canvas.text(float(centre[0]), float(centre[1]), str(k + 1), series(k))
    best = " that separate the components best" if len(names) > 2 else ""
    caption = (
        f"The two variables{best}: rows as points; components, by number, as ellipses at one and "
        "two standard deviations (posterior means), which hold 39 and 86% of their rows."
        f"{_hidden(joint)}{choice_note('Points:', chosen)}"
    )
    label = fit.model.design.label
    alt = (
        f"Scatter plot of {label(names[up])} against {label(names[across])} with ellipses of "
        f"{len(shown)} components."
    )
    return plotted(canvas, x=label(names[across]), y=label(names[up]), alt=alt, caption=caption)


def occupied(joint: AbstractJointStudent) -> list[int]:
    """Components that are drawn."""
    return [k for k, weight in enumerate(joint.weights) if weight >= OCCUPIED]


def _histogram(
    label: str, values: Float[np.ndarray, " rows"], joint: AbstractJointStudent
) -> Summary:
    """Histogram with the density, and the contribution of each component."""
    curves = {f"curve {series(k)}": partial(_part, joint, k) for k in occupied(joint)}
    curves["med"] = partial(_whole, joint)
    canvas = histogram(values, curves)
    legend = [(f"component {k + 1}", series(k)) for k in occupied(joint)]
    return plotted(
        canvas,
        x=label,
        y="rows",
        alt=f"Histogram of {label} with its predictive density and {len(legend)} components.",
        caption="Bars: numbers of rows; thick line: predictive density on their scale; other "
        f"lines: contributions of the components.{_hidden(joint)}",
        legend=legend if len(legend) > 1 else [],
    )


def _whole(joint: AbstractJointStudent, at: Points) -> Points:
    """Density of the only variable."""
    return np.asarray(joint.marginal(0).density_at(at)[:, 0])


def _part(joint: AbstractJointStudent, k: int, at: Points) -> Points:
    """Contribution of one component to the density."""
    return np.asarray(joint.weights[k] * np.exp(joint.component_log_density(at[None])[k]))


def _hidden(joint: AbstractJointStudent) -> str:
    """Sentence on components that are not drawn; empty if all are."""
    hidden = len(occupied(joint)) < len(joint.weights)
    return f" Components below {percent(OCCUPIED)} are omitted." if hidden else ""


DEVIATIONS = (1.0, 2.0)
"""Standard deviations at which outlines are drawn."""

POINTS = 49


def ellipse(
    centre: Float[np.ndarray, " 2"], covariance: Float[np.ndarray, "2 2"], deviations: float
) -> Float[np.ndarray, "2 points"]:
    """Points at this Mahalanobis distance from the centre.

    Examples
    --------
    >>> ellipse(np.zeros(2), np.diag([4.0, 1.0]), 2.0).max(axis=1)
    array([4., 2.])
    """
    angle = np.linspace(0.0, 2.0 * np.pi, POINTS)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return np.asarray(centre[:, None] + deviations * (root @ circle))
