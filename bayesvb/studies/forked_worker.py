"""A worker that is a copy of this process: it starts at once, as everything is imported."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from typing import BinaryIO

from bayesvb.numerics.forking import ForkedProcess, forked_process
from bayesvb.studies.worker import serve


@dataclass
class ForkedWorker:
    """A forked process that reads work and writes results, with what is needed of ``Popen``.

    Attributes
    ----------
    pid : int
    stdin, stdout : file
        What it reads, and what it writes.
    code : int or None
        Code with which it ended, negative if by a signal; None before that is known.
    """

    pid: int
    stdin: BinaryIO
    stdout: BinaryIO
    code: int | None = None

    def kill(self) -> None:
        """End it, unless it has ended: another thread may be about to keep its code."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its code, once it has ended."""
        if self.code is None:
            _, status = os.waitpid(self.pid, 0)
            self.code = os.waitstatus_to_exitcode(status)
        return self.code


def forked_workers(n: int) -> list[ForkedWorker]:
    """So many of them. Ctrl-C does not reach them; they end when their ``stdin`` is closed.

    Only where ``numerics.forking.can_fork()``.
    """
    sys.stdout.flush()
    processes: list[ForkedProcess] = []
    for _ in range(n):
        processes.append(forked_process(_serve, processes))
    return [
        ForkedWorker(one.pid, os.fdopen(one.questions, "wb"), os.fdopen(one.answers, "rb"))
        for one in processes
    ]


def _serve(asked: int, told: int) -> None:
    """Work until nobody asks any more, in a session of its own."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    sys.stdout = sys.stderr  # as that of a worker of its own
    with os.fdopen(asked, "rb") as questions, os.fdopen(told, "wb") as answers:
        serve(questions, answers)
