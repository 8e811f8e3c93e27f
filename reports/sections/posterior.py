"""Posterior: every coefficient with its interval, as tables and as a forest by component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesvb.summary import PROB

from ..figures import LINE, colour, drawn, marker, shortened
from ..numerals import percent, significant
from ..plain import Summary
from ..tables import after_uncertainty, table

if TYPE_CHECKING:
    from bayesvb.fit import Fit

MOST_PANELS = 12
"""Terms of a forest; the table has all of them."""

OCCUPIED = 0.01
"""Share from which a component is drawn: the coefficients of an empty one are its prior's."""

TITLES = {"sd": "sd", "p_positive": "P(> 0)"}


def summary(fit: Fit) -> Summary:
    """Tables of the parts and their forests."""
    whole = fit.summary()
    shares = fit.components()["share"]
    drawn_components = [int(str(k)) for k, share in shares.items() if share >= OCCUPIED]
    meaning = fit.core.gate.coefficient_meaning()
    says = {
        "mean": "Coefficients of the components' lines, in units of the response per unit of term",
        "gating": f"Coefficients of the gate ({meaning}), per unit of the term",
        "sigma": "Noise standard deviation of each component, in units of the response",
        "share": "Share of each component: its weight averaged over the rows",
    }
    parts = [
        {"part": part, "table": _table(whole, part, words), "forest": None}
        for part, words in says.items()
        if part in whole.index.get_level_values("part")
    ]
    for one in parts:
        if one["part"] in ("mean", "gating"):
            rows = whole.loc[[one["part"]]].droplevel("part")
            one["forest"] = _forest(rows, str(one["part"]), drawn_components)
    return {
        "prob": PROB,
        "parts": parts,
        "n_not_drawn": len(shares) - len(drawn_components),
        "smallest_share_drawn": OCCUPIED,
    }


def _table(whole: pd.DataFrame, part: str, words: str) -> Summary:
    frame = whole.loc[[part]].droplevel("part")
    if (frame.index.get_level_values("term") == "").all():
        frame = frame.droplevel("term")
    each = after_uncertainty(frame["sd"].to_numpy())
    decimals: dict[str, Any] = dict.fromkeys(["mean", "sd", "lower", "upper"], each)
    if frame["p_positive"].isna().all():
        frame = frame.drop(columns="p_positive")
    else:
        decimals["p_positive"] = 3
    low, high = (1.0 - PROB) / 2.0, (1.0 + PROB) / 2.0
    titles = {**TITLES, "lower": percent(low, 1), "upper": percent(high, 1)}
    caption = f"{words}: posterior mean, standard deviation and central {percent(PROB)} interval."
    return table(frame, caption, titles=titles, decimals=decimals, rest="fit.summary()")


def _forest(rows: pd.DataFrame, part: str, components: list[int]) -> Summary | None:
    """One panel per term, one interval per component."""
    levels = [name for name in rows.index.names if name != "component"]
    terms = list(dict.fromkeys(rows.reset_index("component").index))
    rows = rows[rows.index.get_level_values("component").isin(components)]
    if rows.empty:
        return None
    shown = terms[:MOST_PANELS]
    present = list(dict.fromkeys(rows.index.get_level_values("component")))
    columns = 3 if len(shown) > 4 else 2
    n_rows = -(-len(shown) // columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(n_rows, columns, squeeze=False).ravel()
        for axes, term in zip(grid, shown, strict=False):
            key = term if isinstance(term, tuple) else (term,)
            chosen = rows.reset_index("component").loc[[key if len(levels) > 1 else key[0]]]
            _panel(axes, chosen, present, ": ".join(map(str, key)))
        for axes in grid[len(shown) :]:
            axes.set_axis_off()

    height = n_rows * (0.75 + 0.17 * len(present))
    more = f" The first {len(shown)} of {len(terms)} terms." if len(terms) > len(shown) else ""
    caption = (
        f"Posterior mean and {percent(PROB)} interval of each component, one panel per term, each "
        f"with its own scale. The vertical line is zero.{more}"
    )
    alt = (
        f"Forest plot of the {part} coefficients: {len(shown)} terms, {len(present)} components; "
        "the table holds the same numbers."
    )
    return drawn(draw, alt=alt, caption=caption, size=(7.8, max(height, 1.5)))


def _panel(axes: Axes, rows: pd.DataFrame, components: list[int], title: str) -> None:
    axes.axvline(0.0, color=LINE, linewidth=1.2, zorder=1)
    for place, k in enumerate(components):
        one = rows[rows["component"] == k].iloc[0]
        axes.plot([one["lower"], one["upper"]], [place, place], color=colour(k - 1), zorder=2)
        axes.plot(one["mean"], place, marker(k - 1), color=colour(k - 1), markersize=5, zorder=3)
    axes.set_yticks(range(len(components)), [str(k) for k in components])
    axes.set_ylim(len(components) - 0.5, -0.5)
    axes.set_title(shortened(title, 26), fontsize=9)
    axes.locator_params(axis="x", nbins=4)
    ends = np.asarray([*rows["lower"], *rows["upper"]], dtype=float)
    if significant(ends) == 0 and np.abs(ends).max() >= 1e5:
        axes.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
