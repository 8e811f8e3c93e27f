"""Stage 3, encode: the numbers of responses that are written as calls: ``cens(y, status)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from bayesvb.data.frames import kind_of, numbers
from bayesvb.errors import DataError
from bayesvb.formula.response_forms import ResponseCall
from bayesvb.numerics.arrays import RowColumns, RowMask, RowVector

Columns = tuple[RowVector, RowColumns]
"""A response, and its further columns."""

STATUS: Mapping[str, float] = {"none": 0.0, "right": 1.0, "left": -1.0, "interval": 2.0}
"""Words for the status of a row, and their numbers."""

SEEN = ("seen", "observed", "exact", "event", "uncensored")
"""Words that others use for a row that is not censored."""


def _status(column: pd.Series, name: str) -> RowVector:
    """Numbers of a status; text is read by ``STATUS``.

    Raises
    ------
    DataError
        If a word is not known.
    """
    if kind_of(column, name) == "number":
        return numbers(column, name)
    words = column.astype(object).map(lambda word: str(word).strip().lower())
    unknown = [repr(word) for word in dict.fromkeys(words) if word not in STATUS]
    if unknown:
        differs = "!=" if unknown[0].strip("'") in SEEN else "=="
        raise DataError(
            f"the status `{name}` has unknown values: {', '.join(unknown[:4])}",
            hint=f"use {', '.join(map(repr, STATUS))}, or write a comparison that is true for "
            f"right-censored rows: cens(y, {name} {differs} {unknown[0]})",
        )
    return words.map(STATUS).to_numpy(dtype=np.float64)


def _event(column: pd.Series, name: str) -> RowVector:
    """Numbers of an event indicator.

    Raises
    ------
    DataError
        If it is text.
    """
    if kind_of(column, name) == "number":
        return numbers(column, name)
    word = str(column.iloc[0]) if len(column) else "dead"
    raise DataError(
        f"the event `{name}` holds text, for example {word!r}",
        hint=f"write which value means observed: Surv(time, {name} == {word!r})",
    )


RESPONSE_ROLES: Mapping[str, Callable[[pd.Series, str], RowVector]] = {
    "status": _status,
    "event": _event,
    "upper": numbers,
}
"""Roles of columns that only a response has, and how their columns become numbers.

Rows may lack a value of a column that is only ``"upper"``, an end that few rows have."""


def _check(wrong: RowMask, what: str, hint: str) -> None:
    """Raise if a row is wrong."""
    if wrong.any():
        raise DataError(f"{what} in {int(wrong.sum())} of {len(wrong)} rows", hint=hint)


def _censored(values: Sequence[RowVector], texts: Sequence[str]) -> Columns:
    """Middle of the interval of each row where it is finite, and distances to its ends."""
    y, status, *upper = values
    _check(
        ~np.isin(status, list(STATUS.values())),
        f"the status `{texts[1]}` is not 0, 1, -1 or 2",
        "0: observed, 1: right censored, -1: left censored, 2: in an interval; a truth value is "
        "true where the response is right censored",
    )
    within, half = status == STATUS["interval"], np.zeros(len(y))
    if upper:
        _check(
            within & ~np.isfinite(upper[0]),
            f"`{texts[2]}` has no finite value where the status is 'interval'",
            "give the upper end, or the status 'right'",
        )
        _check(
            within & (upper[0] < y),
            f"`{texts[2]}` is less than `{texts[0]}` where the status is 'interval'",
            f"the interval goes from {texts[0]} up to {texts[2]}",
        )
        half[within] = 0.5 * (upper[0] - y)[within]
    elif within.any():
        _check(within, "the status is 'interval'", f"write cens({texts[0]}, {texts[1]}, upper)")
    below = np.where(status == STATUS["left"], np.inf, half)
    above = np.where(status == STATUS["right"], np.inf, half)
    return y + half, np.stack([below, above], axis=1)


def _survival(values: Sequence[RowVector], texts: Sequence[str]) -> Columns:
    """Times that are seen where the event is 1, and right censored elsewhere."""
    time, event = values
    _check(
        (event != 0.0) & (event != 1.0),
        f"the event `{texts[1]}` is neither 0 nor 1",
        f"1 is observed, 0 right censored; of a coding by 1 and 2: Surv({texts[0]}, {texts[1]} "
        "== 2)",
    )
    return _censored([time, 1.0 - event], texts)


def _rounded(values: Sequence[RowVector], texts: Sequence[str]) -> Columns:
    """Recorded values, half a width from the ends of their intervals."""
    y, width = values
    _check(
        ~((width > 0.0) & np.isfinite(width)),
        f"the width `{texts[1]}` is not positive",
        "rounded(y, 0.5) is recorded to half a unit",
    )
    return y, np.stack([0.5 * width, 0.5 * width], axis=1)


def _of_trials(values: Sequence[RowVector], texts: Sequence[str]) -> Columns:
    """Successes, and the number of trials of each row."""
    successes, trials = values
    _check(
        (trials < 0.0) | (trials != np.round(trials)),
        f"the number of trials `{texts[1]}` is not a whole number from 0",
        "k | trials(n) takes numbers of successes and of trials",
    )
    _check(
        successes > trials,
        f"`{texts[0]}` is more than `{texts[1]}`, the number of trials,",
        f"trials count failures too: {texts[0]} | trials({texts[0]} + {texts[1]}) if {texts[1]} "
        "are the failures",
    )
    return successes, trials[:, None]


def _of_both(values: Sequence[RowVector], texts: Sequence[str]) -> Columns:
    """Successes, and their sum with the failures."""
    successes, failures = values
    _check(
        failures < 0.0,
        f"the number of failures `{texts[1]}` is negative",
        "cbind(k, n - k) takes numbers of successes and of failures, of k successes in n trials",
    )
    return _of_trials([successes, successes + failures], (texts[0], " + ".join(texts)))


READERS: Mapping[str, Callable[[Sequence[RowVector], Sequence[str]], Columns]] = {
    "cens": _censored,
    "Surv": _survival,
    "rounded": _rounded,
    "cbind": _of_both,
    "trials": _of_trials,
}
"""Response and further columns from one column for each argument, by the name of the call.

Texts of the arguments are for messages."""


def response_columns(call: ResponseCall, read: RowColumns) -> Columns:
    """Response and further columns from the columns of those arguments that read some.

    Raises
    ------
    DataError
        If the numbers contradict each other.
    """
    if read.shape[1] != len(call.codes):
        example = call.form.example
        raise DataError(f"{call.form.name}(...) has the same argument twice", hint=example)
    given = iter(read.T)
    each = [next(given) if c is None else np.full(len(read), c) for c in call.constants]
    return READERS[call.form.name](each, call.texts)
