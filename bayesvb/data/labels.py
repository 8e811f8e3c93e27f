"""Labels of groups and levels, recognised when another table holds them in another type."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from bayesvb.argument_checks import shown
from bayesvb.data.frames import levels
from bayesvb.errors import DataError

FIRST = 3
"""Labels that a message shows."""

WHOLE = re.compile(r"[+-]?\d+")

TRUTH: Mapping[str, int] = {"true": 1, "false": 0}
"""Truth values as Python, R and JSON write them, in small letters."""


def match_labels(labels: pd.Index, known: pd.Index, name: str) -> Int[np.ndarray, " labels"]:
    """Return the place of each label among the known ones, -1 for a label that is not there.

    Labels of one type are compared as they are. Text and another type are compared by the value
    that the text writes: ``"3"``, ``"03"`` and ``3.0`` are the number 3, ``"TRUE"`` is the truth
    value (1 as a number), ``"2020-01-31"`` a date.

    Parameters
    ----------
    labels : pandas.Index
    known : pandas.Index
        Each once.
    name : str
        Column that holds them, for messages.

    Raises
    ------
    DataError
        If a label is the value of several known texts, as 7 is of ``"7"`` and ``"007"``.

    Examples
    --------
    >>> match_labels(pd.Index([3, 4]), pd.Index(["4", "03"]), "id").tolist()
    [1, 0]
    >>> match_labels(pd.Index(["3"]), pd.Index(["03"]), "id").tolist()
    [-1]
    """
    if isinstance(labels.dtype, pd.CategoricalDtype):
        labels = labels.astype(labels.dtype.categories.dtype)
    places = np.asarray(known.get_indexer(labels), dtype=np.intp)
    absent = np.flatnonzero(places < 0)
    read = _common_reading(labels[absent], known)
    if not len(absent) or read is None:
        return places
    positions: dict[Hashable, list[int]] = {}
    for place, value in enumerate(map(read, known)):
        if value is not None:
            positions.setdefault(value, []).append(place)
    for position, label in zip(absent, labels[absent], strict=True):
        several = positions.get(read(label), [])
        if len(several) > 1:
            raise DataError(
                f"`{name}`: {shown(label)} matches several levels: "
                + ", ".join(shown(known[place]) for place in several),
                hint=f"give `{name}` as text, as in the data of the fit",
            )
        if several:
            places[position] = several[0]
    return places


def levels_as_known(column: pd.Series, known: pd.Index, name: str) -> pd.Categorical:
    """Return the column as levels, in the type of the known ones where it holds these.

    Raises
    ------
    DataError
        As ``levels`` and ``match_labels`` do.
    """
    dates = _kind(pd.Index(column.dropna().unique())) == "date"
    own = pd.Categorical(column) if dates else levels(column, name)
    places = match_labels(own.categories, known, name)
    there = places >= 0
    labels = own.categories.to_numpy(dtype=object, copy=True)
    if (labels[there] == known.to_numpy(dtype=object)[places[there]]).all():
        return own
    labels[there] = known.to_numpy(dtype=object)[places[there]]
    codes, different = pd.factorize(labels)  # "3" and "03" may both be the number 3
    of_rows = np.where(own.codes < 0, -1, codes[own.codes])
    return pd.Categorical.from_codes(of_rows, categories=pd.Index(different).infer_objects())


def first_labels(labels: Sequence[object]) -> str:
    """Return the first few of several labels as a message shows them."""
    more = ", ..." if len(labels) > FIRST else ""
    return ", ".join(map(shown, labels[:FIRST])) + more


def _common_reading(a: pd.Index, b: pd.Index) -> Callable[[object], Hashable] | None:
    """Function that turns labels of both types into values; None if the types are the same."""
    kinds = {_kind(a), _kind(b)}
    if len(kinds) == 1 or None in kinds:
        return None
    if "date" in kinds:
        return None if "number" in kinds or "truth" in kinds else _as_date
    return _as_number


def _kind(labels: pd.Index) -> str | None:
    """Type of labels; None of mixed or unknown ones."""
    kind = pd.api.types.infer_dtype(labels, skipna=True)
    kinds = {"string": "text", "boolean": "truth", "integer": "number", "floating": "number"}
    dates = dict.fromkeys(("datetime64", "datetime", "date"), "date")
    return (kinds | dates).get(kind)


def _as_number(label: Any) -> int | float | None:
    """Number that a label is or writes, whole ones exactly; None if there is none."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, int | float):
        return label
    text = label.strip()
    if text.casefold() in TRUTH:
        return TRUTH[text.casefold()]
    if WHOLE.fullmatch(text):
        return int(text)
    number = pd.to_numeric(text, errors="coerce")
    return None if np.isnan(number) else float(number)


def _as_date(label: Any) -> pd.Timestamp | None:
    """Instant that a label is or writes; None if there is none."""
    instant = pd.to_datetime(label, errors="coerce")
    return None if pd.isna(instant) else instant
