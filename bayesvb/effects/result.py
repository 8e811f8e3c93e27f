"""The result of a request: a table of effects with their intervals, and the draws behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.covariates import value_text
from bayesvb.effects.evaluation import Plan
from bayesvb.effects.quantities import Quantity
from bayesvb.effects.rows import Groups, Setting
from bayesvb.errors import DataError
from bayesvb.summary import tails

if TYPE_CHECKING:
    import xarray as xr

    from bayesvb.fit import Fit

NUMBERS = ("estimate", "sd", "lower", "upper")
SHOWN = 30
"""Rows of a table that are printed."""


@dataclass(frozen=True, eq=False)
class Effects:
    """Predictions, comparisons or slopes with their intervals; printable.

    Attributes
    ----------
    kind : {"predictions", "comparisons", "slopes"}
    measure : str or None
        The comparison, for example "ratio", or the slope, for example "dydx".
    words : str
        What was asked for, for example "mean of y"; in the units of the formula's response.
    summary : pandas.DataFrame
        One row per effect. First the columns that identify it (``term`` and ``contrast``, the
        covariates, ``response``, ``component`` and ``level`` where there are several, or the
        option that was given as a list), then ``estimate``, ``sd``, ``lower`` and ``upper``: mean,
        standard deviation and equal-tailed interval of the draws.
    draws : xarray.DataArray, dims (draw, row)
        The draws behind each row of the summary, in its order, with its first columns as
        coordinates of ``row``.
    by : tuple of str
        Covariates that tell the rows apart.
    held : mapping of str to value
        What the other covariates of a grid are held at: the mean of a number, the most frequent
        value of anything else, a number with at most five values included.
    prob : float
        Probability of the intervals.
    target : str
        As it was asked for.
    covariance : str
        What the draws were made with; see ``Fit.covariance``.
    """

    kind: str
    measure: str | None
    words: str
    summary: pd.DataFrame
    draws: xr.DataArray
    by: tuple[str, ...]
    held: Mapping[str, object]
    prob: float
    target: str
    covariance: str

    def plot(self, ax: Any = None) -> Any:
        """Effects against the first covariate that tells them apart; see ``plots.effects``."""
        from bayesvb.plots import effects

        return effects(self, ax=ax)

    def __str__(self) -> str:
        shown = self.summary.iloc[:SHOWN]
        text = shown.to_string(index=False, float_format=lambda x: f"{x:.4g}")
        more = len(self.summary) - len(shown)
        how = f"{self.measure} of " if self.measure else ""
        lines = [
            f"{self.kind.capitalize()}: {how}{self.words}",
            *("  " + t for t in text.splitlines()),
        ]
        lines += [f"  ... {more} more: .summary"] if more else []
        narrow = ", usually too narrow" if self.covariance == "mean-field" else ""
        lines.append(
            f"{100 * self.prob:g} % intervals, {self.draws.sizes['draw']} draws "
            f"({self.covariance} covariance{narrow})."
        )
        if self.held:
            listed = ", ".join(f"{name} = {value_text(value)}" for name, value in self.held.items())
            lines.append(f"Held at the mean or the most frequent value: {listed}.")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked for, checked.

    Attributes
    ----------
    kind : str
    term : str or None
        The covariate that is changed.
    measure : str or None
        How: the comparison, or the slope.
    rows : Setting
    groups : Groups or None
    quantity : Quantity
    responses : tuple of int
    prob : float
    """

    kind: str
    term: str | None
    measure: str | None
    rows: Setting
    groups: Groups | None
    quantity: Quantity
    responses: tuple[int, ...]
    prob: float


def chosen_responses(fit: Fit, response: str | None, quantity: Quantity) -> tuple[int, ...]:
    """Numbers of the responses: the one that is named, or all."""
    names = fit.model.design.response_names
    if response is not None and response not in names:
        raise DataError(f"response={response!r} is not one of {', '.join(names)}")
    if response is not None:
        return (names.index(response),)
    return tuple(range(len(names))) if quantity.of_response else (0,)


def effects_of(
    fit: Fit,
    asked: Asked,
    plan: Plan,
    draws: Float[np.ndarray, "draws contrasts rows responses entries"],
) -> Effects:
    """The table of the draws, and all that is to be known of it."""
    import xarray as xr

    low, high = tails(asked.prob)
    labels = _labels(fit, asked, plan)
    flat = draws.reshape(len(draws), -1)
    bounds = np.quantile(flat, [low, high], axis=0)
    numbers = dict(zip(NUMBERS, (flat.mean(0), flat.std(0, ddof=1), *bounds), strict=True))
    names = fit.model.design.response_names
    words = " and ".join(dict.fromkeys(asked.quantity.words(names[i]) for i in asked.responses))
    coords = {
        str(name): ("row", np.asarray(labels[name]))
        for name in labels
        if name not in ("draw", "row")
    }
    return Effects(
        kind=asked.kind,
        measure=asked.measure,
        words=words,
        summary=labels.assign(**numbers),
        draws=xr.DataArray(flat, dims=("draw", "row"), coords=coords, name=asked.quantity.target),
        by=asked.rows.by if asked.groups is None else tuple(map(str, asked.groups.table)),
        held=asked.rows.held,
        prob=float(asked.prob),
        target=asked.quantity.target,
        covariance=fit.covariance,
    )


def _labels(fit: Fit, asked: Asked, plan: Plan) -> pd.DataFrame:
    """Columns that identify each effect: contrast slowest, then row, response and entry."""
    rows, groups, numbers = asked.rows, asked.groups, asked.responses
    told = rows.frame[list(rows.by)] if groups is None else groups.table
    column, entries = asked.quantity.entries(fit.core.n_components)
    shape = (len(plan.contrasts), len(told), len(numbers), len(entries))
    at = [place.ravel() for place in np.indices(shape)]
    table = told.iloc[at[1]]
    if rows.gridded or groups is not None:
        table = table.set_axis(pd.RangeIndex(len(table)))
    names = fit.model.design.response_names
    front: dict[str, Sequence[object]] = {}
    if asked.term is not None:
        front["term"] = [asked.term] * len(table)
    if plan.contrasts != (None,):
        front["contrast"] = [plan.contrasts[place] for place in at[0]]
    back: dict[str, Sequence[object]] = {}
    if len(numbers) > 1:
        back["response"] = [names[numbers[place]] for place in at[2]]
    if column is not None:
        back[column] = [entries[place] for place in at[3]]
    _check_names([*front, *back, *NUMBERS], list(table))
    for place, (name, values) in enumerate(front.items()):
        table.insert(place, name, values)
    whole: pd.DataFrame = table.assign(**back)
    return whole


def _check_names(ours: Sequence[str], covariates: Sequence[str]) -> None:
    for name in covariates:
        if name in ours:
            raise DataError(
                f"a covariate is called {name!r}, as a column of the result is",
                hint="rename it in the data",
            )
