"""All checks of a fit, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int
from scipy.special import ndtr

from bayesvb.data.parts import GATING, MEAN
from bayesvb.errors import ignoring_user_warnings
from bayesvb.evaluation.normal_scores import FEWEST_ROWS
from bayesvb.results.checks.accuracy import against_least_squares, against_multinomial
from bayesvb.results.checks.base import Check, Misfit, decided, judged
from bayesvb.results.checks.causes import Scores, candidates, causes, sorted_by_cause
from bayesvb.results.checks.classes import class_tests
from bayesvb.results.checks.computation import computation_checks
from bayesvb.results.checks.covariates import covariate_tests
from bayesvb.results.checks.dependence import group_tests, order_tests
from bayesvb.results.checks.far_rows import far_row_checks
from bayesvb.results.checks.joint import joint_checks
from bayesvb.results.checks.more_components import MORE, Gain, more_component_checks, split_gain
from bayesvb.results.checks.other_models import log_candidates, split_candidates
from bayesvb.results.checks.pits import Observed, observed
from bayesvb.results.checks.precedence import after_far_rows, has_far_rows, response_first
from bayesvb.results.checks.responses import response_checks
from bayesvb.results.checks.shape import shape_checks
from bayesvb.results.checks.tied_values import tied_checks
from bayesvb.results.judged_classes import judged_classes
from bayesvb.results.pit import is_binary, is_discrete
from bayesvb.results.row_groups import group_numbers, row_order
from bayesvb.results.units import grouping_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit

ORDER = {"fit": 0, "computation": 1, "accuracy": 2}
"""Place of the groups in the table."""


MOST_RETESTED = 1e6
"""Rows x squared covariates up to which tests are made again to find their cause: a second."""

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
    asked = _Asked(given, _order(fit, order))
    with ignoring_user_warnings():
        looked = _look(fit, asked)
        checks = [*looked.firm, *judged(looked.tests)]
        if has_far_rows(checks):
            return after_far_rows(checks)
        return response_first(_by_cause(fit, checks, looked, asked))


@dataclass(frozen=True)
class _Asked:
    """Groups of the rows by name, and positions in an order that means something."""

    groups: tuple[str, Int[np.ndarray, " rows"]] | None
    order: Int[np.ndarray, " rows"] | None


@dataclass(frozen=True)
class _Looked:
    """Checks that need no correction for their number, tests that do, and where causes are sought.

    Nothing is ``seen`` of classes and of joint densities, whose misfits have no common cause.
    """

    firm: list[Check]
    tests: list[Misfit]
    seen: Sequence[Observed] = ()
    gain: Gain | None = None


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


def _look(fit: AbstractFit, asked: _Asked) -> _Looked:
    """All checks of the fit to the data."""
    design = fit.model.design
    response = fit.model.response
    if response is not None and not response.is_numeric:
        classes = judged_classes(fit)
        return _Looked([], [*class_tests(classes, asked.order), *against_multinomial(classes)])
    seen = observed(fit, asked.order)
    if min(len(one.values) for one in seen) < FEWEST_ROWS:
        return _Looked([_too_few(design.n_rows)], [])
    gain = split_gain(fit)
    more = more_component_checks(fit, gain)
    if MEAN not in design.matrices:
        firm, tests = joint_checks(fit, seen, ordered=asked.order is not None)
        return _Looked([*firm, *more], tests)
    firm, tests = [], []
    for one in seen:
        whose = _whose(one, seen)
        if not is_discrete(fit):  # far rows, shared values and ends are those of a density
            found, ends = response_checks(fit, one, whose)
            firm += [*far_row_checks(fit, one, whose), *found, *tied_checks(fit, one, whose)]
            tests += ends
        tests += _score_tests(fit, one, whose, asked)
    if GATING in design.matrices:
        return _Looked([*firm, *more], [*tests, *against_least_squares(fit)], seen, gain)
    return _Looked(firm, [replace(one, section="replicates") for one in tests])


def _whose(one: Observed, seen: Sequence[Observed]) -> str:
    """End of the names of the checks of a response, where there are several."""
    return f" of {one.name}" if len(seen) > 1 else ""


def _score_tests(fit: AbstractFit, seen: Observed, whose: str, asked: _Asked) -> list[Misfit]:
    """Tests that look at scores only, and can be made again of others."""
    tests: list[Misfit] = []
    if GATING in fit.model.design.matrices:
        tests += covariate_tests(fit, seen, whose)
    if not is_binary(fit):  # randomised scores of zeros and ones have the right shape always
        tests += shape_checks(fit, seen, whose)
    ordered = asked.order is not None
    tests += order_tests(seen, whose, grouping_of(fit.model), ordered=ordered)
    if asked.groups is not None:
        name, numbers = asked.groups
        tests += group_tests(seen, numbers[seen.at], name, whose)
    return tests


def _by_cause(fit: AbstractFit, checks: list[Check], looked: _Looked, asked: _Asked) -> list[Check]:
    """Checks sorted by what explains them; as they are where testing again would take long."""
    grades = {one.name: one.grade for one in checks}
    for number, one in reversed(list(enumerate(looked.seen))):
        whose = _whose(one, looked.seen)
        if len(one.values) * (len(fit.model.design.covariates) + 1) ** 2 > MOST_RETESTED:
            continue

        def retest(scores: Scores, one: Observed = one, whose: str = whose) -> list[Misfit]:
            return _score_tests(fit, replace(one, pit=ndtr(scores)), whose, asked)

        tests = retest(one.scores)
        certain = [each for each in tests if grades[each.name] == "problem"]
        tried = candidates(certain)
        if not tried:
            continue
        tried += log_candidates(fit, one, [each.name for each in certain])
        tried += split_candidates(one, looked.gain, number, grades.get(MORE, "ok"))
        problems = [each.name for each in tests if grades[each.name] != "ok"]
        found = causes(one.scores, problems, tried, retest)
        ends = (f"Smallest response{whose}", f"Largest response{whose}", MORE)
        checks = sorted_by_cause(checks, found, [name for name in ends if name in grades])
    return checks


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
