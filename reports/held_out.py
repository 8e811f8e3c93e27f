"""Class probabilities of rows that were left out, a fifth of them at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Block, Source
from bayesvb.engines.cavi import cavi

if TYPE_CHECKING:
    from bayesvb.fit import Fit

FOLDS = 5

MOST_PASSES = 100
"""Passes over the rows that remain, for each fold."""

FEWEST_PASSES = 3
"""Passes below which the rows left out would hardly be forgotten."""

BUDGET = 2e7
"""Rows x experts x passes that may be spent: about half a minute."""

TOLERANCE = 1e-5
"""Gain of the bound per row at which a fold is finished."""


@dataclass(frozen=True)
class HeldOut:
    """Predicted and observed classes of all rows.

    Attributes
    ----------
    codes : ndarray, shape (rows,)
        Observed classes.
    probabilities : ndarray, shape (rows, classes)
        Predicted without the row, or by the fit if ``folds`` is None.
    fitted : ndarray, shape (rows, classes)
        Predicted by the fit, which has seen the row.
    folds : ndarray, shape (rows,), or None
        With which others each row was left out; None if there were too many rows for it.
    """

    codes: Int[np.ndarray, " rows"]
    probabilities: Float[np.ndarray, "rows classes"]
    fitted: Float[np.ndarray, "rows classes"]
    folds: Int[np.ndarray, " rows"] | None


def held_out(fit: Fit) -> HeldOut:
    """Probabilities of every row from a fit to the other four fifths of the rows.

    The ascent of each restart that counts is continued without the fold. Draws reweighted by
    importance would be no help: a mean-field posterior is so narrow that none of them has
    forgotten the row.
    """
    model = fit.model
    codes = np.asarray(model.design.response, dtype=int)
    fitted = fit.predict(kind="probability").to_numpy(dtype=float)
    passes = _affordable(fit)
    if passes < FEWEST_PASSES or len(codes) < 2 * FOLDS:
        return HeldOut(codes, fitted, fitted, None)
    folds = assigned(codes, FOLDS, np.random.default_rng([fit.seed, FOLDS]))
    whole = Block.joined(model.source.blocks)
    found = np.zeros_like(fitted)
    for fold in range(FOLDS):
        at = np.flatnonzero(folds == fold)
        rest = Source((whole.take(np.flatnonzero(folds != fold)),), model.source.workers)
        rows = model.design.frame.iloc[at]
        for part in fit.parts:
            without = continued(part.fit, rest, passes)
            given = without.predict(rows, kind="probability").to_numpy(dtype=float)
            found[at] += part.weight * given
    return HeldOut(codes, found / found.sum(axis=1, keepdims=True), fitted, folds)


def assigned(
    codes: Int[np.ndarray, " rows"], n_folds: int, rng: np.random.Generator
) -> Int[np.ndarray, " rows"]:
    """Fold of each row: as many of each class in every fold as its rows allow."""
    order = np.lexsort((rng.random(len(codes)), codes))
    folds = np.empty(len(codes), dtype=int)
    folds[order] = np.arange(len(codes)) % n_folds
    return folds


def continued(fit: Fit, rest: Source, passes: int) -> Fit:
    """The fit of one restart, its ascent continued on these rows alone."""
    q = fit.q
    sums = fit.core.advance(q, rest.map_reduce(partial(fit.core.local, q)).sums)
    ascent = cavi(fit.core, rest, sums, tol=TOLERANCE, max_iter=passes)
    return replace(fit, sums=ascent.sums)


def _affordable(fit: Fit) -> int:
    model = fit.model
    one = model.source.n_rows * model.n_components * FOLDS * len(fit.parts)
    return min(MOST_PASSES, int(BUDGET / one))
