"""Input of the checks: rows, normal scores of their PIT values, and their predictions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.base import AbstractRowDistribution
from bayesvb.evaluation.normal_scores import Scores, normal_scores
from bayesvb.numerics.arrays import Indices, RowIntegers, RowVector
from bayesvb.numerics.streams import Streams
from bayesvb.results.checks.scope import SCOPE
from bayesvb.results.limits import LIMITS
from bayesvb.results.subsampling import pits_at

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True)
class Observed:
    """One response at the checked rows.

    Attributes
    ----------
    name : str
    values : ndarray, shape (rows,)
        Observed values.
    pit : ndarray, shape (rows,)
        PIT values: uniform if the fit is right.
    law : AbstractRowDistribution
        Predictive distributions of the rows.
    at : ndarray, shape (rows,)
        Positions among the rows of the fit, in the order of the checks.
    may_split : bool
        Whether one more component may predict better: False where it was tried, and does not.
    """

    name: str
    values: RowVector
    pit: RowVector
    law: AbstractRowDistribution
    at: RowIntegers
    may_split: bool = True

    @cached_property
    def scores(self) -> Scores:
        """Normal scores of the PIT values: standard normal if the fit is right."""
        return normal_scores(self.pit)

    @cached_property
    def mean(self) -> RowVector:
        """Predicted means."""
        return np.asarray(self.law.mean())


def observed(fit: AbstractFit, order: RowIntegers | None = None) -> list[Observed]:
    """Every numeric response without its row, or variable given the others, where it is known.

    Rows stand in the ``order`` of these positions, if there is one.
    """
    design = fit.model.design
    if fit.model.response.is_categorical:
        return []
    at = _rows(fit, np.arange(design.n_rows) if order is None else order)
    given = fit.model.observed().items()
    if design.response is None:
        return [_given_others(fit, name, values, at) for name, values in given]
    pits = pits_at(fit, at)
    return [
        _one(fit, name, values, at, pit) for (name, values), pit in zip(given, pits, strict=True)
    ]


def _given_others(
    fit: AbstractFit, name: str, values: Float[np.ndarray, " all"], at: RowIntegers
) -> Observed:
    """A variable given the others of its row, which the fit has seen."""
    at = at[np.isfinite(values[at])]
    law = fit.predictive(fit.model.design.data_at(at), response=name)
    return _one(fit, name, values, at, np.asarray(law.cdf(values[at])))


def _one(
    fit: AbstractFit, name: str, values: Float[np.ndarray, " all"], at: RowIntegers, pit: RowVector
) -> Observed:
    """One response with its scores; an in-sample PIT value where no other is available."""
    law = fit.predictive(fit.model.design.data_at(at), response=name)
    pit = np.where(np.isfinite(pit), pit, law.cdf(values[at]))
    return Observed(name, values[at], pit, law, at)


def _rows(fit: AbstractFit, order: RowIntegers) -> Indices:
    """Rows of positive weight in this order: all, or runs of neighbours chosen at random."""
    n, weights = fit.model.design.n_rows, fit.model.weights
    at = order if weights is None else order[weights[order] > 0.0]
    if len(at) <= LIMITS.all_rows:
        return at
    runs = np.array_split(at, len(at) // SCOPE.run)
    rng = Streams(fit.seed).rows(LIMITS.subsample, n)
    chosen = np.sort(rng.choice(len(runs), LIMITS.subsample // SCOPE.run, replace=False))
    return np.concatenate([runs[i] for i in chosen])
