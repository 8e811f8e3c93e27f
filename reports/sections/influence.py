"""Influence: the rows, or groups of rows, without which the fit would change most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.errors import DataError
from bayesvb.results.groups import units_of
from bayesvb.results.influence import MEASURES, influence, label_of, placed
from bayesvb.results.robust import has_jackknife
from bayesvb.results.summary import coefficient_table, empty_components

from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.plot import Canvas, plotted, spread_axis

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

SHOWN = 8
"""Rows in the table."""

NAMED = 5
"""Rows that are named in the picture."""

MUCH = 1.0
"""Standard deviations of a parameter or prediction that one row should not move it by."""

MOST_ROWS = 20_000
"""Rows beyond which the page leaves this to ``fit.influence()``: each then moves little."""

ROW_BY_ROW = 2_000
"""Limit where posteriors are not made for many rows at once: a few milliseconds a row."""

TITLES = {"cooks_distance": "Cook's distance", "prediction": "largest change of a mean (sd)",
          "parameter": "parameter moved most", "change": "by (sd)"}  # fmt: skip


def row_limit(fit: AbstractFit) -> int:
    """Rows beyond which the page has no influence."""
    return MOST_ROWS if fit.parts[0].fit.core.posterior_by_row else ROW_BY_ROW


def left_to_the_fit(fit: AbstractFit) -> bool:
    """Whether the page has no influence only because it would take long."""
    one = fit.parts[0].fit
    return has_jackknife(one) and one.model.source.n_rows > row_limit(fit)


def summary(fit: AbstractFit) -> Summary | None:
    """The most influential rows, or groups of a model that has them; None without its measures."""
    one = fit.parts[0].fit
    if not has_jackknife(one) or left_to_the_fit(fit):
        return None
    try:
        found = influence(fit)
    except DataError:  # at the edge of what can be estimated: nothing is smooth there
        return None
    labels = coefficient_table(one).index
    empty = empty_components(fit)
    kept = [label_of(one) for one in labels if one[1] not in empty]
    each = found[[name for name in kept if name in found]]
    sizes = each.abs().to_numpy()
    largest = np.maximum(sizes.max(axis=1), found["prediction"].to_numpy())
    order = np.argsort(-found["cooks_distance"].to_numpy(), kind="stable")[:SHOWN]
    moved = sizes[order].argmax(axis=1)
    unit = units_of(fit.model).plural.removesuffix("s")
    leverage = found["leverage"].to_numpy(dtype=float)  # none of groups and of ordered levels
    spent = None if np.isnan(leverage).all() else float(leverage.sum())
    measures = [name for name in MEASURES if spent is not None or name != "leverage"]
    shown = found.iloc[order][measures].assign(
        parameter=[str(each.columns[k]) for k in moved],
        change=[float(each.iloc[row, k]) for row, k in zip(order, moved, strict=True)],
    )
    shown.index = pd.Index([str(label) for label in shown.index], name=unit)
    return {
        "unit": unit,
        "n_rows": len(found),
        "n_much": int((largest > MUCH).sum()),
        "discrete": fit.model.response.is_discrete,
        "much": MUCH,
        "spent": spent,
        "first": shown.index[0],
        "parameter": shown["parameter"].iloc[0],
        "change": float(shown["change"].iloc[0]),
        "table": _table(shown),
        "figure": _figure(found, unit),
    }


def _table(shown: pd.DataFrame) -> Summary:
    unit, leverage = str(shown.index.name), ""
    if "leverage" in shown:
        leverage = (
            "Leverage: how much the predicted mean of the row follows its own response, from 0 to "
            "1 as a rule. "
        )
    caption = (
        f"The most influential {unit}s, by Cook's distance: the squared change of all coefficients "
        f"together when the {unit} is deleted, by their covariance and per coefficient. {leverage}"
        "Changes are in posterior standard deviations of what changes."
    )
    decimals: dict[str, int] = {"cooks_distance": 3, "leverage": 3, "prediction": 2, "change": 2}
    return table(shown, caption, titles=TITLES, decimals=decimals, rest="fit.influence()")


def _figure(found: pd.DataFrame, unit: str) -> Summary:
    across, label = placed(found)
    distance = found["cooks_distance"].to_numpy(dtype=float)
    named = np.argsort(-distance, kind="stable")[:NAMED]
    words = {int(place): str(found.index[place]) for place in named}
    canvas = Canvas(spread_axis(across), spread_axis(np.append(distance, 0.0)))
    canvas.dots("pts", across, distance)
    for place, text in words.items():
        canvas.dots("dot", across[[place]], distance[[place]])
        side = "before" if canvas.x.share(float(across[place])) > 0.5 else "after"
        canvas.text(float(across[place]), float(distance[place]), text, f"{side} beside")
    caption = f"Cook's distance of every {unit}; the {len(words)} largest are named."
    if label == "leverage":
        caption = (
            f"Cook's distance of every row against its leverage; the {len(words)} largest are "
            "named. A row far to the right could move the fit, one far up does."
        )
    alt = f"Cook's distance against {label}; the largest belong to {unit}s " + ", ".join(
        words.values()
    )
    return plotted(canvas, x=label, y="Cook's distance", alt=alt, caption=caption)
