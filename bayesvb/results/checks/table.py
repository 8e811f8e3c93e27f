"""All checks of a fit, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from bayesvb.errors import ignoring_user_warnings
from bayesvb.evaluation.normal_scores import FEWEST_ROWS
from bayesvb.results.checks.accuracy import against_least_squares, against_multinomial
from bayesvb.results.checks.base import Check, Misfit, decided, judged
from bayesvb.results.checks.classes import class_tests
from bayesvb.results.checks.computation import computation_checks
from bayesvb.results.checks.covariates import covariate_tests
from bayesvb.results.checks.dependence import group_tests, order_tests
from bayesvb.results.checks.far_rows import far_row_checks
from bayesvb.results.checks.joint import joint_checks
from bayesvb.results.checks.more_components import more_component_checks
from bayesvb.results.checks.pits import observed
from bayesvb.results.checks.precedence import after_far_rows
from bayesvb.results.checks.responses import response_checks
from bayesvb.results.checks.shape import shape_checks
from bayesvb.results.checks.tied_values import tied_checks
from bayesvb.results.judged_classes import judged_classes
from bayesvb.results.row_groups import group_numbers, row_order
from bayesvb.results.units import grouping_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit

ORDER = {"fit": 0, "computation": 1, "accuracy": 2}
"""Place of the groups in the table."""


COLUMNS = ("group", "grade", "number", "measure", "p_value", "threshold", "remedy")


def check(fit: AbstractFit, *, groups: object = None, order: object = None) -> pd.DataFrame:
    """Table of all checks; see ``Fit.check``."""
    import pandas as pd

    from bayesvb.results.checks.check_table import CheckTable

    found = checks(fit, groups=groups, order=order)
    table = pd.DataFrame([asdict(one) for one in found]).set_index("name").rename_axis("check")
    shown = CheckTable(table[list(COLUMNS)])
    shown.attrs["verdict"] = worst(found)
    return shown


def checks(fit: AbstractFit, *, groups: object = None, order: object = None) -> list[Check]:
    """All checks of a fit, those of the fit first, then computation and accuracy."""
    return ordered([*fit_checks(fit, groups=groups, order=order), *computation_checks(fit)])


def ordered(found: Sequence[Check]) -> list[Check]:
    """Checks in the order of the table."""
    return sorted(found, key=lambda one: ORDER[one.group])


def fit_checks(fit: AbstractFit, *, groups: object = None, order: object = None) -> list[Check]:
    """Checks that look at the data, corrected for their number where they are tests."""
    given = None
    if groups is not None:
        given = _named(groups), group_numbers(groups, fit.model.design, name="groups")
    at = _order(fit, order)
    with ignoring_user_warnings():
        firm, tests = _firm_and_tests(fit, given, at)
        return after_far_rows([*firm, *judged(tests)])


def _order(fit: AbstractFit, order: object) -> Int[np.ndarray, " rows"] | None:
    """Positions of the rows in an order that means something, if one is known.

    As told, else by the first column of dates that the formula reads; rows of groups that share
    their component stand together.
    """
    design, grouping = fit.model.design, grouping_of(fit.model)
    dates = [name for name in design.covariates if name in design.dates]
    at = None
    if order is not None:
        at = row_order(order, design, name="order")
    elif dates:
        at = row_order(dates[0], design, name="order")
    if grouping is None:
        return at
    at = np.arange(design.n_rows) if at is None else at
    return np.asarray(at[np.argsort(grouping.number[at], kind="stable")])


def _firm_and_tests(
    fit: AbstractFit,
    groups: tuple[str, Int[np.ndarray, " rows"]] | None,
    order: Int[np.ndarray, " rows"] | None,
) -> tuple[list[Check], list[Misfit]]:
    """Checks that need no correction for their number, and tests that do."""
    design, ordered = fit.model.design, order is not None
    if design.levels:
        classes = judged_classes(fit)
        return [], [*class_tests(classes), *against_multinomial(classes)]
    seen = observed(fit, order)
    if min(len(one.values) for one in seen) < FEWEST_ROWS:
        return [_too_few(design.n_rows)], []
    if "mean" not in design.matrices:
        joint, of_variables = joint_checks(fit, seen, ordered=ordered)
        return [*joint, *more_component_checks(fit)], of_variables
    firm: list[Check] = []
    tests: list[Misfit] = []
    for one in seen:
        whose = f" of {one.name}" if len(seen) > 1 else ""
        found, more = response_checks(fit, one, whose)
        firm += [*far_row_checks(fit, one, whose), *found, *tied_checks(fit, one, whose)]
        tests += more
        if "gating" in design.matrices:
            tests += covariate_tests(fit, one, whose)
        tests += shape_checks(fit, one, whose)
        tests += order_tests(one, whose, grouping_of(fit.model), ordered=ordered)
        if groups is not None:
            tests += group_tests(one, groups[1][one.at], groups[0], whose)
    firm += more_component_checks(fit)
    if "gating" in design.matrices:
        return firm, [*tests, *against_least_squares(fit)]
    return firm, [replace(one, section="replicates") for one in tests]


def _too_few(n_rows: int) -> Check:
    return decided("Enough rows", "fit", "note", float(n_rows), "rows",
                   threshold=f"note: fewer than {FEWEST_ROWS}",
                   remedy="Too few rows to test the fit: judge it by what is known otherwise.",
                   section="data")  # fmt: skip


def _named(groups: object) -> str:
    """What groups are called."""
    return groups if isinstance(groups, str) else str(getattr(groups, "name", None) or "group")


def worst(found: Sequence[Check]) -> str:
    """The worst grade of the checks that weigh.

    Examples
    --------
    >>> worst([])
    'ok'
    """
    grades = {one.grade for one in found if one.weighs}
    return next((grade for grade in ("problem", "note") if grade in grades), "ok")
