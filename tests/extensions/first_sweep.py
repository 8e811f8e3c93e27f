# bayesvb/engines/first_sweep.py
"""The first sweep of a coordinate ascent: the initial state of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import AbstractEngine, Budget, EngineResult, StatsT, one_pass
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.model import AbstractVariationalModel


class FirstSweep(AbstractEngine):
    """Posterior after one sweep."""

    title = "first sweep"

    def run(
        self,
        model: AbstractVariationalModel[Any, StatsT],
        source: AbstractSource,
        start: StatsT,
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """Return the state after one sweep, and both values of the ELBO."""
        here = one_pass(model, source, start)
        ahead = one_pass(model, source, here.following) if budget.max_iter > 1 else here
        bounds = np.array([here.bound, ahead.bound])
        return EngineResult(ahead.stats, bounds, min(2, budget.max_iter), converged=True)
