"""All checks of a fit, the table of them, and which to fix first."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bayesvb.argument_checks import shown
from bayesvb.data.line_width import limited, wrapped_text
from bayesvb.data.parts import GATING, MEAN
from bayesvb.errors import DataError, ignoring_user_warnings, warn_renamed, without_controls
from bayesvb.evaluation.normal_scores import FEWEST_ROWS
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.results.checks.accuracy import (
    against_least_squares,
    against_multinomial,
    log_candidates,
    split_candidates,
)
from bayesvb.results.checks.base import Check, Misfit, decided, judged
from bayesvb.results.checks.causes import Scores, candidates, causes, sorted_by_cause
from bayesvb.results.checks.classes import class_tests
from bayesvb.results.checks.computation import computation_checks
from bayesvb.results.checks.covariates import covariate_tests, shape_checks
from bayesvb.results.checks.dependence import group_tests, order_tests
from bayesvb.results.checks.far_rows import FAR_ROWS, far_row_checks
from bayesvb.results.checks.joint import joint_checks
from bayesvb.results.checks.more_components import MORE, Gain, more_component_checks, split_gain
from bayesvb.results.checks.pits import Observed, observed
from bayesvb.results.checks.responses import ZEROS, response_checks, tied_checks, zero_tests
from bayesvb.results.class_evaluation import judged_classes
from bayesvb.results.groups import group_numbers, row_order
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

GROUPS = ("fit", "computation", "accuracy")
"""Groups of checks, in the order of the table."""


COLUMNS = ("group", "grade", "number", "measure", "p_value", "threshold", "remedy", "edits")


def check(
    fit: AbstractFit, *, groups: object = None, order: object = None, only: object = None
) -> pd.DataFrame:
    """Table of all checks; see ``Fit.check``."""
    table = checks(fit, groups=groups, order=order, only=_chosen(only))
    rows = [{name: getattr(one, name) for name in ("name", *COLUMNS)} for one in table]
    shown = CheckTable(pd.DataFrame(rows).set_index("name").rename_axis("check"))
    shown.attrs["verdict"] = worst(table)
    return shown


def _chosen(only: object) -> tuple[str, ...]:
    """Names of groups of checks: all of them, one, or several.

    Raises
    ------
    DataError
        If the group does not exist.
    """
    if only is None:
        return GROUPS
    names = only if isinstance(only, list | tuple | set | frozenset) else (only,)
    if not names or not all(isinstance(name, str) and name in GROUPS for name in names):
        listed = ", ".join(map(repr, GROUPS))
        raise DataError(f"only={shown(only)} must be one or several of {listed}")
    return tuple(name for name in GROUPS if name in names)


def checks(
    fit: AbstractFit, *, groups: object = None, order: object = None, only: Sequence[str] = GROUPS
) -> list[Check]:
    """All checks of a fit: first of the fit itself, then computation and accuracy."""
    fit.model.source.iterate()  # an error where only some of the rows are kept
    result = (
        [] if only == ("computation",) else fit_checks(fit, groups=groups, order=order, only=only)
    )
    return ordered([*result, *(computation_checks(fit) if "computation" in only else [])])


def ordered(result: Sequence[Check]) -> list[Check]:
    """Checks in the order of the table."""
    return sorted(result, key=lambda one: GROUPS.index(one.group))


def fit_checks(
    fit: AbstractFit, *, groups: object = None, order: object = None, only: Sequence[str] = GROUPS
) -> list[Check]:
    """Checks that look at the data, corrected for their number where they are tests."""
    given = None
    if groups is not None:
        given = _named(groups), group_numbers(groups, fit.model.design, name="groups")
    asked = _Asked(given, _order(fit, order), frozenset(only))
    with ignoring_user_warnings():
        looked = _look(fit, asked)
        checks = [*looked.firm, *judged(looked.tests)]
        if has_far_rows(checks):
            return after_far_rows(checks)
        return response_first(_by_cause(fit, checks, looked, asked))


@dataclass(frozen=True)
class _Asked:
    """Groups of the rows by name, an order that means something, and groups of checks."""

    groups: tuple[str, RowIntegers] | None
    order: RowIntegers | None
    only: frozenset[str] = frozenset(GROUPS)


@dataclass(frozen=True)
class _Looked:
    """Checks that need no correction for their number, tests that do, and where causes are sought.

    Nothing is ``seen`` of classes and of joint densities, whose misfits have no common cause.
    """

    firm: list[Check]
    tests: list[Misfit]
    seen: Sequence[Observed] = ()
    gain: Gain | None = None


def _order(fit: AbstractFit, order: object) -> RowIntegers | None:
    """Positions of the rows in an order that means something, if one is known.

    As requested, else by the first column of dates in the formula; rows of groups that share
    their component stand together.
    """
    design, grouping = fit.model.design, fit.model.grouping
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
    design, compares = fit.model.design, "accuracy" in asked.only
    if fit.model.response.is_categorical:
        classes = judged_classes(fit)
        tests = class_tests(classes, asked.order) if "fit" in asked.only else []
        return _Looked([], tests + (against_multinomial(classes) if compares else []))
    if "fit" not in asked.only:
        return _Looked([], against_least_squares(fit) if GATING in design.matrices else [])
    seen = observed(fit, asked.order)
    if min(len(one.values) for one in seen) < FEWEST_ROWS:
        return _Looked([_too_few(design.n_rows)], [])
    gain = split_gain(fit)
    if gain is not None and gain.nats <= LIMITS.equal_elpd:
        seen = [replace(one, may_split=False) for one in seen]
    more = [*_saturated(fit), *more_component_checks(fit, gain)]
    if MEAN not in design.matrices:
        firm, tests = joint_checks(fit, seen, ordered=asked.order is not None)
        return _Looked([*firm, *more], tests)
    firm, tests = [], []
    for one in seen:
        whose = _whose(one, seen)
        density = fit.model.response.measure == "a density" and design.interval is None
        if density:  # probabilities have no far rows, ties and ends
            result, ends = response_checks(fit, one, whose)
            firm += [*far_row_checks(fit, one, whose), *result, *tied_checks(fit, one, whose)]
            tests += ends
        elif fit.model.response.kind == "count":
            tests += zero_tests(fit, one, whose)
        tests += _score_tests(fit, one, whose, asked)
    if GATING in design.matrices:
        tests += against_least_squares(fit) if compares else []
        return _Looked([*firm, *more], tests, seen, gain)
    return _Looked(firm, [replace(one, section="replicates") for one in tests])


def _whose(one: Observed, seen: Sequence[Observed]) -> str:
    """End of the names of the checks of a response, where there are several."""
    return f" of {one.name}" if len(seen) > 1 else ""


def _score_tests(fit: AbstractFit, seen: Observed, whose: str, asked: _Asked) -> list[Misfit]:
    """Tests that look at scores only, and can be made again of others."""
    tests: list[Misfit] = []
    if GATING in fit.model.design.matrices:
        tests += covariate_tests(fit, seen, whose)
    if not fit.model.response.is_binary:  # whose randomised scores always have the right shape
        tests += shape_checks(fit, seen, whose)
    ordered = asked.order is not None
    tests += order_tests(seen, whose, fit.model.grouping, ordered=ordered)
    if asked.groups is not None:
        name, numbers = asked.groups
        tests += group_tests(seen, numbers[seen.at], name, whose)
    return tests


def _by_cause(fit: AbstractFit, checks: list[Check], looked: _Looked, asked: _Asked) -> list[Check]:
    """Checks sorted by what explains them; as they are where testing again would take long."""
    grades = {one.name: one.grade for one in checks}
    for number, one in reversed(list(enumerate(looked.seen))):
        whose = _whose(one, looked.seen)
        if len(one.values) * (len(fit.model.design.covariates) + 1) ** 2 > LIMITS.little_work:
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
        result = causes(one.scores, problems, tried, retest)
        ends = (f"Smallest response{whose}", f"Largest response{whose}", MORE)
        checks = sorted_by_cause(checks, result, [name for name in ends if name in grades])
    return checks


def _too_few(n_rows: int) -> Check:
    return decided("Enough rows", "fit", "note", float(n_rows), "rows",
                   threshold=f"note: fewer than {FEWEST_ROWS}",
                   remedy="Too few rows to test the fit: judge it by other knowledge.",
                   section="data")  # fmt: skip


def _saturated(fit: AbstractFit) -> list[Check]:
    """Problem of a mean with as many unpenalised terms as rows: residuals are then the prior's."""
    blocks = fit.model.design.term_blocks.get(MEAN, ())
    penalised = sum(len(one.columns) for one in blocks if one.kind in ("smooth", "group"))
    terms, rows = len(fit.model.design.terms.get(MEAN, ())) - penalised, fit.model.design.n_rows
    if terms < rows:
        return []
    return [decided("Enough rows", "fit", "problem", rows / terms, "rows per term of the mean",
                    threshold="problem: as many terms as rows, or more",
                    remedy="Use fewer terms: omit a column with a level in nearly every row, or "
                           "write it as groups, `(1 | g)`.",
                    section="data")]  # fmt: skip


def _named(groups: object) -> str:
    """Name of the groups."""
    return groups if isinstance(groups, str) else str(getattr(groups, "name", None) or "group")


def worst(result: Sequence[Check]) -> str:
    """The worst grade of the checks that weigh.

    Examples
    --------
    >>> worst([])
    'ok'
    """
    grades = {one.grade for one in result if one.weighs}
    return next((grade for grade in ("problem", "note") if grade in grades), "ok")


CONTINUITY = ("Degenerate component", "Discreteness")
"""Checks whether the response is a continuous number; all others of the fit take it for one."""

OF_RESPONSE = (*CONTINUITY, "Repeated value")
"""Checks of the values that the response takes, which no other density describes."""


def has_far_rows(checks: Sequence[Check]) -> bool:
    """Whether outliers distort the fit."""
    return any(one.name.startswith(FAR_ROWS) and one.grade == "problem" for one in checks)


def after_far_rows(checks: Sequence[Check]) -> list[Check]:
    """Checks of a fit whose rows are outliers, with one remedy: fix these first.

    Outliers move and widen all predictions, so that every other finding may be theirs.
    """
    far = [one for one in checks if has_far_rows([one])]
    remedy = f"Fix *{far[0].name}* first: it may explain this."
    rest = [replace(one, remedy=remedy) if one.remedy else one for one in checks if one not in far]
    return [*far, *rest]


def response_first(checks: Sequence[Check]) -> list[Check]:
    """Checks with problems of the response itself before misfits of its distribution.

    A wrong mean changes the number of zeros: that check comes first where the mean is in order.
    """
    names = [one.name for one in checks if one.grade == "problem"]
    of_mean = any(name.startswith("Mean by") for name in names)
    first = OF_RESPONSE if of_mean else (*OF_RESPONSE, ZEROS)
    problems = [one for one in checks if one.name in names and one.name.startswith(first)]
    return [*problems, *(one for one in checks if one not in problems)]


def first_of_all(grades: Mapping[str, str]) -> str:
    """One sentence that names the problems to fix before the others; empty if there are none.

    Parameters
    ----------
    grades : mapping of str to str
        Of the checks of the fit to the data, by name.

    Examples
    --------
    >>> first_of_all({"Discreteness": "problem", "Skewness": "problem", "Tails": "ok"})
    'Fix Discreteness first: the other checks of the fit assume a continuous response.'
    >>> first_of_all({"Rows far off": "problem", "Skewness": "problem"})
    'Fix Rows far off first: outliers distort the other checks of the fit.'
    >>> first_of_all({"Discreteness": "problem", "Skewness": "ok"})
    ''
    """
    problems = [name for name, grade in grades.items() if grade == "problem"]
    for names, reason in (
        ((FAR_ROWS,), "outliers distort the other checks of the fit."),
        (CONTINUITY, "the other checks of the fit assume a continuous response."),
    ):
        named = [name for name in problems if name.startswith(names)]
        if named and len(named) < len(problems):
            return f"Fix {', '.join(named)} first: {reason}"
    return ""


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

    if not TYPE_CHECKING:  # the indexer of pandas, which type checkers know

        @property
        def loc(self) -> FormerLabels:
            """Indexer by names of checks; former names work with a DeprecationWarning."""
            return FormerLabels(super().loc)

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __str__(self) -> str:
        in_order = int((self["grade"] == "ok").sum())
        many = "1 check" if len(self) == 1 else f"{len(self)} checks"
        parts = [f"Verdict: {self.attrs['verdict']} ({many}, {in_order} in order)"]
        groups = [self[self["group"] == group] for group in GROUPS]
        texts = [_group_text(rows) for rows in groups if len(rows)]
        return without_controls(wrapped_text("\n\n".join(parts + texts)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bayesvb.results.printing import text_html

        return text_html(str(self))


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
    measured = str(row["measure"])
    if not np.isnan(row["number"]):
        measured = f"{row['number']:.3g} ({measured})"
    p_value = float(row["p_value"])
    if np.isnan(p_value):
        return measured
    return measured + (
        ", adjusted p < 0.001" if p_value < 0.001 else f", adjusted p = {p_value:.2g}"
    )


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    rest = first if rest is None else rest
    return textwrap.wrap(
        text,
        limited(LIMITS.width),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


RENAMED: Mapping[str, str] = {
    "Ascent ended": "Convergence",
    "Beside": "Compared with",
    "Component of one value": "Degenerate component",
    "Importance ratios": "Pareto k-hat",
    "Restarts predict alike": "Restart predictions",
    "Row order": "Serial correlation",
    "Rows by": "Correlation within",
    "Shared value": "Repeated value",
    "Width": "Predictive spread",
}
"""First words of a former name -> present ones; former names expire with version 0.5."""


class FormerLabels:
    """Indexer ``table.loc`` that finds a check under its former name, with a warning."""

    def __init__(self, indexer: Any) -> None:
        self._indexer = indexer

    def __getattr__(self, name: str) -> object:
        return getattr(self._indexer, name)

    def __getitem__(self, key: object) -> object:
        """Return what pandas does, for present names."""
        if isinstance(key, tuple) and key:
            return self._indexer[(self._present(key[0]), *key[1:])]
        return self._indexer[self._present(key)]

    def __setitem__(self, key: object, value: object) -> None:
        """Set what pandas does."""
        self._indexer[key] = value

    def _present(self, label: object) -> object:
        """The label, or the present name of a check whose former name it is."""
        index = self._indexer.obj.index
        if not isinstance(label, str) or label in index:
            return label
        for former, present in RENAMED.items():
            name = present + label.removeprefix(former)
            if label.startswith(former) and name in index:
                warn_renamed(f"check {label!r}", repr(name))
                return name
        return label
