"""Linear response of a fit that continues if it turns out not to be at a maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lstsq

from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import AbstractEngine, Budget, EngineResult, StatsT, one_pass
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.restarts import MANY_ROWS
from bayesvb.errors import ConvergenceWarning, warn
from bayesvb.numerics.arrays import EntryVector
from bayesvb.numerics.streams import EngineStreams
from bayesvb.sensitivity.covariance import (
    LinearResponse,
    response_or_direction,
    withheld,
)
from bayesvb.variational.model import AnyModel

ATTEMPTS = 6
"""Times that linear response is tried."""

STRICTER = 0.1
"""Factor of the tolerance each time that a run continues."""

HARDLY = 0.1
"""Standard deviations that a sweep may move parameters by after an engine that ends up to noise."""


@dataclass(frozen=True)
class SettledResponse:
    """Linear response, and its statistics.

    Attributes
    ----------
    response : LinearResponse
    further : EngineResult, optional
        Further run of the fit, over all rows; None if not needed.
    uphill : bool
        Whether the response is missing because the ELBO still increases.
    """

    response: LinearResponse
    further: EngineResult[SufficientStats] | None = None
    uphill: bool = False


def settled_response(
    model: AnyModel,
    source: AbstractSource,
    stats: SufficientStats,
    rng: np.random.Generator,
    engine: AbstractEngine,
    streams: EngineStreams,
    budget: Budget | None = None,
    attempts: int = ATTEMPTS,
) -> SettledResponse:
    """Linear response at a maximum of the bound, if need be one that lies further up.

    Where the ELBO is not concave the fit steps along the direction of largest curvature, continues
    from there to a stricter tolerance, and linear response is tried again, ``attempts`` times in
    all. There is none if the engine does not end at a maximum of the ELBO; an engine that ends near
    it, up to noise, has the response at its end if an iteration hardly moves it.

    Many rows are represented by a weighted sample. The fit converges on it first, by the same rule,
    as the curvature of the ELBO and the posterior must belong to the same rows. The covariance is
    in units of the posterior, so that the error of the sample is of the order of the inverse root
    of its size. Where groups have effects, all rows are used: a sample would have few rows of each
    group, and count each of them several times.

    Parameters
    ----------
    model : AbstractVariationalModel
    source : AbstractSource
    stats : SufficientStats
        State of a converged fit.
    rng : numpy.random.Generator
        Chooses the sample.
    engine : AbstractEngine
        What climbs.
    streams : EngineStreams
    budget : Budget, optional
        Budget of each further run.
    attempts : int
        One for a fit that has used up its passes: it is not to climb any further.
    """
    if not (engine.maximises_bound or engine.approaches_maximum):
        return SettledResponse(withheld(f"{engine.title} does not end at a maximum of the bound"))
    budget = replace(budget or Budget(), progress=None)
    if not engine.maximises_bound:
        moves = moves_of_a_sweep(model, source, stats)
        if moves > HARDLY:
            why = f"after {engine.title} a sweep would move parameters by {moves:.2g} of their sd"
            return SettledResponse(withheld(why, 1))
        near = settled_response(model, source, stats, rng, Cavi(), streams, budget, attempts=1)
        return replace(near, uphill=False)
    climb = _Climb(model, engine, streams, budget, attempts)
    whole = source.n_rows <= MANY_ROWS or not model.draws_complete
    if whole or model.coordinates(model.update(stats)) is None:
        return climb.settled(source, stats)
    rows = source.standing_for_all(MANY_ROWS // 2, rng)
    maximum = climb.on(rows, stats, stricter=0).stats
    settled = climb.settled(rows, maximum)
    maximum = maximum if settled.further is None else settled.further.stats
    response = in_other_units(settled.response, model, maximum, stats)
    return replace(settled, response=response, further=None)


@dataclass(frozen=True)
class _Climb:
    """Engine and budget of a further run."""

    model: AnyModel
    engine: AbstractEngine
    streams: EngineStreams
    budget: Budget
    attempts: int

    def on(
        self, source: AbstractSource, stats: SufficientStats, *, stricter: int
    ) -> EngineResult[SufficientStats]:
        """The run from here, at a tolerance made stricter this number of times."""
        budget = replace(self.budget, tol=self.budget.tol * STRICTER**stricter)
        return self.engine.run(self.model, source, stats, budget, self.streams).whole()

    def settled(self, source: AbstractSource, stats: SufficientStats) -> SettledResponse:
        """Linear response of the rows, after as many further runs as it needs."""
        further: EngineResult[SufficientStats] | None = None
        passes = 0
        for attempt in range(1, self.attempts + 1):
            response, uphill = response_or_direction(self.model, source, stats)
            passes += response.n_iter
            response = replace(response, n_iter=passes)
            if uphill is None or attempt == self.attempts:
                return SettledResponse(response, further, uphill is not None)
            start = stepped(self.model, source, stats, uphill)
            result = self.on(source, start, stricter=attempt)
            stats, further = result.stats, result if further is None else joined(further, result)
        raise AssertionError("unreachable")


def in_other_units(
    response: LinearResponse, model: AnyModel, before: SufficientStats, stats: SufficientStats
) -> LinearResponse:
    """Covariance of standard coordinates of a posterior, in the coordinates of another.

    Perturbations of the one are sums of perturbations of the other. Directions that are weakly
    identified, as a shift of all logits of a gate, may vary hundreds of times as much as under the
    posterior: each is to be the same direction in both, or all its components seem to vary so. The
    ratio of the covariance to the posterior's is carried over.
    """
    first, other = (model.coordinates(model.update(one)) for one in (before, stats))
    if response.failure is not None or first is None or other is None:
        return response
    tilts, others = first.perturbations(), other.perturbations()
    touched = tilts.any(axis=0) | others.any(axis=0)
    whole = tilts[:, touched].T, others[:, touched].T
    change = lstsq(*whole, lapack_driver="gelsy", check_finite=False)[0].T
    covariance = change @ response.covariance @ change.T
    beyond = covariance - change @ change.T + np.eye(len(covariance))
    definite = bool(np.linalg.eigvalsh(beyond)[0] > 0.0)
    return replace(response, covariance=beyond if definite else covariance)


def moves_of_a_sweep(model: AnyModel, source: AbstractSource, stats: SufficientStats) -> float:
    """Root mean square of the changes of parameters by a sweep, in their standard deviations.

    In standard coordinates, whose stand-ins have variance one; zero if there are none.
    """
    here = one_pass(model, source, stats)
    coordinates = model.coordinates(model.update(stats))
    following = model.coordinates(model.update(here.following))
    if coordinates is None or following is None:
        return 0.0
    change = following.expectations() - coordinates.expectations()
    return float(np.sqrt(np.mean((coordinates.perturbations() @ change) ** 2)))


def joined(before: EngineResult[StatsT], after: EngineResult[StatsT]) -> EngineResult[StatsT]:
    """Two runs, the second from the end of the first or from higher up, as one."""
    known = after.trace[0] <= before.trace[-1]
    trace = np.concatenate([before.trace, after.trace[1:] if known else after.trace])
    return replace(after, trace=trace, n_iter=before.n_iter + after.n_iter)


def stepped(
    model: AnyModel, source: AbstractSource, stats: StatsT, direction: EntryVector
) -> StatsT:
    """Statistics with the largest bound along a direction: steps double while the bound rises."""
    centre = stats.to_vector()
    best, highest = stats, _bound(model, source, stats)
    for sign in (1.0, -1.0):
        # To second order the ELBO rises both ways along a direction of negative curvature.
        size = 1.0
        # Longest step from a saddle point, in powers of two of a standard deviation.
        for _ in range(12):
            ahead = stats.with_vector(centre + sign * size * direction)
            bound = _bound(model, source, ahead)
            if not bound > highest:
                break
            best, highest, size = ahead, bound, 2.0 * size
    return best


def warn_if_uphill(uphill: Sequence[bool]) -> None:
    """Warn of runs without linear response because the ELBO still increases."""
    if any(uphill):
        warn(
            "linear response is not available, because the run did not end at a maximum of the "
            "ELBO: "
            "intervals are mean-field, and too narrow; fit with fewer components, another "
            "seed, or a smaller tol and a larger max_iter",
            ConvergenceWarning,
        )


def _bound(model: AnyModel, source: AbstractSource, stats: SufficientStats) -> float:
    """Bound of these statistics; lower than any outside the domain."""
    try:
        return one_pass(model, source, stats).bound
    except np.linalg.LinAlgError:
        return -np.inf
