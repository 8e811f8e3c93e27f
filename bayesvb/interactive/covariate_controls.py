"""Controls for the covariates of a fit, and the row of data that is written in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.argument_checks import shown
from bayesvb.effects.covariates import covariate, crossed, held_value, is_number
from bayesvb.errors import DataError
from bayesvb.formula.group_columns import UNSEEN
from bayesvb.interactive.messages import Control

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def covariate_controls(fit: AbstractFit) -> tuple[Control, ...]:
    """Return a control for each covariate of a fit; none of a model without a response.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    >>> (control,) = covariate_controls(model.fit(seed=1, restarts=1))
    >>> control.low, control.value, control.high, control.step
    ('1.6', '4', '5.1', '0.01')
    """
    design = fit.model.design
    return tuple(_control(fit, name) for name in design.covariates if design.response_names)


def _control(fit: AbstractFit, name: str) -> Control:
    design, label = fit.model.design, fit.model.design.label(name)
    typical = _text(held_value(design, name, centre="median"))
    if levels := _levels(fit, name):
        return Control(name=name, label=label, kind="level", value=typical, levels=tuple(levels))
    values = design.frame[name].to_numpy(dtype=float)
    low, high = float(values.min()), float(values.max())
    if _is_date(fit, name):
        days = (float(np.median(values)), low, high)
        value, first, last = (str(design.date_of(name, day))[:10] for day in days)
        return Control(name=name, label=label, kind="date", value=value, low=first, high=last)
    step = _round_step(high - low, whole=bool((values == np.round(values)).all()))
    low, value, high = np.floor(low / step), np.round(float(typical) / step), np.ceil(high / step)
    return Control(
        name=name, label=label, kind="number", value=_text(value * step), low=_text(low * step),
        high=_text(high * step), step=_text(step),
    )  # fmt: skip


def _is_date(fit: AbstractFit, name: str) -> bool:
    """Whether a covariate holds dates; durations are numbers of days."""
    return isinstance(fit.model.design.date_of(name, 0.0), pd.Timestamp)


def _levels(fit: AbstractFit, name: str) -> dict[str, object]:
    """Values of a covariate by their text if it has few of them, or levels; empty otherwise."""
    design = fit.model.design
    if is_number(design, name) and not covariate(design, name).discrete:
        return {}
    # Levels that a control offers, the first ones in their order.
    levels = {_text(value): value for value in covariate(design, name).values[:500]}
    return {**levels, UNSEEN: UNSEEN} if name in design.groupings else levels


def _round_step(width: float, *, whole: bool) -> float:
    # Least number of steps of a slider; a step is a round number.
    step = float(10.0 ** np.floor(np.log10(width / 200)))
    return max(step, 1.0) if whole else step


def _text(value: object) -> str:
    """Return a value as controls hold it: numbers with a point and no more digits than needed."""
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return f"{float(value):.10g}"
    return str(value)


def row_of(fit: AbstractFit, values: Mapping[str, str]) -> pd.DataFrame:
    """Return a row of data with these values; other covariates have their ``Control.value``.

    Raises
    ------
    DataError
        If a value is not a finite number, a date, or a level.
    """
    design = fit.model.design
    if not design.covariates:
        return design.data_at(np.arange(1))
    cells = {
        name: [_value(fit, name, values[name])]
        if name in values
        else [held_value(design, name, centre="median")]
        for name in design.covariates
    }
    return crossed(design.frame, cells, {})


def _value(fit: AbstractFit, name: str, text: str) -> object:
    if levels := _levels(fit, name):
        if text not in levels:
            raise DataError(f"{name}={shown(text)} is not a level", hint="choose one of the list")
        return levels[text]
    if _is_date(fit, name):
        return fit.model.design.in_days(name, [text])[0]
    return number(name, text)


def number(name: str, text: str) -> float:
    """Read a finite number.

    Raises
    ------
    DataError
        If the text is not one.
    """
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise DataError(f"{name}={shown(text)} is not a number", hint="write one such as 1.5")
    return value
