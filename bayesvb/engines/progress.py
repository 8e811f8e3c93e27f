"""Progress of a fit in one line of a terminal or notebook."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any, Protocol, runtime_checkable

from bayesvb.engines.base import ProgressCallback

WIDTH = 24
"""Characters of the bar."""

PAUSE = 0.1
"""Seconds between two pictures of the line: more often cannot be read."""

NOTEBOOK = "ipykernel."
"""Beginning of the module of a stream that a notebook shows, in the colour of errors."""

ERASE = "\r\x1b[2K"
"""Back to the beginning of the line, and clear it."""


@runtime_checkable
class Stream(Protocol):
    """Requirements of a progress line on its output stream."""

    def write(self, text: str, /) -> object:
        """Write the text."""

    def flush(self) -> object:
        """Let the reader have it."""

    def isatty(self) -> bool:
        """Whether the reader is a terminal."""


@contextmanager
def progress_told(
    progress: bool | ProgressCallback | None, restarts: int, stream: Stream | None = None
) -> Iterator[ProgressCallback | None]:
    """Callback of a fit's progress: the given function, or for True one that displays it.

    On a terminal and in a notebook that is a line which is gone when the block ends; elsewhere
    one line when a restart begins.

    Parameters
    ----------
    progress : bool or callable, optional
    restarts : int
        Number of restarts of the fit.
    stream : text stream, optional
        Stream of the line, by default standard error.
    """
    if not isinstance(progress, bool):
        yield progress
        return
    stream = sys.stderr if stream is None else stream
    if not progress:
        yield None
    elif stream.isatty() or type(stream).__module__.startswith(NOTEBOOK):
        with _kept_up(restarts, stream if stream.isatty() else _NotebookOutput()) as line:
            yield line
    else:
        yield line_per_restart(restarts, stream)


@dataclass
class StoppingProgress:
    """Progress of a fit that is ended as by Ctrl-C, once, when it is reported.

    Attributes
    ----------
    progress : callable or None
        Ends the fit by returning True; other values, such as the count of a ``write``, do not.
    seconds : float, optional
        Time after which the fit ends.
    clock : callable
        Seconds.
    """

    progress: ProgressCallback | None
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    has_ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def __call__(self, run: int, passes: int, bound: float) -> None:
        """Report progress.

        Raises
        ------
        KeyboardInterrupt
            The first time that the fit is to end. What still runs then must come to its end.
        """
        if self.has_ended:
            return
        stops = self.progress is not None and self.progress(run, passes, bound) is True
        if stops or (self.seconds is not None and self.clock() - self.began >= self.seconds):
            self.has_ended = True
            raise KeyboardInterrupt


@contextmanager
def progress_line(restarts: int, stream: Stream) -> Iterator[ProgressCallback | None]:
    """Callback for ``fit(progress=...)`` that keeps one line up to date; None off a terminal.

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
    with _kept_up(restarts, stream) as line:
        yield line


@contextmanager
def _kept_up(restarts: int, stream: Stream) -> Iterator[ProgressCallback]:
    """The line, from the first restart to the end of the block."""
    line = _Line(restarts, stream)
    try:
        line.show(progress_text(0, restarts, 0))
        yield line
    finally:
        line.erase()


def line_per_restart(restarts: int, stream: Stream) -> ProgressCallback:
    """Callback for ``fit(progress=...)`` that writes a line when a restart begins, for a file.

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


def progress_text(
    run: int,
    restarts: int,
    passes: int,
    gain: float | None = None,
    seconds_left: float | None = None,
    latest: int = 0,
) -> str:
    """Bar of completed restarts, the current one, its iterations, its last gain, the time left.

    The run after all restarts uses all rows; one more is a sampler that starts from it. A restart
    before the ``latest`` one is among the best, which continue.

    Examples
    --------
    >>> progress_text(2, 8, 140, 0.0021)
    '[######------------------] restart 3 of 8, iteration 140, ELBO +0.0021'
    >>> progress_text(2, 8, 160, latest=7)
    '[#####################---] restart 3 of 8 continues, iteration 160'
    >>> progress_text(8, 8, 3)
    '[########################] best restart on all rows, iteration 3'
    >>> progress_text(2, 8, 140, seconds_left=75.2)
    '[######------------------] restart 3 of 8, iteration 140, about 76 s left'
    >>> progress_text(9, 8, 240)
    '[########################] from the best restart, step 240'
    """
    filled = WIDTH * min(max(run, latest), restarts) // restarts
    bar = "#" * filled + "-" * (WIDTH - filled)
    # A fit to many rows compares restarts on a sample; the best one then sees all rows.
    where = f"restart {run + 1} of {restarts}" if run < restarts else "best restart on all rows"
    if run > restarts:
        return f"[{bar}] from the best restart, step {passes}"
    where += " continues" if run < min(latest, restarts) else ""
    rise = "" if gain is None else f", ELBO {gain:+.2g}"
    rest = "" if seconds_left is None else f", about {_rounded(seconds_left)} left"
    return f"[{bar}] {where}, iteration {passes}{rise}{rest}"


def _rounded(seconds: float) -> str:
    """Seconds, or minutes where there are many."""
    if seconds < 100.0:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60.0)} min"


class _NotebookOutput:
    """Output of a notebook cell that holds the latest text, and nothing for a blank one."""

    def __init__(self) -> None:
        self.handle: Any = None

    def write(self, text: str, /) -> None:
        """Show the text instead of the one before."""
        from IPython.display import display

        line = text.strip()
        html = f'<pre style="margin: 0; white-space: pre">{escape(line)}</pre>' if line else ""
        data = {"text/plain": line, "text/html": html}
        if self.handle is None:
            self.handle = display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)

    def flush(self) -> None:
        """Do nothing: outputs are sent at once."""

    def isatty(self) -> bool:
        """Whether the reader is a terminal."""
        return False


class _Line:
    """The line and its latest text."""

    def __init__(
        self, restarts: int, stream: Stream, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.restarts = restarts
        self.stream = stream
        self.clock = clock
        self.shown_at = -math.inf
        self.width = 0
        self.run = -1
        self.bound = 0.0
        self.begun = {0: clock()}

    def __call__(self, run: int, passes: int, bound: float) -> None:
        now = self.clock()
        self.begun.setdefault(run, now)
        gain = bound - self.bound if run == self.run else None
        self.run, self.bound = run, bound
        if now - self.shown_at >= PAUSE:
            latest = max(self.begun)
            left = self.seconds_left(now) if run == latest else None
            self.show(progress_text(run, self.restarts, passes, gain, left, latest))

    def seconds_left(self, now: float) -> float | None:
        """Seconds left, from the mean time of the restarts done; None without such a mean."""
        done, latest = len(self.begun) - 1, max(self.begun.values())
        if done < 1 or max(self.begun) >= self.restarts:
            return None
        each = (latest - min(self.begun.values())) / done
        return max(each * (self.restarts - done) - (now - latest), 0.0)

    def show(self, text: str) -> None:
        """Write the text over the one before."""
        self.shown_at = self.clock()
        if self.stream.isatty():
            text = text[: shutil.get_terminal_size().columns - 1]
            self.stream.write(ERASE + text)
        else:
            self.stream.write("\r" + text.ljust(self.width))
        self.width = len(text)
        self.stream.flush()

    def erase(self) -> None:
        """Leave nothing."""
        blank = ERASE if self.stream.isatty() else "\r" + " " * self.width + "\r"
        self.stream.write(blank)
        self.stream.flush()
