"""Prior sensitivity: how far parameters move where a number of the prior is halved or doubled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.results.influence import label_of
from bayesvb.results.prior_sensitivity import prior_sensitivity
from bayesvb.results.robust import has_jackknife
from bayesvb.results.summary import empty_components

from ..cells.plain import Summary
from ..cells.tables import table

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MUCH = 0.5
"""Standard deviations from which halving or doubling a number changes the conclusion."""

MOST_ROWS = 200_000
"""Rows beyond which the page leaves this to ``fit.prior_sensitivity()``."""

SIDES = ("halved", "doubled")

TIE = 1e-6
"""Relative difference below which two changes count as equal: the first is reported."""


def summary(fit: AbstractFit) -> Summary | None:
    """Numbers of the prior with their largest effects; None without linear response, or prior."""
    if not fit.engine.prior_counts or not has_jackknife(fit.parts[0].fit):
        return None
    if fit.model.source.n_rows > MOST_ROWS:
        return None
    found = prior_sensitivity(fit)
    found = found[~found.index.get_level_values("component").isin(empty_components(fit))]
    numbers = dict.fromkeys(map(str, found.index.get_level_values("number")))
    rows = {number: _largest(found.loc[[number]].droplevel("number")) for number in numbers}
    shown = pd.DataFrame.from_dict(rows, orient="index").rename_axis("number")
    sizes = shown[list(SIDES)].abs().to_numpy()
    row, side = divmod(int(sizes.argmax()), len(SIDES))
    return {
        "much": MUCH,
        "n_much": int((sizes.max(axis=1) > MUCH).sum()),
        "first": str(shown.index[row]),
        "side": SIDES[side],
        "change": float(shown[SIDES[side]].iloc[row]),
        "parameter": str(shown[f"{SIDES[side]}_of"].iloc[row]),
        "table": _table(shown),
    }


def _largest(part: pd.DataFrame) -> dict[str, object]:
    """Largest change on either side, and its parameter."""
    own: dict[str, object] = {"value": float(part["value"].iloc[0])}
    for side in SIDES:
        values = part[side].to_numpy(dtype=float)
        sizes = np.abs(values)
        place = int((sizes > (1.0 - TIE) * sizes.max()).argmax())
        own |= {side: float(values[place]), f"{side}_of": label_of(tuple(part.index[place]))}
    return own


def _table(shown: pd.DataFrame) -> Summary:
    caption = (
        "Numbers of the prior, and the largest change of a parameter where one is halved or "
        "doubled, in posterior standard deviations of the parameter: by a first-order "
        "approximation, "
        "without a new fit."
    )
    titles = {"halved": "halved: change (sd)", "halved_of": "of", "doubled": "doubled: change (sd)",
              "doubled_of": "of"}  # fmt: skip
    decimals: dict[str, int] = {"halved": 2, "doubled": 2}
    rest = "fit.prior_sensitivity()"
    return table(shown, caption, titles=titles, decimals=decimals, rest=rest)
