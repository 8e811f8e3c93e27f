"""Fits without some rows: by Newton steps with the derivative of an iteration, or by a run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import AbstractEngine, Budget
from bayesvb.engines.stopping import SMALL_ENTRY
from bayesvb.numerics.arrays import EntryVector
from bayesvb.numerics.streams import EngineStreams
from bayesvb.sensitivity.deletion import Deletion, Evaluate
from bayesvb.sensitivity.solvers import full_step
from bayesvb.variational.model import AnyModel

EXACT = Budget(tol=1e-4, max_iter=500)
"""Budget of a run without the rows, which starts close to its end."""

PASSES = 12
"""Iterations after which Newton steps are abandoned for a run."""

HISTORY = 6
"""Points before the last that a step is mixed from."""


def refitted(
    deletion: Deletion,
    change: EntryVector,
    rest: AbstractSource,
    block: Block,
    evaluate: Evaluate,
    engine: AbstractEngine,
    streams: EngineStreams,
    *,
    most: float = np.inf,
) -> tuple[Float[np.ndarray, "*axes rows"] | None, int]:
    """Values of rows under the posterior of the rest only, and the passes that it took.

    None if a run would need more than ``most`` iterations.

    Parameters
    ----------
    deletion : Deletion
    change : ndarray, shape (entries,)
        First-order loss of the statistics: the starting point.
    rest : AbstractSource
        The other rows.
    block : Block
        Rows to evaluate.
    evaluate : callable
        Their values under a posterior.
    engine : AbstractEngine
        What made the fit. Newton steps take its place where it ends at a maximum of the bound and
        they get there; else it ascends.
    streams : EngineStreams
        Its randomness.
    most : float
        Iterations of a run, if fewer than in ``EXACT``.
    """
    model, posterior = deletion.model, deletion.near(change)
    sums = rest.map_reduce(partial(model.e_step, posterior)).stats
    start, passes = model.global_step(posterior, sums), 0
    if engine.maximises_bound:
        settled, passes = settled_by_newton(deletion, rest, start)
        if settled is not None:
            return evaluate(model.update(settled), block), passes
    budget = replace(EXACT, max_iter=int(min(most, EXACT.max_iter)))
    if budget.max_iter < 1:
        return None, passes
    ascent = engine.run(model, rest, start, budget, streams).whole()
    if not ascent.converged and budget.max_iter < EXACT.max_iter:
        return None, passes + ascent.n_iter
    return evaluate(model.update(ascent.stats), block), passes + ascent.n_iter


def settled_by_newton(
    deletion: Deletion, rest: AbstractSource, stats: SufficientStats
) -> tuple[SufficientStats | None, int]:
    r"""Statistics at the maximum of the rest's bound near these, and passes; None if not reached.

    A maximum is a fixed point of the pass ``F`` over the rest. With the derivative ``F'`` of the
    pass over all rows, which a few rows hardly change, a step is

    .. math:: (I - F')^{-1} (F(s) - s),

    mixed with the steps before, which corrects errors of the derivative (Anderson acceleration).
    Each step costs one iteration.

    References
    ----------
    Walker, Ni (2011), Anderson acceleration for fixed-point iterations, doi:10.1137/10078356X,
    section 2, in the unconstrained form. Kelley (1995), Iterative Methods for Linear and Nonlinear
    Equations, doi:10.1137/1.9781611970944, section 5.4.2, for the chord step.
    """
    bounds, points, steps = [], [stats.to_vector()], list[EntryVector]()
    for passes in range(1, PASSES + 1):
        try:
            here = stats.with_vector(points[-1])
            bound, missing = _bound_and_residual(deletion.model, rest, here)
        except np.linalg.LinAlgError:
            return None, passes
        bounds.append(bound)
        # Nats that a Newton step may lose on the way to a maximum that is near.
        if bound < max(bounds) - 0.02:
            return None, passes
        # Nats by which the last two bounds of Newton steps may differ.
        if passes > 1 and abs(bound - bounds[-2]) < 1e-5 and bound >= bounds[0]:
            return here, passes
        steps.append(deletion.solve(missing[None])[0])
        points.append(_mixed(np.array(points[-HISTORY:]), np.array(steps[-HISTORY:])))
    return None, PASSES


def _mixed(
    points: Float[np.ndarray, "some entries"], steps: Float[np.ndarray, "some entries"]
) -> EntryVector:
    """Point to which the steps lead, mixed so that they cancel as far as they can."""
    ends, size = points + steps, 1.0 / np.sqrt(np.abs(points[-1]) + SMALL_ENTRY)
    change = (size * np.diff(steps, axis=0)).T
    share = np.linalg.lstsq(change, size * steps[-1], rcond=1e-8)[0]
    return np.asarray(ends[-1] - share @ np.diff(ends, axis=0))


def _bound_and_residual(
    model: AnyModel, source: AbstractSource, stats: SufficientStats
) -> tuple[float, EntryVector]:
    """The bound of the posterior of these statistics, and ``F(s) - s``, from one pass."""
    posterior = model.update(stats)
    sweep = source.map_reduce(partial(model.e_step, posterior))
    bound = sweep.bound - model.kl(posterior)
    if not np.isfinite(bound):
        raise np.linalg.LinAlgError("the lower bound is not finite")
    return float(bound), full_step(model, posterior, sweep.stats) - stats.to_vector()


def without_one(source: AbstractSource, number: int) -> AbstractSource:
    """All rows but one copy of this one."""
    weight = source.take(np.array([number])).weight
    if weight is None or weight[0] <= 1.0:
        return source.without(np.array([number]))
    whole = source.whole()
    fewer = np.array(whole.weight)
    fewer[number] -= 1.0
    return InMemorySource.of(replace(whole, weight=fewer), workers=source.workers)
