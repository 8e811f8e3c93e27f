"""Places of a curve at which nothing was seen: no row is near in all covariates together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy.spatial import cKDTree

from bayesvb.effects.covariates import is_numeric
from bayesvb.results.subsampling import sample

from ..cells.numerals import percent
from .profiles import Profile

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_ROWS = 2000
"""Rows among which the nearest is looked for."""

USUAL = 0.99
"""Share of the rows whose nearest other row is not farther than that of a place that was seen."""


def unseen(fit: AbstractFit, rows: Profile) -> Bool[np.ndarray, " places"]:
    """Whether the nearest row is farther away than rows are from one another.

    Distances are in standard deviations of the covariates; another level is as far as one. Of
    curves only: none of levels is. Of an average over rows, whether that is so in most of them.
    """
    design = fit.model.design
    if rows.covariate.discrete:
        return np.zeros(len(rows.values), dtype=bool)
    names = [name for name in design.covariates if name not in design.groupings]
    frame = design.frame[names].iloc[sample(fit, MOST_ROWS).at]
    if len(frame) < 3 or not names:
        return np.zeros(len(rows.values), dtype=bool)
    both = pd.concat([frame, rows.frame[names]], ignore_index=True)
    columns = [_column(both[name], str(name), len(frame)) for name in names]
    known, asked = np.split(np.column_stack(columns), [len(frame)])
    nearest = cKDTree(known)
    usual = np.quantile(nearest.query(known, k=2)[0][:, 1], USUAL)
    far = nearest.query(asked)[0] > max(float(usual), 1e-9)
    return np.asarray(rows.averaged(far.astype(float)) > 0.5)


def unseen_words(found: Bool[np.ndarray, " places"], rows: Profile, mark: str = "Hatched") -> str:
    """What to say of such places of a curve, and how they are marked."""
    if not found.any():
        return ""
    share = percent(float(found.mean()))
    these = "" if rows.n_each == 1 else "for most rows of the average "
    return f" {mark} ({share} of the curve): {these}no row is near in all covariates together."


def _column(values: pd.Series, name: str, n_rows: int) -> Float[np.ndarray, "rows _"]:
    """A number in standard deviations, or a column for each level."""
    if is_numeric(values, name):
        numbers = values.to_numpy(dtype=float)
        spread = float(numbers[:n_rows].std()) or 1.0
        return np.asarray(numbers / spread)[:, None]
    return np.asarray(pd.get_dummies(values.astype(str)).to_numpy(dtype=float) / np.sqrt(2.0))
