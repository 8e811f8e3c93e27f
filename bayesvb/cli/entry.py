"""Where the command line begins: Ctrl-C ends it with one line from the first moment on."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

INTERRUPTED = 130
"""128 and the number of SIGINT, as shells count."""


def run() -> None:
    """Run the command that the arguments name.

    Imports take a second. Compiled modules that are interrupted in it raise what they like, so that
    until the commands are there Ctrl-C ends the process at once.
    """
    signal.signal(signal.SIGINT, _end)
    main = _commands()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main(prog_name="bayesvb")
    except BaseException as error:
        if not _comes_of_an_interrupt(error):
            raise
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


def _comes_of_an_interrupt(error: BaseException) -> bool:
    """Whether it is one, or what a module made of it whose import was interrupted."""
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
