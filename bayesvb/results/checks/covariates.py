"""Checks whether the fit misses something of a covariate, or of the shape of the noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.polynomial import legendre

from bayesvb.data.frames import kind_of
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import MEAN
from bayesvb.data.sources import AbstractSource
from bayesvb.evaluation.normal_scores import shape_tests, width_test
from bayesvb.evaluation.row_order import positive_autocorrelation
from bayesvb.evaluation.score_regression import Estimated, added_beyond, powers, standardised, waves
from bayesvb.evaluation.within_groups import WithinGroups
from bayesvb.formula.group_columns import UNSEEN
from bayesvb.linear.designs import GroupRows
from bayesvb.numerics.arrays import RowColumns, RowIntegers, RowVector
from bayesvb.numerics.order_statistics import mid_ranks
from bayesvb.numerics.streams import Streams
from bayesvb.results.checks.base import Misfit
from bayesvb.results.checks.causes import (
    Scores,
    without_mean,
    without_shape,
    without_spread,
    without_width,
)
from bayesvb.results.checks.grading import MATTERS
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import Remedies
from bayesvb.results.checks.scope import SCOPE

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

LIMIT = f"share of variance above {MATTERS.variance:g}"


def covariate_tests(fit: AbstractFit, seen: Observed, whose: str) -> list[Misfit]:
    """Tests of one response against covariates, their products, and its predictions.

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
    numbers, levels = _columns(frame, design.covariates[: SCOPE.covariates], design.by_levels)
    columns = np.column_stack([np.ones(len(seen.at)), design.matrices[MEAN][seen.at]])
    fitted = Estimated.of(columns, _effects_of_groups(fit.model.source, seen.at))
    remedies = Remedies(fit, seen.name, seen.may_split)
    tests: list[Misfit] = []
    # the spread of zeros and ones is a function of their mean
    has_spread = not fit.model.response.is_binary
    for name in (*numbers, *levels):
        sets = _shapes(numbers[name]) if name in numbers else [levels[name]]
        distinct = len(np.unique(numbers[name])) if name in numbers else None
        bends = remedies.mean(name, distinct=distinct)
        tests += _mean(f"Mean by {name}{whose}", seen.scores, sets, fitted, bends)
        if has_spread:
            often = [one[:, (one != 0.0).sum(axis=0) >= ROWS_A_SPREAD] for one in sets]
            tests += _spread(f"Spread by {name}{whose}", seen.scores, often, remedies.spread(name))
    tests += basis_tests(fit, seen, numbers, fitted, whose)
    mean = _mean_of_typical_group(fit, seen) if design.groupings else seen.mean
    if np.isfinite(mean).all() and len(numbers) + len(levels) > 0:
        sets = [powers(mean)]
        line, square = sets[0].T
        distinct_values = {name: len(np.unique(values)) for name, values in numbers.items()}
        bend = float((square - (line**3).mean() * line - 1.0) @ seen.scores)
        curved = remedies.curved(distinct_values, convex=bend > 0.0)
        tests += _mean(f"Mean by prediction{whose}", seen.scores, sets, fitted, curved)
        if has_spread:
            squares = np.minimum(seen.scores**2, SCOPE.largest_square)
            fanned = remedies.fanned(rising=float(line @ squares) > 0.0)
            tests += _spread(f"Spread by prediction{whose}", seen.scores, sets, fanned)
    return tests + _products(seen, numbers, levels, fitted, whose, remedies)


def _effects_of_groups(source: AbstractSource, at: RowIntegers) -> WithinGroups | None:
    """Effects of very many groups on the mean, which have no columns in the fit."""
    # where all rows of a group have one component, cases of the source are groups
    has_effects = GROUP_ROWS in source.empty().designs
    if not has_effects:
        return None
    return WithinGroups.of(GroupRows.from_matrix(source.take(at).designs[GROUP_ROWS]))


def _mean_of_typical_group(fit: AbstractFit, seen: Observed) -> RowVector:
    """Predicted means without the effect of a row's own group, estimated from few rows."""
    design = fit.model.design
    frame = design.data_at(seen.at).assign(**dict.fromkeys(design.groupings, UNSEEN))
    typical: Any = fit
    mean: RowVector
    mean = typical.predictive(frame, response=seen.name, new_groups="typical").mean()
    return mean


def _columns(
    frame: pd.DataFrame, names: tuple[str, ...], by_levels: frozenset[str]
) -> tuple[dict[str, RowVector], dict[str, RowColumns]]:
    """Numeric covariates, and those with levels as columns of zeros and ones."""
    numbers: dict[str, RowVector] = {}
    levels: dict[str, RowColumns] = {}
    for name in names:
        column = frame[name]
        number = kind_of(column, name) == "number" and column.dtype.kind != "b"
        if number and name not in by_levels:
            numbers[name] = column.to_numpy(dtype=float)
            continue
        codes, different = pd.factorize(column)
        often = np.argsort(-np.bincount(codes, minlength=len(different)), kind="stable")
        levels[name] = (codes[:, None] == often[: SCOPE.levels][None, :]).astype(float)
    return numbers, levels


def _shapes(values: RowVector) -> list[RowColumns]:
    """Functions that test a numeric covariate: its powers, and polynomials of its ranks."""
    return [powers(values), waves(values)]


def _mean(
    name: str, scores: Scores, sets: list[RowColumns], fitted: Estimated, remedy: str
) -> list[Misfit]:
    """Test of the scores, and the scores adjusted for the result."""
    without = partial(without_mean, columns=np.column_stack(sets), fitted=fitted)
    return [replace(one, without=without) for one in _test(name, scores, sets, fitted, remedy)]


def _spread(name: str, scores: Scores, sets: list[RowColumns], remedy: str) -> list[Misfit]:
    """Test of their squares, and the scores adjusted for the result."""
    ones, squares = (
        Estimated.of(np.ones((len(scores), 1))),
        np.minimum(scores**2, SCOPE.largest_square),
    )
    without = partial(without_spread, columns=np.column_stack(sets))
    return [replace(one, without=without) for one in _test(name, squares, sets, ones, remedy)]


def _test(
    name: str, scores: Scores, sets: list[RowColumns], fitted: Estimated, remedy: str
) -> list[Misfit]:
    """The most striking of several sets of columns, its p-value times their number."""
    tried = [added_beyond(scores, columns, fitted) for columns in sets]
    known = [one for one in tried if one is not None]
    if not known:
        return []
    share, p = min(known, key=lambda one: one[1])
    p = min(1.0, len(known) * p)
    measure = "share of variance"
    return [Misfit(name, share, measure, remedy, "calibration", p, share > MATTERS.variance, LIMIT)]


def _products(
    seen: Observed,
    numbers: Mapping[str, RowVector],
    levels: Mapping[str, RowColumns],
    fitted: Estimated,
    whose: str,
    remedies: Remedies,
) -> list[Misfit]:
    """One test for all products of two covariates: the most striking, times their number."""
    single = {name: standardised(values)[:, None] for name, values in numbers.items()}
    columns = {**single, **levels}
    products: dict[tuple[str, str], tuple[float, float]] = {}
    for one, other in combinations(list(columns)[: SCOPE.crossed], 2):
        left, right = columns[one], columns[other]
        if left.shape[1] * right.shape[1] > len(left) // 10:
            continue
        product = _product(left, right)
        both = fitted.together(np.column_stack([left, right]))
        answer = added_beyond(seen.scores, product, both)
        if answer is not None:
            products[one, other] = answer
    if not products:
        return []
    term = min(products, key=lambda each: products[each][1])
    share, p = products[term]
    measure, remedy = f"share of variance, {':'.join(term)}", remedies.product(*term)
    left, right = (columns[name] for name in term)
    both = fitted.together(np.column_stack([left, right]))
    without = partial(without_mean, columns=_product(left, right), fitted=both)
    return [
        Misfit(f"Interactions{whose}", share, measure, remedy, "calibration",
               min(1.0, len(products) * p), share > MATTERS.variance, LIMIT, without=without)
    ]  # fmt: skip


def _product(left: RowColumns, right: RowColumns) -> RowColumns:
    """Products of every column with every other."""
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), -1))


ROWS_A_SPREAD = 10
"""Rows of a level from which its spread is tested: squares of scores of few are not independent."""

WAVES_A_KNOT = 3
"""Degrees of the polynomial by which the waves are taken out of the scores, for each knot."""

ROWS_A_WAVE = 6
"""Rows for each of these degrees, at least."""


def basis_tests(
    fit: AbstractFit, seen: Observed, numbers: dict[str, RowVector], fitted: Estimated, whose: str
) -> list[Misfit]:
    """Autocorrelation of the scores along the covariate of each smooth of the mean.

    Rows with the same value are in random order: their own order may mean something else. The test
    is ``k.check`` of the R package mgcv, whose ratio of mean squared differences is one
    less the autocorrelation at lag 1, with four lags more.

    References
    ----------
    Wood (2017), Generalized Additive Models: An Introduction with R, 2nd ed., section 5.9.
    """
    rng = Streams(fit.seed).branch("ties").rng("rows")
    tests = []
    knots = {one.variable: one.spline.n_knots for one in fit.model.design.curves(MEAN)}
    for name, values in numbers.items():
        distinct = len(np.unique(values))
        if knots.get(name, distinct) >= distinct:
            continue
        order = np.lexsort((rng.random(len(values)), values))
        lag, p = positive_autocorrelation(seen.scores[order])
        remedy = Remedies(fit, seen.name, seen.may_split).basis(name, distinct)
        degree = min(WAVES_A_KNOT * knots[name], len(values) // ROWS_A_WAVE)
        ranks = (2.0 * mid_ranks(values) - 1.0) / len(values) - 1.0
        waves = legendre.legvander(ranks, degree)[:, 1:]
        tests.append(
            Misfit(f"Basis of s({name}){whose}", lag, "autocorrelation along it", remedy,
                   "calibration", p, lag > MATTERS.autocorrelation,
                   f"autocorrelation above {MATTERS.autocorrelation:g}",
                   without=partial(without_mean, columns=waves, fitted=fitted))
        )  # fmt: skip
    return tests


def shape_checks(fit: AbstractFit, seen: Observed, whose: str) -> list[Misfit]:
    """Skewness, tails, shape and width of the normal scores of one response."""
    remedies, shapes = Remedies(fit, seen.name, seen.may_split), shape_tests(seen.scores)
    tests: list[Misfit] = []

    def add(
        name: str, value: tuple[float, float], least: float, measure: str, remedy: str, off: float
    ) -> None:
        without = without_width if name == "Predictive spread" else without_shape
        limit = f"{measure} off by more than {least:g}"
        tests.append(
            Misfit(f"{name}{whose}", value[0], measure, remedy, "calibration", value[1],
                   off > least, limit, without=without)
        )  # fmt: skip

    if shapes:
        skew, tails, shape = shapes["skew"], shapes["tails"], shapes["shape"]
        add("Skewness", skew, MATTERS.skewness, "skewness", remedies.skewed(skew[0]), abs(skew[0]))
        add("Tails", tails, MATTERS.kurtosis, "excess kurtosis", remedies.tails(tails[0]),
            abs(tails[0]))  # fmt: skip
        add("Shape", shape, MATTERS.distance, "distance of the cdf", remedies.shape(), shape[0])
    width = width_test(seen.scores)
    add("Predictive spread", width, MATTERS.width, "sd of normal scores", remedies.width(width[0]),
        abs(width[0] - 1.0))  # fmt: skip
    return tests
