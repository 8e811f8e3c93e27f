"""Independent tasks side by side, in processes that inherit all data.

For work that is many small steps: threads wait for the interpreter if arrays are short. A forked
process starts within milliseconds and has all data already; only its results are sent. They are
bitwise identical to sequential results, and arrive in the order of the tasks, as do progress
reports.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import struct
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import ProgressCallback
from bayesvb.engines.partitions import features
from bayesvb.errors import warn
from bayesvb.numerics.forking import (
    LENGTH,
    ForkedProcess,
    can_fork,
    enter_fork,
    forked_process,
    send,
)
from bayesvb.variational.model import AnyModel

ResultT = TypeVar("ResultT")

Task = Callable[[ProgressCallback | None], ResultT]

LITTLE_WORK = 300_000
"""Rows x components x passes that take less time than processes would save."""

CHEAP_COLUMNS = 15
"""Columns whose products take as long as the rest of a pass: 10 in the core, 30 in NumPy."""

NUMBER = struct.Struct("<I")


def side_by_side(
    tasks: Sequence[Task[ResultT]],
    workers: int,
    progress: ProgressCallback | None = None,
    *,
    last: Callable[[ResultT], bool] = lambda found: False,
) -> Iterator[ResultT]:
    """Results of the tasks, in their order.

    Sequential with one worker, or where processes cannot be created safely: off Linux, while other
    threads run, or with a library loaded that does not allow it. After Ctrl-C the results up to the
    first gap are returned, then KeyboardInterrupt is raised.

    Parameters
    ----------
    tasks : sequence of callables
        Each is called with a function that reports its progress.
    workers : int
    progress : callable, optional
        Called with the progress reports of the tasks, in their order.
    last : callable, optional
        Whether a result says that nothing is to be begun after it: Ctrl-C ended its task.

    Examples
    --------
    >>> list(side_by_side([lambda progress: 1, lambda progress: 2], workers=2))
    [1, 2]
    """
    places = min(workers, len(tasks))
    # Tasks whose numbers fit into a pipe at once.
    if not 1 < places <= len(tasks) <= 1000 or not can_fork():
        yield from _in_turn(tasks, progress, last)
        return
    collected = _Collected(len(tasks), progress)
    _collect(tasks, places, collected)
    for number, task in enumerate(tasks):
        if number in collected.results:
            yield collected.results[number]
        elif collected.interrupted:
            raise KeyboardInterrupt
        else:  # whatever went wrong there is said here
            yield task(progress)
    if collected.interrupted:
        raise KeyboardInterrupt


def _in_turn(
    tasks: Sequence[Task[ResultT]],
    progress: ProgressCallback | None,
    last: Callable[[ResultT], bool],
) -> Iterator[ResultT]:
    """The results of one task after the other."""
    for task in tasks:
        outcome = task(progress)
        yield outcome
        if last(outcome):
            raise KeyboardInterrupt


def processes(model: AnyModel, source: AbstractSource, passes: int) -> int:
    """Number of useful processes for these iterations over rows in memory."""
    columns = len(features(source.empty()))
    work = source.n_rows * model.n_components * passes * (1.0 + (columns / CHEAP_COLUMNS) ** 2)
    return source.workers if source.in_memory and work >= LITTLE_WORK else 1


@dataclass
class _Collected:
    """Received results by task, and progress reports, passed on in order of the tasks."""

    n_tasks: int
    progress: ProgressCallback | None
    results: dict[int, Any] = field(default_factory=dict)
    reports: dict[int, list[tuple[int, int, float]]] = field(default_factory=dict)
    current: int = 0
    interrupted: bool = False

    def take(self, number: int, kind: str, content: Any) -> None:
        """One message of a task."""
        if kind == "progress":
            self.reports.setdefault(number, []).append(content)
        else:
            self.results[number], warned = content
            for message in warned:
                warn(message)
        while self.current < self.n_tasks:
            for words in self.reports.pop(self.current, []):
                if self.progress is not None:
                    self.progress(*words)
            if self.current not in self.results:
                return
            self.current += 1


def _collect(tasks: Sequence[Task[object]], places: int, collected: _Collected) -> None:
    """Run the tasks in this number of processes until all have ended."""
    numbers, given = os.pipe()
    os.write(given, b"".join(NUMBER.pack(number) for number in range(len(tasks))))
    os.close(given)
    children: dict[int, ForkedProcess] = {}
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stopping(children, collected))
    try:
        serve = partial(_serve, tasks, numbers)
        for _ in range(places):
            child = forked_process(serve, tuple(children.values()))
            children[child.answers] = child
        try:
            _listen(children, collected)
        except KeyboardInterrupt:  # by the report of progress
            collected.interrupted, collected.progress = True, None
            _interrupt(children)
            _listen(children, collected)
    finally:
        for child in list(children.values()):  # only after an error here
            os.kill(child.pid, signal.SIGKILL)
            _ended(children, child.answers)
        os.close(numbers)
        signal.signal(signal.SIGINT, handler)


def _stopping(children: dict[int, ForkedProcess], collected: _Collected) -> Callable[..., None]:
    """Context in which Ctrl-C begins no further task and ends the running ones."""

    def stop(*_: object) -> None:
        collected.interrupted = True
        _interrupt(children)

    return stop


def _interrupt(children: dict[int, ForkedProcess]) -> None:
    for child in list(children.values()):
        os.kill(child.pid, signal.SIGINT)


def _listen(children: dict[int, ForkedProcess], collected: _Collected) -> None:
    """Receive messages of the processes until they have closed their pipes."""
    with selectors.DefaultSelector() as waiting:
        buffers = {results: bytearray() for results in children}
        for results in children:
            waiting.register(results, selectors.EVENT_READ)
        while children:
            for key, _ in waiting.select():
                piece = os.read(key.fd, 1 << 16)
                buffers[key.fd] += piece
                if not piece:
                    waiting.unregister(key.fd)
                    _ended(children, key.fd)
                for message in _messages(buffers[key.fd]):
                    collected.take(*message)


def _ended(children: dict[int, ForkedProcess], results: int) -> None:
    """Close the pipes of a process and wait for its end."""
    child = children.pop(results)
    os.close(child.questions)
    os.close(child.answers)
    os.waitpid(child.pid, 0)


def _messages(buffer: bytearray) -> Iterator[tuple[int, str, object]]:
    """Complete messages at the beginning of the received bytes, which are removed."""
    while len(buffer) >= LENGTH.size:
        (length,) = LENGTH.unpack_from(buffer)
        if len(buffer) < LENGTH.size + length:
            return
        message = bytes(buffer[LENGTH.size : LENGTH.size + length])
        del buffer[: LENGTH.size + length]
        yield pickle.loads(message)


def _serve(tasks: Sequence[Task[object]], numbers: int, _: int, out: int) -> None:
    """Run the remaining tasks in a separate process; after Ctrl-C no new one begins."""
    enter_fork()
    os.setpgid(0, 0)  # Ctrl-C comes from the parent
    stopped: list[bool] = []

    def stop(*_: object) -> None:
        stopped.append(True)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    while not stopped and (found := os.read(numbers, NUMBER.size)):
        (number,) = NUMBER.unpack(found)

        def report(run: int, passes: int, bound: float, number: int = number) -> None:
            send(out, (number, "progress", (run, passes, bound)))

        with warnings.catch_warnings(record=True) as warned:
            result = tasks[number](report)
        send(out, (number, "result", (result, [one.message for one in warned])))
