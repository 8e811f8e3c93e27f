"""Results of ArviZ that name the method of leave-one-out, if it used no draws."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

METHOD, REFITTED = "left_out_by", "n_refitted"
"""Attributes of the pointwise values that name the method."""

COMPUTED = re.compile(r"^Computed from .*$", re.MULTILINE)
"""First line of both lines of ArviZ; without draws it would report 0 posterior samples."""

HOW = {
    "linear-response": "leave-one-out by a first-order approximation (linear response)",
    "exact": "leave-one-out by refits",
    "integrated": "exact leave-one-out (posterior integrated over scales)",
    "folds": "cross-validation by refits without each fold",
}
"""Text by method of leave-one-out."""


def saying_how(base: type, method: str) -> type:
    """A class of results of ArviZ, or a subclass that names the method instead of draws.

    Parameters
    ----------
    base : type
        ``ELPDData`` of ArviZ 0.23, or of 1.x one of its kinds.
    method : {"linear-response", "exact", "integrated", "folds", "psis"}
        Ratios of draws (``"psis"``) are what ArviZ prints.
    """
    return _saying_how(base) if method in HOW else base


@cache
def _saying_how(base: Any) -> type:
    """A subclass of the same name, so that tools of ArviZ accept it."""

    def text(self: object) -> str:
        return COMPUTED.sub(lambda _: _first_line(self), base.__str__(self), count=1)

    def copied(self: object, *args: object, **kwargs: object) -> object:
        return _saying_how(base)(base.copy(self, *args, **kwargs))

    def reduced(self: object, protocol: object) -> tuple[object, ...]:
        _, (_, *args), *rest = base.__reduce_ex__(self, 2)
        return (_blank, (base, *args), *rest)

    own = {"__str__": text, "__repr__": text, "__reduce_ex__": reduced, "__doc__": base.__doc__}
    if hasattr(base, "copy"):
        own["copy"] = copied
    return type(base.__name__, (base,), own)


def _blank(base: object, *args: object) -> object:
    """An object of the subclass without state: the first step of unpickling."""
    made = _saying_how(base)
    return made.__new__(made, *args)


def _first_line(result: Any) -> str:
    """Number of observations, and the method of leave-one-out."""
    pointwise = result.get("loo_i") if hasattr(result, "get") else result.elpd_i
    said = getattr(pointwise, "attrs", {})
    method, n_refitted = said.get(METHOD, ""), int(said.get(REFITTED, 0))
    again = ""
    if n_refitted and method == "linear-response":
        again = f"; {n_refitted} of them by a fit without it"
    how = HOW.get(method, "leave-one-out")
    return f"Computed without draws from {result.n_data_points} observations, {how}{again}."
