"""Places of a curve at which nothing was seen: no row is near in all covariates together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.effects.covariates import is_numeric
from bayesvb.results.subsampling import sample

from ..cells.numerals import percent
from .profiles import Profile

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

    from bayesvb.results.base import AbstractFit

MOST_ROWS = 2000
"""Rows among which the nearest is looked for."""

USUAL = 0.99
"""Proportion of the rows whose nearest other row is not farther than a supported position."""


def unseen(fit: AbstractFit, rows: Profile) -> Bool[np.ndarray, " places"]:
    """Whether a place is an extrapolation; of an average over rows, for most of them."""
    return np.asarray(unseen_shares(fit, rows) > 0.5)


def unseen_shares(fit: AbstractFit, rows: Profile) -> Float[np.ndarray, " places"]:
    """Share of the rows of each place whose nearest row is farther away than rows usually are.

    Distances are in standard deviations of the covariates; another level is as far as one. Of
    curves only: levels have share 0.
    """
    known = None if rows.covariate.discrete else fit.cache.once("known rows", lambda: _known(fit))
    if known is None:
        return np.zeros(len(rows.values))
    far = known.tree.query(known.coordinates(rows.frame))[0] > known.usual
    return np.asarray(rows.averaged(far.astype(float)), dtype=float)


@dataclass(frozen=True)
class _KnownRows:
    """Observed rows as points, and the distance to the nearest row that 1% of them exceed."""

    columns: tuple[_Numbers | _Levels, ...]
    tree: cKDTree
    usual: float

    def coordinates(self, frame: pd.DataFrame) -> Float[np.ndarray, "rows dims"]:
        return np.column_stack([column.coordinates(frame[column.name]) for column in self.columns])


@dataclass(frozen=True)
class _Numbers:
    """A number, in standard deviations."""

    name: str
    spread: float

    def coordinates(self, values: pd.Series) -> Float[np.ndarray, "rows 1"]:
        return np.asarray(values.to_numpy(dtype=float) / self.spread)[:, None]


@dataclass(frozen=True)
class _Levels:
    """A factor: a coordinate for each level, and one for all that are not known."""

    name: str
    levels: tuple[str, ...]

    def coordinates(self, values: pd.Series) -> Float[np.ndarray, "rows levels"]:
        codes = pd.Index(self.levels).get_indexer(pd.Index(values.astype(str)))
        return np.asarray(np.eye(len(self.levels) + 1)[codes] / np.sqrt(2.0))


def _known(fit: AbstractFit) -> _KnownRows | None:
    """At most 2,000 rows; None if they define no distances."""
    design = fit.model.design
    names = [name for name in design.covariates if name not in design.groupings]
    frame = design.frame[names].iloc[sample(fit, MOST_ROWS).at]
    if len(frame) < 3 or not names:
        return None
    columns = tuple(_column(frame[name], str(name)) for name in names)
    points = np.column_stack([column.coordinates(frame[column.name]) for column in columns])
    points = np.unique(points, axis=0)  # of a design with repetitions the nearest row is at 0
    if len(points) < 3:
        return None
    from scipy.spatial import cKDTree  # imported with the first picture, not with reports

    tree = cKDTree(points)
    usual = float(np.quantile(tree.query(points, k=2)[0][:, 1], USUAL))
    return _KnownRows(columns, tree, max(usual, 1e-9))


def _column(values: pd.Series, name: str) -> _Numbers | _Levels:
    if is_numeric(values, name):
        return _Numbers(name, float(values.to_numpy(dtype=float).std()) or 1.0)
    return _Levels(name, tuple(pd.unique(values.astype(str))))


def unseen_words(found: Bool[np.ndarray, " places"], rows: Profile, mark: str = "Hatched") -> str:
    """Sentence on places of a curve without observations nearby, and on their mark."""
    if not found.any():
        return ""
    share = percent(float(found.mean()))
    these = "" if rows.n_each == 1 else "for most rows of the average "
    return f" {mark} ({share} of the curve): {these}no row is near in all covariates together."
