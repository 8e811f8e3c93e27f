"""One line on a terminal that tells how far a fit has come."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from bayesvb.engines.base import ProgressCallback

WIDTH = 24
"""Characters of the bar."""

PAUSE = 0.1
"""Seconds between two pictures of the line: more often cannot be read."""

ERASE = "\r\x1b[2K"
"""Back to the beginning of the line, and clear it."""


@runtime_checkable
class Stream(Protocol):
    """What a progress line needs of the stream it is written to."""

    def write(self, text: str, /) -> object:
        """Write the text."""

    def flush(self) -> object:
        """Let the reader have it."""

    def isatty(self) -> bool:
        """Whether the reader is a terminal."""


@contextmanager
def progress_line(restarts: int, stream: Stream) -> Iterator[ProgressCallback | None]:
    """What ``fit(progress=...)`` calls to keep the line up to date; None off a terminal.

    The line is gone when the block ends.

    Parameters
    ----------
    restarts : int
        Number of restarts of the fit.
    stream : text stream
        Where the line goes, if a terminal reads it.
    """
    if not stream.isatty():
        yield None
        return
    line = _Line(restarts, stream)
    try:
        line.show(progress_text(0, restarts, 0))
        yield line
    finally:
        line.erase()


def line_per_restart(restarts: int, stream: Stream) -> ProgressCallback:
    """What ``fit(progress=...)`` calls to write a line when a restart begins: for a file.

    Parameters
    ----------
    restarts : int
        Number of restarts of the fit.
    stream : text stream
    """
    begun: set[int] = set()

    def told(run: int, passes: int, bound: float) -> None:
        if run not in begun:
            begun.add(run)
            stream.write(progress_text(run, restarts, passes) + "\n")
            stream.flush()

    return told


def progress_text(run: int, restarts: int, passes: int, gain: float | None = None) -> str:
    """Bar of the restarts done, the one under way, its passes and what the last one gained.

    Examples
    --------
    >>> progress_text(2, 8, 140, 0.0021)
    '[######------------------] restart 3 of 8, pass 140, bound +0.0021'
    >>> progress_text(8, 8, 3)
    '[########################] best restart on all rows, pass 3'
    """
    filled = WIDTH * min(run, restarts) // restarts
    bar = "#" * filled + "-" * (WIDTH - filled)
    # A fit to many rows compares restarts on a sample; the best one then sees all rows.
    where = f"restart {run + 1} of {restarts}" if run < restarts else "best restart on all rows"
    rise = "" if gain is None else f", bound {gain:+.2g}"
    return f"[{bar}] {where}, pass {passes}{rise}"


class _Line:
    """The line and what it showed last."""

    def __init__(self, restarts: int, stream: Stream) -> None:
        self.restarts = restarts
        self.stream = stream
        self.shown_at = 0.0
        self.run = -1
        self.bound = 0.0

    def __call__(self, run: int, passes: int, bound: float) -> None:
        gain = bound - self.bound if run == self.run else None
        self.run, self.bound = run, bound
        if time.monotonic() - self.shown_at >= PAUSE:
            self.show(progress_text(run, self.restarts, passes, gain))

    def show(self, text: str) -> None:
        self.shown_at = time.monotonic()
        columns = shutil.get_terminal_size().columns - 1
        self.stream.write(ERASE + text[:columns])
        self.stream.flush()

    def erase(self) -> None:
        self.stream.write(ERASE)
        self.stream.flush()
