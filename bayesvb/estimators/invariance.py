"""Does a fit depend on units, on reference levels or on the order of the rows? Refits that test it.

None of these changes the model: numeric covariates are centred and scaled, factors have contrasts
that the prior treats alike, and rows are exchangeable. What moves is either a prior that is not
invariant, such as without standardisation, or an optimum that another initialisation has found.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from bayesvb.data.parts import PARTS
from bayesvb.errors import DataError
from bayesvb.formula.dot import every_column
from bayesvb.numerics.arrays import RowIntegers, RowVector
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.exact_draws import is_integrated
from bayesvb.results.leave_one_out import has_log_predictive

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

SCALE = 7.3
"""Factor of numbers in other units: no power of two, whose products are exact."""

SHIFT = 3.1
"""Shift of numbers, in their standard deviations."""

CALLS = frozenset({"s", "te", "bs", "cr", "cc", "poly", "scale", "center", "", *PARTS})
"""Functions, and parentheses, within which a column may have other units."""

MOVED = 0.01
"""Nats per row above which a fit has changed: ten times the error that the default tol allows."""


@dataclass(frozen=True, kw_only=True)
class _Change:
    """The rows in another form, in which the model is the same.

    Attributes
    ----------
    frame : pandas.DataFrame
        Rows in their order.
    order : ndarray, shape (rows,)
        Order in which the model is given them.
    log_unit : float
        Log of the unit, subtracted from the log density of a row.
    """

    frame: pd.DataFrame
    order: RowIntegers
    log_unit: float = 0.0


def invariance(fit: AbstractFit) -> pd.DataFrame:
    """Refits with the rows in other forms, made once; see ``Fit.invariance``."""
    if "invariance" not in fit.cache:
        fit.cache["invariance"] = _compare(fit)
        fit.cache["report parts"] = {}  # were written without it
    table: pd.DataFrame = fit.cache.get("invariance")
    return table.copy()


def _compare(fit: AbstractFit) -> pd.DataFrame:
    """Changes of the fit by the form of the rows."""
    if fit.members:
        raise DataError(
            f"invariance() needs a single restart, but the fit {fit.combination}",
            hint="use one of the restarts: fit.members[0].fit.invariance()",
        )
    check_all_rows(fit.model, "invariance", "the model is fitted again to each form of them")
    rows = fit.model.design.given.reset_index(drop=True)
    original = _log_density(fit, rows)
    table = {}
    for name, change in _changes(fit, rows):
        again = _refitted(fit, change)
        moved = _log_density(again, change.frame) + change.log_unit - original
        units = change.log_unit * fit.model.source.total_weight
        largest = float(np.abs(moved).max())
        table[name] = {
            "elbo": float(again.elbo + units - fit.elbo),
            "mean_log_density": float(moved.mean()),
            "largest": largest,
            "moved": bool(np.sqrt(np.mean(moved**2)) > MOVED),
        }
    columns = ["elbo", "mean_log_density", "largest", "moved"]
    return pd.DataFrame.from_dict(table, orient="index", columns=columns).rename_axis("change")


def _changes(fit: AbstractFit, rows: pd.DataFrame) -> Iterator[tuple[str, _Change]]:
    """Forms in which this model is the same."""
    order = np.arange(len(rows))
    shuffled = np.random.default_rng(0).permutation(len(rows))
    yield "rows in another order", _Change(frame=rows, order=shuffled)
    numbers = [name for name in _free_columns(fit) if pd.api.types.is_float_dtype(rows[name])
               or (pd.api.types.is_integer_dtype(rows[name]))]  # fmt: skip
    supervised = fit.model.formula.response is not None
    if numbers:
        shift: Callable[[pd.Series], pd.Series] = lambda x: x + SHIFT * np.std(x)  # noqa: E731
        yield "columns shifted", _Change(frame=_with(rows, numbers, shift), order=order)
    if numbers and supervised:
        yield (
            "columns scaled",
            _Change(frame=_with(rows, numbers, lambda x: SCALE * x), order=order),
        )
    factors = [name for name in _free_columns(fit) if _is_factor(rows[name])]
    if factors and supervised:
        yield "levels in another order", _Change(frame=_with(rows, factors, _turned), order=order)
    response = _free_response(fit, rows)
    if response is not None:
        frame = _with(rows, [response], lambda y: SCALE * (y + SHIFT * np.std(y)))
        unit = float(np.log(SCALE))
        yield "response in other units", _Change(frame=frame, order=order, log_unit=unit)


def _free_columns(fit: AbstractFit) -> list[str]:
    """Columns that the formula reads as they are, or in functions that have no unit."""
    text, design = fit.model.formula.text, fit.model.design
    supervised = fit.model.formula.response is not None
    names = design.covariates if supervised else tuple(fit.model.observed())
    return [
        name
        for name in names
        if not _bound(text, name)
        and (_is_factor(design.given[name]) or name not in design.by_levels)
    ]


def _bound(text: str, name: str) -> bool:
    """Whether a column stands within a call, such as ``log(x)``, to which its unit matters.

    Examples
    --------
    >>> [_bound("y ~ log(x) + z*x + s(v) | gating(w)", name) for name in "xzvw"]
    [True, False, False, False]
    """
    opened: list[str] = []
    for token in re.findall(r"[\w.]*\(|\)|`[^`]*`|[\w.]+", text):
        if token.endswith("("):
            opened.append(token[:-1])
        elif token == ")":
            opened = opened[:-1]
        elif token.strip("`") == name and not set(opened) <= CALLS:
            return True
    return False


def _is_factor(column: pd.Series) -> bool:
    """Text, or categories without an order."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return not column.dtype.ordered
    return bool(pd.api.types.is_string_dtype(column) or pd.api.types.is_object_dtype(column))


def _turned(column: pd.Series) -> pd.Series:
    """Factor whose last level comes first."""
    levels = column.astype("category").cat.categories[::-1]
    return cast(pd.Series, column.astype(pd.CategoricalDtype(levels)))


def _free_response(fit: AbstractFit, rows: pd.DataFrame) -> str | None:
    """Response of a model of numbers, if it is a column as it is."""
    names = fit.model.design.response_names
    known = fit.model.response.kind == "continuous" and len(names) == 1
    return names[0] if known and names[0] in rows else None


def _with(
    rows: pd.DataFrame, names: list[str], change: Callable[[pd.Series], pd.Series]
) -> pd.DataFrame:
    """Rows with these columns changed."""
    return rows.assign(**{name: change(rows[name]) for name in names})


def _refitted(fit: AbstractFit, change: _Change) -> AbstractFit:
    """The model of the rows in another form, fitted as the fit was."""
    model = fit.model
    frame = change.frame.iloc[change.order].reset_index(drop=True)
    options = {**model.options(), "priors": model.priors, "context": model.design.context}
    if model.weights is not None:
        options["weights"] = model.weights[change.order]
    kind: Any = type(model)
    with every_column(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = kind(model.formula.text, frame, **options)
        refit: AbstractFit = again.fit(
            fit.method,
            restarts=len(fit.restarts),
            combine="stack" if "weight" in fit.restarts else "best",
            # A posterior that integrates over scales has other predictions than the mean-field one.
            covariance="exact" if is_integrated(fit) else "mean-field",
            seed=fit.seed,
            **fit.method_options,
        )
        return refit


def _log_density(fit: AbstractFit, rows: pd.DataFrame) -> RowVector:
    """Log predictive density of every row, in its units; draws use the same random numbers."""
    if not has_log_predictive(fit.core, fit.model.source, fit.stats):
        # Draws of the log density of models for which it has no closed form.
        draws = fit.core.draws(fit.q, 400, np.random.default_rng(0))
        fit = replace(fit, variational_draws=draws)
    return np.asarray(fit.log_density(rows), dtype=float)
