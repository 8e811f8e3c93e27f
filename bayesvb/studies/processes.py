"""Work on several processes: results as they come, and none is lost when a process ends.

Each process reads numbers and writes results. It is a copy of this one where that is safe, which
starts at once; else a fresh interpreter, which takes a second or more. Unlike those of
``multiprocessing`` neither runs the caller's script again, so that none needs a guard around its
main part.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Generator
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from bayesvb.errors import DataError
from bayesvb.numerics.forking import can_fork
from bayesvb.numerics.runtime import processors
from bayesvb.studies.forked_worker import ForkedWorker, forked_workers

ResultT = TypeVar("ResultT")

Worker = subprocess.Popen[bytes] | ForkedWorker

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
        What stands for the result of a number whose process was ended from outside.

    Raises
    ------
    DataError
        If the function cannot be sent to another process, and several were asked for.
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
    numbers: SimpleQueue[int] = SimpleQueue()
    ready: SimpleQueue[Any] = SimpleQueue()
    for number in range(n):
        numbers.put(number)
    copies = forked_workers(workers) if can_fork() else []  # before there are threads
    running: list[Worker] = [*copies]
    arguments = (work, numbers, ready, running, crashed)
    for number in range(workers):
        first = copies[number] if copies else None
        Thread(target=_attended, args=(*arguments, first), daemon=True).start()
    try:
        for _ in range(n):
            found = ready.get()
            if isinstance(found, _CannotTravel):
                raise found
            yield found
    finally:
        with contextlib.suppress(Empty):
            while True:
                numbers.get_nowait()
        for process in running:
            process.kill()  # what attends it ends it


def _attended(
    work: bytes,
    numbers: SimpleQueue[int],
    ready: SimpleQueue[Any],
    running: list[Worker],
    crashed: Crashed[Any],
    process: Worker | None,
) -> None:
    """Keep one process busy until no number is left; another one takes its place if it ends."""
    introduced = False
    while True:
        try:
            number = numbers.get_nowait()
        except Empty:
            break
        try:
            if process is None:
                process = _started()
                running.append(process)
            if not introduced:
                said = _introduced(process, work)
                if said is not None:
                    ready.put(_CannotTravel(str(said)))
                    break
                introduced = True
            _write(process, number)
            ready.put(_read(process))
        except (EOFError, OSError, pickle.UnpicklingError):
            code = _ended(process)
            process, introduced = None, False
            ready.put(crashed(number, f"its process ended with code {code}"))
    _ended(process)


def _started() -> subprocess.Popen[bytes]:
    """A fresh process that imports from where this one does; Ctrl-C does not reach it."""
    path = os.pathsep.join(place or os.getcwd() for place in sys.path)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "bayesvb.studies.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )


def _ended(process: Worker | None) -> int | None:
    """Code with which a process ends that is told that there is no more work."""
    if process is None:
        return None
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    return process.wait()


def _introduced(process: Worker, work: bytes) -> Any:
    """None if the process has understood what is to be done, else why not."""
    assert process.stdin is not None
    process.stdin.write(work)
    process.stdin.flush()
    return _read(process)


def _write(process: Worker, number: int) -> None:
    assert process.stdin is not None
    pickle.dump(number, process.stdin)
    process.stdin.flush()


def _read(process: Worker) -> Any:
    assert process.stdout is not None
    return pickle.load(process.stdout)
