"""Exact posterior: known for one sample, and drawn with the factorised one at every half-step."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import gammaincinv, stdtrit

from bayesvb.distributions.intervals import PROB
from bayesvb.factors.normal_gamma import FactorisedNormalGamma, NormalGamma, ScalarGamma
from bayesvb.models.normal import Contours, UnivariateGaussian, contours
from bayesvb.results.capabilities import HasExactPosterior

from ..cells.numerals import numeral, percent, significant
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.histogram import fitted_histogram
from ..figures.plot import FEW_TICKS, Canvas, number_axis, panelled

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

GRID = 121
"""Means and precisions of the grid under the contours."""

OUTSIDE = 1e-4
"""Probability on each side outside the grid."""

AWAY = 2.5
"""Standard deviations by which the alternation starts away from where it ends."""

HALF_STEPS = 6
"""After these nothing moves that could be seen."""

PANELS = {
    0: "at the start",
    1: "after step 1: q(μ)",
    2: "after step 2: q(precision)",
    HALF_STEPS: "at the end",
}
"""Half-steps that are drawn."""

MASSES = np.array([0.99, 0.9, 0.5])
"""Probability inside the contours, were the distribution normal."""


def short(fit: AbstractFit) -> Summary | None:
    """Histogram of the sample."""
    known = isinstance(fit.model, HasExactPosterior)
    return {"histogram": _histogram(fit)} if known else None


def summary(fit: AbstractFit) -> Summary | None:
    """The alternation in pictures, both posteriors as a table, and their divergences."""
    model = fit.model
    if not isinstance(model, HasExactPosterior):
        return None
    frame, cost = model.exact(fit), model.divergences(fit)
    width = (frame["upper"] - frame["lower"]).unstack("posterior")
    share = width["factorised"] / width["exact"]
    return {
        "prob": PROB,
        "covariance": fit.covariance,
        "divergences": {str(name): float(value) for name, value in cost.items()},
        "width_of_mean": float(share["mu"]),
        "width_of_sd": float(share["sigma"]),
        "histogram": _histogram(fit),
        "steps": _steps(fit, model),
        "table": _table(frame),
    }


def _histogram(fit: AbstractFit) -> Summary:
    ((name, values),) = fit.model.observed().items()
    return fitted_histogram(fit, name, np.asarray(values, dtype=float))


def _table(frame: pd.DataFrame) -> Summary:
    each = [significant([one], 3) for one in frame["sd"].replace(np.inf, 1.0)]
    low, high = (1.0 - PROB) / 2.0, (1.0 + PROB) / 2.0
    titles = {"part": "parameter", "lower": percent(low, 1), "upper": percent(high, 1)}
    caption = (
        f"Mean, standard deviation and central {percent(PROB)} interval of both parameters under "
        "both posteriors, from their formulas and not from draws, in units of the response."
    )
    shown = frame.rename(index={"mu": "μ", "sigma": "σ"}, level="part")
    return table(shown, caption, titles=titles, decimals=dict.fromkeys(frame.columns, each))


def start_of(exact: NormalGamma) -> FactorisedNormalGamma:
    """A factorised posterior that is off in both parameters, for the first panel."""
    law, strength = exact.precision, exact.strength
    sd = 1.0 / np.sqrt(strength * law.mean)
    rate = law.rate / (1.0 + AWAY / np.sqrt(law.shape))
    precision = ScalarGamma(law.shape, float(rate))
    mean_precision = 0.25 * strength * law.mean
    return FactorisedNormalGamma(float(exact.mean - AWAY * sd), mean_precision, precision)


def drawn_densities(model: HasExactPosterior, fit: AbstractFit) -> Contours:
    """Log densities of exact and factorised posterior on a grid that holds nearly all of them."""
    exact = model.exact_posterior(fit)
    start, law = start_of(exact), exact.precision
    sd = 1.0 / np.sqrt(exact.strength * law.mean)
    reach = float(stdtrit(2.0 * law.shape, 1.0 - OUTSIDE))
    left = start.mean - 3.2 / np.sqrt(start.mean_precision)
    low = float(gammaincinv(law.shape, OUTSIDE) / law.rate)
    high = float(gammaincinv(law.shape, 1.0 - OUTSIDE) / start.precision.rate)
    return contours(
        cast(UnivariateGaussian, fit.core),
        fit.stats,
        start,
        half_steps=HALF_STEPS,
        mean=np.linspace(min(left, exact.mean - reach * sd), exact.mean + reach * sd, GRID),
        precision=np.linspace(low, high, GRID),
    )


def _steps(fit: AbstractFit, model: HasExactPosterior) -> Summary:
    found, design = drawn_densities(model, fit), fit.model.design
    scale, centre = float(model.scaling.scale[0]), float(model.scaling.centre[0])
    x, y = found.mean * scale + centre, found.precision / scale**2
    depth = np.log1p(-MASSES)
    panels = []
    for step, title in PANELS.items():
        canvas = Canvas(number_axis(x[0], x[-1], most=FEW_TICKS), number_axis(y[0], y[-1]))
        for kind, height in (("curve k2", found.exact), ("curve k1", found.steps[step])):
            for level in height.max() + depth:
                canvas.line(kind, *outline(x, y, height - level))
        panels.append((title, canvas))
    caption = (
        "Joint density of mean and precision, exact (dashed, the same in every panel) and "
        "factorised (solid), from a start that was chosen away from the data: one step updates "
        "one factor while the other is held. Contours hold about 50, 90 and 99% each. At "
        "the end the solid ones spread over means alike at every precision, while the dashed ones "
        "widen towards small precisions: that is the price of independence. After Bishop (2006), "
        "figure 10.4."
    )
    alt = (
        "Four contour plots of exact and factorised posterior: at the start, after the first two "
        f"half-steps, and at the end, where both centre on a mean of {_at(x, found.exact)}."
    )
    return panelled(
        panels,
        x=f"mean μ of {design.label(design.response_names[0])}",
        y="precision 1/σ²",
        alt=alt,
        caption=caption,
        legend=[("exact", "k2"), ("factorised", "k1")],
    )


def outline(
    x: Float[np.ndarray, " across"],
    y: Float[np.ndarray, " up"],
    height: Float[np.ndarray, "up across"],
) -> tuple[Float[np.ndarray, " corners"], Float[np.ndarray, " corners"]]:
    """Corners of the region of positive heights, which is an interval of x at each y.

    The mean is normal at each precision, so that its density falls on both sides of one place.
    """
    inside = height > 0.0
    rows = np.flatnonzero(inside.any(axis=1))
    ends = []
    for own, kept in zip(height[rows], inside[rows], strict=True):
        first, last = (int(one) for one in np.flatnonzero(kept)[[0, -1]])
        ends.append([_crossing(x, own, first, -1), _crossing(x, own, last, 1)])
    left, right = np.array(ends).T
    corners = np.concatenate([left, right[::-1], left[:1]])
    return corners, np.concatenate([y[rows], y[rows][::-1], y[rows][:1]])


def _crossing(
    x: Float[np.ndarray, " across"], height: Float[np.ndarray, " across"], at: int, step: int
) -> float:
    """Place between a point with a positive height and the next one where the height is 0."""
    beyond = at + step
    if not 0 <= beyond < len(x):
        return float(x[at])
    share = height[at] / (height[at] - height[beyond])
    return float(x[at] + share * (x[beyond] - x[at]))


def _at(x: np.ndarray, density: np.ndarray) -> str:
    """Mean at the highest point."""
    return numeral(float(x[density.max(axis=0).argmax()]))
