"""The record of effects: a table with intervals, the draws behind it, and how it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from bayesvb.data.line_width import number_text, ratio_text, table_text, wrapped_text
from bayesvb.effects.covariates import value_text
from bayesvb.errors import without_controls
from bayesvb.formula.group_columns import UNSEEN
from bayesvb.results.limits import LIMITS
from bayesvb.results.printing import text_html

if TYPE_CHECKING:
    import xarray as xr

NUMBERS = ("estimate", "sd", "lower", "upper")

SLOPE_WORDS = {
    "dydx": "derivative",
    "eyex": "elasticity",
    "eydx": "relative derivative",
    "dyex": "derivative by relative change",
}
"""Names of slopes in headings."""


@dataclass(frozen=True, eq=False)
class EffectsTable:
    """Predictions, comparisons or slopes with their intervals; printable.

    Attributes
    ----------
    kind : {"predictions", "comparisons", "slopes"}
    measure : str or None
        The comparison, for example "ratio", or the slope, for example "dydx".
    words : str
        Name of the estimand, for example "mean of y"; in the units of the formula's response.
    summary : pandas.DataFrame
        One row per effect. First the columns that identify it (``term`` and ``contrast``, the
        covariates, ``response``, ``component`` and ``level`` if there are several, or the option
        that was given as a list), then ``estimate``, ``sd``, ``lower`` and ``upper``: mean,
        standard deviation and equal-tailed interval of the draws; the median instead of the mean
        and no standard deviation (NaN, not printed) if a transformed response has neither; median
        and 1.48 times the median absolute deviation (MAD) for ``robust`` rows. NaN, and in the
        draws too, where the data have no rows with these levels and the prior leaves heavy tails.
    draws : xarray.DataArray, dims (draw, row)
        The draws behind each row of the summary, in its order, with its first columns as
        coordinates of ``row``.
    by : tuple of str
        Covariates that identify the rows.
    held : mapping of str to value
        Values of the other covariates of a grid: the mean of a number, the most frequent value of
        anything else, a number with at most five values included, and for columns of groups only a
        new group, with effect zero.
    prob : float
        Probability of the intervals.
    target : str
        As given.
    covariance : str
        Source of the draws; see ``Fit.covariance``.
    robust : int
        Rows whose draws have their mean outside of the interval, or a standard deviation wider
        than it: a few of them decide both, as where a component has hardly a row.
    simultaneous : bool
        Whether the intervals contain all effects together with the probability ``prob``.
    of_rows : bool
        Whether the effects are of single rows of data, not of a grid or of averages.
    dof : float or None
        Degrees of freedom of the Student t distribution of all effects; None if they have another.
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
    robust: int = 0
    simultaneous: bool = False
    of_rows: bool = False
    dof: float | None = None

    def __str__(self) -> str:
        keys = sum(name not in NUMBERS for name in self._shown)
        text = table_text(self._shown, keys=keys, indent=2, float_format=self._number, na_rep="-")
        lines = [self._heading, *("  " + t for t in text.split("\n")), *self._notes]
        return without_controls(wrapped_text("\n".join(lines)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = self._shown.to_html(index=False, float_format=self._number, na_rep="-")
        notes = "".join(f"<div>{escape(note.strip(), quote=False)}</div>" for note in self._notes)
        return without_controls(f"<div>{text_html(self._heading)}{table}{notes}</div>")

    @property
    def _shown(self) -> pd.DataFrame:
        table, most = self.summary, LIMITS.printed_rows
        if self._common is not None:
            table = self._common
        elif len(table) > most:  # of many single rows a few are enough to see how they differ
            table = table.iloc[: most // 4 if self.of_rows else most]
        labels = [str(name) for name in table if name not in NUMBERS]
        formatted = [name for name in labels if table[name].dtype.kind in "fM"]
        table = table.assign(**{name: table[name].map(value_text) for name in formatted})
        return table.drop(columns="sd") if table["sd"].isna().all() else table

    def _number(self, value: float) -> str:
        return (ratio_text if self.measure == "ratio" else number_text)(value)

    @cached_property
    def _common(self) -> pd.DataFrame | None:
        """Effects that are equal in all rows, without the covariates; None if they vary."""
        table = self.summary.drop(columns=list(self.by), errors="ignore")
        labels = [name for name in table if name not in NUMBERS]
        if not (self.of_rows and labels):
            return None
        texts = table.assign(**{name: table[name].map(number_text) for name in NUMBERS})
        once = table[~texts.duplicated()]
        return None if once.duplicated(labels).any() else once

    @property
    def measured(self) -> str:
        """Quantity in words, with the comparison or slope: "difference of mean of y"."""
        how = f"{SLOPE_WORDS.get(self.measure, self.measure)} of " if self.measure else ""
        return f"{how}{self.words}"

    @property
    def _heading(self) -> str:
        return f"{self.kind.capitalize()}: {self.measured}"

    @property
    def _notes(self) -> list[str]:
        """Notes below the table."""
        more = len(self.summary) - len(self._shown)
        average = "; average_by=True averages over the rows" if self.of_rows else ""
        lines = [f"  ... {more} more: .summary{average}"] if more else []
        if more and self._common is not None:
            lines = ["  Equal in all rows of the data."]
        narrow = ", usually too narrow" if self.covariance == "mean-field" else ""
        exact = self.covariance == "exact"
        made = "exact posterior" if exact else f"{self.covariance} covariance{narrow}"
        kind = "simultaneous intervals" if self.simultaneous else "intervals"
        lines.append(f"{100 * self.prob:g}% {kind}, {self.draws.sizes['draw']} draws ({made}).")
        if self.robust:
            one = f"{self.robust} {'row' if self.robust == 1 else 'rows'}"
            lines.append(
                f"Estimate and sd of {one} are median and 1.48 MAD: the draws have heavy tails, as "
                "where all responses of a level are 0."
            )
        empty = int(self.draws.isnull().all("draw").sum())
        if empty:
            one = f"{empty} {'row' if empty == 1 else 'rows'}"
            lines.append(f"Without estimate, {one}: the data have no rows with these levels.")
        groups = [name for name, value in self.held.items() if value == UNSEEN]
        values = {name: value_text(self.held[name]) for name in self.held if name not in groups}
        if values:
            listed = ", ".join(f"{name} = {value}" for name, value in values.items())
            lines.append(f"Held at the mean or the most frequent value: {listed}.")
        if groups:
            lines.append(f"Held at the typical group, whose effect is 0: {', '.join(groups)}.")
        return lines
