"""Content of the sites' statistics in each round: names of arrays, their shapes, their signs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bayesvb.errors import DataError
from bayesvb.estimators.sites.runs import place_of

Arrays = Mapping[str, np.ndarray]

ROUNDS = ("columns", "scales", "starts", "sums", "finished")
"""Names of the rounds, in their order; sums are reported as often as a run needs them."""

NEEDED = {
    "columns": ("curved", "quantiles"),
    "scales": ("counts",),
    "starts": ("starts",),
    "sums": ("sums", "owners"),
    "finished": (),
}
"""Arrays that are reported in each round, and known after it."""

AT_A_SITE = {"scales": ("learned",), "sums": ("at", "seen")}
"""Arrays that only a site reports."""

MOMENTS = "moments_"
"""Prefix of the names of arrays with moments."""


def keyed(name: str) -> str:
    """Name of the array with the moments of a part, or column, in which any letter may stand."""
    return MOMENTS + name.encode().hex()


def column_name(key: str) -> str | None:
    """The part or column whose moments an array has; None of other arrays.

    Raises
    ------
    DataError
        If the name is none that `keyed` makes.
    """
    if not key.startswith(MOMENTS):
        return None
    try:
        return bytes.fromhex(key[len(MOMENTS) :]).decode()
    except ValueError as error:
        raise DataError(f"{key!r} is not a name of moments") from error


def check_contents(round_: str, own: Arrays, known: Arrays, levels: Mapping[str, object]) -> None:
    """Refuse statistics in which something is absent, unknown, not finite or of another shape.

    Parameters
    ----------
    round_ : str
    own, known : mapping of str to ndarray
        Arrays that a site reports in this round, and arrays known from all sites before.
    levels : mapping
        Columns.

    Raises
    ------
    DataError
        Naming the array.
    """
    if round_ not in ROUNDS:
        raise DataError(f"its round is {round_!r}")
    if own:
        _check_names({*NEEDED[round_], *AT_A_SITE.get(round_, ())}, own, {round_})
    merged = not own and round_ != "finished"
    expected = set(ROUNDS[: ROUNDS.index(round_) + merged])
    if round_ == "sums":
        expected.add("sums")
    begun = "passes" in known or (merged and round_ == "sums")
    needed = {name for one in expected for name in NEEDED[one] if one != "sums" or begun}
    _check_names(needed | ({"passes"} if begun else set()), known, expected)
    for arrays, every in ((known, known), (own, {**known, **own})):
        for name, values in arrays.items():
            _check_array(name, values, every, len(levels))


def _check_names(needed: set[str], arrays: Arrays, told: set[str]) -> None:
    """Refuse what lacks a name that is needed, or has one of no round."""
    for name in sorted(needed - arrays.keys()):
        raise DataError(f"it has no array {name!r}")
    for name in sorted(arrays.keys() - needed):
        free = "scales" in told and (name == "responses" or column_name(name) is not None)
        if not free and not ("sums" in told and place_of(name) is not None):
            raise DataError(f"it has an unknown array {name!r}")


def _check_array(name: str, values: np.ndarray, every: Arrays, n_columns: int) -> None:
    """Refuse numbers that cannot be what their name says."""
    endless = name.endswith(".to_go")
    if np.isnan(values).any() or not (endless or np.isfinite(values).all()):
        raise DataError(f"{name} is not finite")
    place = place_of(name)
    if place is not None:
        fits = "starts" in every and place[0] <= len(every["starts"])
    elif column_name(name) is not None:
        fits = values.ndim == 2 and values.size > 0 and _are_moments(values)
    else:
        fits = CHECKS[name](values, every, n_columns)
    if not fits:
        raise DataError(f"{name} has the shape {values.shape}, or numbers that it cannot have")


def _are_moments(values: np.ndarray) -> bool:
    """Whether weights, deviations and root mean squares are not negative, nor a diagonal."""
    if len(values) not in (4, 4 + values.shape[1]):
        return False
    triangle = values[4:]
    signs = (values[[0, 2, 3]] >= 0.0).all() and (np.diagonal(triangle) >= 0.0).all()
    return bool(signs and not np.tril(triangle, -1).any())


def _rising(values: np.ndarray) -> bool:
    """Whether rows hold quantiles."""
    return values.ndim == 2 and values.shape[1] > 0 and bool((np.diff(values, axis=1) >= 0.0).all())


def _numbers(values: np.ndarray, end: int | None = None) -> bool:
    """Whether these are whole numbers from zero on, before an end if there is one."""
    whole = values.ndim == 1 and bool((values == np.floor(values)).all())
    return whole and bool((values >= 0.0).all()) and (end is None or bool((values < end).all()))


def _of_same_length(values: np.ndarray, every: Arrays, name: str) -> bool:
    return values.ndim >= 1 and name in every and len(values) == len(every[name])


CHECKS: dict[str, Callable[[np.ndarray, Arrays, int], bool]] = {
    "curved": lambda v, _, n: _numbers(v, n) and len(np.unique(v)) == len(v),
    "quantiles": lambda v, every, _: _rising(v) and _of_same_length(v, every, "curved"),
    "counts": lambda v, _, n: v.shape == (2 + n,) and bool((v >= 0.0).all()) and v[1] > 0.0,
    "learned": lambda v, *_: v.ndim == 1,
    "responses": lambda v, *_: _rising(v) and len(v) > 0,
    "starts": lambda v, *_: v.ndim == 2 and v.size > 0,
    "sums": lambda v, *_: v.ndim == 2,
    "owners": lambda v, every, _: (
        _numbers(v, len(every.get("starts", ())) + 1) and _of_same_length(v, every, "sums")
    ),
    "at": lambda v, every, _: v.ndim == 1 and _of_same_length(v, every, "owners"),
    "seen": lambda v, every, _: _numbers(v) and len(v) == len(every.get("starts", ())) + 1,
    "passes": lambda v, *_: v.shape == (1,) and _numbers(v),
}
"""Whether an array is one of its name, given all arrays and the number of columns."""
