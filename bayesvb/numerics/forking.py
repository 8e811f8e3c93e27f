"""Forked processes: whether one can work, and messages between it and the one that made it."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import struct
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from bayesvb.numerics.runtime import single_threaded_blas

THREADED = ("jax", "torch", "tensorflow")
"""Libraries whose threads do not live on in a forked process, which they may wait for."""

LENGTH = struct.Struct("<Q")
"""Header of a message: its length in bytes."""

LARGEST_READ = 1 << 20
"""Bytes of a single read: a buffer of this size is allocated."""

PR_SET_PDEATHSIG = 1
"""Option of Linux's ``prctl``: the signal that a process gets when its parent ends."""

_inside: list[bool] = []
"""Not empty in a process that was forked here: it forks none itself."""


_allowed: ContextVar[bool] = ContextVar("allowed in children", default=False)


@contextmanager
def forks_in_children(*, allowed: bool) -> Iterator[None]:
    """Within it processes may be forked in a child of ``multiprocessing`` too.

    Its parent usually runs other children, so that it forks none by default.
    """
    token = _allowed.set(allowed)
    try:
        yield
    finally:
        _allowed.reset(token)


def can_fork() -> bool:
    """Whether a forked process of this one can work: no thread holds a lock that it needs."""
    here = threading.current_thread()
    return (
        sys.platform == "linux"
        and not forked()
        and here is threading.main_thread()
        and all(one.daemon for one in threading.enumerate() if one is not here)
        and (multiprocessing.parent_process() is None or _allowed.get())
        and not any(name in sys.modules for name in THREADED)
        and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_IGN)
    )


def forked() -> bool:
    """Whether this process was forked by another of ours, which keeps the processors busy."""
    return bool(_inside)


def enter_fork() -> None:
    """Note that this process was forked."""
    _inside.append(True)


def return_free_memory() -> None:
    """Return freed memory to the system, where the C library keeps it (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def end_with_parent(parent: int) -> None:
    """Let the kernel end this process when its parent ends, by whatever signal; on Linux only.

    A closed pipe is noticed when something is written to it, which in the middle of a long task
    may be much later.

    Parameters
    ----------
    parent : int
        Process that made this one: if it has ended already, this one ends here.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


@dataclass(frozen=True)
class ForkedProcess:
    """A process that was forked here, and the pipes to and from it."""

    pid: int
    questions: int
    answers: int


def forked_process(
    serve: Callable[[int, int], None], others: Sequence[ForkedProcess]
) -> ForkedProcess:
    """A copy of this process that serves a pipe of questions and one of answers, and ends.

    Its code is 1 after an error. Ctrl-C waits in it until ``serve`` says what becomes of it.
    Of the ``others`` that were made before it closes the pipes, or nobody would see their ends.
    """
    asked, questions = os.pipe()
    answers, writer = os.pipe()
    parent = os.getpid()
    with uninterrupted(), single_threaded_blas(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which are idle
        pid = os.fork()
        if not pid:
            code = 1
            try:
                end_with_parent(parent)
                for pipe in (questions, answers, *_pipes(others)):
                    os.close(pipe)
                serve(asked, writer)
                code = 0
            finally:
                os._exit(code)
    os.close(asked)
    os.close(writer)
    return ForkedProcess(pid, questions, answers)


def _pipes(processes: Sequence[ForkedProcess]) -> Iterator[int]:
    for one in processes:
        yield from (one.questions, one.answers)


def send(out: int, message: object) -> None:
    """Send a message, and all of it.

    Of a pickle of this protocol arrays are made in memory of their own, as here: where one begins
    decides the order in which NumPy sums it.
    """
    send_bytes(out, pickle.dumps(message, protocol=4))


def send_bytes(out: int, content: bytes) -> None:
    """Send a pickled message, and all of it; Ctrl-C waits so long."""
    with uninterrupted():
        for part in (LENGTH.pack(len(content)), content):
            left = memoryview(part)
            while left:
                left = left[os.write(out, left) :]


def receive(source: int) -> Any:
    """The next message of a pipe.

    Raises
    ------
    EOFError
        If the other end was closed.
    """
    (length,) = LENGTH.unpack(_read(source, LENGTH.size))
    return pickle.loads(_read(source, length))


def _read(source: int, n_bytes: int) -> bytes:
    """The next ``n_bytes`` bytes."""
    content = bytearray()
    while len(content) < n_bytes:
        piece = os.read(source, min(n_bytes - len(content), LARGEST_READ))
        if not piece:
            raise EOFError("the process at the other end of the pipe has ended")
        content += piece
    return bytes(content)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
