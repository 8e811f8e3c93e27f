"""The compiled core: whether it is there, and whether it may run.

``sweep.c`` is built with the package where there is a compiler of C; without one everything runs in
NumPy, which defines the numbers.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import cache
from typing import Any, cast

SWITCH = "BAYESVB_COMPILED"
"""Variable of the environment that turns the core off if it is ``0``."""

Sweep = Callable[[Any, Any, Any, Any, Any], float]
"""Sizes, prior, rows and statistics of a model to the bound; the last array is for the next ones.

All are contiguous, the first of ``int64`` and the others of ``float64``.
"""


@cache
def _built(name: str) -> Sweep | None:
    """The function of the core, if it was built."""
    try:
        core = importlib.import_module("bayesvb.numerics.compiled_sweep")
        return cast(Sweep, getattr(core, name))
    except (ImportError, AttributeError):
        return None


def compiled_sweep(name: str = "sweep") -> Sweep | None:
    """A sweep of the compiled core, ``sweep`` of mixtures or ``network``; None if absent or off."""
    return None if os.environ.get(SWITCH) == "0" else _built(name)


def describe_core() -> str:
    """Whether the compiled core runs, in words."""
    if _built("sweep") is None:
        return "not built: NumPy runs"
    return "runs" if compiled_sweep() is not None else f"turned off by {SWITCH}=0"
