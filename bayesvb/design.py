"""Formula and data frame together: the matrices that a model is fitted to.

Nothing outside this module and those below it knows formulas or data frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from bayesvb.design_checks import (
    check_known,
    check_missing,
    check_response,
    complete_rows,
    ranges,
    warn_of_design,
)
from bayesvb.encoding import RESPONSE, Terms, terms_of
from bayesvb.errors import DataError
from bayesvb.formula import Formula
from bayesvb.frames import as_frame, columns_of, kind_of, missing_rows
from bayesvb.gaps import observed_rows, require_values
from bayesvb.recipe import Recipe, learn
from bayesvb.responses import Classes, ResponseKind, check_width, class_column, classes_of
from bayesvb.variables import numeric_columns, require_numbers

__all__ = ["Design", "Rows", "build_design"]

Response = Float[np.ndarray, "rows responses"] | Int[np.ndarray, " rows"]
Mask = Bool[np.ndarray, " given"]
Matrix = Float[np.ndarray, "rows _"]
POLICIES = ("drop", "raise", "keep")


@dataclass(frozen=True, eq=False)
class Rows:
    """New data after a formula.

    Attributes
    ----------
    index : pandas.Index
        All rows given.
    complete : array of bool, shape (rows,)
        Rows with every value that the formula reads; where missing values stay, with any.
    matrices : mapping of str to array
        Part -> array with one row per complete row.
    response : array or None
        Responses of the complete rows, if they were asked for.
    """

    index: pd.Index
    complete: Bool[np.ndarray, " given"]
    matrices: Mapping[str, Float[np.ndarray, "rows _"]]
    response: Response | None


@dataclass(frozen=True, eq=False)
class Design:
    """A formula's matrices, and how to make the same columns of new data.

    Attributes
    ----------
    formula : Formula
        Its parts.
    frame : pandas.DataFrame
        Rows used, and the columns that the formula reads, as they were given. A design built from
        the same formula and this frame is the same design.
    response : array or None
        Shape (rows, responses); if categorical the number of each row's class, shape (rows,).
    response_names : tuple of str
        As the formula writes them.
    levels : tuple of str or None
        Labels of the classes of a categorical response; ``classes`` holds them as values.
    matrices : mapping of str to array
        Part -> array of shape (rows, terms) in C order.
    terms : mapping of str to tuple of str
        Part -> names of the columns of its matrix.
    complete : array of bool, shape (given,)
        Rows of the data given that are used: those with every value that the formula reads.
    """

    formula: Formula
    frame: pd.DataFrame
    response: Response | None
    response_names: tuple[str, ...]
    levels: tuple[str, ...] | None
    matrices: Mapping[str, Float[np.ndarray, "rows _"]]
    terms: Mapping[str, tuple[str, ...]]
    complete: Bool[np.ndarray, " given"]
    _recipe: Recipe = field(repr=False)
    classes: Classes | None = field(repr=False)

    @property
    def index(self) -> pd.Index:
        """Index of the rows used."""
        return self.frame.index

    @property
    def covariates(self) -> tuple[str, ...]:
        """Columns of the data that the parts read, in their order."""
        parts = dict.fromkeys(self._recipe.terms.source.values())
        read = {slot.column for slot in self._recipe.terms.slots(*parts)}
        return tuple(name for name in map(str, self.frame.columns) if name in read)

    @property
    def context(self) -> Mapping[str, object]:
        """Functions that the formula may call besides the usual ones."""
        return self._recipe.context

    @property
    def n_missing(self) -> int:
        """Rows left out because a value was missing."""
        return int((~self.complete).sum())

    def new(self, data: object, *, response: bool = False) -> Rows:
        """The same columns for other data: one row of the answer per row of the data.

        Parameters
        ----------
        data : table
            Any that `as_frame` reads; columns that the formula does not read are ignored.
        response : bool
            Whether the response is read too; rows without one are then incomplete.

        Raises
        ------
        DataError
            If a column is absent, holds levels that were not there before, or is not finite.
        """
        frame, source = as_frame(data), self._recipe.terms.source
        parts = list(dict.fromkeys(source.values()))
        if response and RESPONSE in self._recipe.specs:
            parts.append(RESPONSE)
        names = [slot.column for slot in self._recipe.terms.slots(*parts)]
        if response and self.classes:
            names.append(self.classes.column)
        columns = columns_of(frame, names, whose="the new data")
        absent = {name: missing_rows(column) for name, column in columns.items()}
        complete = (observed_rows if self._recipe.gaps else complete_rows)(absent, len(frame))
        kept = _kept(columns, complete)
        made = self._recipe.encode(kept, parts, int(complete.sum()))
        target: Response | None = made.get(RESPONSE)
        if response and self.classes:
            target = self.classes.codes(kept[self.classes.column])
        matrices = {part: made[source[part]] for part in self.matrices}
        return Rows(frame.index, complete, matrices, target)


def build_design(
    formula: Formula,
    data: object,
    *,
    response: ResponseKind = "numeric",
    context: Mapping[str, object] | None = None,
    missing: str = "drop",
    warn: bool = True,
) -> Design:
    """The design of a formula on data.

    Parameters
    ----------
    formula : Formula
        From `parse_formula`.
    data : pandas, polars or pyarrow table, or mapping of columns
        It is not changed, and not copied where no value is missing.
    response : {"numeric", "categorical", "any", "none"}
        What the model can explain; "any" takes text, levels and truth values for classes.
    context : mapping, optional
        Functions and constants that the formula may use besides the allow-list.
    missing : {"drop", "raise", "keep"}
        What to do with rows that lack a value which the formula reads. Numbers of a formula
        without response may stay missing, NaN in the matrix; rows without any are dropped.
    warn : bool
        Whether constant and collinear columns are worth a warning to the model.

    Raises
    ------
    DataError
        If the data cannot be used; the message names the column.
    FormulaError
        If the formula names what is not there.

    Warns
    -----
    DesignWarning
        Of constant and collinear columns, of fewer rows than terms, of numbers held as text.

    Examples
    --------
    >>> from bayesvb.formula import parse_formula
    >>> data = {"y": [1.0, 3.0, 2.0], "x": [0, 1, None]}
    >>> design = build_design(parse_formula("log(y) ~ x | gating(1)"), data)
    >>> design.terms["mean"], design.terms["gating"], design.n_missing
    (('Intercept', 'x'), ('Intercept',), 1)
    """
    check_known("response", response, get_args(ResponseKind))
    check_known("missing", missing, POLICIES if formula.response is None else POLICIES[:2])
    frame = as_frame(data)
    if not len(frame):
        raise DataError("the data have no rows")
    terms = _terms(formula, frame, context or {}, response)
    read = {slot.column for slot in terms.slots(*terms.lists)}
    names = [name for name in dict.fromkeys(frame.columns) if name in read]
    columns = columns_of(frame, names, whose="the data")
    for name, column in columns.items():
        kind_of(column, name)
    if formula.response is None:
        require_numbers(terms, columns)
    absent = {name: missing_rows(column) for name, column in columns.items()}
    gaps = missing == "keep"
    complete = (observed_rows if gaps else complete_rows)(absent, len(frame))
    check_missing(absent, complete, policy=missing)
    index = frame.index if complete.all() else frame.index[complete]
    used = pd.DataFrame(_kept(columns, complete), index=index, copy=False)
    return _design(formula, terms, used, complete, _Wanted(response, context or {}, gaps, warn))


@dataclass(frozen=True)
class _Wanted:
    """What a model asks of its design; see `build_design`."""

    response: ResponseKind
    context: Mapping[str, object]
    gaps: bool
    warn: bool


def _terms(
    formula: Formula, frame: pd.DataFrame, context: Mapping[str, object], response: str
) -> Terms:
    """The formula's terms; without the response's if it is not wanted."""
    columns = list(dict.fromkeys(frame.columns))
    dot = columns if formula.response is not None else numeric_columns(frame)
    terms = terms_of(formula, columns, dot=dot, context=context)
    if response != "none":
        return terms
    lists = {part: terms.lists[part] for part in terms.lists if part != RESPONSE}
    return Terms(lists, terms.source)


def _kept(columns: Mapping[str, pd.Series], complete: Mask) -> dict[str, pd.Series]:
    """The complete rows; the same columns, not copies, if that is all of them."""
    if complete.all():
        return dict(columns)
    return {name: column[complete] for name, column in columns.items()}


def _design(
    formula: Formula, terms: Terms, used: pd.DataFrame, complete: Mask, wanted: _Wanted
) -> Design:
    """The design of the rows used."""
    if len(used) == 1:
        raise DataError("the data have one complete row only; a fit needs two or more")
    columns = {str(name): used[name] for name in used.columns}
    parts = list(dict.fromkeys(terms.source.values()))
    classes = None
    if RESPONSE in terms.lists:
        name = class_column(formula, terms, columns, kind=wanted.response)
        classes = classes_of(columns[name], name) if name else None
        parts += [] if name else [RESPONSE]
    recipe, made = learn(
        formula, terms, columns, len(used), parts=parts, context=wanted.context, gaps=wanted.gaps
    )
    _check(formula, recipe, made, warn=wanted.warn)
    names = recipe.names.get(RESPONSE, (formula.response or "",) if classes else ())
    target: Response | None = made.get(RESPONSE)
    return Design(
        formula=formula,
        frame=used,
        response=classes.codes(columns[classes.column]) if classes else target,
        response_names=names,
        levels=classes.labels if classes else None,
        matrices={part: made[terms.source[part]] for part in formula.parts},
        terms={part: recipe.names[terms.source[part]] for part in formula.parts},
        complete=complete,
        _recipe=recipe,
        classes=classes,
    )


def _check(formula: Formula, recipe: Recipe, made: Mapping[str, Matrix], *, warn: bool) -> None:
    """Each matrix is finite; warn of what is probably not meant."""
    for part, matrix in made.items():
        if recipe.gaps:
            require_values(matrix, recipe.names[part])
            continue
        found = ranges(matrix, recipe.names[part])
        if part == RESPONSE:
            check_width(formula, recipe.terms, recipe.names[part])
            check_response(found, recipe.names[part])
            continue
        twins = [other for other in formula.parts if recipe.terms.source[other] == part]
        if warn:
            warn_of_design(" and ".join(twins), matrix, recipe.names[part], found)
