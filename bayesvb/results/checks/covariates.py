"""Does the fit miss something of a covariate? Scores and their squares against each, and products.

Scores that depend on a covariate say that the mean misses a bend, a step or a product; squares
that do say that the spread changes in a way that the fit does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.data.frames import kind_of
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS, GroupRows
from bayesvb.data.parts import MEAN
from bayesvb.data.sources import AbstractSource
from bayesvb.evaluation.score_regression import (
    Columns,
    Estimated,
    added_beyond,
    powers,
    standardised,
    waves,
)
from bayesvb.evaluation.within_groups import WithinGroups
from bayesvb.formula.group_columns import UNSEEN
from bayesvb.results.checks.base import Misfit
from bayesvb.results.checks.basis import basis_tests
from bayesvb.results.checks.causes import Scores, without_mean, without_spread
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import Remedies
from bayesvb.results.pit import is_binary

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

SHARE = 0.005
"""Share of the variance of the scores below which a misfit is no problem, however sure it is."""

MOST_COVARIATES = 60
"""Covariates that are looked at: the first of the formula."""

MOST_CROSSED = 15
"""Covariates whose products are looked at."""

MOST_LEVELS = 30
"""Levels of a covariate that are told apart: the most frequent."""

FARTHEST_SQUARE = 9.0
"""Squared scores are moved to at most this."""

LIMIT = f"share of variance above {SHARE:g}"


def covariate_tests(fit: AbstractFit, seen: Observed, whose: str) -> list[Misfit]:
    """Tests of one response against covariates, their products, and what is predicted.

    Parameters
    ----------
    fit : Fit
        Of a regression.
    seen : Observed
    whose : str
        Ends the names of the checks, where there are several responses.
    """
    design = fit.model.design
    frame = design.data_at(seen.at)
    numbers, levels = _columns(frame, design.covariates[:MOST_COVARIATES], design.by_levels)
    columns = np.column_stack([np.ones(len(seen.at)), design.matrices[MEAN][seen.at]])
    fitted = Estimated.of(columns, _effects_of_groups(fit.model.source, seen.at))
    remedies = Remedies(fit, seen.name)
    found: list[Misfit] = []
    has_spread = not is_binary(fit)  # that of zeros and ones is a function of their mean
    for name in (*numbers, *levels):
        sets = _shapes(numbers[name]) if name in numbers else [levels[name]]
        distinct = len(np.unique(numbers[name])) if name in numbers else None
        bends = remedies.mean(name, distinct=distinct)
        found += _mean(f"Mean by {name}{whose}", seen.scores, sets, fitted, bends)
        if has_spread:
            found += _spread(f"Spread by {name}{whose}", seen.scores, sets, remedies.spread(name))
    found += basis_tests(fit, seen, numbers, fitted, whose)
    apart = not {GROUP_ROWS, GATE_GROUPS}.isdisjoint(fit.model.source.empty().designs)
    mean = _mean_of_typical_group(fit, seen) if apart else seen.mean
    if np.isfinite(mean).all() and len(numbers) + len(levels) > 0:
        sets = [powers(mean)]
        curved = remedies.curved({name: len(np.unique(own)) for name, own in numbers.items()})
        found += _mean(f"Mean by prediction{whose}", seen.scores, sets, fitted, curved)
        if has_spread:
            found += _spread(f"Spread by prediction{whose}", seen.scores, sets, remedies.fanned())
    return found + _products(seen, numbers, levels, fitted, whose, remedies)


def _effects_of_groups(source: AbstractSource, at: Int[np.ndarray, " rows"]) -> WithinGroups | None:
    """Effects of very many groups on the mean, which are no columns of the fit."""
    # where all rows of a group have one component, cases of the source are groups
    has_effects = GROUP_ROWS in source.empty().designs
    return WithinGroups.of(GroupRows.of(source.take(at))) if has_effects else None


def _mean_of_typical_group(fit: AbstractFit, seen: Observed) -> Float[np.ndarray, " rows"]:
    """Predicted means without what the group of a row, of few rows, has learned of the row."""
    design = fit.model.design
    frame = design.data_at(seen.at).assign(**dict.fromkeys(design.groupings, UNSEEN))
    typical: Any = fit
    found: Float[np.ndarray, " rows"]
    found = typical.predictive(frame, response=seen.name, new_groups="typical").mean()
    return found


def _columns(
    frame: pd.DataFrame, names: tuple[str, ...], by_levels: frozenset[str]
) -> tuple[dict[str, Float[np.ndarray, " rows"]], dict[str, Columns]]:
    """Numeric covariates, and those with levels as columns of zeros and ones."""
    numbers: dict[str, Float[np.ndarray, " rows"]] = {}
    levels: dict[str, Columns] = {}
    for name in names:
        column = frame[name]
        number = kind_of(column, name) == "number" and column.dtype.kind != "b"
        if number and name not in by_levels:
            numbers[name] = column.to_numpy(dtype=float)
            continue
        codes, different = pd.factorize(column)
        often = np.argsort(-np.bincount(codes, minlength=len(different)), kind="stable")
        levels[name] = (codes[:, None] == often[:MOST_LEVELS][None, :]).astype(float)
    return numbers, levels


def _shapes(values: Float[np.ndarray, " rows"]) -> list[Columns]:
    """What a numeric covariate is tested by: its powers, and polynomials of its ranks."""
    return [powers(values), waves(values)]


def _mean(
    name: str, scores: Scores, sets: list[Columns], fitted: Estimated, remedy: str
) -> list[Misfit]:
    """Test of the scores, and the scores without what it finds."""
    without = partial(without_mean, columns=np.column_stack(sets), fitted=fitted)
    return [replace(one, without=without) for one in _test(name, scores, sets, fitted, remedy)]


def _spread(name: str, scores: Scores, sets: list[Columns], remedy: str) -> list[Misfit]:
    """Test of their squares, and the scores without what it finds."""
    ones, squares = Estimated.of(np.ones((len(scores), 1))), np.minimum(scores**2, FARTHEST_SQUARE)
    without = partial(without_spread, columns=np.column_stack(sets))
    return [replace(one, without=without) for one in _test(name, squares, sets, ones, remedy)]


def _test(
    name: str, scores: Scores, sets: list[Columns], fitted: Estimated, remedy: str
) -> list[Misfit]:
    """The most striking of several sets of columns, its p-value times their number."""
    tried = [added_beyond(scores, columns, fitted) for columns in sets]
    known = [one for one in tried if one is not None]
    if not known:
        return []
    share, p = min(known, key=lambda one: one[1])
    p = min(1.0, len(known) * p)
    measure = "share of variance"
    return [Misfit(name, share, measure, remedy, "calibration", p, share > SHARE, LIMIT)]


def _products(
    seen: Observed,
    numbers: Mapping[str, Float[np.ndarray, " rows"]],
    levels: Mapping[str, Columns],
    fitted: Estimated,
    whose: str,
    remedies: Remedies,
) -> list[Misfit]:
    """One test for all products of two covariates: the most striking, times their number."""
    single = {name: standardised(values)[:, None] for name, values in numbers.items()}
    columns = {**single, **levels}
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for one, other in combinations(list(columns)[:MOST_CROSSED], 2):
        left, right = columns[one], columns[other]
        if left.shape[1] * right.shape[1] > len(left) // 10:
            continue
        product = _product(left, right)
        both = fitted.together(np.column_stack([left, right]))
        answer = added_beyond(seen.scores, product, both)
        if answer is not None:
            found[one, other] = answer
    if not found:
        return []
    term = min(found, key=lambda each: found[each][1])
    share, p = found[term]
    measure, remedy = f"share of variance, {':'.join(term)}", remedies.product(*term)
    left, right = (columns[name] for name in term)
    both = fitted.together(np.column_stack([left, right]))
    without = partial(without_mean, columns=_product(left, right), fitted=both)
    return [
        Misfit(f"Interactions{whose}", share, measure, remedy, "calibration",
               min(1.0, len(found) * p), share > SHARE, LIMIT, without=without)
    ]  # fmt: skip


def _product(left: Columns, right: Columns) -> Columns:
    """Products of every column with every other."""
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), -1))
