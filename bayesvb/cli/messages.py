"""Messages of the command line: one message and an exit code for an error, no traceback."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from bayesvb.engines.progress import ERASE

BAD_INPUT = 2
"""Exit status of wrong input, as of click."""

INTERRUPTED = 128 + signal.SIGINT
"""Exit code after an interrupt, as shells count."""

NOT_FOR_USERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning)


class _BadInput(click.ClickException):
    exit_code = BAD_INPUT


@contextmanager
def plain_messages() -> Iterator[None]:
    """Errors as one message and exit code 2, warnings as one line each, Ctrl-C as 130.

    Only errors that a change of the input or of the files can cure; any other is a fault of the
    program and keeps its traceback.
    """
    from bayesvb.errors import BayesVBError

    try:
        with one_line_warnings():
            yield
    except BrokenPipeError:  # the reader of a pipe has seen enough
        raise
    except (BayesVBError, OSError) as error:
        raise _BadInput(str(error)) from error
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Each warning that concerns the user as one line on stderr, once."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            click.echo(f"{ERASE if sys.stderr.isatty() else ''}warning: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in NOT_FOR_USERS:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield


@contextmanager
def interrupts_noted() -> Iterator[list[str]]:
    """Warnings that something was interrupted, in a list as they come; they are shown as well."""
    noted: list[str] = []
    shown = warnings.showwarning

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        if "was interrupted" in str(message):
            noted.append(str(message))
        shown(message, *rest, **more)

    warnings.showwarning = show
    try:
        yield noted
    finally:
        warnings.showwarning = shown


def end_if(interrupted: list[str]) -> None:
    """End with the exit code of an interrupt if something was; after all has been written."""
    if interrupted:
        raise click.exceptions.Exit(INTERRUPTED)


class Commands(click.Group):
    """A group whose commands report in plain messages."""

    def invoke(self, ctx: click.Context) -> object:
        """Result of the command that the arguments name."""
        with plain_messages():
            return click.Group.invoke(self, ctx)
