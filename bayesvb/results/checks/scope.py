"""Amounts of data, and sizes of a misfit, that the checks consider: one record, by question."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Counts beyond which the checks look at the most frequent or the most striking items only."""

    covariates: int = 60
    """Covariates that are tested: the first of the formula."""

    crossed: int = 15
    """Covariates whose products are tested: 105 products."""

    levels: int = 30
    """Levels of a covariate that have a column each: the most frequent."""

    groups: int = 400
    """Groups that are compared: the largest."""

    run: int = 400
    """Consecutive rows of one run where a subsample is tested: neighbours stay together."""

    tried: int = 8
    """Misfits that are removed in turn to find a cause, those with the smallest p-values."""

    causes: int = 3
    """Causes that are looked for."""

    largest_square: float = 9.0
    """Squared normal scores are limited to this: one row is not a change of the spread."""

    least_variance: float = 0.1
    """Part of the mean square that a fitted variance is at least."""

    sorted_rank: float = 0.9
    """Rank correlation of response and row number from which the table counts as sorted."""

    least_changes: int = 4
    """Changes of the class along the rows, per class, below which the table counts as sorted."""

    tied_rows: int = 5
    """Rows that share a value, from which it is a tie: fewer are chance, or copies of a row."""


SCOPE = Scope()
