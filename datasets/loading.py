"""Data sets as frames: the shipped files, and draws from the simulation designs."""

from __future__ import annotations

from functools import partial
from importlib import resources

import numpy as np
import pandas as pd

from bayesvb.argument_checks import checked
from bayesvb.errors import DataError

from .catalogue import Description, describe
from .simulations import SIMULATIONS

__all__ = ["load"]


UNITLESS = ("none", "category", "not stated")
"""What the catalogue says of columns without a unit."""

MOST_ROWS = 10**8
"""Rows of a simulation."""


def _check_seed(name: str, value: object) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 0:  # type: ignore[operator]
        hint = "leave seed out for fresh draws"
        raise DataError(f"seed = {str(value)[:80]} is negative, or no whole number", hint=hint)


@partial(checked, seed=_check_seed)
def load(name: str, *, n: int | None = None, seed: int | None = None) -> pd.DataFrame:
    """Data set as a frame, the response in the last column.

    Parameters
    ----------
    name : str
        One of `names`; `describe` tells the columns and their units.
    n : int, optional
        Number of rows to simulate; only for simulations, which have their own default.
    seed : int, optional
        Seed of the simulation, for the same rows again; fresh entropy if not given.

    Returns
    -------
    pandas.DataFrame
        Numbers as in the source; text columns as categories, in the order of the catalogue. Units
        are in ``attrs["units"]``, from where plots and reports take them.

    Raises
    ------
    DataError
        If there is no such data set, `n` or `seed` is given for a shipped one, `n` is below one
        or `seed` is negative.

    Examples
    --------
    >>> from bayesvb import datasets
    >>> datasets.load("mcycle").shape
    (133, 2)
    >>> datasets.load("bimodal", n=50, seed=1).columns.tolist()
    ['x', 'y']
    """
    description = describe(name)
    if description.simulated:
        return _simulate(description, n, seed)
    given = [option for option, value in (("n", n), ("seed", seed)) if value is not None]
    if given:
        raise DataError(
            f"{' and '.join(given)} cannot be chosen: {name!r} is a shipped table of "
            f"{description.rows} rows, not a simulation",
            hint=f"write load({name!r})",
        )
    return _read(description)


def _simulate(description: Description, n: int | None, seed: int | None) -> pd.DataFrame:
    """Draw from a simulation design."""
    rows = description.rows if n is None else n
    whole = isinstance(rows, int | np.integer) and not isinstance(rows, bool)
    if not whole or not 1 <= rows <= MOST_ROWS:
        raise DataError(f"n = {str(rows)[:80]} rows cannot be drawn", hint="n is at least 1")
    return SIMULATIONS[description.name].sample(rows, np.random.default_rng(seed))


def _read(description: Description) -> pd.DataFrame:
    """Read a shipped file."""
    file = resources.files("bayesvb.datasets").joinpath("data", f"{description.name}.csv")
    levelled = {one.name: list(one.levels) for one in description.columns if one.levels}
    with file.open("rb") as stream:  # levels may be written with digits
        frame = pd.read_csv(stream, dtype=dict.fromkeys(levelled, "str"))
    categories = {
        name: pd.Categorical(frame[name], categories=levels) for name, levels in levelled.items()
    }
    frame = frame.assign(**categories)
    frame.attrs["units"] = {
        column.name: column.unit for column in description.columns if column.unit not in UNITLESS
    }
    return frame
