"""Fits of a study: warnings become columns of its table, and only Ctrl-C goes through."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.fit import Fit
from bayesvb.sensitivity.covariance import INTERRUPTED


def quiet_fit(model: AbstractEstimator, options: Mapping[str, Any]) -> Fit:
    """The fit without its warnings.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C ended it early, which a fit by itself only warns of.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit = model.fit(**options)
    if fit.response.failure == INTERRUPTED or any(
        str(one.message).startswith(INTERRUPTED) for one in said
    ):
        raise KeyboardInterrupt
    return fit


def in_one_line(error: Exception) -> str:
    """Kind of the error, the first line of its message, and its hint."""
    first, *rest = f"{type(error).__name__}: {error}".strip().splitlines()
    return "; ".join([first, *(line for line in rest if line.startswith("hint: "))])
