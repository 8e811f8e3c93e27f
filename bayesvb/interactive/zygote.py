"""A process that has imported everything, and forks one process for each task.

A fit must end at once when the formula changes, which only the end of its process does. A new
interpreter takes seconds to import the packages of a fit; a fork of one that has them takes some
milliseconds. The server has threads, which must not be forked: this process is forked from it
before it starts them, after a first fit that brings all imports: what either does not change is
in memory once. ``multiprocessing`` would run the program of the user in each process, and so start
the workbench again in each.

Nothing outlives the server: the zygote ends when its socket closes, a task when its own one does.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol, runtime_checkable

from bayesvb.numerics.forking import end_with_parent, return_free_memory
from bayesvb.numerics.runtime import single_threaded_blas

PID = struct.Struct("<q")
"""Reply to a request for a process."""


@dataclass(frozen=True)
class Idle:
    """Message of a process that waits for a question."""


@runtime_checkable
class Task(Protocol):
    """Work of one process; ``fitting.work`` yields its messages until it ends."""

    @property
    def is_repeatable(self) -> bool:
        """Whether it takes a moment to do again."""


Failed = Callable[[BaseException], object]
"""Makes the message of an error."""

Work = Callable[[Any, Callable[[object], None], Iterator[object]], Iterator[object]]
"""Yields the messages of a task, given a way to send one meanwhile, and the questions."""


def prepare() -> None:
    """Import what fits, pictures and checks need, and hold the least memory that forks share."""
    from bayesvb.interactive.fitting import warm

    with suppress(ImportError):
        import pyarrow

        pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # others reserve 4 MB a process
    warm()
    return_free_memory()
    gc.freeze()  # collections would write to the shared pages


def run(descriptor: int) -> None:
    """Fork a process for each request on a socket, until its other end closes.

    A request has one descriptor with it, on which the process serves; the reply is its number.
    """
    from bayesvb.interactive.fitting import failed, work

    with single_threaded_blas():
        _fork_on_request(descriptor, work, failed)


def _fork_on_request(descriptor: int, work: Work, failed: Failed) -> None:
    """Fork a process for each request until the socket closes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the processes
    control = socket.socket(fileno=descriptor)
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not request:
            return
        zygote = os.getpid()
        pid = os.fork()
        if pid == 0:
            control.close()
            _serve(descriptors[0], zygote, work, failed)
        os.close(descriptors[0])
        control.sendall(PID.pack(pid))


def _serve(descriptor: int, zygote: int, work: Work, failed: Failed) -> None:
    """Receive a task, send its messages, and end the process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # fits wait for processes of their own
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    end_with_parent(zygote)
    connection = Connection(descriptor)
    received: queue.SimpleQueue[object] = queue.SimpleQueue()
    try:
        task = connection.recv()
        threading.Thread(target=_receive, args=(connection, received), daemon=True).start()
        for message in work(task, connection.send, _questions(connection, received)):
            connection.send(message)
    except (EOFError, BrokenPipeError):
        pass
    except BaseException as error:  # the page says what it is, whatever it is
        connection.send(failed(error))
    finally:
        os._exit(0)


def _questions(connection: Connection, received: queue.SimpleQueue[object]) -> Iterator[object]:
    """Yield the questions of the page as they come."""
    while True:
        return_free_memory()
        connection.send(Idle())
        yield received.get()


def _receive(connection: Connection, received: queue.SimpleQueue[object]) -> None:
    """Receive questions; end this process when the server has closed the connection, or died."""
    try:
        while True:
            received.put(connection.recv())
    except (EOFError, OSError):
        os._exit(1)
