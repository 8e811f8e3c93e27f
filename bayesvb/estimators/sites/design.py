"""Rows of one of several sites, after a formula: columns as all sites have agreed on.

A formula estimates its state (levels, knots, centres, polynomials) from rows that represent the
rows of all sites: every level, and evenly spaced quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.frame_streams import AbstractFrames
from bayesvb.data.frames import as_frame, levels
from bayesvb.data.responses import AllResponses, Responses
from bayesvb.data.sources import AbstractSource
from bayesvb.data.streamed_rows import EncodedRows, in_memory_source
from bayesvb.errors import DataError
from bayesvb.formula.binding import bind
from bayesvb.formula.columns import roles_in, with_own_names
from bayesvb.formula.dates import is_temporal
from bayesvb.formula.design import Design
from bayesvb.formula.dot import every_column
from bayesvb.formula.encoder import Encoder, fit_encoder
from bayesvb.formula.parser import Formula
from bayesvb.formula.passes.design_rows import (
    TARGET,
    AbstractDesignReader,
    Moments,
    encoded_design,
    responses_in,
)
from bayesvb.formula.passes.representatives import Choice, Representatives
from bayesvb.formula.passes.streamed_design import (
    AbstractSampledRows,
    BlockEncoding,
    columns_to_read,
    design_of_sample,
    known_rows,
)
from bayesvb.formula.responses import ResponseKind

TOLD_SHARES = np.linspace(0.0, 1.0, 33)
"""Proportions at which a site reports the values of a column."""


@dataclass(frozen=True, eq=False)
class PooledColumns:
    """Columns that a formula reads, as reported by all sites.

    Attributes
    ----------
    levels : mapping of str to list
        Every column, with its levels; none of numbers.
    quantiles : mapping of str to ndarray, shape (shares,)
        Values at evenly spaced shares, the ends among them, of the columns of numbers by which
        knots, centres and polynomials are found.
    """

    levels: Mapping[str, Sequence[object]]
    quantiles: Mapping[str, Float[np.ndarray, " shares"]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PooledRowSummary:
    """Counts and moments of the rows of all sites.

    Attributes
    ----------
    n_sites, n_rows, n_given : int
        Sites, rows that can be used, and rows given.
    total_weight : float
        Sum of the case weights of rows that can be used.
    missing : mapping of str to int
        Rows that lack a value, by column.
    moments : mapping of str to ColumnMoments
        Of all that is standardised.
    responses : ndarray, shape (responses, shares), or None
        Values at evenly spaced proportions of the responses less their offsets.
    """

    n_sites: int
    n_rows: int
    n_given: int
    total_weight: float
    missing: Mapping[str, int]
    moments: Mapping[str, ColumnMoments]
    responses: Float[np.ndarray, "responses shares"] | None = None


@final
@dataclass(frozen=True, eq=False)
class SiteFrames(AbstractFrames, AbstractDesignReader):
    """Rows of one of several sites, all of them in memory there, as one frame.

    Attributes
    ----------
    frame : pandas.DataFrame
    columns : PooledColumns or None
        None before sites have reported any.
    rows : PooledRowSummary or None
    """

    frame: pd.DataFrame
    columns: PooledColumns | None = None
    rows: PooledRowSummary | None = None

    @property
    def words(self) -> str:
        """Number of sites, in words."""
        n_sites = 1 if self.rows is None else self.rows.n_sites
        return "one site" if n_sites == 1 else f"{n_sites} sites"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.frame.columns))

    def each(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Iterate over these columns of the rows of this site."""
        yield self.frame

    def design_rows(
        self,
        formula: Formula,
        *,
        response: ResponseKind,
        context: Mapping[str, object] | None,
        missing: str,
        weights: str | None,
    ) -> RowsOfSite:
        """Rows of the site, after a formula; arguments as of ``rows_in_blocks``.

        Raises
        ------
        DataError
            If the data cannot be used, or sites cannot agree on the state of the formula.
        FormulaError
            If the formula names a column or function that does not exist.
        """
        choice = columns_to_read(formula, self, response, context or {}, weights)
        choice = replace(choice, keeps_missing=missing == "keep")
        rows = _own_rows(choice, self)
        rows.check(missing)
        _check_together(choice, rows.sample)
        basis = rows.sample[list(choice.names)]
        policy = "keep" if choice.keeps_missing else "drop"
        with ExitStack() as stack:
            if self.columns is not None:
                basis = _standing_in(basis, self.columns)
                stack.enter_context(every_column())
            bound, usable = bind(
                formula, basis, response=response, context=context or {}, missing=policy
            )
        encoder = fit_encoder(bound, usable)[0]
        shown = basis.iloc[:0] if self.columns is None else basis
        known = known_rows(rows, self, shown)
        design = design_of_sample(encoder, rows.sample[list(basis.columns)], known, rows.weight)
        return RowsOfSite(design, rows, self, BlockEncoding(encoder, weights), self.rows)


@final
@dataclass(frozen=True, eq=False)
class RowsOfSite(AbstractSampledRows):
    """Rows of one of several sites, with the pooled knowledge of all rows.

    Attributes
    ----------
    pooled : PooledRowSummary or None
        None before the sites have pooled any.
    """

    pooled: PooledRowSummary | None

    @cached_property
    def moments(self) -> Moments:
        """Moments of all columns, over all sites once they have pooled them."""
        here = self._own_moments
        return here if self.pooled is None else _of_all_sites(here, self.pooled.moments)

    @cached_property
    def _own_moments(self) -> Moments:
        """Moments of all columns over the rows of this site."""
        return self.encoding.moments(0, self.rows.sample)

    @property
    def is_whole(self) -> bool:
        return self.pooled is not None

    def ends(self, name: str) -> Float[np.ndarray, "2 columns"]:
        """Extremes of this site: sites pool none, which would be values of single rows."""
        moments = self._own_moments[name]
        return np.stack([moments.lowest, moments.highest])

    def source(self, standardise: Callable[[EncodedRows], Block]) -> AbstractSource | None:
        """Blocks of the rows of this site; None without others."""
        if not self.design.is_sample:
            return None
        return in_memory_source(standardise, encoded_design(self.design, self.design.weights))

    @property
    def responses(self) -> AllResponses:
        """Responses of all sites: their moments, and values at evenly spaced shares."""
        read = self.read_responses if self.pooled is None else self._pooled_responses
        return AllResponses(self.moments[TARGET], read)

    def read_responses(self, *, as_given: bool = False) -> Iterator[Responses]:
        """Responses of this site."""
        return responses_in(self.in_memory, as_given=as_given)

    def _pooled_responses(self) -> Iterator[Responses]:
        """Values at evenly spaced shares of the responses of all sites.

        Raises
        ------
        DataError
            If there are case weights, or the sites have pooled no such values.
        """
        assert self.pooled is not None
        if self.design.weights is not None:
            raise DataError(
                "a family scaled by medians cannot have case weights at sites: they pool quantiles "
                "of rows that count once",
                hint="omit weights, or choose family='gaussian'",
            )
        if self.pooled.responses is None:
            raise DataError(
                "the sites have pooled no quantiles of the response, whose medians this family "
                "needs",
                hint="set scaled_by_medians = True in the class of its experts",
            )
        yield np.ascontiguousarray(self.pooled.responses.T), None


def columns_told(design: Design) -> PooledColumns:
    """Report of a site's rows on the columns that a formula reads.

    Raises
    ------
    DataError
        If a transform learns of several columns together.
    """
    levelled, classes = set(design.column_levels), design.classes
    if classes is not None:
        levelled.add(classes.column)
    levels_by_column = {
        name: levels(design.frame[name], name).categories.tolist() if name in levelled else []
        for name in map(str, design.frame.columns)
    }
    curved = [name for name in _learned(design._encoder) if name not in levelled]
    return PooledColumns(
        levels_by_column, {name: quantiles_told(design.frame[name]) for name in curved}
    )


def quantiles_told(values: object) -> Float[np.ndarray, " shares"]:
    """Values of a column at evenly spaced shares."""
    return np.asarray(np.quantile(np.asarray(values, dtype=float), TOLD_SHARES))


def moments_told(design: Design, frame: pd.DataFrame, weights: str | None) -> Moments:
    """Moments of all that is standardised, of the rows of a site."""
    return BlockEncoding(design._encoder, weights).moments(0, frame)


def responses_told(design: Design) -> Float[np.ndarray, "responses shares"]:
    """Values at evenly spaced shares of the responses of this site, offsets subtracted."""
    ((matrix, _),) = responses_in(encoded_design(design, None))
    return np.stack([quantiles_told(column) for column in matrix.T])


def _own_rows(choice: Choice, frames: SiteFrames) -> Representatives:
    """All rows of the site that can be used, with the counts of all sites."""
    given = as_frame(frames.frame)
    site_rows, pooled = choice.of_frame(0, given), frames.rows
    usable = ~given[list(choice.names)].isna()
    kept = usable.any(axis=1) if choice.keeps_missing else usable.all(axis=1)
    site_rows = replace(site_rows, sample=given[kept.to_numpy()])
    if pooled is None:
        return site_rows
    return replace(
        site_rows,
        n_rows=(pooled.n_given, pooled.n_rows),
        missing=pooled.missing,
        total_weight=pooled.total_weight,
    )


def _check_together(choice: Choice, rows: pd.DataFrame) -> None:
    """Raise if sites cannot report a choice column by column."""
    if choice.together:
        raise DataError(
            "the formula has groups of several columns, and sites report the levels of each",
            hint="make one column of them in the data",
        )
    for name in choice.names:
        if is_temporal(rows[name]):
            raise DataError(
                f"`{name}` holds dates, which are counted from the first one of all rows",
                hint="make numbers of them in the data, from a day that all sites know",
            )


def _learned(encoder: Encoder) -> list[str]:
    """Columns of which transforms and terms learn more than moments, each once."""
    codes = [
        code
        for spec in encoder.specs.values()
        for code, state in spec.transform_state.items()
        if state
    ]
    codes += [
        code for part in encoder.own.values() for term in part.part.own for code in term.expressions
    ]
    priors: dict[str, None] = {}
    for code in codes:
        columns = dict.fromkeys(role.column for role in roles_in(code))
        if len(columns) > 1:
            raise DataError(
                f"`{with_own_names(code)}` depends on several columns jointly, but sites report "
                "quantiles of each column",
                hint="make one column of them in the data",
            )
        priors |= columns
    return list(priors)


def _of_all_sites(
    own: Mapping[str, ColumnMoments], pooled: Mapping[str, ColumnMoments]
) -> dict[str, ColumnMoments]:
    """Reports of all sites on the parts and columns that are standardised here.

    Raises
    ------
    DataError
        If they belong to another formula.
    """
    sizes = [{name: one.mean.size for name, one in each.items()} for each in (own, pooled)]
    if sizes[0] != sizes[1]:
        raise DataError(
            f"the sites have reported moments of {sizes[1]} columns; this formula has {sizes[0]}",
            hint="begin again, with the same model and version of bayesvb at all sites",
        )
    return dict(pooled)


def _standing_in(own: pd.DataFrame, pooled: PooledColumns) -> pd.DataFrame:
    """Rows with every reported level and quantile; other columns have values of this site.

    Raises
    ------
    DataError
        If a column is absent, or has levels that were not reported.
    """
    other = sorted(pooled.levels.keys() ^ set(map(str, own.columns)))
    if other:
        raise DataError(
            f"the sites have not reported the same columns as this formula reads: `{other[0]}`",
            hint="begin again, with the same model at all sites",
        )
    size = max([2, *map(len, pooled.levels.values()), *map(len, pooled.quantiles.values())])
    places = np.arange(size)
    columns: dict[str, object] = {}
    for name, known in pooled.levels.items():
        column = own[name]
        if known:
            _check_known(column, name, known)
            columns[name] = _cycled(known, places, column.dtype)
        elif name in pooled.quantiles:
            columns[name] = np.resize(pooled.quantiles[name], size)
        else:
            columns[name] = column.iloc[places % len(column)].array
    return pd.DataFrame(columns)


def _check_known(column: pd.Series, name: str, known: Sequence[object]) -> None:
    if set(levels(column, name).categories) - set(known):
        raise DataError(
            f"`{name}` has levels here that were not reported in the first round",
            hint="begin again with all rows of this site",
        )


def _position_in(categories: pd.Index) -> Callable[[object], int]:
    """Position of each level among the ordered categories of a site.

    Raises
    ------
    DataError
        If another site has a level that is none of them.
    """

    def position(level: object) -> int:
        if level not in categories:
            raise DataError(
                f"the level {level!r} of another site is not one of the ordered categories here",
                hint="give all sites the same categories",
            )
        return int(categories.get_indexer(pd.Index([level]))[0])

    return position


def _cycled(known: Any, places: Any, dtype: Any) -> object:
    """Levels one after the other, in the type of a column."""
    values = [known[place % len(known)] for place in places]
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.ordered:  # sites without some of the levels do not know where these belong
            known = sorted(known, key=_position_in(dtype.categories))
        return pd.Categorical(values, categories=list(known), ordered=dtype.ordered)
    return pd.Series(values).astype(dtype).array
