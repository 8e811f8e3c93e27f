"""Rows of a fit over which curves of one covariate are averaged (partial dependence)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.effects.covariates import column_like
from bayesvb.results.subsampling import RowSample, sample

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True)
class ObservedRows:
    """Observed values of all covariates, and the weight of each row.

    Attributes
    ----------
    frame : pandas.DataFrame
    shares : array, shape (rows,), optional
        Of each row in an average: its case weight over their sum. None where all count alike.
    chosen : RowSample
        Which rows of the fit they are.
    """

    frame: pd.DataFrame
    shares: Float[np.ndarray, " rows"] | None
    chosen: RowSample

    def frame_of(self, name: str, values: Sequence[object]) -> pd.DataFrame:
        """All rows with the first value of a covariate, then all with the second, ..."""
        n = len(self.frame)
        rows = pd.concat([self.frame] * len(values), ignore_index=True)
        each = [value for value in values for _ in range(n)]
        rows[name] = column_like(self.frame[name], each)
        return rows


def observed_rows(fit: AbstractFit, most: int) -> ObservedRows:
    """At most ``most`` rows of a fit, for averages over them.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29(5), doi:10.1214/aos/1013203451, section 8.2.
    """
    chosen = sample(fit, most)
    frame = fit.model.design.frame.iloc[chosen.at][list(fit.model.design.covariates)]
    weights = fit.model.weights
    given = None if weights is None else np.asarray(weights, dtype=float)[chosen.at]
    shares = None if given is None or not given.any() else given / given.sum()
    return ObservedRows(frame, shares, chosen)
