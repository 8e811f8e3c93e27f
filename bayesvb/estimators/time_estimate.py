"""Before a long fit, how long it may take: told after its first passes over the rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from bayesvb.engines.base import ProgressCallback
from bayesvb.errors import LongFitWarning

LONG = 10.0
"""Seconds from which on a fit is announced."""

PASSES = 100
"""Passes of one restart, about: the medians of fits to three data sets are from 20 to 340."""

STACK = 4
"""Frames between the warning and the caller of ``fit``."""


@dataclass
class FirstPasses:
    """A watch of the progress of a fit, which warns once if it is going to be long.

    Attributes
    ----------
    restarts : int
    share : float
        Rows of all over rows that restarts go over: above one where these are a sample.
    told : callable or None
        What else is to be called with restart, passes and bound.
    clock : callable
        Seconds.
    """

    restarts: int
    share: float
    told: ProgressCallback | None
    clock: Callable[[], float] = time.perf_counter
    _first: tuple[int, float] | None = field(default=None, init=False)
    _done: bool = field(default=False, init=False)

    def __call__(self, run: int, passes: int, bound: float) -> None:
        """Pass on the progress; between the first two reports a pass is timed."""
        if not self._done:
            self._look(passes)
        if self.told is not None:
            self.told(run, passes, bound)

    def _look(self, passes: int) -> None:
        now = self.clock()
        if self._first is None:
            self._first = passes, now
            return
        before, began = self._first
        self._done = True
        each = (now - began) / max(passes - before, 1)
        whole = seconds(each, self.restarts, self.share)
        if whole > LONG:
            warnings.warn(
                f"a pass over the rows takes {in_words(each)}: this fit may take about "
                f"{in_words(whole)} ({self.restarts} restarts of some {PASSES} passes). It can be "
                "ended by Ctrl-C, and keeps what it has found; fewer restarts take less",
                LongFitWarning,
                stacklevel=STACK,
            )


def seconds(each: float, restarts: int, share: float) -> float:
    """Time of a fit whose pass takes so long.

    Examples
    --------
    >>> seconds(0.01, 8, 1.0), seconds(0.01, 8, 10.0)
    (8.0, 18.0)
    """
    final = share if share > 1.0 else 0.0
    return each * PASSES * (restarts + final)


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
