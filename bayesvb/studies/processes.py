"""Work on several processes: results as they come, and none is lost when a process ends.

Processes are from ``multiprocessing``: copies of this one where that is safe, which start at once,
or fresh interpreters, which take a second or more. ``concurrent.futures`` is not suitable: if one
process is killed, its pool fails every pending task and does not name the current one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import TypeVar

from bayesvb.errors import DataError
from bayesvb.numerics.forking import can_fork, end_with_parent
from bayesvb.numerics.runtime import processors

ResultT = TypeVar("ResultT")

Crashed = Callable[[int, str], ResultT]
"""Makes a result of a number whose process ended, and of the reason."""


def results(
    function: Callable[[int], ResultT], n: int, n_jobs: int | None, crashed: Crashed[ResultT]
) -> Generator[ResultT, None, None]:
    """``function(0)`` to ``function(n - 1)``, in the order in which they are ready.

    Parameters
    ----------
    function : callable
        Needs to be pickled where there is more than one process.
    n : int
    n_jobs : int or None
        Processes; with one the work is done here. As many as processors if None, and here if the
        function cannot be sent to others.
    crashed : callable
        Returns the result of a number whose process was ended from outside.

    Raises
    ------
    DataError
        If the function cannot be sent to another process, and several were requested.
    """
    workers = min(n_jobs or processors(), n)
    if workers > 1:
        try:
            yield from _elsewhere(function, n, workers, crashed)
        except _CannotTravel as error:
            if n_jobs is not None:
                raise DataError(
                    f"n_jobs={n_jobs}: the model cannot be sent to other processes ({error})",
                    hint="write n_jobs=1, or define the functions of context= in a module",
                ) from error
        else:
            return
    yield from map(function, range(n))


class _CannotTravel(Exception):
    """The function cannot be pickled, or not be read by another process."""


@dataclass(frozen=True, kw_only=True)
class _Worker:
    """A process, this end of the pipe to it, and the number that it works on."""

    process: BaseProcess
    channel: Connection
    number: int

    def end(self) -> int | None:
        """End the process, if it has not ended, and return its exit code."""
        self.process.kill()
        self.process.join()
        self.channel.close()
        return self.process.exitcode


def _elsewhere(
    function: Callable[[int], ResultT], n: int, workers: int, crashed: Crashed[ResultT]
) -> Generator[ResultT, None, None]:
    """Results of other processes, which are ended when nobody waits for them any more.

    Raises
    ------
    _CannotTravel
        Before there is any result.
    """
    try:
        work = pickle.dumps(function)
    except Exception as error:  # what pickle raises depends on what it meets
        raise _CannotTravel(str(error)) from error
    numbers = iter(range(n))
    busy: dict[Connection, _Worker] = {}
    try:
        for _ in range(workers):
            _start(work, next(numbers), busy)
        while busy:
            for channel in wait(list(busy)):
                assert isinstance(channel, Connection)
                yield _received(busy.pop(channel), work, numbers, busy, crashed)
    finally:
        for worker in busy.values():
            worker.end()


def _received(
    worker: _Worker,
    work: bytes,
    numbers: Iterator[int],
    busy: dict[Connection, _Worker],
    crashed: Crashed[ResultT],
) -> ResultT:
    """Result of a worker, which gets the next number; another takes its place if it has ended."""
    following = next(numbers, None)
    try:
        message: ResultT | _CannotTravel = worker.channel.recv()
    except (EOFError, OSError, pickle.UnpicklingError):
        worker.process.join(timeout=5.0)  # it is about to end; its code would be that of our kill
        if following is not None:
            _start(work, following, busy)
        return crashed(worker.number, f"its process ended with code {worker.end()}")
    if isinstance(message, _CannotTravel) or following is None:
        worker.end()
    else:
        _give(worker.process, worker.channel, following, busy)
    if isinstance(message, _CannotTravel):
        raise message
    return message


def _give(
    process: BaseProcess, channel: Connection, number: int, busy: dict[Connection, _Worker]
) -> None:
    """Send a number; a process that has ended is noticed when its result is read."""
    with contextlib.suppress(OSError):
        channel.send(number)
    busy[channel] = _Worker(process=process, channel=channel, number=number)


def _start(work: bytes, number: int, busy: dict[Connection, _Worker]) -> None:
    """Start a process with this number to begin with."""
    context = multiprocessing.get_context("fork" if can_fork() else "spawn")
    channel, other = context.Pipe()
    process = context.Process(  # type: ignore[attr-defined]
        target=_serve, args=(work, other, os.getpid()), daemon=True
    )
    with _without_script(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which are idle
        process.start()
    other.close()
    _give(process, channel, number, busy)


@contextlib.contextmanager
def _without_script() -> Iterator[None]:
    """Hide the caller's script, which a fresh interpreter would run again without a guard."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _serve(work: bytes, channel: Connection, parent: int) -> None:
    """Answer numbers until there are no more; a function that cannot be read is the answer."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits for results ends this process
    try:
        function = pickle.loads(work)
    except Exception as error:  # whatever the objects raise as they are made
        channel.send(_CannotTravel(f"{type(error).__name__}: {error}"))
        return
    with contextlib.suppress(EOFError):
        while True:
            channel.send(function(channel.recv()))
