"""Entry of the command line: Ctrl-C ends it with one line from the first moment on."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

INTERRUPTED = 128 + signal.SIGINT
"""Exit code after an interrupt, as shells count."""


def run() -> None:
    """Run the command that the arguments name.

    Imports take a second. Compiled modules that are interrupted raise arbitrary errors, so that
    Ctrl-C ends the process at once until the commands are loaded.
    """
    signal.signal(signal.SIGINT, _end)
    main = _commands()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = _interrupt_again
    try:
        main(prog_name="bayesvb")
    except BaseException as error:
        if not _comes_of_an_interrupt(error):
            raise
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


def _interrupt_again(ignored: sys.UnraisableHookArgs) -> None:
    """Send an interrupt again that came within the callback of a weak reference or a destructor.

    Python prints these exceptions and continues: Ctrl-C would be a traceback without effect.
    """
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        # Seconds after which an interrupt that Python has ignored is sent again.
        threading.Timer(0.01, _interrupt).start()
    else:
        sys.__unraisablehook__(ignored)


def _interrupt() -> None:
    if hasattr(signal, "pthread_kill"):  # ends waiting too, which interrupt_main does not
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _comes_of_an_interrupt(error: BaseException) -> bool:
    """Whether it is an interrupt, or an error of a module whose import was interrupted."""
    before = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, Exception) and before is not None and _comes_of_an_interrupt(before)
    )


def _commands() -> click.Group:
    from bayesvb.cli.main import main

    return main


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
