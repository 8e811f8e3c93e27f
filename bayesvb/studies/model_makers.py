"""From training rows to a model of them: by a function, or with the formula of a model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Int

from bayesvb.errors import DataError, DesignWarning
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.rebuilding import built

MakesModel = Callable[[pd.DataFrame], AbstractEstimator]
"""From training rows to a model of them."""


@dataclass(frozen=True)
class SameModel:
    """Makes a model with the formula and the options of another one.

    Attributes
    ----------
    kind : type
    formula : str
    options : mapping
        Arguments of the class, the context of the formula among them.
    """

    kind: type[AbstractEstimator]
    formula: str
    options: Mapping[str, object]

    def __call__(self, rows: pd.DataFrame) -> AbstractEstimator:
        """The model of these rows, all that it learns of data learned of them."""
        return built(self.kind, self.formula, rows, options=self.options, complete=None)


def maker_of(model: object) -> MakesModel:
    """Function that makes a model of training rows: the given one, or the model's own formula.

    Raises
    ------
    DataError
        If it is neither, or a model with case weights, which belong to its own rows.
    """
    if not isinstance(model, AbstractEstimator):
        if callable(model):
            return model
        raise DataError(
            f"models: a {type(model).__name__} makes no model",
            hint="give a model, or a function from training rows to a model",
        )
    if model.weights is not None:
        raise DataError(
            "models: case weights of a model belong to its own rows",
            hint="give a function from training rows to a model: lambda rows: ...",
        )
    options = {**model.options(), "context": model.design.context}
    return SameModel(type(model), model.formula.text, options)


def quietly_made(make: MakesModel, rows: pd.DataFrame) -> AbstractEstimator:
    """The model of these rows, without what its design warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DesignWarning)
        return make(rows)


def class_codes(model: AbstractEstimator) -> Int[np.ndarray, " given"] | None:
    """Class of each row given to a model, -1 where it has none; None if it explains no classes."""
    design = model.design
    if not design.levels:
        return None
    codes = np.full(len(design.complete), -1)
    codes[design.complete] = np.asarray(design.response)
    return codes
