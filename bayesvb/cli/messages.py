"""Messages of the command line: one message and an exit code for an error, no traceback."""

from __future__ import annotations

import re
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

ARGUMENT = re.compile(
    r"(?<![\w(.])(?P<name>[a-z_]+)=(?P<value>'[^'\s]*'|\"[^\"\s]*\"|\[[^]]*\]|-?[\w.]*)"
)
"""Argument of Python with its value; not of a call, which has no option."""

NAME = re.compile(r"(?<![\w.`'-])(fit\.\w+\(\)|bayesvb\.[A-Z]\w+|[a-z]+(_[a-z]+)+)(?![\w(=.`'])")
"""Method of a fit, model, or argument of two words."""

ARGUMENTS = {"components": ("n_components", "n_experts")}
"""Options with other names as arguments."""

NOT_FOR_USERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning)


class _BadInput(click.ClickException):
    exit_code = BAD_INPUT


def as_options(text: str, ctx: click.Context) -> str:
    """Message in which names of Python are options of the command that runs, and commands.

    Examples
    --------
    >>> option = click.Option(["--family"])
    >>> context = click.Context(click.Group("main", {"fit": click.Command("fit", params=[option])}))
    >>> context.invoked_subcommand = "fit"
    >>> as_options("choose family='gamma', or fit(draws=9); fit.fit()", context)
    'choose --family gamma, or fit(draws=9); `bayesvb fit`'
    """
    from bayesvb.estimators import COMMAND_NAMES

    command = ctx.command
    if isinstance(command, click.Group) and ctx.invoked_subcommand:
        command = command.get_command(ctx, ctx.invoked_subcommand) or command
    options = {
        name: max(param.opts, key=len)
        for param in command.params
        for name in ARGUMENTS.get(param.name or "", (param.name,))
        if isinstance(param, click.Option)
    }

    def option(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"].strip("'\"[]").replace(", ", ",")
        if name not in options:
            return match[0]
        return options[name] if value in ("", "True") else f"{options[name]} {value}"

    commands = ctx.command.commands if isinstance(ctx.command, click.Group) else {}
    names = {f"fit.{name}()": f"`bayesvb {name}`" for name in commands}
    names |= {f"bayesvb.{model}": f"--model {name}" for name, model in COMMAND_NAMES.items()}
    names |= {name: option for name, option in options.items() if name and "_" in name}
    text = ARGUMENT.sub(option, text).replace(", --", " --")
    return NAME.sub(lambda match: names.get(match[0], match[0]), text)


@contextmanager
def plain_messages(ctx: click.Context) -> Iterator[None]:
    """Errors as one message and exit code 2, warnings as one line each, Ctrl-C as 130.

    Only errors that a change of the input or of the files can cure; any other is a fault of the
    program and keeps its traceback.
    """
    from bayesvb.errors import BayesVBError

    try:
        with one_line_warnings(ctx):
            yield
    except BrokenPipeError:  # the reader of a pipe has seen enough
        raise
    except (BayesVBError, OSError) as error:
        raise _BadInput(as_options(str(error), ctx)) from error
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def one_line_warnings(ctx: click.Context) -> Iterator[None]:
    """Each warning that concerns the user as one line on stderr, once."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = as_options(" ".join(str(message).split()), ctx)
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
        with plain_messages(ctx):
            return click.Group.invoke(self, ctx)
