"""Candidates: the numbers of components among which the fit was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import pandas as pd

from bayesvb.results.limits import LIMITS

from ..cells.numerals import counted, numeral
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.svg import BAND, INK, LINE, axes_of, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "n_components": "components",
    "elbo": "ELBO",
    "elpd_diff": "difference",
    "dse": "se of difference",
    "occupied": "with rows",
}

DECIMALS = {"elbo": 1, "elpd": 1, "se": 1, "elpd_diff": 1, "dse": 1, "p": 1, "seconds": 2}


@runtime_checkable
class HasCandidates(Protocol):
    """What ``bvb.select`` returns."""

    table: pd.DataFrame
    doubts: Mapping[int, str]
    criterion: str

    @property
    def chosen(self) -> int:
        """Number of components that is chosen."""


def candidates(selection: HasCandidates | None) -> Summary | None:
    """Table of the candidates, how they compare, and why one was chosen."""
    if selection is None:
        return None
    frame = selection.table
    shown = frame.drop(columns=["warning", "best", "chosen"]).rename_axis("n_components")
    verdicts = {number: "chosen" if frame["chosen"][number] else "" for number in frame.index}
    largest = int(frame.index[frame["best"]][0])
    if largest != selection.chosen:
        verdicts[largest] = "largest elpd"
    name = selection.criterion.upper()
    caption = (
        f"Fits with different numbers of components, by {name}. elpd: expected log predictive "
        "density of new rows, in nats; difference to the largest, with its standard error; p: "
        "effective number of parameters; with rows: components with a share above 1%."
    )
    return {
        "criterion": name,
        "chosen": selection.chosen,
        "reading": reading(frame, selection.chosen, largest),
        "doubts": [
            f"In doubt, {number} components: {why}." for number, why in selection.doubts.items()
        ],
        "table": table(
            shown.assign(choice=pd.Series(verdicts)), caption, titles=TITLES, decimals=DECIMALS
        ),
        "figure": _figure(frame, selection.chosen) if len(frame) > 1 else None,
    }


def reading(frame: pd.DataFrame, chosen: int, largest: int) -> str:
    """Why a number was chosen, in words."""
    if len(frame) == 1:
        return f"One number of components was tried: {chosen}."
    whole = f"Of {frame.index.min()} to {frame.index.max()} components {chosen} is chosen: "
    if chosen == largest:
        return (
            f"{whole}it has the largest expected log predictive density, and no smaller number "
            "comes near."
        )
    gap, error = -float(frame["elpd_diff"][chosen]), float(frame["dse"][chosen])
    return (
        f"{whole}the fewest within two standard errors, or {LIMITS.equal_elpd:g} nats, of the "
        f"largest expected log predictive density, that of {counted(largest, 'component')} "
        f"({numeral(gap, 1)} nats more, se {numeral(error, 1)})."
    )


def _figure(frame: pd.DataFrame, chosen: int) -> Summary:
    def draw(figure: Figure) -> None:
        axes = axes_of(
            figure, x="number of components", y="elpd minus the largest (nats)", grid="y"
        )
        axes.axhline(0.0, color=LINE, linewidth=1.2)
        reach = 2.0 * frame["dse"]
        axes.vlines(frame.index, frame["elpd_diff"] - reach, frame["elpd_diff"] + reach,
                    color=BAND, linewidth=1.6)  # fmt: skip
        axes.plot(frame.index, frame["elpd_diff"], "o", color=INK, markersize=5)
        at = (chosen, float(frame["elpd_diff"][chosen]))
        axes.plot(*at, "o", markersize=12, markerfacecolor="none", markeredgecolor=INK)
        axes.set_xticks(list(frame.index))

    caption = (
        "Expected log predictive density less the largest one, with two standard errors of the "
        "difference; the circle is the number that was chosen."
    )
    alt = "elpd minus the largest: " + "; ".join(
        f"{number} components {numeral(float(one), 1)}"
        for number, one in frame["elpd_diff"].items()
    )
    return drawn(draw, alt=alt, caption=caption)
