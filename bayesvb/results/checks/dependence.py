"""Independence of the rows given the predictions, along their order and within groups."""

from __future__ import annotations

from functools import partial

import numpy as np

from bayesvb.data.grouping import Grouping
from bayesvb.data.parts import MEAN
from bayesvb.evaluation.row_order import autocorrelation, positive_autocorrelation
from bayesvb.evaluation.score_regression import added_columns
from bayesvb.formula.formula_changes import written
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.numerics.order_statistics import mid_ranks
from bayesvb.results.checks.base import Misfit
from bayesvb.results.checks.causes import Scores, without_autocorrelation
from bayesvb.results.checks.edits import Edit, Remedy
from bayesvb.results.checks.grading import MATTERS
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.scope import SCOPE

ALIKE = (
    "Consecutive rows are similar (positive autocorrelation): add `s(time)`, the previous response "
    "as a column, or `(1 | unit)` for rows of one unit; for intervals, "
    '`fit.with_covariance("robust", cluster=blocks)`.'
)

ALTERNATE = (
    "Consecutive rows alternate, high after low (negative autocorrelation): add the previous "
    "response to the formula."
)

IN_RUNS = (
    "Large deviations come in runs: add time, or the size of the previous deviation, to "
    "`gating(...)`."
)

IF_ORDERED = (
    "{found} If the order of the rows matters, name the column that defines it, "
    "`fit.check(order=...)`; if not, ignore this note."
)
"""Remedy for rows whose order has no known meaning: tables are often sorted."""

SIMILAR, RUNS = "Consecutive rows are similar.", "Large deviations come in runs."


def _alike_in_groups(name: str) -> Remedy:
    """Rows of one group are alike beyond their component."""
    level = Edit(part=MEAN, terms=(f"(1 | {written(name)})",))
    return Remedy.of(
        f"Rows of one {name} are correlated within their component: add a group-level intercept, ",
        level,
        f", or slope of a covariate x, `(x | {name})`, to the formula, or fit more components.",
    )  # fmt: skip


RUNS_IN_GROUPS = (
    "Large deviations come in runs, rows of one {name} differ in spread: fit more components."
)
"""Remedy for models with one component per group: weights do not change within a group."""

NEVER = "the rows have an order, `order=`"
"""Condition under which autocorrelation is a problem, for rows without a known order."""


def order_tests(
    seen: Observed, whose: str, grouping: Grouping | None = None, *, ordered: bool = False
) -> list[Misfit]:
    """Autocorrelation of scores and their sizes along the rows; none if sorted by the response.

    ``grouping`` are the groups whose rows share a component, if there are any; ``ordered`` says
    that the order of the rows means something. Where neither is so, both tests are notes at most.
    Sizes and not squares, whose skewness makes large autocorrelations by chance more frequent.
    """
    with np.errstate(invalid="ignore"):  # NaN where all responses are the same
        rank = np.corrcoef(np.arange(len(seen.values)), mid_ranks(seen.values))[0, 1]
    if not ordered and not np.abs(rank) < SCOPE.sorted_rank:
        return []
    # effects of groups make the rows of each alternate a little
    two_sided = ordered and grouping is None
    test = autocorrelation if two_sided else positive_autocorrelation
    (lag, p), (size, p_size) = test(seen.scores), positive_autocorrelation(np.abs(seen.scores))
    similar, runs = _order_remedies(lag, grouping, ordered=ordered)
    matters = ordered or grouping is not None
    limit = f"autocorrelation beyond {MATTERS.autocorrelation:g}" if matters else NEVER
    return [
        Misfit(f"{name}{whose}", number, "autocorrelation at lag 1", remedy, "calibration", value,
               matters and abs(number) > MATTERS.autocorrelation, limit, without=without)
        for name, number, value, remedy, without in (
            ("Serial correlation", lag, p, similar, without_autocorrelation),
            ("Spread by row order", size, p_size, runs, None),
        )
    ]  # fmt: skip


def _order_remedies(lag: float, grouping: Grouping | None, *, ordered: bool) -> tuple[str, str]:
    """Remedies of autocorrelated scores, and of autocorrelated sizes."""
    if grouping is not None:
        return (
            _alike_in_groups(grouping.name), RUNS_IN_GROUPS.format(name=grouping.name)
        )  # fmt: skip
    if ordered:
        return ALIKE if lag > 0.0 else ALTERNATE, IN_RUNS
    return IF_ORDERED.format(found=SIMILAR), IF_ORDERED.format(found=RUNS)


def group_tests(seen: Observed, groups: RowIntegers, name: str, whose: str) -> list[Misfit]:
    """Differences between the mean scores of groups of rows that belong together."""
    often = np.argsort(-np.bincount(groups), kind="stable")[: SCOPE.groups]
    inside = np.isin(groups, often)
    columns = (groups[inside, None] == often[None, :]).astype(float)
    test = added_columns(seen.scores[inside], columns, np.ones((int(inside.sum()), 1)))
    if test is None:
        return []
    remedy = (
        f"Rows of the same {name} are correlated: add covariates of its groups to the formula; "
        f'for intervals, `fit.with_covariance("robust", cluster={name})`.'
    )
    limit = f"share of variance above {MATTERS.variance:g}"
    return [
        Misfit(f"Correlation within {name}{whose}", test[0], "share of variance", remedy,
               "calibration", test[1], test[0] > MATTERS.variance, limit,
               without=partial(_without_groups, groups=groups))
    ]  # fmt: skip


def _without_groups(scores: Scores, groups: RowIntegers) -> Scores:
    """Scores less the mean of their group."""
    means = np.bincount(groups, scores) / np.maximum(np.bincount(groups), 1)
    rest = scores - means[groups]
    spread = float(rest.std())
    return np.asarray(rest * (scores.std() / spread) if spread > 0.0 else rest)
