"""A model rebuilt from its description: from a saved file, or with other options."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Bool

from bayesvb.argument_checks import check_count
from bayesvb.errors import DesignWarning
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.formula.dot import every_column
from bayesvb.numerics.arrays import RowVector
from bayesvb.results.all_rows import check_all_rows, is_sample
from bayesvb.results.capabilities import HasComponents
from bayesvb.results.fit_call import changed_priors


def built(
    kind: type[Any],
    formula: str,
    frame: pd.DataFrame,
    *,
    options: Mapping[str, Any],
    complete: Bool[np.ndarray, " given"] | None,
    missing: Mapping[str, int] | None = None,
    weights: RowVector | None = None,
) -> AbstractEstimator:
    """A model of this class from its formula, the rows it used and what ``options()`` said.

    What its design warned of when it was first made is not said again.

    Parameters
    ----------
    kind : type
        Class of the model.
    formula : str
    frame : pandas.DataFrame
        ``design.given`` of the model.
    options : mapping
        ``model.options()``, and ``context`` if the formula needs one.
    complete : ndarray of bool, shape (given,), or None
        Rows of the original data that are in the frame; None if the frame is the original data.
    missing : mapping of str to int, optional
        Rows first given that are not in the frame, by the column without a value.
    weights : ndarray, shape (rows,), optional
        Case weights.
    """
    arguments = dict(options)
    if "priors" in arguments:
        arguments["priors"] = kind.prior_class(**arguments["priors"])
    if weights is not None:
        arguments["weights"] = weights
    with every_column(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DesignWarning)
        model = cast(AbstractEstimator, kind(formula, frame, **arguments))
    return model if complete is None else model.recalling(complete, missing or {})


def rebuilt(model: AbstractEstimator, **changes: object) -> AbstractEstimator:
    """The model with other options, on the same rows.

    Raises
    ------
    DataError
        If an option does not go with the data, or one but the number of components is to change
        and not all rows are in memory.
    """
    if is_sample(model) and isinstance(model, HasComponents) and set(changes) == {model.size_name}:
        size = changes[model.size_name]
        check_count(model.size_name, size, most=model.design.n_rows, what="rows of the sample")
        return cast(AbstractEstimator, model.resized(int(cast(int, size))))
    check_all_rows(model, "the model with other options", "it is made again of those it has")
    options = model.options()
    if "priors" in options:  # numbers that are defaults follow the changes
        options["priors"] = changed_priors(model)
    return built(
        type(model),
        model.formula.text,
        model.design.given,
        options={**options, "context": model.design.context, **changes},
        complete=model.design.complete,
        missing=model.design.missing,
        weights=model.weights,
    )
