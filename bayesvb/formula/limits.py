"""Stage 1, parse: limits of formulas and of the columns they read, one record by question."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FormulaLimits:
    """Limits of the cost of a formula."""

    characters: int = 10_000
    """Characters of a formula: a thousand columns by name."""

    brackets: int = 40
    """Brackets inside one another."""

    products: int = 10_000
    """Products that the terms of a part may expand to, before equal ones are joined."""

    factors: int = 1_000
    """Products of two sums of powers beyond which these count as one variable."""

    order: int = 9
    """Variables in one interaction: each combination of its contrasts is examined."""

    basis: int = 200
    """Columns that one transform may make."""

    degree: int = 20
    """Degree of a spline, which is made by a recursion over degrees."""

    nodes: int = 5000
    """Terms and operators of a part."""

    columns: int = 20_000
    """Columns of the matrix of a part: a covariance matrix of them takes three gigabytes."""

    columns_with_interactions: int = 5_000
    """Columns where terms have margins: square matrices of them make these orthogonal."""

    exponent: int = 64
    """Exponent written as a number: 9**9**9 would never end."""

    chain: int = 200
    """Levels of the syntax tree of an expression: sums nest to the left."""

    few_levels: int = 5
    """Values, or levels, of a column up to which they are few: each has a mean of its own."""

    many_levels: int = 15
    """Levels above which they are many, and learned scales shrink their coefficients."""

    stored_levels: int = 100_000
    """Levels of a streamed column beyond which no formula can use it."""

    stored_values: int = 1 << 23
    """Distinct values of a streamed column that are kept in memory: 64 MiB."""

    rows_at_once: int = 1 << 15
    """Rows that are encoded together where each stands for several."""

    named: int = 5
    """Columns or levels that one message names; it counts the others."""

    unnamed_parts: int = 2
    """Parts of a formula that go without a name: later ones could be any of several."""

    majority: float = 0.5
    """Proportion of the rows, or of the levels, from which a property is ascribed to the column."""

    repeating_rows: int = 20
    """Number of rows from which labels that rarely repeat are not levels."""

    words: float = 3.0
    """Words per value from which on text is free text."""

    knots: int = 10
    """Knots of a smooth curve by default."""

    cyclic_knots: int = 11
    """Knots of a periodic curve by default: five frequencies."""

    surface_knots: int = 5
    """Knots of each covariate of a surface by default: 24 coefficients."""

    least_knots: int = 3
    """Knots of a smooth term at least."""

    rounding: float = 1e-9
    """Relative difference of knots, or of entries of a matrix, that is rounding."""


LIMITS = FormulaLimits()
