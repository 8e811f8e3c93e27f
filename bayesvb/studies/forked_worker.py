"""A worker that is a copy of this process: it starts at once, as everything is imported."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

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
    workers: list[ForkedWorker] = []
    for _ in range(n):
        workers.append(_forked(workers))
    return workers


def _forked(others: Sequence[ForkedWorker]) -> ForkedWorker:
    asked, questions = os.pipe()
    answers, told = os.pipe()
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which are idle
        pid = os.fork()
    if not pid:
        code = 1
        try:
            for pipe in (questions, answers, *_pipes(others)):
                os.close(pipe)  # else nobody would see the others' ends
            os.setsid()
            sys.stdout = sys.stderr  # as that of a worker of its own
            with os.fdopen(asked, "rb") as questions_in, os.fdopen(told, "wb") as answers_out:
                serve(questions_in, answers_out)
            code = 0
        finally:
            os._exit(code)
    os.close(asked)
    os.close(told)
    return ForkedWorker(pid, os.fdopen(questions, "wb"), os.fdopen(answers, "rb"))


def _pipes(workers: Sequence[ForkedWorker]) -> list[int]:
    return [pipe.fileno() for one in workers for pipe in (one.stdin, one.stdout)]
