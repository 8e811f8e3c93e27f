"""Coordinate ascent: one pass over the rows per sweep, accelerated, never downhill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, cast

import numpy as np

from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.engines.anderson import AndersonMemory
from bayesvb.engines.base import (
    AbstractEngine,
    Budget,
    EngineResult,
    Iterate,
    RunProgress,
    StatsT,
    one_pass,
)
from bayesvb.engines.flat_passes import FlatStats, compiled_pass
from bayesvb.engines.known_rows import BesideKnownRows
from bayesvb.engines.run_log import AbstractRunPage, Arrays
from bayesvb.engines.run_state import (
    finite,
    iterate_of,
    of_iterate,
    of_result,
    result_of,
    state_read,
    trace_of,
)
from bayesvb.engines.stopping import SMALL_ENTRY, RemainingGain, sweeps_to_go
from bayesvb.numerics.arrays import EntryVector
from bayesvb.numerics.runtime import keep_freed_memory, single_threaded_blas
from bayesvb.numerics.special import ROUNDING
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.model import ModelOf
from bayesvb.variational.streamed_model import AbstractStreamedModel

LEAST_SHARE = 0.125
"""Least share of a step that is tried after it: a map is seldom linear further out."""

HOPELESS_PASSES, HOPELESS_GAINS = 20, 30.0
"""Passes after which a run ends that would not reach the ELBO of others with this multiple of its
expected gain. 66 random fits with eight runs: three quarters of the passes, and no lower ELBO of
the best run (``bench_starts``). A factor of 3 loses 0.1 nats in one fit of eight."""

CALM = 8
"""Damped sweeps without a fall after which one is tried at twice the length; 2 and 4 take up to 3%
more passes, and without an end to damping a start far away would slow a whole run down."""

FIRST_LENGTH = 4.0
"""Longest extrapolation at first; grows by this factor when it is used up and accepted."""


class _CaviState(Generic[StatsT]):
    """Running state of one run: current point, iterations so far, expected remaining gain."""

    point: Iterate[StatsT]
    before: Iterate[StatsT] | None = None
    """State at which a cycle began, between its plain iteration and its extrapolation."""

    tried: Iterate[StatsT] | None = None
    """Result of the last step; None if outside the domain."""

    def __init__(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        max_iter: int,
        memory: int,
        *,
        may_sum_rows: bool,
    ) -> None:
        self.model: ModelOf[StatsT] = model
        self.source = source
        self.may_sum_rows = may_sum_rows
        self.max_iter = max_iter
        self.n_iter = 0
        self.longest = FIRST_LENGTH
        self.share, self.calm = 1.0, 0
        is_simple = not model.has_slow_directions
        self.rule = {"is_regular": model.is_conjugate, "is_simple": is_simple}
        self.remaining = RemainingGain(**self.rule)
        self.memory = AndersonMemory(memory)
        self.compiled = model.compiled(source)

    def begin(self, stats: StatsT, known: Arrays) -> list[float]:
        """Go to where a run is known to have been, or else to these statistics; the bounds."""
        if self.compiled is not None:
            stats = cast(StatsT, FlatStats(stats.to_vector(), stats))
        if not known:
            self.point = self.evaluate(stats)
            return [self.point.bound]
        with state_read():
            self.n_iter = int(finite(known, "n_iter"))
            self.longest = float(finite(known, "longest"))
            self.share, self.calm = float(finite(known, "share")), int(finite(known, "calm"))
            self.remaining = RemainingGain.of_arrays(known, **self.rule)
            self.memory.restore(known)
            self.point = iterate_of(stats, known, "point")
            if any(name.startswith("before.") for name in known):
                self.before = iterate_of(stats, known, "before")
            return trace_of(known)

    def arrays(self, trace: list[float]) -> Arrays:
        """The state, from which ``begin`` continues with identical bits."""
        before = {} if self.before is None else of_iterate(self.before, "before")
        numbers = ("n_iter", "longest", "share", "calm")
        steps = {name: np.array(getattr(self, name)) for name in numbers}
        point = of_iterate(self.point, "point")
        kept = {**self.remaining.arrays(), **self.memory.arrays()}
        return {**steps, **kept, **point, **before, "trace": np.array(trace)}

    @property
    def stats(self) -> StatsT:
        """The statistics reached."""
        stats = self.point.stats
        return cast(StatsT, stats.record) if isinstance(stats, FlatStats) else stats

    @property
    def has_passes(self) -> bool:
        """Whether there are passes left."""
        return self.n_iter < self.max_iter

    def evaluate(self, stats: StatsT) -> Iterate[StatsT]:
        """One pass, which counts."""
        self.n_iter += 1
        if self.compiled is not None:
            flat = cast(FlatStats, stats)
            return cast(
                Iterate[StatsT], compiled_pass(self.compiled, self.model, self.source, flat)
            )
        point = one_pass(self.model, self.source, stats)
        model = self.model
        if not (self.may_sum_rows and isinstance(model, AbstractStreamedModel)):
            return point
        if model.is_linear_in_rows(self.source):
            # No statistic depends on the posterior: one pass over the rows is all it takes. Not
            # where runs are resumed from a file: another order of sums would change the last bits.
            self.model = BesideKnownRows.from_pass(model, point)
            self.source = InMemorySource((self.source.empty(),))
        return point

    def moves_to(self, stats: StatsT) -> bool:
        """Go to these statistics, unless they are outside the domain or lower the bound."""
        try:
            self.tried = None
            self.tried = self.evaluate(stats)
        except np.linalg.LinAlgError:
            return False
        if self.tried.bound < self.point.bound - ROUNDING * abs(self.point.bound):
            return False
        self.point = self.tried
        return True

    def sweep(self) -> None:
        """Go one sweep on, or a share of the way where the step overshoots and lowers the bound.

        It is the share of the previous sweep, doubled after ``CALM`` sweeps without a fall.
        """
        here, ahead = self.point.stats, self.point.following
        self.calm += 1
        if self.calm > CALM:
            self.share, self.calm = min(2.0 * self.share, 1.0), 0
        # A step that still lowers the bound at 2^-30 of its length starts at the optimum.
        for _ in range(30):
            if not self.has_passes or self.moves_to(between(here, ahead, self.share)):
                return
            self.share, self.calm = self.share * self.shorter(here), 0

    def shorter(self, here: StatsT) -> float:
        """Share of a step that lowered the bound by which the next one is tried.

        Where the map is linear along the axis that is overshot it ends at the fixed point.
        """
        if self.tried is None:
            return LEAST_SHARE
        further = between(self.tried.stats, self.tried.following, self.share)
        ways = (stats.to_vector() for stats in (here, self.tried.stats, further))
        return min(max(LEAST_SHARE, sweeps_to_go(*ways)), 0.5)  # the least also where it is nan

    def cycle(self, *, accelerate: bool) -> Iterator[bool]:
        """Plain iteration, then an extrapolation if accepted: whether runs can continue there."""
        if self.before is None:
            begun = self.point
            self.sweep()
            if self.point is begun and not self.has_passes:
                return
            self.before = begun
            yield True
        before = self.before
        gain = self.point.bound - before.bound
        if accelerate and not self.has_passes:
            return
        # The next sweep damped as this one was: only then are both steps of one map.
        ahead = between(self.point.stats, self.point.following, self.share)
        ways = (before.stats, self.point.stats, ahead)
        start, once, twice = (stats.to_vector() for stats in ways)
        if accelerate:
            yield from self.extrapolation(before.stats, (start, once, twice))
        self.remaining.record(
            sweep=gain,
            cycle=self.point.bound - before.bound,
            to_go=sweeps_to_go(start, once, twice),
        )
        self.before = None

    def extrapolation(
        self, stats: StatsT, ways: tuple[EntryVector, EntryVector, EntryVector]
    ) -> Iterator[bool]:
        """Extrapolation of the last iterations, if it is accepted: no run can continue there."""
        self.memory.record(*ways)
        proposed = self.memory.extrapolation()
        if proposed is not None and self.moves_to(stats.with_vector(proposed)):
            yield False
            return
        if not self.has_passes:
            return
        ahead, length = squared_extrapolation(*ways, longest=self.longest)
        if self.moves_to(stats.with_vector(ahead)):
            self.longest *= FIRST_LENGTH if length == self.longest else 1.0
            yield False
        else:
            self.longest = max(0.5 * length, 2.0)

    def gains_at_most(self, nats: float) -> bool:
        """Whether all further sweeps together would gain no more."""
        return self.remaining.nats(self.point.bound) <= nats

    def stays_below(self, floor: float) -> bool:
        """Whether the run would end below this ELBO even if it gained far more than expected."""
        # Estimates are too low near saddle points, where components that are not needed empty.
        reach = HOPELESS_GAINS * self.remaining.nats(self.point.bound)
        return self.n_iter >= HOPELESS_PASSES and self.point.bound + reach < floor


@dataclass(frozen=True)
class Cavi(AbstractEngine):
    """Coordinate ascent of the lower bound; see ``cavi``."""

    title = "CAVI"
    maximises_bound = True
    resumes = True
    bounds_evidence = True

    def run(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        start: StatsT,
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """State at a maximum of the bound; nothing in it is left to chance."""
        page = None if budget.log is None else budget.log.run(streams.path)
        done = None if page is None else result_of(model, start, page.known)
        if done is not None:
            return done
        return cavi(
            model,
            source,
            start,
            tol=budget.tol,
            max_iter=budget.max_iter,
            accelerate=budget.accelerate,
            least=budget.least,
            memory=budget.memory,
            floor=budget.floor,
            progress=budget.progress,
            page=page,
        )

    def description(self, factors: str) -> str:
        """Description of the approximation, and of the dependence that it neglects."""
        return (
            "Coordinate-ascent variational inference: the posterior is approximated by independent "
            f"factors for {factors}, chosen to make the lower bound on the log evidence as large "
            "as possible."
        )


def cavi(
    model: ModelOf[StatsT],
    source: AbstractSource,
    stats: StatsT,
    *,
    tol: float = 1e-3,
    max_iter: int = 2000,
    accelerate: bool = True,
    least: int = 0,
    memory: int = 0,
    floor: float = -np.inf,
    progress: RunProgress | None = None,
    page: AbstractRunPage | None = None,
) -> EngineResult[StatsT]:
    """Coordinate ascent on the ELBO from given statistics.

    The map from the statistics of one iteration to the statistics of the next is extrapolated: from
    ``memory`` earlier iterations, and if that lowers the ELBO, or without memory, from the last
    two (SQUAREM). A proposal counts only if the ELBO does not fall; a plain iteration is always
    accepted.

    Parameters
    ----------
    model : AbstractVariationalModel
    source : AbstractSource
    stats : SufficientStats
        Where to start; ``model.first_stats`` makes them of a partition.
    tol : float
        Stop when all further sweeps together would raise the bound by no more than this, in nats;
        see ``RemainingGain``. Zero: when only rounding is left.
    max_iter : int
        Passes over the rows.
    accelerate : bool
        Extrapolate between sweeps.
    least : int
        Passes before which the tolerance is not asked.
    memory : int
        Sweeps from which a point ahead is proposed first; see ``AndersonMemory``.
    floor : float
        End, not converged, if this ELBO is out of reach.
    progress : callable, optional
        Called after every gain with the number of passes and the bound.
    page : AbstractRunPage, optional
        Where the state is written down, and where a run that was killed is known from.

    References
    ----------
    Varadhan, Roland (2008), doi:10.1111/j.1467-9469.2007.00585.x, section 5 for the safeguard.
    """
    converged, interrupted = False, False
    keep_freed_memory()
    with single_threaded_blas():
        climb = _CaviState(model, source, max_iter, memory, may_sum_rows=page is None)
        trace = climb.begin(stats, {} if page is None else page.known)
        try:
            while climb.has_passes and not (converged or climb.stays_below(floor)):
                for may_go_on in climb.cycle(accelerate=accelerate):
                    trace.append(climb.point.bound)
                    if page is not None and may_go_on:
                        page.keep(climb.arrays(trace))
                    if progress is not None:
                        progress(climb.n_iter, climb.point.bound)
                converged = climb.n_iter >= least and climb.gains_at_most(tol)
                if page is not None and climb.before is None:
                    page.keep(climb.arrays(trace))
        except KeyboardInterrupt:
            interrupted = True
    if climb.point.bound != trace[-1]:  # interrupted between the step and its record
        trace.append(climb.point.bound)
    result = EngineResult(climb.stats, np.array(trace), climb.n_iter, converged, interrupted)
    if page is not None:
        if not interrupted:
            page.keep(of_result(result))
        page.write()
    return result


def between(here: StatsT, ahead: StatsT, share: float) -> StatsT:
    """Statistics a share of the way ahead."""
    return ahead if share == 1.0 else (1.0 - share) * here + share * ahead


def squared_extrapolation(
    start: EntryVector, once: EntryVector, twice: EntryVector, *, longest: float
) -> tuple[EntryVector, float]:
    r"""Point ahead of ``v, f(v), f(f(v))`` and the length of the step, between 1 and ``longest``.

    With ``r = f(v) - v`` and ``w = f(f(v)) - f(v) - r`` the point is ``v + 2 l r + l^2 w``, ``l =
    |r| / |w|``; a length of one returns ``f(f(v))``. Norms weight the squared changes of an entry
    by its inverse size, as statistics of many rows change more than statistics of few.

    References
    ----------
    Varadhan, Roland (2008), Simple and globally convergent methods for accelerating the
    convergence of any EM algorithm, doi:10.1111/j.1467-9469.2007.00585.x, scheme S3, eqs 8 and 13.

    Examples
    --------
    A linear map is solved in one step:

    >>> ahead, length = squared_extrapolation(
    ...     np.array([1.0]), np.array([0.9]), np.array([0.81]), longest=100.0)
    >>> ahead.round(12), round(length, 6)
    (array([0.]), 10.0)
    """
    first = once - start
    change = twice - once - first
    size = 1.0 / (np.abs(once) + SMALL_ENTRY)
    bend = float(change @ (size * change))
    length = longest if bend == 0.0 else float(np.sqrt(first @ (size * first) / bend))
    length = min(max(length, 1.0), longest)
    return start + (2.0 * length) * first + (length * length) * change, length
