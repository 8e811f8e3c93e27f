"""Maximum of a log likelihood by a quasi-Newton method."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Generic

import numpy as np
from jaxtyping import Float

from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import Budget, EngineResult, StatsT, is_ended_by
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.variational.likelihood import AbstractLikelihood

LAST_GAIN = 0.01
"""Part of the tolerance that the last iteration gains at most: gains shrink slowly on ridges."""


class _OutOfPassesError(Exception):
    """No further pass over the rows is allowed."""


@dataclass
class _Objective(Generic[StatsT]):
    """Minus the log likelihood per row, which counts passes and remembers the best vector."""

    likelihood: AbstractLikelihood[StatsT]
    source: AbstractSource
    budget: Budget
    best: Float[np.ndarray, " parameters"]
    trace: list[float] = field(default_factory=list)
    n_iter: int = 0

    def __call__(
        self, vector: Float[np.ndarray, " parameters"]
    ) -> tuple[float, Float[np.ndarray, " parameters"]]:
        """Value and gradient, from one pass over the rows."""
        if self.n_iter == self.budget.max_iter:
            raise _OutOfPassesError
        totals = self.source.map_reduce(partial(self.likelihood.value_and_gradient, vector))
        self.n_iter += 1
        finite = np.isfinite(totals.value) and np.isfinite(totals.gradient).all()
        if finite and (not self.trace or totals.value > self.trace[-1]):
            self.best = vector.copy()
            self.trace.append(totals.value)
            if is_ended_by(self.budget.progress, self.n_iter, self.trace[-1]):
                raise KeyboardInterrupt
        scale = -1.0 / self.source.total_weight
        return scale * totals.value, scale * totals.gradient


def maximum(
    likelihood: AbstractLikelihood[StatsT], source: AbstractSource, start: StatsT, budget: Budget
) -> EngineResult[StatsT]:
    """Return the point of largest likelihood that L-BFGS reaches from these statistics.

    Parameters
    ----------
    likelihood : AbstractLikelihood
    source : AbstractSource
    start : SufficientStats
        Their posterior mean is the first point.
    budget : Budget
        Ends when an iteration gains less than ``LAST_GAIN`` times the tolerance.

    Raises
    ------
    numpy.linalg.LinAlgError
        The likelihood is not finite at the start.

    References
    ----------
    Liu, Nocedal (1989), On the limited memory BFGS method for large scale optimization,
    Mathematical Programming 45, 503-528.
    """
    from scipy.optimize import minimize  # 0.1 s of import, for networks alone

    vector = likelihood.vector(start)
    objective = _Objective(likelihood, source, budget, vector)
    # Earlier steps from which the curvature is approximated.
    options = {
        "maxcor": 20,
        "maxiter": budget.max_iter,
        "maxfun": budget.max_iter + 1,
        "ftol": LAST_GAIN * budget.tol / source.total_weight,
        "gtol": 0.0,
    }
    converged, interrupted = False, False
    try:
        with single_threaded_blas():
            ended = minimize(objective, vector, jac=True, method="L-BFGS-B", options=options)
        converged = bool(ended.success)
    except _OutOfPassesError:
        pass
    except KeyboardInterrupt:
        if not objective.trace:
            raise
        interrupted = True
    if not objective.trace:
        raise np.linalg.LinAlgError("the likelihood is not finite at the start")
    stats = likelihood.stats(objective.best)
    return EngineResult(stats, np.array(objective.trace), objective.n_iter, converged, interrupted)
