"""Misfits that explain other misfits: one cause has many symptoms, and one remedy.

A curve that is missed makes the noise look skewed and the spread change. Each misfit is taken out
of the scores in turn, and all tests are made again: the misfit without which most problems are gone
is the cause, and they are its symptoms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from bayesvb.evaluation.score_regression import Estimated, span
from bayesvb.numerics.arrays import RowColumns
from bayesvb.numerics.order_statistics import mid_ranks
from bayesvb.results.checks.base import Check, Misfit, judged
from bayesvb.results.checks.scope import SCOPE

Scores = Float[np.ndarray, " rows"]

GENERAL = " by prediction"
"""Ending of the names of the tests of all covariates together."""

KINDS = (("Mean by", "Basis of", "Interactions", "Correlation within"), ("Spread by",))
"""Names of the tests of the mean, and names of the tests of the spread."""


@dataclass(frozen=True)
class Cause:
    """A misfit that explains others.

    Attributes
    ----------
    name : str
        Name of its check.
    explains : tuple of str
        Names of the checks that are in order without it.
    remedy : str
        Empty for the remedy of the check.
    """

    name: str
    explains: tuple[str, ...]
    remedy: str = ""


@dataclass(frozen=True)
class Candidate:
    """Scores as they would be without one misfit.

    Attributes
    ----------
    name : str
        Name of its check.
    without : callable
        Scores without it, given them with it.
    remedy : str
        Empty for the remedy of the check.
    is_test : bool
        Whether the check is made again from scores; otherwise it can only be the first cause.
    """

    name: str
    without: Callable[[Scores], Scores]
    remedy: str = ""
    is_test: bool = True


def candidates(tests: Sequence[Misfit]) -> list[Candidate]:
    """The surest misfits that may explain the others, in the order of the tests.

    A mean that is wrong changes the spread of the scores, and a spread that is wrong their shape,
    not the other way round; a covariate that is named is more precise than the prediction.
    """
    able = [one for one in tests if one.without is not None]
    for names in KINDS:
        kind = [one for one in able if one.name.startswith(names)]
        precise = [one for one in kind if GENERAL not in one.name]
        if kind:
            able = precise or kind
            break
    surest = sorted(able, key=lambda one: one.p_value)[: SCOPE.tried]
    return [Candidate(one.name, one.without) for one in able if one.without and one in surest]


def causes(
    scores: Scores,
    problems: Iterable[str],
    tried: Sequence[Candidate],
    retest: Callable[[Scores], Sequence[Misfit]],
) -> list[Cause]:
    """Causes of the problems, the one that explains most first.

    Parameters
    ----------
    scores : ndarray, shape (rows,)
    problems : iterable of str
        Names of tests that found something.
    tried : sequence of Candidate
    retest : callable
        Tests of other scores of the same rows.
    """
    left, chosen = list(problems), list[Cause]()
    extra = [one for one in tried if not one.is_test]
    while left and len(chosen) < SCOPE.causes:
        able = [one for one in tried if one.is_test and one.name in left]
        ends = [_outcome(scores, left, one, retest) for one in (able if chosen else able + extra)]
        if not ends:
            break
        # one more component makes up for much: it has to explain more than a simpler remedy
        best = max(ends, key=lambda end: (end.n_gone, end.candidate.is_test))
        name, scores = best.candidate.name, best.scores
        chosen.append(Cause(name, best.gone, best.candidate.remedy))
        left = [one for one in left if one != name and one not in best.gone]
    return chosen


@dataclass(frozen=True)
class _Outcome:
    """Problems that are gone without a candidate, among them perhaps its own."""

    candidate: Candidate
    scores: Scores
    gone: tuple[str, ...]
    n_gone: int


def _outcome(
    scores: Scores,
    left: Sequence[str],
    candidate: Candidate,
    retest: Callable[[Scores], Sequence[Misfit]],
) -> _Outcome:
    rest = candidate.without(scores)
    fine = {check.name for check in judged(retest(rest)) if check.grade == "ok"}
    gone = tuple(name for name in left if name != candidate.name and name in fine)
    return _Outcome(candidate, rest, gone, len(gone) + (candidate.name in fine))


def sorted_by_cause(
    checks: Sequence[Check], causes: Sequence[Cause], followers: Iterable[str]
) -> list[Check]:
    """Checks with causes first, each before its consequences, which have no remedy of their own.

    ``followers`` are checks that cannot be made again; they follow the first cause.
    """
    if not causes:
        return list(checks)
    by_name = {one.name: one for one in checks}
    first = [name for name in followers if by_name[name].grade != "ok"]
    placed: list[Check] = []
    for number, cause in enumerate(causes):
        of_cause = by_name.pop(cause.name)
        placed.append(replace(of_cause, remedy=cause.remedy) if cause.remedy else of_cause)
        follows = f"Fix *{cause.name}* first: it may explain this."
        for name in (*cause.explains, *(first if number == 0 else ())):
            if name in by_name:
                placed.append(replace(by_name.pop(name), remedy=follows))
    return [*placed, *by_name.values()]


def without_mean(scores: Scores, columns: RowColumns, fitted: Estimated) -> Scores:
    """Scores without the part explained by columns beyond the estimates of the fit."""
    rest, added = fitted.rest(scores), span(fitted.beyond(columns))
    return _as_wide(rest - added @ (added.T @ rest), scores)


def without_spread(scores: Scores, columns: RowColumns) -> Scores:
    """Scores divided by a spread that depends on columns."""
    basis = span(np.column_stack([np.ones(len(scores)), columns]))
    squares = scores**2
    variance = basis @ (basis.T @ squares)
    least = SCOPE.least_variance * squares.mean()
    return _as_wide(scores / np.sqrt(np.maximum(variance, least)), scores)


def without_shape(scores: Scores) -> Scores:
    """Normal scores of the ranks."""
    return np.asarray(ndtri((mid_ranks(scores) - 0.5) / len(scores)))


def without_width(scores: Scores) -> Scores:
    """Scores whose root mean square is one."""
    return np.asarray(scores / np.sqrt(np.mean(scores**2)))


def without_autocorrelation(scores: Scores) -> Scores:
    """Scores less their prediction from the previous score."""
    centred = scores - scores.mean()
    rho = float(centred[1:] @ centred[:-1]) / float(centred @ centred)
    return _as_wide(np.append(scores[0], scores[1:] - rho * scores[:-1]), scores)


def _as_wide(rest: Scores, scores: Scores) -> Scores:
    """Scores with their former spread: a fit without the misfit would have less noise."""
    spread = float(rest.std())
    return np.asarray(rest * (scores.std() / spread) if spread > 0.0 else rest)
