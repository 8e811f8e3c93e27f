"""Predictions of an ordered response, in the labels of its levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from bayesvb.data.ordered_levels import OrderedLevels
from bayesvb.distributions.base import AbstractRowDistribution
from bayesvb.distributions.prediction import PredictionOptions, predict

IN_LEVELS = ("quantile", "interval", "draws")
"""Kinds of prediction whose values are levels."""


def predict_levels(
    distribution: AbstractRowDistribution,
    index: pd.Index,
    complete: Bool[np.ndarray, " all_rows"],
    kind: str,
    options: PredictionOptions,
    levels: OrderedLevels,
) -> pd.Series | pd.DataFrame:
    """Prediction of one kind, as ``predict``.

    ``"probability"`` has one column for each level unless ``at`` names some. Where the levels are
    text, ``at`` takes them, and quantiles, intervals and draws are ordered categories.

    Raises
    ------
    DataError
        As ``predict``, and if ``at`` names a value that is not a level.
    """
    names: Sequence[object] | None = None
    if kind == "probability" and options.at is None:
        names, options = levels.values, replace(options, at=levels.numbers)
    elif not levels.are_numbers:
        names, options = _numbered(options, levels)
    prediction: Any = predict(distribution, index, complete, kind, options)
    if names is not None:
        prediction = prediction.set_axis(list(names), axis=1)
    elif kind in IN_LEVELS and not levels.are_numbers:
        named = _labeller(levels)
        prediction = named(prediction) if prediction.ndim == 1 else prediction.apply(named)
    labelled: pd.Series | pd.DataFrame = prediction
    return labelled


def _numbered(
    options: PredictionOptions, levels: OrderedLevels
) -> tuple[Sequence[object] | None, PredictionOptions]:
    """Names of the columns, where ``at`` gives some, and options with numbers for levels."""
    at: Any = options.at
    if at is None:
        return None, options
    numbers = levels.numbers_of("at", at)
    if isinstance(at, pd.Series):
        return None, replace(options, at=pd.Series(numbers, at.index))
    if not numbers.ndim:
        return None, replace(options, at=float(numbers))
    return list(at), replace(options, at=numbers.tolist())


def _labeller(levels: OrderedLevels) -> Callable[[pd.Series], pd.Series]:
    """Function that turns numbers of levels into ordered categories."""
    kind = pd.CategoricalDtype(list(levels.values), ordered=True)

    def named(column: pd.Series) -> pd.Series:
        known = column.notna().to_numpy()
        places = np.where(known, levels.places(np.where(known, column, levels.numbers[0])), -1)
        values = pd.Categorical.from_codes(places.tolist(), dtype=kind)
        return pd.Series(values, column.index, name=column.name)

    return named
