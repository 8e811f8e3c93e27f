"""The compiled core: whether it is there, and whether it may run.

``sweep.c`` is built with the package where there is a compiler of C; without one everything runs in
NumPy, which defines the numbers.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import cast

from bayesvb.errors import warn

SWITCH = "BAYESVB_COMPILED"
"""Variable of the environment that turns the core off if it is ``0``."""

Sweep = Callable[[object, object, object, object, object], float]
"""Sizes, prior, rows and statistics of a model to the bound; the last array is for the next ones.

All are contiguous, the first of ``int64`` and the others of ``float64``.
"""


INTERFACE = 4
"""Arrays that calls take and fill, as in ``sweep.c``: raised in both with every change of these."""


@cache
def _imported() -> ModuleType | None:
    """The core as it was built, from whatever sources."""
    try:
        return importlib.import_module("bayesvb.numerics.compiled_sweep")
    except ImportError:
        return None


@cache
def _belongs(core: ModuleType) -> bool:
    """Whether it was built from sources with our interface; a warning, once, if not."""
    if getattr(core, "INTERFACE", 0) == INTERFACE:
        return True
    warn(
        f"the compiled core {core.__file__} is of another version of bayesvb, and does not run: "
        "fits take several times as long; run 'pip install -e .' in the folder of bayesvb, with a "
        "C compiler",
        RuntimeWarning,
    )
    return False


def compiled_sweep(name: str = "sweep") -> Sweep | None:
    """A function of the compiled core, such as ``sweep`` of mixtures; None if absent or off.

    Warns
    -----
    RuntimeWarning
        Once, where the core is of another version of the package.
    """
    core = None if os.environ.get(SWITCH) == "0" else _imported()
    return cast(Sweep, getattr(core, name)) if core is not None and _belongs(core) else None


def describe_core() -> str:
    """Whether the compiled core runs, in words."""
    if (core := _imported()) is None:
        return "not built: NumPy runs"
    if getattr(core, "INTERFACE", 0) != INTERFACE:
        return "of another version: NumPy runs; install bayesvb again"
    return "runs" if compiled_sweep() is not None else f"turned off by {SWITCH}=0"
