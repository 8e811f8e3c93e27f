"""What the checks look at: rows, the normal scores of their PIT values, and their predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.evaluation.normal_scores import Scores, normal_scores
from bayesvb.streams import Streams

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_ROWS = 20_000
"""Rows that are looked at."""

RUN = 400
"""Consecutive rows of one run, where not all rows are looked at: neighbours stay together."""


@dataclass(frozen=True)
class Observed:
    """One response at the rows that are looked at.

    Attributes
    ----------
    name : str
    values : ndarray, shape (rows,)
        Observed values.
    scores : ndarray, shape (rows,)
        Normal scores of the PIT values: standard normal if the fit is right.
    mean : ndarray, shape (rows,)
        Predicted means.
    cdf : callable
        Predictive distribution function of each row at one value per row.
    at : ndarray, shape (rows,)
        Positions among the rows of the fit.
    """

    name: str
    values: Float[np.ndarray, " rows"]
    scores: Scores
    mean: Float[np.ndarray, " rows"]
    cdf: Callable[[Float[np.ndarray, " rows"]], Float[np.ndarray, " rows"]]
    at: Int[np.ndarray, " rows"]


def observed(fit: AbstractFit) -> list[Observed]:
    """Every numeric response, or variable given the others, at rows where it is known."""
    if fit.model.design.levels:
        return []
    at = _rows(fit)
    return [_one(fit, name, values, at) for name, values in fit.model.observed().items()]


def _one(
    fit: AbstractFit, name: str, values: Float[np.ndarray, " all"], at: Int[np.ndarray, " rows"]
) -> Observed:
    at = at[np.isfinite(values[at])]
    law = fit.predictive(fit.model.design.data_at(at), response=name)
    scores = normal_scores(_pit(law, values[at]))
    return Observed(name, values[at], scores, np.asarray(law.mean()), law.cdf, at)


def _pit(law: Any, values: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
    """PIT values of the rows."""
    return np.asarray(law.cdf(values))


def _rows(fit: AbstractFit) -> Int[np.ndarray, " rows"]:
    """Rows of positive weight: all, or runs of neighbours chosen at random."""
    n, weights = fit.model.design.n_rows, fit.model.weights
    at = np.arange(n) if weights is None else np.flatnonzero(weights > 0.0)
    if len(at) <= MOST_ROWS:
        return at
    rng = Streams(fit.seed).rows(MOST_ROWS, n)
    runs = np.array_split(at, len(at) // RUN)
    chosen = np.sort(rng.choice(len(runs), MOST_ROWS // RUN, replace=False))
    return np.concatenate([runs[i] for i in chosen])
