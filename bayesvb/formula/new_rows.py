"""Stage 3, encode: rows that were not there at first, with levels that nobody has seen before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Int

from bayesvb.data.labels import first_labels
from bayesvb.data.response_columns import RESPONSE_COLUMNS
from bayesvb.errors import BayesVBError, DataError, DesignWarning, warn
from bayesvb.formula.binding import UsableRows
from bayesvb.formula.checks import LARGEST
from bayesvb.formula.encoder import Encoder, Matrices
from bayesvb.formula.limits import LIMITS
from bayesvb.numerics.arrays import RowMask

NEW_GROUPS = ("marginal", "typical")

NEW_GROUPS_ALIASES = {"sample": "marginal", "population": "typical"}
"""Names that the policies had until version 0.2, still understood."""

NEW_LEVELS = ("error", "missing", "population")


@dataclass(frozen=True)
class Unseen:
    """Policy for levels that were not in the first rows.

    Attributes
    ----------
    groups : {"marginal", "typical", "error"}, optional
        ``"marginal"``: the effect of a new group of ``(x | g)`` has the distribution of groups,
        over which predictions integrate. ``"typical"``: it is zero. ``"error"``: a new group is an
        error. The default is ``"marginal"``, with a warning if every group is new.
    levels : {"error", "missing", "population"}
        A level of another column: an error, a row with a missing value, or a row that is the
        average over the known levels.
    """

    groups: str | None = None
    levels: str = "error"


def encode_new(
    encoder: Encoder, seen: pd.DataFrame, rows: UsableRows, unseen: Unseen, *, response: bool
) -> tuple[UsableRows, Matrices]:
    """Rows that can be used, and their matrices.

    Unless levels are refused no row keeps the others from being used: one that is infinite or too
    large to be squared, or in which a transform is not defined, counts as one that lacks a value.

    Parameters
    ----------
    encoder : Encoder
        State learned from the first rows.
    seen : pandas.DataFrame
        These.
    rows : UsableRows
        New ones.
    unseen : Unseen
        What to do with levels that the encoder does not know.
    response : bool
        Whether the response is read.

    Raises
    ------
    DataError, FormulaError
        If levels that were not there are refused, or a row that cannot be used.

    Warns
    -----
    DesignWarning
        If no group was in the first rows, and ``groups`` is not given.
    """
    sampled = unseen.groups != "typical"
    if unseen.groups is None:
        _warn_of_new_groupings(encoder, rows)
    if unseen.groups == "error":
        _check_groups(encoder, rows)
    if unseen.levels == "error":
        return rows, encoder.encode(rows, response=response, sampled=sampled)
    new = _NewRows(encoder, seen, response, sampled)
    strange = encoder.unknown(rows, response=response)
    anywhere = np.zeros(len(rows), dtype=bool)
    for where in strange.values():
        anywhere |= where
    made = new.blank(len(rows))
    new.fill(made, rows, np.flatnonzero(~anywhere))
    if unseen.levels == "population":
        for names, places in _alike(strange, anywhere):
            new.fill_averages(made, rows, places, names)
    usable = [
        ((np.abs(matrix) <= LARGEST) | (np.isinf(matrix) & (name in RESPONSE_COLUMNS))).all(axis=1)
        for name, matrix in made.items()
    ]
    whole = np.logical_and.reduce(usable)
    return rows.only(whole), {part: matrix[whole] for part, matrix in made.items()}


def _check_groups(encoder: Encoder, rows: UsableRows) -> None:
    """Refuse groups that were not in the first rows."""
    for column, (groups, _) in encoder.new_groups(rows).items():
        raise DataError(
            f"`{column}` has groups that are not in the data of the fit: {first_labels(groups)}",
            hint="fit again with a few rows of each group, or remove these rows",
        )


def _warn_of_new_groupings(encoder: Encoder, rows: UsableRows) -> None:
    """Warn of a column of groups none of which was in the first rows: labels may differ."""
    for column, (groups, is_any_known) in encoder.new_groups(rows).items():
        if is_any_known:
            continue
        known = next(
            levels for role, levels in encoder.levels.items()
            if (role.column, role.role) == (column, "groups")
        )  # fmt: skip
        warn(
            f"no group of `{column}` in the new data ({first_labels(groups)}) was in the data of "
            f"the fit ({first_labels(known.tolist())}): use the same labels, or, if the groups "
            f"are new, choose their prediction: new_groups={' or '.join(map(repr, NEW_GROUPS))}",
            DesignWarning,
        )


@dataclass(frozen=True)
class _NewRows:
    """Matrices of new rows, NaN in those that cannot be used."""

    encoder: Encoder
    seen: pd.DataFrame
    response: bool
    sampled: bool

    def blank(self, n_rows: int) -> Matrices:
        """Matrices of rows of which nothing is known yet."""
        named = self.encoder.blank_names(response=self.response)
        return {part: np.full((n_rows, len(names)), np.nan) for part, names in named.items()}

    def fill(self, made: Matrices, rows: UsableRows, places: Int[np.ndarray, " some"]) -> None:
        """Write the matrices of some rows where these stand."""
        for part, matrix in self.tolerant(rows.at(places)).items():
            made[part][places] = matrix

    def tolerant(self, rows: UsableRows) -> Matrices:
        """Matrices of rows; those that stop the others are found by halving."""
        try:
            return self.encoder.encode(
                rows, response=self.response, sampled=self.sampled, checked=False
            )
        except BayesVBError:
            if len(rows) == 1:
                return self.blank(1)
        middle, places = len(rows) // 2, np.arange(len(rows))
        halves = [self.tolerant(rows.at(half)) for half in (places[:middle], places[middle:])]
        return {part: np.concatenate([half[part] for half in halves]) for part in halves[0]}

    def fill_averages(
        self,
        made: Matrices,
        rows: UsableRows,
        places: Int[np.ndarray, " some"],
        names: Sequence[str],
    ) -> None:
        """Write the averages over the levels of some columns, as often as they were seen together.

        A linear predictor of the average is the average of linear predictors.
        """
        levels = self.seen.groupby(list(names), observed=True, sort=True).size().rename("count")
        table = levels[levels > 0].reset_index()
        share = (table.pop("count") / len(self.seen)).to_numpy()
        step = max(LIMITS.rows_at_once // len(table), 1)
        for start in range(0, len(places), step):
            some = places[start : start + step]
            repeated = rows.at(np.repeat(some, len(table)))
            every = np.tile(np.arange(len(table)), len(some))
            columns = {name: table[name].take(every) for name in names}
            filled = self.tolerant(replace(repeated, columns={**repeated.columns, **columns}))
            for part, matrix in filled.items():
                each = matrix.reshape(len(some), len(table), matrix.shape[1])
                made[part][some] = np.einsum("l,rlt->rt", share, each)


def _alike(
    strange: Mapping[str, RowMask], anywhere: RowMask
) -> Iterator[tuple[list[str], Int[np.ndarray, " some"]]]:
    """Rows with new levels in the same columns, and these columns."""
    if not anywhere.any():
        return
    where = np.stack(list(strange.values()))
    for pattern in np.unique(where[:, anywhere], axis=1).T:
        names = [name for name, present in zip(strange, pattern, strict=True) if present]
        yield names, np.flatnonzero((where == pattern[:, None]).all(axis=0))
