"""Restarts whose bounds are nearly the best: whether they predict the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.evaluation.unseen_optima import SAME
from bayesvb.results.base import NEAR_BEST, PREDICTS_APART

if TYPE_CHECKING:
    from bayesvb.engines.restarts import Restart, RestartSearch

MOST_ROWS = 2000
"""Rows at which predictions are compared."""


def apart(found: RestartSearch) -> dict[str, Float[np.ndarray, " runs"]]:
    """Column of the table of restarts: how far their predictions are from those of the best.

    Mean absolute difference of the log predictive density at observed rows, in nats; zero for runs
    to the same optimum, NaN for runs whose bound is far below. No column where there is one
    optimum only, one run, or no closed predictive density.
    """
    best = found.runs[found.best]
    if len(found.runs) == 1 or best.model.n_components == 1:
        return {}
    if np.isneginf(best.score):
        return {}
    below = best.score - np.array([run.score for run in found.runs])
    rival = np.flatnonzero((below > SAME) & (below <= NEAR_BEST))
    distance = np.where(below <= SAME, 0.0, np.nan)
    if len(rival):
        kept = _log_density(found, best)
        if kept is None:
            return {}
        for number in rival:
            other = _log_density(found, found.runs[number])
            distance[number] = np.nan if other is None else np.abs(other - kept).mean()
    return {PREDICTS_APART: distance}


def _log_density(found: RestartSearch, run: Restart) -> Float[np.ndarray, " rows"] | None:
    """Log predictive density of one run at rows that it has seen, evenly chosen."""
    n_rows = found.screened.n_rows
    at = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).astype(np.intp))
    posterior = run.model.update(run.ascent.stats)
    return run.model.log_predictive(posterior, found.screened.take(at))
