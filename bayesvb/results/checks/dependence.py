"""Independence of the rows given what is predicted, along their order and within groups."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from scipy import stats

from bayesvb.data.grouping import Grouping
from bayesvb.evaluation.row_order import positive_autocorrelation
from bayesvb.evaluation.score_regression import added_columns
from bayesvb.results.checks.base import Misfit
from bayesvb.results.checks.covariates import SHARE
from bayesvb.results.checks.pits import Observed

LEAST_CORRELATION = 0.05
"""Autocorrelation below which dependence is no problem."""

SORTED = 0.9
"""Rank correlation of the response with the row number from which the table counts as sorted."""

ALIKE = (
    "Neighbouring rows are alike: add time, place or the previous response to the formula; for "
    'intervals, `fit.with_covariance("robust", cluster=blocks)`.'
)

IN_RUNS = (
    "Large deviations come in runs: add time, or the size of the previous deviation, to "
    "`gating(...)`."
)

ALIKE_IN_GROUPS = (
    "Rows of one {name} are alike beyond their component: add its own level, `(1 | {name})`, or "
    "slope of a covariate x, `(x | {name})`, to the formula, or fit more components."
)

RUNS_IN_GROUPS = (
    "Large deviations come in runs, rows of one {name} differ in spread: fit more components."
)
"""Of a model whose groups have one component each: weights know nothing that changes within."""

MOST_GROUPS = 400
"""Groups that are compared: the largest."""


def order_tests(seen: Observed, whose: str, grouping: Grouping | None = None) -> list[Misfit]:
    """Autocorrelation of scores and their sizes along the rows; none if sorted by the response.

    ``grouping`` are the groups whose rows share a component, if there are any. Sizes and not
    squares, whose skewness makes large autocorrelations by chance more frequent.
    """
    rank = stats.spearmanr(np.arange(len(seen.values)), seen.values).statistic
    if not np.abs(rank) < SORTED:
        return []
    alike, in_runs = (ALIKE, IN_RUNS) if grouping is None else (
        ALIKE_IN_GROUPS.format(name=grouping.name), RUNS_IN_GROUPS.format(name=grouping.name)
    )  # fmt: skip
    tests = []
    for name, series, remedy in (
        ("Row order", seen.scores, alike),
        ("Spread by row order", np.abs(seen.scores), in_runs),
    ):
        lag, p = positive_autocorrelation(series)
        limit = f"autocorrelation above {LEAST_CORRELATION:g}"
        tests.append(
            Misfit(f"{name}{whose}", lag, "autocorrelation at lag 1", remedy, "calibration", p,
                   lag > LEAST_CORRELATION, limit)
        )  # fmt: skip
    return tests


def group_tests(
    seen: Observed, groups: Int[np.ndarray, " rows"], name: str, whose: str
) -> list[Misfit]:
    """Differences between the mean scores of groups of rows that belong together."""
    often = np.argsort(-np.bincount(groups), kind="stable")[:MOST_GROUPS]
    inside = np.isin(groups, often)
    columns = (groups[inside, None] == often[None, :]).astype(float)
    found = added_columns(seen.scores[inside], columns, np.ones((int(inside.sum()), 1)))
    if found is None:
        return []
    remedy = (
        f"Rows of one {name} are alike: add what tells its groups apart to the formula; for "
        f'intervals, `fit.with_covariance("robust", cluster={name})`.'
    )
    limit = f"share of variance above {SHARE:g}"
    return [
        Misfit(f"Rows by {name}{whose}", found[0], "share of variance", remedy, "calibration",
               found[1], found[0] > SHARE, limit)
    ]  # fmt: skip
