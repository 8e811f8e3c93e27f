"""Errors and warnings: every message names the argument, its value and the remedy."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = [
    "BayesVBError",
    "ConvergenceWarning",
    "DataError",
    "DesignWarning",
    "FileWarning",
    "FormulaError",
    "LongFitWarning",
    "PriorError",
]

PACKAGE = __name__.partition(".")[0]

LONGEST = 4000
"""Characters of a message at most: a value that it repeats can have any number."""

SHOWN = 400
"""Characters of a formula that a message shows at most."""

REPLACED = "\N{REPLACEMENT CHARACTER}"
"""Replacement for characters that would displace the carets, or the words, of a message."""

CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls, line separators, tags, what turns the direction of text, halves of characters."""


class BayesVBError(ValueError):
    """Base of all errors that a change of the input can cure.

    Parameters
    ----------
    why : str
        The error, with the name and the value of the argument.
    hint : str, optional
        What to do about it; printed on a line of its own.
    """

    def __init__(self, why: str, *, hint: str | None = None) -> None:
        why, hint = _shortened(why), None if hint is None else _shortened(hint)
        super().__init__(f"{why}\nhint: {hint}" if hint else why)
        self.why = why
        self.hint = hint


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


class DataError(BayesVBError):
    """The data, or a request about them, cannot be used as they stand."""


class PriorError(BayesVBError):
    """A prior is improper, of the wrong shape, or not positive where it must be."""


class FormulaError(BayesVBError):
    """A formula that cannot be used; the message shows where, and what to write.

    Parameters
    ----------
    text : str
        The formula as it was given.
    why : str
        The error in the formula.
    at : tuple of int, optional
        First and last position (inclusive) of the offending characters.
    hint : str, optional
        What to write instead.
    """

    def __init__(
        self, text: str, why: str, at: tuple[int, int] | None = None, hint: str | None = None
    ) -> None:
        lines = [why, "", *_marked(text, at)]
        super().__init__("\n".join(lines) + ("\n" if hint else ""), hint=hint)
        self.why = why
        self.formula = text
        self.at = at


def _marked(text: str, at: tuple[int, int] | None) -> list[str]:
    """The text, or the surroundings of the position, and carets below the position."""
    begin = 0 if at is None else max(0, at[0] - SHOWN // 2)
    begin = begin if len(text) > SHOWN else 0
    before, after = "... " * (begin > 0), " ..." * (begin + SHOWN < len(text))
    visible = "".join(sign if sign.isprintable() else REPLACED for sign in text)
    lines = [f"    {before}{visible[begin : begin + SHOWN]}{after}"]
    if at is not None:
        first, last = at[0] - begin, min(at[1] - begin, SHOWN - 1)
        lines.append("    " + " " * (len(before) + first) + "^" * (last - first + 1))
    return lines


def without_controls(text: str) -> str:
    r"""Return the text with numbers for the signs that a terminal would obey, or that move others.

    Inside a string of JSON the number means the sign.

    Examples
    --------
    >>> print(without_controls("pay \u202e100"))
    pay \u202e100
    """
    return CONTROLS.sub(_number, text)


def _number(sign: re.Match[str]) -> str:
    r"""``\uXXXX`` for each of the one or two UTF-16 units of a sign."""
    units = sign[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


class ConvergenceWarning(UserWarning):
    """The fit stopped before the bound had settled; the message says what to do."""


class DesignWarning(UserWarning):
    """The design is usable but probably not intended (collinear columns, for example)."""


class ExtrapolationWarning(UserWarning):
    """New rows, or a contrast, lie beyond the range of a covariate in the fit, which is named."""


class FileWarning(UserWarning):
    """A file was read that is not protected against damage; the message says what to do."""


class LongFitWarning(UserWarning):
    """The fit is going to take long; the message says how long, about."""


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn of the line outside the package from which all that is under way was called.

    However many of our functions, and decorators of theirs, lie between: the line that the user
    has written is the one that the user can change. From Python 3.12 on ``skip_file_prefixes``
    would do it for functions, not for decorators.

    Parameters
    ----------
    message : str or Warning
        A warning has its category with it.
    category : type of Warning
    """
    frame: FrameType | None = sys._getframe(1)
    level = outermost = 1
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
            outermost = level
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=outermost + 2)


def warn_renamed(old: str, new: str) -> None:
    """Warn of a former name, at the line of the user."""
    warn(
        f"{old} is called {new} now; the former name is removed in version 0.5", DeprecationWarning
    )


@contextmanager
def ignoring_user_warnings() -> Iterator[None]:
    """No warnings to the user inside the block; those for developers stay."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
