"""Widths of intervals of a regression with few rows, compared with least squares."""

from __future__ import annotations

import math

NARROWER = 0.05
"""Share by which intervals are narrower than t intervals, from which on the printed fit says so."""


def few_rows_notes(n_coefficients: int, n_rows: int) -> list[str]:
    """Sentence on how much narrower intervals of a lone regression are than t intervals.

    Coefficients have their prior in units of the noise, so that the noise is estimated as with one
    row more for each coefficient whose prior scale is fixed. Measured widths are within 0.01 of
    this rule: ``docs/benchmarks/small_samples.csv``.
    """
    share = 1.0 - math.sqrt(max(n_rows - n_coefficients, 0) / (n_rows + 1))
    if share < NARROWER:
        return []
    return [
        f"{n_rows} rows for {n_coefficients} coefficients: intervals are about {share:.0%} "
        "narrower than t intervals of least squares. With priors=Priors(coefficient_units="
        "'response') the noise is estimated without this bias."
    ]
