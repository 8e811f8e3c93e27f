"""Class probabilities of rows that were left out, a fifth of them at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.affordable import folds_affordable
from bayesvb.blocks import Block
from bayesvb.engines.held_out import FOLDS, assigned, fold_rows

if TYPE_CHECKING:
    from bayesvb.fit import Fit


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
    if not folds_affordable(fit) or len(codes) < 2 * FOLDS:
        return HeldOut(codes, fitted, fitted, None)
    whole = Block.joined(model.source.blocks)
    places = fold_rows(whole)
    found = np.zeros_like(fitted)
    for part in fit.parts:
        for at, sums in zip(places, part.fit.without_folds, strict=True):
            without, rows = replace(part.fit, sums=sums), model.design.frame.iloc[at]
            given = without.predict(rows, kind="probability").to_numpy(dtype=float)
            found[at] += part.weight * given
    return HeldOut(codes, found / found.sum(axis=1, keepdims=True), fitted, assigned(whole))
