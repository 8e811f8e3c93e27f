"""Components: their share and noise, how well they separate, how their weights change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.distributions.intervals import PROB
from bayesvb.drawing import marks
from bayesvb.results.groups import units_of

from ..cells.numerals import counted, percent
from ..cells.plain import Summary
from ..cells.tables import after_uncertainty, shaded, table
from ..figures.plot import Axis, Canvas, covariate_axis, number_axis, plotted, series
from ..rows.profiles import Profile, compared, most_moving, profile, weights_moved
from ..rows.sampling import component_weights, gated

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

BAND_DRAWS = 400
"""Draws behind the bands of the weights."""

OCCUPIED = 0.01
"""Weight which a component must have somewhere to be drawn."""


def short(fit: AbstractFit) -> Summary | None:
    """Number of components that hold rows; None for a model of one component."""
    if "share" not in fit.named_draws.values or fit.core.n_components == 1:
        return None
    frame = fit.components()
    return {"occupied": len(frame) - len(_empty(fit, frame))}


def _empty(fit: AbstractFit, frame: pd.DataFrame) -> list[int]:
    return [int(str(k)) for k, n in frame[units_of(fit.model).plural].items() if n == 0]


def summary(fit: AbstractFit) -> Summary | None:
    """Table of the components, and their weights along the covariate that moves them most.

    None for a model of one component.
    """
    named = fit.named_draws
    if "share" not in named.values or fit.core.n_components == 1:
        return None
    frame = fit.components()
    empty = _empty(fit, frame)
    name = most_moving(fit, weights_moved) if gated(fit) else None
    return {
        "prob": PROB,
        "table": _table(frame, named.texts["sigma"].caption if "sigma" in frame else ""),
        "empty": empty,
        "unit": units_of(fit.model).plural.removesuffix("s"),
        "moved_by": name,
        "compared": len(compared(fit.model.design)),
        "served": _served(fit) if fit.model.response.is_categorical else None,
        "weights": None if name is None else _weights(fit, profile(fit, name)),
        "occupied": len(frame) - len(empty),
    }


def _table(frame: pd.DataFrame, noise: str) -> Summary:
    interval = f"{percent(PROB)}\u00a0interval"
    units = "rows" if "rows" in frame else "groups"
    columns: dict[str, object] = {}
    for name in ("share", "rows", "groups", "membership_prob", "sigma"):
        if name not in frame:
            continue
        columns[name] = frame[name]
        if name in ("share", "sigma"):
            ends = frame[[f"{name}_lower", f"{name}_upper"]].to_numpy().tolist()
            columns[f"{name}_interval"] = pd.Series(ends, frame.index)
    caption = (
        f"Components, the largest first. Share: weight averaged over the {units}. "
        f"{units.capitalize()}: those whose most likely component this is. Membership: "
        f"average probability of that component in these {units}."
    )
    titles = {"share_interval": f"share, {interval}", "sigma_interval": f"σ, {interval}",
              "sigma": "σ", units: f"{units} (most likely)",
              "membership_prob": "membership"}  # fmt: skip
    decimals: dict[str, Any] = {"share": 3, "share_interval": 3, "membership_prob": 2}
    if "sigma" in frame:
        caption += f" σ: {noise[:1].lower()}{noise[1:]}."
        wide = (frame["sigma_upper"] - frame["sigma_lower"]).to_numpy(dtype=float)
        decimals["sigma"] = decimals["sigma_interval"] = after_uncertainty(
            wide, frame["sigma"].to_numpy()
        )
    return table(pd.DataFrame(columns), caption, titles=titles, decimals=decimals)


def _served(fit: AbstractFit) -> Summary:
    """Rows of each class by their most likely component."""
    levels, chosen = fit.model.design.class_labels, fit.responsibilities()
    likely = np.asarray(chosen.columns)[chosen.to_numpy().argmax(axis=1)]
    codes = np.asarray(fit.model.design.response, dtype=int)
    counts = pd.crosstab(likely, codes).reindex(columns=range(len(levels)), fill_value=0)
    counts.columns = pd.Index(levels)
    caption = (
        "Rows of each class by the component that is their most likely one given covariates and "
        "class: counts, and percent of the rows of the component. A component with several classes "
        "separates them by its latent vector."
    )
    return shaded(counts, caption, corner="component", across="class")


def _weights(fit: AbstractFit, rows: Profile) -> Summary:
    n_draws = min(BAND_DRAWS, len(fit.draws["gate"]))
    draws = rows.averaged(fit.weights_at(rows.frame, draws=n_draws), axis=1)
    mean = rows.averaged(component_weights(fit, rows.frame))
    across = fit.model.design.label(rows.covariate.name)
    low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
    shown = [k for k in range(fit.model.size) if mean[k].max() >= OCCUPIED]

    margin = 0.02  # half of a line at 0 or 1
    canvas = Canvas(
        covariate_axis(fit.model.design, rows.covariate)[0],
        Axis(-margin, 1.0 + margin, number_axis(0.0, 1.0).ticks),
    )
    for place, k in enumerate(shown):
        if rows.covariate.discrete:
            x = rows.x + marks.dodged(place, len(shown))
            canvas.bars(f"thin {series(k)}", x, low[:, k], high[:, k])
            canvas.dots(f"dot {series(k)}", x, mean[k])
        else:
            canvas.band(f"shade {series(k)}", rows.x, low[:, k], high[:, k])
            canvas.line(f"curve {series(k)}", rows.x, mean[k])
    left = fit.model.size - len(shown)
    hidden = (
        f" {counted(left, 'component')} below {percent(OCCUPIED)} everywhere not drawn."
        if left
        else ""
    )
    fixed = f" Other covariates {rows.fixed}." if rows.fixed else ""
    caption = (
        f"Weight of each component as {rows.covariate.name} changes, with {percent(PROB)} bands."
        f"{fixed}{hidden}"
    )
    return plotted(
        canvas,
        x=across,
        y="weight of the component",
        alt=_alt(mean, shown, rows),
        caption=caption,
        legend=[(f"component {k + 1}", series(k)) for k in shown],
    )


def _alt(mean: Float[np.ndarray, "experts rows"], shown: list[int], rows: Profile) -> str:
    ends = [
        f"component {k + 1} from {percent(float(mean[k, 0]))} to {percent(float(mean[k, -1]))}"
        for k in shown[:6]
    ]
    name = rows.covariate.name
    return f"Weights of the components from the first to the last value of {name}: " + "; ".join(
        ends
    )
