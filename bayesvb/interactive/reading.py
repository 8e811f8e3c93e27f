"""Whether a request can be read, and completions of its formula: without a fit.

A model of a few rows shows everything that is wrong with a formula in some milliseconds.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pandas as pd

from bayesvb.data.parts import MEAN, PARTS
from bayesvb.errors import BayesVBError
from bayesvb.estimators import MODELS
from bayesvb.formula.allowed_functions import OF_ONE_VALUE, TRANSFORMS
from bayesvb.formula.formula_changes import written
from bayesvb.formula.response_forms import FORMS
from bayesvb.formula.special_terms import HEADS
from bayesvb.interactive.request import Request

ROWS = 500
"""Rows of which the model is made: 2 to 5 ms; 2,000 rows take four times as long."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Results of reading a request, without a fit.

    Attributes
    ----------
    readable : bool
        Whether a model can be made of it.
    message : str
        The error, or the first warning; empty if there is neither.
    hint : str
        What to write instead.
    at : tuple of int or None
        First and last position (inclusive) of the offending characters.
    instead : Request or None
        The same formula of another model, which can be made.
    """

    readable: bool
    message: str = ""
    hint: str = ""
    at: tuple[int, int] | None = None
    instead: Request | None = None

    @property
    def carets(self) -> str:
        """Marks below the offending characters, which start at the formula's first one."""
        return "" if self.at is None else " " * self.at[0] + "^" * (self.at[1] - self.at[0] + 1)


def sample_of(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return at most ``most`` rows, drawn without replacement and in their order."""
    if len(frame) <= most:
        return frame
    return frame.sample(most, random_state=1).sort_index()


def read(request: Request, frame: pd.DataFrame) -> Reading:
    """Read a request by making its model of a few rows.

    Parameters
    ----------
    request : Request
    frame : pandas.DataFrame
        At most ``ROWS`` rows; levels that only other rows have are met by the fit.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            request.make_model(frame)
        except BayesVBError as error:
            at = getattr(error, "at", None)
            hint, instead = error.hint or "", _other_model(request, frame)
            return Reading(readable=False, message=error.why, hint=hint, at=at, instead=instead)
        except Exception as error:  # a defect of the library must not end the page
            message = f"{type(error).__name__}: {error}"
            return Reading(readable=False, message=message, hint="please report this defect")
    messages = [str(w.message).split("\n")[0] for w in caught if w.category is not Warning]
    return Reading(readable=True, message=messages[0] if messages else "")


def _other_model(request: Request, frame: pd.DataFrame) -> Request | None:
    """Return the request of another model, with its defaults, that can be made."""
    for model in MODELS:
        if model != request.model:
            other = Request(formula=request.formula, model=model, seed=request.seed)
            with suppress(BayesVBError):
                other.make_model(frame)
                return other
    return None


def vocabulary(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the words of formulas: columns, then calls, each with its bracket.

    Examples
    --------
    >>> words = vocabulary(pd.DataFrame({"wage": [1.0], "years at school": [2.0]}))
    >>> words[:2], "gating(" in words
    (('wage', '`years at school`'), True)
    """
    columns = [written(str(name)) for name in frame]
    parts = [part for part in PARTS if part != MEAN]
    calls = sorted({*HEADS, *parts, *OF_ONE_VALUE, *TRANSFORMS, *FORMS})
    return tuple(dict.fromkeys([*columns, *(f"{name}(" for name in calls)]))


def word_before(text: str, caret: int) -> str:
    """Return the beginning of a word that ends at the caret; empty if there is none.

    Examples
    --------
    >>> word_before("accel ~ tim", 11), word_before("y ~ `years a", 12), word_before("y ~ ", 4)
    ('tim', '`years a', '')
    """
    before = text[:caret]
    if before.count("`") % 2:
        return before[before.rindex("`") :]
    match = re.search(r"[^\W\d][\w.]*$", before)
    return match[0] if match else ""


def completions(text: str, caret: int, words: Sequence[str]) -> list[str]:
    """Return the words that can follow the beginning before the caret, at most eight.

    Examples
    --------
    >>> completions("accel ~ ti", 10, ("accel", "times", "sqrt("))
    ['times']
    """
    begun = word_before(text, caret).casefold()
    if not begun:
        return []
    fitting = [w for w in words if w.casefold().strip("`").startswith(begun.strip("`"))]
    # Words that are offered at once.
    return [word for word in fitting if word.casefold() != begun][:8]
