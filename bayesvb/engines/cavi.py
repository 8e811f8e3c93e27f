"""Coordinate ascent: one pass over the rows per sweep, accelerated, never downhill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Source, single_threaded_blas
from bayesvb.engines.acceleration import squared_extrapolation
from bayesvb.memory import keep_freed_memory
from bayesvb.models.base import AbstractModel
from bayesvb.stats import Stats

SumsT = TypeVar("SumsT", bound=Stats)

ROUNDING = 1e-12
"""Relative fall of the bound that is put down to the rounding of sums."""

HALVINGS = 30
"""A step that still lowers the bound at 2^-30 of its length starts at the optimum."""

FIRST_LENGTH = 4.0
"""Longest extrapolation at first; grows by this factor when it is used up and accepted."""


@dataclass(frozen=True)
class Point(Generic[SumsT]):
    """Statistics, the bound of the posterior that they make, and the statistics one sweep on."""

    sums: SumsT
    bound: float
    following: SumsT


@dataclass(frozen=True)
class Ascent(Generic[SumsT]):
    """Result of a run.

    Attributes
    ----------
    sums : Stats
        Statistics at the end; ``model.update`` makes the posterior of them.
    trace : ndarray, shape (accepted sweeps,)
        Lower bound of every accepted posterior; it never falls.
    n_iter : int
        Passes over the rows, those of refused proposals included.
    converged : bool
        The bound had settled before ``max_iter`` passes.
    interrupted : bool
        Ended by Ctrl-C; ``sums`` is the best state so far.
    """

    sums: SumsT
    trace: Float[np.ndarray, " sweeps"]
    n_iter: int
    converged: bool
    interrupted: bool = False

    @property
    def bound(self) -> float:
        """Lower bound at the end."""
        return float(self.trace[-1])


class _Climb(Generic[SumsT]):
    """Running state of one ascent: the point reached, passes so far, longest extrapolation."""

    def __init__(
        self, model: AbstractModel[Any, SumsT], source: Source, sums: SumsT, max_iter: int
    ) -> None:
        self.model = model
        self.source = source
        self.max_iter = max_iter
        self.n_iter = 0
        self.longest = FIRST_LENGTH
        self.point = self.evaluate(sums)

    @property
    def has_passes(self) -> bool:
        """Whether there are passes left."""
        return self.n_iter < self.max_iter

    def evaluate(self, sums: SumsT) -> Point[SumsT]:
        """One pass: bound of the posterior of these statistics, and what follows.

        An extrapolation may overflow; that is no cause for a warning, as it is refused.
        """
        self.n_iter += 1
        with np.errstate(all="ignore"):
            posterior = self.model.update(sums)
            sweep = self.source.map_reduce(partial(self.model.local, posterior))
            bound = sweep.bound - self.model.kl(posterior)
            if not np.isfinite(bound):
                raise np.linalg.LinAlgError("the lower bound is not finite")
            return Point(sums, bound, self.model.advance(posterior, sweep.sums))

    def moves_to(self, sums: SumsT) -> bool:
        """Go to these statistics, unless they are outside the domain or lower the bound."""
        try:
            point = self.evaluate(sums)
        except np.linalg.LinAlgError:
            return False
        if point.bound < self.point.bound - ROUNDING * abs(self.point.bound):
            return False
        self.point = point
        return True

    def sweep(self) -> None:
        """Go one sweep on, or part of the way where a gate without closed form overshoots."""
        here, ahead = self.point.sums, self.point.following
        for halving in range(HALVINGS):
            share = 0.5**halving
            if not self.has_passes or self.moves_to(
                ahead if halving == 0 else (1.0 - share) * here + share * ahead
            ):
                return

    def cycle(self, *, accelerate: bool) -> Iterator[float]:
        """Gain of the bound of a plain sweep, then of an extrapolation if it is accepted."""
        before = self.point
        self.sweep()
        if self.point is before and not self.has_passes:
            return
        yield self.point.bound - before.bound
        if not (accelerate and self.has_passes):
            return
        ahead, length = squared_extrapolation(
            before.sums.to_vector(),
            self.point.sums.to_vector(),
            self.point.following.to_vector(),
            longest=self.longest,
        )
        bound = self.point.bound
        if self.moves_to(before.sums.with_vector(ahead)):
            self.longest *= FIRST_LENGTH if length == self.longest else 1.0
            yield self.point.bound - bound
        else:
            self.longest = max(0.5 * length, 2.0)


def cavi(
    model: AbstractModel[Any, SumsT],
    source: Source,
    sums: SumsT,
    *,
    tol: float = 1e-6,
    max_iter: int = 2000,
    accelerate: bool = True,
    watch: Callable[[int, float], None] | None = None,
) -> Ascent[SumsT]:
    """Ascent of the lower bound from given statistics.

    The map from the statistics of one sweep to those of the next is extrapolated (SQUAREM). A
    proposal counts only if the bound does not fall; a plain sweep is taken in any case.

    Parameters
    ----------
    model : AbstractModel
    source : Source
    sums : Stats
        Where to start; ``model.start`` makes them of a partition.
    tol : float
        Stop when two gains in a row are smaller than this per row.
    max_iter : int
        Passes over the rows.
    accelerate : bool
        Extrapolate between sweeps.
    watch : callable, optional
        Called after every gain with the number of passes and the bound.

    References
    ----------
    Varadhan, Roland (2008), doi:10.1111/j.1467-9469.2007.00585.x, section 5 for the safeguard.
    """
    least = tol * source.total_weight
    trace: list[float] = []
    small_gains, interrupted = 0, False
    keep_freed_memory()
    with single_threaded_blas():
        climb = _Climb(model, source, sums, max_iter)
        trace.append(climb.point.bound)
        try:
            while climb.has_passes and small_gains < 2:
                for gain in climb.cycle(accelerate=accelerate):
                    small_gains = small_gains + 1 if gain < least else 0
                    trace.append(climb.point.bound)
                    if watch is not None:
                        watch(climb.n_iter, climb.point.bound)
        except KeyboardInterrupt:
            interrupted = True
    point = climb.point
    if point.bound != trace[-1]:  # interrupted between the step and its record
        trace.append(point.bound)
    return Ascent(point.sums, np.array(trace), climb.n_iter, small_gains >= 2, interrupted)
