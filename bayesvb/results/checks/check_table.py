"""The table of all checks, printed so that what was found and what to do about it is read first."""

from __future__ import annotations

import textwrap
from html import escape

import numpy as np
import pandas as pd

from bayesvb.results.checks.precedence import first_of_all

WIDTH = 100
"""Columns of printed text."""

GROUPS = ("fit", "computation", "accuracy")


class CheckTable(pd.DataFrame):
    """Checks of a fit with their grades: a table that prints as a verdict.

    Its ``attrs["verdict"]`` is the grade as a whole. Tables made from it, by choosing rows for
    example, are plain ones.

    Examples
    --------
    >>> row = {"group": "fit", "grade": "note", "number": 0.9, "measure": "skewness",
    ...        "p_value": 0.04, "threshold": "note: adjusted p < 0.1", "remedy": "Fit log(y)."}
    >>> table = CheckTable([row], index=pd.Index(["Skewness"], name="check"))
    >>> table.attrs["verdict"] = "note"
    >>> table
    Verdict: note (1 check, 0 in order)
    <BLANKLINE>
    fit
      note     Skewness: 0.9 (skewness), adjusted p = 0.04
               Fit log(y).
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __str__(self) -> str:
        in_order = int((self["grade"] == "ok").sum())
        many = "1 check" if len(self) == 1 else f"{len(self)} checks"
        parts = [f"Verdict: {self.attrs['verdict']} ({many}, {in_order} in order)"]
        groups = [self[self["group"] == group] for group in GROUPS]
        return "\n\n".join(parts + [_group_text(rows) for rows in groups if len(rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self), quote=False)}</pre>"


def _group_text(rows: pd.DataFrame) -> str:
    """Checks of one group: those not in order with their remedies, then the names of the others."""
    shown = rows[rows["grade"] != "ok"].sort_values("grade", ascending=False, kind="stable")
    group = str(rows["group"].iloc[0])
    lines = [group]
    if group == "fit":
        lines += _wrapped(
            first_of_all(dict(zip(map(str, rows.index), rows["grade"], strict=True))), "  "
        )
    following: list[object] = [*shown["remedy"].iloc[1:], None][: len(shown)]
    for (name, row), after in zip(shown.iterrows(), following, strict=True):
        lines.append(f"  {row['grade']:<8} {name}: {_found(row)}")
        if row["remedy"] != after:  # checks with one remedy stand above it
            lines += _wrapped(row["remedy"], " " * 11)
    fine = ", ".join(map(str, rows.index[rows["grade"] == "ok"]))
    return "\n".join(lines + _wrapped(fine, "  ok       ", " " * 11))


def _found(row: pd.Series) -> str:
    told = str(row["measure"])
    if not np.isnan(row["number"]):
        told = f"{row['number']:.3g} ({told})"
    p_value = float(row["p_value"])
    if np.isnan(p_value):
        return told
    return told + (", adjusted p < 0.001" if p_value < 0.001 else f", adjusted p = {p_value:.2g}")


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    rest = first if rest is None else rest
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
