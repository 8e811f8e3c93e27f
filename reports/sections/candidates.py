"""Candidates: the numbers of components among which the fit was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from bayesvb.results.limits import LIMITS

from ..cells.numerals import counted, numeral
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.plot import Axis, Canvas, plotted, spread_axis
from ..panels.dots import Dot, dot_panel

if TYPE_CHECKING:
    pass

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
    """Result of ``bvb.select``."""

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
        f"largest expected log predictive density ({counted(largest, 'component')}: "
        f"{numeral(gap, 1)} nats more, SE {numeral(error, 1)})."
    )


def choice_sentence(frame: pd.DataFrame, chosen: int) -> str:
    """Number of components that is chosen, and how the next best number compares with it."""
    components = counted(chosen, "component")
    if len(frame) == 1:
        return f"{components}, the only number that was tried."
    others = frame["elpd_diff"].drop(chosen)
    other = int(str(others.idxmax()))
    at = chosen if float(others[other]) == 0.0 else other
    gap = numeral(abs(float(frame["elpd_diff"][at])), 1)
    by = f"by {gap} nats (SE {numeral(float(frame['dse'][at]), 1)})"
    if at == chosen:
        best = f"{numeral(other)} predict{'s' if other == 1 else ''} better {by}"
        return f"{components}; more do not predict clearly better: {best}."
    if chosen == frame.index.max():
        return f"{components}, the most that were tried: {numeral(other)} predict worse {by}."
    return f"{components} predict best: {numeral(other)} predict worse {by}."


def with_choice(report: Summary, selection: HasCandidates | None) -> Summary:
    """The summary of the chosen fit, beginning with the choice of its number of components.

    Parameters
    ----------
    report : mapping
        ``finding`` and ``answer`` of the only fit of a page.
    selection : Selection or None
        Selection from which it was chosen.
    """
    if selection is None:
        return report
    finding, answer = report["finding"], report["answer"]
    chosen = choice_sentence(selection.table, selection.chosen)
    return {
        **report,
        "finding": {**finding, "sentences": [chosen, *finding["sentences"]]},
        "answer": {
            **answer,
            "question": f"How many components? {answer['question']}",
            "panels": [_panel(selection), *answer["panels"]],
        },
    }


def _panel(selection: HasCandidates) -> Summary:
    """Scores of the numbers that were tried, less the largest score."""
    frame = selection.table
    dots = [
        Dot(
            label=counted(int(str(number)), "component"),
            estimate=difference,
            interval=(difference - 2.0 * error, difference + 2.0 * error),
            decimals=1,
            series=int(number == selection.chosen),
        )
        for number, (difference, error) in zip(
            frame.index, frame[["elpd_diff", "dse"]].to_numpy().tolist(), strict=True
        )
    ]
    return dot_panel(
        dots,
        title="Score of each number of components",
        caption=f"Held-out log predictive density ({selection.criterion.upper()}) less the "
        "largest, in nats. Bar: two standard errors.",
        heads=("Model", "Difference"),
        is_difference=True,
    )


def _figure(frame: pd.DataFrame, chosen: int) -> Summary:
    numbers = frame.index.to_numpy(dtype=float)
    difference, reach = (frame[name].to_numpy(dtype=float) for name in ("elpd_diff", "dse"))
    low, high = difference - 2.0 * reach, difference + 2.0 * reach
    across = Axis(
        numbers[0] - 0.5, numbers[-1] + 0.5, [(number, f"{number:g}") for number in numbers]
    )
    canvas = Canvas(across, spread_axis(np.concatenate([low, high, [0.0]])))
    canvas.across("axis", 0.0)
    canvas.bars("thin", numbers, low, high)
    canvas.dots("dot", numbers, difference)
    canvas.dots("median", numbers[numbers == chosen], difference[numbers == chosen])
    caption = (
        "Expected log predictive density less the largest one, with two standard errors of the "
        "difference; the large dot is the number that was chosen."
    )
    alt = "elpd minus the largest: " + "; ".join(
        f"{number} components {numeral(float(one), 1)}"
        for number, one in frame["elpd_diff"].items()
    )
    return plotted(
        canvas,
        x="number of components",
        y="elpd minus the largest (nats)",
        alt=alt,
        caption=caption,
    )
