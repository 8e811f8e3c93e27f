"""Stage 2, bind: of rows that are read in blocks a sample, and rows that show all there is.

One pass. Rows that show all there is are, of every column, the first of each level and those with
the smallest and the largest value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesvb.data.frames import as_frame, kind_of, missing_rows
from bayesvb.errors import DataError
from bayesvb.formula.dates import is_temporal
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.missing import refuse_missing, usable_rows
from bayesvb.numerics.arrays import RowMask, RowVector

SAMPLE_ROWS = 10_000
"""Rows of the sample."""

SEED = 20_000_003
"""First word of the key by which rows are chosen: the same ones each time that they are read."""


@dataclass(frozen=True)
class Choice:
    """Selection of rows that are kept.

    Attributes
    ----------
    names : tuple of str
        Columns that the formula reads.
    together : tuple of tuple of str
        Columns whose levels form groups; levels of single columns are contained in any case.
    levels : tuple of str
        Columns of numbers whose values are levels.
    weights : str or None
        Column of case weights.
    keeps_missing : bool
        Whether rows that lack some of the values can be used.
    may_lack : tuple of str
        Columns whose values rows may lack in any case.
    """

    names: tuple[str, ...]
    together: tuple[tuple[str, ...], ...] = ()
    levels: tuple[str, ...] = ()
    weights: str | None = None
    keeps_missing: bool = False
    may_lack: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that are read."""
        more = () if self.weights is None else (self.weights,)
        return tuple(dict.fromkeys((*self.names, *more)))

    def of_frame(self, number: int, frame: pd.DataFrame) -> Representatives:
        """Selection from a frame, by its number."""
        table = as_frame(frame).reset_index(drop=True)
        names = list(self.names)
        read = [name for name in names if name not in self.may_lack]
        absent = {name: missing_rows(table[name]) for name in read}
        usable = usable_rows(absent, len(table), keep=self.keeps_missing)
        weight = None if self.weights is None else _weights(table[self.weights], self.weights)
        kept = table[usable]
        keys = np.random.default_rng([SEED, number]).random(len(kept))
        shown = kept[self._shows(kept[names])]
        chosen = _smallest(keys, SAMPLE_ROWS)
        return Representatives(
            self,
            kept[chosen],
            keys[chosen],
            shown,
            (len(table), len(kept)),
            {name: int(where.sum()) for name, where in absent.items()},
            float(len(kept) if weight is None else weight[usable].sum()),
        )

    def _shows(self, kept: pd.DataFrame) -> RowMask:
        """Rows that show a level, a group or an end that no row before them does."""
        shows = np.zeros(len(kept), dtype=bool)
        if not len(kept):
            return shows
        for name in kept.columns:
            column = kept[name]
            if is_temporal(column):
                shows[_ends(column)] = True
                continue
            of_levels = kind_of(column, name) == "levels" or name in self.levels
            if of_levels:
                first = ~column.duplicated().to_numpy()
                if first.sum() > LIMITS.stored_levels:
                    raise DataError(
                        f"`{name}` has more than {LIMITS.stored_levels} levels",
                        hint="omit it, or hash it: hashed(name, levels=100)",
                    )
                shows |= first
            else:
                shows[_ends(column.astype(float))] = True
        for names in self.together:
            shows |= ~kept.duplicated(list(names)).to_numpy()
        return shows


@dataclass(frozen=True, eq=False)
class Representatives:
    """A sample of rows, rows with every level and extreme, and counts; ``+`` adds later rows.

    Attributes
    ----------
    choice : Choice
        Selection.
    sample : pandas.DataFrame
        Complete rows chosen at random without replacement, in their order; the index says where
        they stand among all rows given.
    keys : ndarray, shape (rows of the sample,)
        Random numbers of all rows: those with the smallest are chosen.
    shown : pandas.DataFrame
        Rows that show all there is.
    n_rows : tuple of int and int
        Rows given, and those that can be used.
    missing : mapping of str to int
        Rows that lack a value, by column.
    total_weight : float
        Sum of the case weights of complete rows.
    """

    choice: Choice
    sample: pd.DataFrame
    keys: RowVector
    shown: pd.DataFrame
    n_rows: tuple[int, int]
    missing: Mapping[str, int]
    total_weight: float

    def __add__(self, other: Representatives) -> Representatives:
        """Selection from all rows of both."""
        moved = [
            one.set_axis(one.index + self.n_rows[0], axis=0) for one in (other.sample, other.shown)
        ]
        keys = np.concatenate([self.keys, other.keys])
        chosen = _smallest(keys, SAMPLE_ROWS)
        shown = _joined(self.shown, moved[1])
        return Representatives(
            self.choice,
            _joined(self.sample, moved[0])[chosen],
            keys[chosen],
            shown[self.choice._shows(shown[list(self.choice.names)])],
            (self.n_rows[0] + other.n_rows[0], self.n_rows[1] + other.n_rows[1]),
            {name: count + other.missing[name] for name, count in self.missing.items()},
            self.total_weight + other.total_weight,
        )

    @property
    def n_missing(self) -> int:
        """Rows that lack a value."""
        return self.n_rows[0] - self.n_rows[1]

    @property
    def weight(self) -> RowVector | None:
        """Case weights of the sample."""
        name = self.choice.weights
        return None if name is None else self.sample[name].to_numpy(dtype=np.float64)

    @property
    def together(self) -> pd.DataFrame:
        """Sample and rows that show all there is, each row once, in their order."""
        both = _joined(self.sample, self.shown)
        return both[~both.index.duplicated()].sort_index()

    def check(self, policy: str) -> None:
        """Refuse rows without weight, without a value, or fewer than two.

        Raises
        ------
        DataError
            With the number of missing values in each column.
        """
        refuse_missing(self.missing, self.n_rows[1], self.n_rows[0], policy=policy)
        if self.n_rows[1] == 1:
            raise DataError("the data have one complete row only; a fit needs two or more")
        if not self.total_weight > 0.0:
            raise DataError("all weights are zero", hint="omit weights, or give some rows weight")


def _smallest(keys: RowVector, most: int) -> RowMask:
    """Whether each key is among the ``most`` smallest."""
    if len(keys) <= most:
        return np.ones(len(keys), dtype=bool)
    return np.asarray(keys <= np.partition(keys, most - 1)[most - 1])


def _ends(column: pd.Series) -> list[int]:
    """Places of the smallest and the largest value; none of a column without any."""
    if not column.notna().any():
        return []
    values = pd.to_datetime(column, utc=True) if column.dtype.kind == "O" else column
    return [int(values.argmin()), int(values.argmax())]


def _joined(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Rows of two tables, with the types of the table that is not empty."""
    if not len(after) or not len(before):
        return after if len(after) else before
    return pd.concat([before, after])


def _weights(column: pd.Series, name: str) -> RowVector:
    """Case weights, which are numbers that are not negative."""
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights={name!r} must be numbers: {error}") from error
    bad = int((~np.isfinite(values) | (values < 0.0)).sum())
    if bad:
        raise DataError(
            f"weights={name!r}: {bad} weights in a block of {len(values)} rows are negative, "
            "missing or infinite",
            hint="remove these rows from the data, or give them the weight 0",
        )
    return values
