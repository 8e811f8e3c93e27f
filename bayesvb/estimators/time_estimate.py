"""Estimate of the time of a long fit, reported after its first passes over the rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bayesvb.engines.base import ProgressCallback
from bayesvb.errors import LongFitWarning, warn

LONG = 10.0
"""Seconds from which on a fit is announced."""

WATCHED = 1.0
"""Seconds that a fit is watched: one that ends before is short, and times of a few passes of a
millisecond say nothing."""


@dataclass
class FirstPasses:
    """Timer of the first iterations of a fit, which warns once if the fit will take long.

    Attributes
    ----------
    restarts : int
    share : float
        All rows over the rows that restarts use; above one if they use a sample.
    progress : callable or None
        Function that is also called with restart, iterations, and ELBO.
    clock : callable
        Time in seconds.
    later : float
        Iterations after the restarts, which compute stacking weights.
    """

    restarts: int
    share: float
    progress: ProgressCallback | None
    clock: Callable[[], float] = time.perf_counter
    later: float = 0.0
    _passes: dict[int, int] = field(default_factory=dict, init=False)
    _first: tuple[int, float] | None = field(default=None, init=False)
    _done: bool = field(default=False, init=False)
    _side_by_side: bool = field(default=False, init=False)

    def __call__(self, run: int, passes: int, bound: float) -> None:
        """Pass on the progress; passes are timed until there have been enough."""
        if not self._done:
            self._side_by_side |= any(other > run for other in self._passes)
            self._passes[run] = passes
            self._look(run)
        if self.progress is not None:
            self.progress(run, passes, bound)

    def _look(self, run: int) -> None:
        now, passes = self.clock(), sum(self._passes.values())
        if self._first is None:
            self._first = passes, now
            return
        before, began = self._first
        if now - began < WATCHED or passes == before:
            return
        self._done = True
        each = (now - began) / (passes - before)
        # Restarts that go on side by side do not tell yet how many passes one takes.
        begun = run == 0 or self._side_by_side
        # Passes of one restart, about: the medians of fits to three data sets are from 20 to 340.
        expected = max(100, *self._passes.values()) if begun else passes / (run + 1)
        whole = seconds(each * expected, self.restarts, self.share) + each * self.later
        weighed = f", {self.later:.0f} for their weights" if self.later else ""
        if whole > LONG:
            warn(
                f"a pass over the rows takes {in_words(each)}: this fit may take about "
                f"{in_words(whole)} ({self.restarts} restarts of about "
                f"{expected:.0f} iterations{weighed}). Ctrl-C ends it and keeps the best run; "
                f"fewer restarts "
                "take less time",
                LongFitWarning,
            )


def seconds(each: float, restarts: int, share: float) -> float:
    """Time of a fit each of whose restarts takes so long.

    Where these go over a sample, the best one then goes over all rows.

    Examples
    --------
    >>> seconds(1.0, 8, 1.0), seconds(1.0, 8, 10.0)
    (8.0, 18.0)
    """
    return each * (restarts + (share if share > 1.0 else 0.0))


def in_words(value: float) -> str:
    """A time with its unit.

    Examples
    --------
    >>> in_words(0.25), in_words(41.0), in_words(400.0), in_words(9000.0)
    ('0.25 s', '41 s', '7 minutes', '2.5 hours')
    """
    if value < 100.0:
        return f"{value:.2g} s"
    return f"{value / 60.0:.0f} minutes" if value < 6000.0 else f"{value / 3600.0:.1f} hours"
