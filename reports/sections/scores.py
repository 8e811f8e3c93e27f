"""Principal components: their number, loadings, and reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.distributions.intervals import PROB
from bayesvb.models.pca.scores import LatentPosterior
from bayesvb.results.capabilities import HasScores
from bayesvb.results.subsampling import sample

from ..cells.names import cut
from ..cells.numerals import counted, numeral, percent, significant
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.plot import (
    FEW_TICKS,
    Axis,
    Canvas,
    log_axis,
    number_axis,
    panelled,
    plotted,
    row_axis,
    series,
    spread_axis,
)
from ..rows.loadings import standard_deviations
from ..rows.sampling import POINTS_SHOWN, choice_note

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_VARIABLES = 30
"""Variables whose loadings are drawn."""

MOST_COMPONENTS = 6
"""Components whose loadings are drawn: the largest that are effective."""

MOST_PANELS = 6
"""Variables whose reconstruction is drawn."""

POINTS_OF_PANELS = 500
"""Rows of each of them that are drawn at most."""

MOST_ARROWS = 5
"""Variables with an arrow over the scores: those with the longest loadings."""

LONGEST_ARROW = 0.8
"""Part of the way from the origin to the edge that the longest arrow goes."""

NEAR_TIP = (0.25, 0.07)
"""Distance of two arrows, in parts of width and height, below which their names would overlap."""

LONGEST_NAME, MOST_NAMES = 24, 2
"""Characters of a name next to its arrow."""

Matrix = Float[np.ndarray, "rows dims"]


def short(fit: AbstractFit) -> Summary | None:
    """Scores of the rows."""
    model = fit.model
    return {"scores": _scores(fit, model)} if isinstance(model, HasScores) else None


def summary(fit: AbstractFit) -> Summary | None:
    """Scree, loadings, scores, and the data compared with their reconstruction."""
    model = fit.model
    if not isinstance(model, HasScores):
        return None
    frame, matrix = fit.components(), model.design.matrices["variables"]
    given = fit.predict(kind="reconstruction").to_numpy()
    seen = np.isfinite(matrix)
    effective = [int(k) for k in np.flatnonzero(frame["effective"])]
    return {
        "n_components": len(frame),
        "n_effective": len(effective),
        "n_missing": int((~seen).sum()),
        "n_values": matrix.size,
        "rows_with_gaps": int((~seen).any(axis=1).sum()),
        "scree": _scree(frame),
        "table": _table(frame),
        "loadings": _loadings(fit, effective[:MOST_COMPONENTS]) if effective else None,
        "scores": _scores(fit, model),
        "reconstruction": _reconstruction(model, matrix, given),
        "explained": _explained(model, matrix, given),
    }


def _table(frame: pd.DataFrame) -> Summary:
    caption = (
        "Components, sorted by the norm of their mean loadings. Variance: share of the predictive "
        "variance that the component explains. Relevance: mean of α, large where a component is "
        "not needed. Signal: squared norm of the mean loadings over their posterior variance; "
        "effective above 1."
    )
    return table(frame, caption, decimals={"variance": 3, "signal": 1})


def _scree(frame: pd.DataFrame) -> Summary:
    place, counts = frame.index.to_numpy(dtype=float), frame["effective"].to_numpy(dtype=bool)
    relevance = frame["relevance"].to_numpy()
    share = frame["variance"].to_numpy()
    ticks = [(at, f"{at:g}") for at in place[:: max(len(place) // 8, 1)].tolist()]
    across = Axis(0.5, len(place) + 0.5, ticks)
    panels = []
    for title, values, up in (
        ("share of variance", share, number_axis(0.0, 1.06 * float(share.max()))),
        ("mean of α (log scale)", np.log10(relevance), log_axis(relevance.min(), relevance.max())),
    ):
        canvas = Canvas(across, up)
        canvas.line("curve grey", place, values)
        canvas.dots("dot", place[counts], values[counts])
        canvas.dots("dot grey", place[~counts], values[~counts])
        panels.append((title, canvas))
    legend = [("effective", ""), *([] if counts.all() else [("not effective", "grey")])]
    shares = frame["variance"].to_numpy()
    caption = (
        "First: share of the predictive variance that each component explains; noise has the rest. "
        "Second: mean of its relevance α, the precision of its loadings: a component that the data "
        "do not need has a large one. Blue: effective, that is the squared norm of its mean "
        "loadings is larger than their posterior variance."
    )
    alt = (
        f"Scree plot: {int(counts.sum())} of {counted(len(shares), 'component')} effective; shares "
        f"of variance {', '.join(percent(float(one), 1) for one in shares[:6])}."
    )
    return panelled(panels, x="component", y="", alt=alt, caption=caption, legend=legend)


def _loadings(fit: AbstractFit, components: list[int]) -> Summary:
    """A panel per component, an interval per variable."""
    draws = fit.named_draws.values["loadings"] / standard_deviations(fit)
    names = list(fit.model.observed())[:MOST_VARIABLES]
    mean = draws.mean(axis=0)
    low, high = np.quantile(draws, [(1.0 - PROB) / 2.0, (1.0 + PROB) / 2.0], axis=0)
    rows, some = -np.arange(float(len(names))), slice(len(names))
    panels = []
    for k in components:
        ends = np.concatenate([low[k, some], high[k, some], [0.0]])
        canvas = Canvas(spread_axis(ends, FEW_TICKS), row_axis(names))
        canvas.upright("axis", 0.0)
        canvas.steps(f"thin {series(k)}", low[k, some], high[k, some], rows)
        canvas.dots(f"dot {series(k)}", mean[k, some], rows)
        panels.append((f"component {k + 1}", canvas))
    n_all = len(fit.model.observed())
    more = f" The first {len(names)} of {n_all} variables." if n_all > len(names) else ""
    caption = (
        f"Loadings of the effective components, with {percent(PROB)} intervals: by how much each "
        "variable changes, in its standard deviations, per standard deviation of the score. "
        f"They take the scores as given, and are much narrower than exact ones.{more}"
    )
    first = ", ".join(f"{name} {numeral(float(one))}" for name, one in
                      zip(names[:6], mean[components[0]], strict=False))  # fmt: skip
    alt = f"Loadings of {counted(len(components), 'component')}; of component {components[0] + 1}: "
    return panelled(
        panels,
        x="loading (standard deviations of the variable)",
        y="",
        alt=alt + first,
        caption=caption,
    )


def _scores(fit: AbstractFit, model: HasScores) -> Summary | None:
    """The first two scores of each row, with arrows for the variables of the longest loadings."""
    latent = LatentPosterior.of(fit.q.loadings, fit.model.block(fit.model.rows()))
    if len(latent.mean) < 2:
        return None
    chosen, shares = sample(fit, POINTS_SHOWN), fit.components()["variance"].to_numpy()
    first, second = latent.mean[:2, chosen.at]
    canvas = Canvas(spread_axis(first), spread_axis(second))
    canvas.dots("pts", first, second)
    arrows = _arrows(fit)
    _draw_arrows(canvas, arrows)
    sd = np.sqrt(np.diagonal(latent.covariance[:, :2, :2], axis1=1, axis2=2)).mean(axis=0)
    words = " and ".join(numeral(float(one), significant([one], 2)) for one in sd)
    gaps = ", larger for rows with missing values" if model.n_gaps else ""
    longest = f"the {len(arrows)} longest loadings" if len(arrows) > 1 else "the longest loading"
    caption = (
        "Scores of the rows on the first two components, one unit being their standard deviation; "
        f"posterior standard deviations of a row are about {words}{gaps}. Arrows: {longest}, to "
        f"one scale.{choice_note('Points:', chosen)}"
    )
    return plotted(
        canvas,
        x=f"score 1 ({percent(float(shares[0]))} of the variance)",
        y=f"score 2 ({percent(float(shares[1]))})",
        alt=f"Scatter plot of {counted(len(chosen.at), 'row')} by their scores 1 and 2, with "
        f"arrows of {', '.join(arrows)}.",
        caption=caption,
    )


def _arrows(fit: AbstractFit) -> dict[str, Float[np.ndarray, " 2"]]:
    """Loadings of the first two components by variable, in its standard deviations: the longest."""
    loadings = (fit.named_draws.values["loadings"].mean(axis=0) / standard_deviations(fit))[:2].T
    order = np.argsort(-np.linalg.norm(loadings, axis=1), kind="stable")[:MOST_ARROWS]
    names = [fit.model.design.called(name) for name in fit.model.observed()]
    return {names[i]: loadings[i] for i in order}


def _draw_arrows(canvas: Canvas, arrows: dict[str, Float[np.ndarray, " 2"]]) -> None:
    """Draw all to one scale, so that the longest goes nearly to the edge."""
    ends = np.array(list(arrows.values()))
    room = [
        value / (edge.high if value > 0.0 else edge.low)
        for end in ends
        for value, edge in zip(end, (canvas.x, canvas.y), strict=True)
    ]
    ends = LONGEST_ARROW * ends / (max(room) or 1.0)
    for end in ends:
        canvas.line("arrow", np.array([0.0, end[0]]), np.array([0.0, end[1]]))
        canvas.dots("tip", end[:1], end[1:])
    _label(canvas, list(arrows), ends)


def _label(canvas: Canvas, names: Sequence[str], ends: Float[np.ndarray, "arrows 2"]) -> None:
    """Write names at the tips, joining the names of arrows that nearly coincide."""
    places = np.array([[canvas.x.share(x), canvas.y.share(y)] for x, y in ends.tolist()])
    left = list(range(len(names)))
    while left:
        first = left[0]
        near = [i for i in left if (np.abs(places[i] - places[first]) < NEAR_TIP).all()]
        left = [i for i in left if i not in near]
        end = ends[first]
        side = "before" if places[first, 0] > 0.5 else "after"
        side += " below" if end[1] < 0.0 else ""  # away from the arrow
        text = ", ".join(cut(names[i], LONGEST_NAME) for i in near[:MOST_NAMES])
        more = f" and {len(near) - MOST_NAMES} more" if len(near) > MOST_NAMES else ""
        canvas.text(float(end[0]), float(end[1]), text + more, side)


def explained_by(observed: Float[np.ndarray, " rows"], given: Float[np.ndarray, " rows"]) -> float:
    """Share of the variance of the observed values that the reconstruction has; NaN without any."""
    seen = np.isfinite(observed)
    values = observed[seen]
    total = float(((values - values.mean()) ** 2).sum())
    left = float(((values - given[seen]) ** 2).sum())
    return 1.0 - left / total if total > 0.0 else float("nan")


def _explained(model: HasScores, matrix: Matrix, given: Matrix) -> Summary:
    seen: Bool[np.ndarray, "rows dims"] = np.isfinite(matrix)
    rows = {
        name: {
            "explained": explained_by(matrix[:, i], given[:, i]),
            "rmse": float(np.sqrt(np.nanmean((matrix[:, i] - given[:, i]) ** 2))),
            "missing": int((~seen[:, i]).sum()),
        }
        for i, name in enumerate(model.variables)
    }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("variable")
    frame = frame.astype({"missing": int}) if model.n_gaps else frame.drop(columns="missing")
    caption = (
        "Reconstruction of each variable from the scores, over its observed values: share of its "
        "variance (R²), and root mean squared error in units of the variable."
    )
    titles = {"explained": "R²", "rmse": "error"}
    return table(frame, caption, titles=titles, decimals={"explained": 3})


def _reconstruction(model: HasScores, matrix: Matrix, given: Matrix) -> Summary:
    names = model.variables[:MOST_PANELS]
    at = np.arange(len(matrix))[:: -(-len(matrix) // POINTS_OF_PANELS)]
    panels = []
    for i, name in enumerate(names):
        line = np.array([np.nanmin(matrix[:, i]), np.nanmax(matrix[:, i])])
        across = spread_axis(np.append(given[at, i], line), FEW_TICKS)
        canvas = Canvas(across, spread_axis(line, FEW_TICKS))
        canvas.dots("pts", given[at, i], matrix[at, i])
        canvas.line("curve ink", line, line)
        panels.append((name, canvas))
    n_all = len(model.variables)
    more = f" The first {len(names)} of {n_all} variables." if n_all > len(names) else ""
    caption = (
        "Observed values against their reconstruction from the scores of the row. On the line: "
        "nothing is lost; a cloud that is flat or bent: the components miss something of this "
        f"variable.{more}"
    )
    found = [explained_by(matrix[:, i], given[:, i]) for i in range(len(names))]
    alt = "Observed against reconstructed values; R²: " + ", ".join(
        f"{name} {numeral(one, 2)}" for name, one in zip(names, found, strict=True)
    )
    return panelled(panels, x="reconstructed", y="observed", alt=alt, caption=caption)
