"""Checks as in the verdict box: results in words and as one table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from bayesvb.results.checks.base import Check

from .numerals import PROBABILITY, numeral
from .plain import Summary
from .tables import ColumnDecimals, table


def shown(one: Check) -> Summary:
    """One check as its card."""
    return {
        "name": one.name,
        "group": one.group,
        "grade": one.grade,
        "value": value(one),
        "remedy": one.remedy,
        "threshold": one.threshold,
        "section": one.section,
    }


def value(one: Check) -> str:
    """Result of a check, in words.

    Examples
    --------
    >>> value(Check("Tails", "fit", "ok", 0.1, "excess kurtosis", 0.4, "", "", "calibration"))
    'excess kurtosis: 0.100; adjusted p = 0.400'
    """
    found = f"{one.measure}: {numeral(one.number)}"
    if math.isnan(one.p_value):
        return found
    p = numeral(float(one.p_value), PROBABILITY)
    return f"{found}; adjusted p {p if p[0] in '<>' else f'= {p}'}"


def checks_table(found: Sequence[Check]) -> Summary:
    """All checks as the table that ``fit.check()`` returns."""
    frame = pd.DataFrame(
        {
            "group": [one.group for one in found],
            "grade": [one.grade for one in found],
            "number": [one.number for one in found],
            "measure": [one.measure for one in found],
            "p_value": [one.p_value for one in found],
            "threshold": [one.threshold for one in found],
            "remedy": [one.remedy for one in found],
        },
        index=pd.Index([one.name for one in found], name="check"),
    )
    caption = (
        "Result of fit.check(). The number is the value of the measure; p is adjusted for the "
        "number "
        "of tests (Holm)."
    )
    numbers = [_decimals(one.number) for one in found]
    each: ColumnDecimals = {"number": numbers, "p_value": PROBABILITY}
    made = table(frame, caption, titles={"p_value": "p"}, decimals=each)
    return {**made, "folded": True}


def _decimals(number: float) -> int:
    return 0 if number == round(number) or abs(number) >= 100.0 else 3
