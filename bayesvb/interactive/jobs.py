"""Processes of tasks: started, listened to, interrupted and ended by the page."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from bayesvb.errors import DataError
from bayesvb.interactive.messages import Progress
from bayesvb.interactive.zygote import PID, Idle, Task, prepare, run

PAUSE = 0.08
"""Seconds without another edit after which one is worked on: keys are 30 to 80 ms apart."""

PATIENCE = 2.0
"""Seconds after which an interrupted task is ended."""

REST = 60.0
"""Seconds without a question after which the process of a fit ends; it has 80 MB or more."""


class Job:
    """The process of one task.

    Attributes
    ----------
    pid : int
    interrupted : bool
        Whether it was requested to stop, and has not stopped yet.
    """

    def __init__(self, pid: int, connection: Connection) -> None:
        self.pid = pid
        self._connection = connection
        self.interrupted = False
        self._ended = threading.Event()

    def receive(self) -> object | None:
        """Wait for the next message; None when the process has ended."""
        try:
            return self._connection.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            self._ended.set()
            self._connection.close()
            return None

    def send(self, message: object) -> None:
        """Send the task, then questions; ``receive`` reports whether the process has ended."""
        with suppress(BrokenPipeError):
            self._connection.send(message)

    def interrupt(self) -> None:
        """Request a fit to keep its current result, as Ctrl-C does."""
        self.interrupted = True
        self._signal(signal.SIGINT)

    def end(self) -> None:
        """Kill the process; ``receive`` then returns None."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if not self._ended.is_set():  # afterwards the number may be of another process
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Zygote:
    """The process that forks the processes of tasks; see ``bayesvb.interactive.zygote``.

    Attributes
    ----------
    pid : int

    Raises
    ------
    DataError
        Where processes cannot be forked.
    """

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise DataError(
                f"the workbench forks processes, which {sys.platform} does not have",
                hint="start it in the Windows Subsystem for Linux",
            )
        self._control, theirs = socket.socketpair()
        alone = threading.active_count() == 1  # a notebook has threads, which a fork may not have
        self._process = None if alone else _started(theirs)
        self.pid = _forked(self._control, theirs) if self._process is None else self._process.pid
        theirs.close()
        self._lock = threading.Lock()

    def start(self, task: Task) -> Job:
        """Fork a process and send it a task; waits until the zygote has imported all."""
        ours, theirs = socket.socketpair()
        with self._lock:
            socket.send_fds(self._control, [b"1"], [theirs.fileno()])
            theirs.close()
            reply = self._control.recv(PID.size)
        if not reply:
            ours.close()
            raise DataError("the process that starts fits has ended", hint="start again")
        job = Job(PID.unpack(reply)[0], Connection(ours.detach()))
        job.send(task)
        return job

    def close(self) -> None:
        """End the zygote, and with it all tasks."""
        self._control.close()
        if self._process is None:
            os.waitpid(self.pid, 0)
        else:
            self._process.wait()


def _forked(ours: socket.socket, theirs: socket.socket) -> int:
    """Fork the zygote from this process, with which it shares imports."""
    prepare()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # idle threads of BLAS, which forks reset
        pid = os.fork()
    if pid == 0:
        try:
            os.setsid()  # Ctrl-C in the terminal ends the server, and with it the zygote
            ours.close()
            run(theirs.detach())
        finally:
            os._exit(0)
    return pid


def _started(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """Start the zygote as a process of its own, in a session of its own."""
    names, descriptor = "prepare, run", theirs.fileno()
    program = f"from bayesvb.interactive.zygote import {names}; prepare(); run({descriptor})"
    # -P: the folder of the user must not hide modules.
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


Start = Callable[[Task], Job]
Hear = Callable[[Task, object], Awaitable[None]]


@dataclass(eq=False)
class Desk:
    """The work of one page: the newest task only, the one before is ended.

    Attributes
    ----------
    start : callable
        Starts a process, ``Zygote.start``.
    hear : coroutine function
        Called with the task and each of its messages, in their order: ``Idle`` when it waits for
        questions, and None at its end. Messages of a task that was replaced are dropped.
    task : Task or None
        Current task.
    """

    start: Start
    hear: Hear
    task: Task | None = None
    _job: Job | None = None
    _is_idle: bool = False
    _rest: asyncio.TimerHandle | None = None
    _questions: dict[type, object] = field(default_factory=dict)
    _followers: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def is_busy(self) -> bool:
        """Whether a task is being worked on, or a question answered."""
        return self.task is not None and not self._is_idle

    def submit(self, task: Task, pause: float = PAUSE) -> None:
        """End the present task, and work on this one unless another comes within the pause."""
        self.end()
        self.task = task
        self._begin(task, pause)

    def _begin(self, task: Task, pause: float, *, again: bool = False) -> None:
        follower = asyncio.get_running_loop().create_task(self._follow(task, pause, again))
        self._followers.add(follower)  # the loop keeps weak references only
        follower.add_done_callback(self._followers.discard)

    def ask(self, question: object) -> bool:
        """Put a question to the present task, replacing an older one of its kind.

        If its process has ended for rest, the task is done again, of which nothing is heard.

        Returns
        -------
        bool
            Whether there is a task that can answer.
        """
        if self.task is None:
            return False
        self._questions[type(question)] = question
        if self._is_idle and self._job is None:
            self._is_idle = False
            self._begin(self.task, 0.0, again=True)
        self._send_question()
        return True

    def end(self) -> None:
        """End the present task at once."""
        self.task = None
        self._is_idle = False
        self._questions.clear()
        self._awake()
        if self._job is not None:
            self._job.end()
            self._job = None

    def stop(self) -> None:
        """Let the present task keep its current result; end it soon, or at the second call."""
        if not self.is_busy:
            return
        if self._job is None or self._job.interrupted:
            self.end()
            return
        self._job.interrupt()
        asyncio.get_running_loop().call_later(PATIENCE, _end_interrupted, self._job)

    def _send_question(self) -> None:
        if self._is_idle and self._questions and self._job is not None:
            kind = next(iter(self._questions))
            self._is_idle = False
            self._awake()
            self._job.send(self._questions.pop(kind))

    def _awake(self) -> None:
        if self._rest is not None:
            self._rest.cancel()

    def _let_rest(self, job: Job) -> None:
        """End an idle process whose task is soon done again."""
        if job is self._job and self.task is not None and self.task.is_repeatable:
            self._job = None
            job.end()

    async def _follow(self, task: Task, pause: float, again: bool) -> None:
        await asyncio.sleep(pause)
        if task is not self.task:
            return
        job = await asyncio.to_thread(self.start, task)
        if task is self.task:
            self._job = job
        else:
            job.end()
        while (message := await asyncio.to_thread(job.receive)) is not None:
            if task is self.task:
                self._is_idle = isinstance(message, Idle)
                job.interrupted &= isinstance(message, Progress)  # any other is of what it kept
                again &= not self._is_idle
                if self._is_idle:
                    self._rest = asyncio.get_running_loop().call_later(REST, self._let_rest, job)
                if not again:
                    await self.hear(task, message)
                self._send_question()
        if job is self._job:
            self._job = None
            await self.hear(task, None)
            if task is self.task:
                self.end()


def _end_interrupted(job: Job) -> None:
    """End a process that still runs a task which was requested to stop."""
    if job.interrupted:
        job.end()
