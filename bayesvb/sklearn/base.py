"""Common base of all estimators: parameters of a fit, and tables of rows."""

from __future__ import annotations

import abc
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from bayesvb.argument_checks import check_text
from bayesvb.data.frames import as_frame
from bayesvb.errors import DataError
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.fit import Fit
from bayesvb.numerics.arrays import RowVector

FIT_OPTIONS = ("method", "combine", "restarts", "tol", "max_iter", "covariance", "n_jobs")
"""Parameters that are arguments of ``fit``; ``random_state`` is its seed."""

LARGEST_SEED = 2**31 - 1
"""Seeds that are drawn from a random state lie below this, as in scikit-learn."""


@dataclass(eq=False, repr=False)
class AbstractModelEstimator(BaseEstimator):
    """An estimator that fits one of the public models.

    Attributes
    ----------
    fit_ : Fit
        The fit, with all that bayesvb says of it.
    formula_ : str
        The formula that was fitted.
    n_iter_ : int
        Passes over the rows of the run that was kept.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if all names of columns are text.
    """

    formula: str | None = None
    _: KW_ONLY
    method: str = "cavi"
    restarts: int = 8
    tol: float = 1e-3
    max_iter: int = 2000
    covariance: str = "auto"
    random_state: object = None
    n_jobs: int | None = None

    @abc.abstractmethod
    def _model(self, formula: str, data: pd.DataFrame, weights: object) -> AbstractEstimator:
        """The model of the rows, with case weights if there are any."""

    @property
    @abc.abstractmethod
    def _needs_response(self) -> bool:
        """Whether there is something to be explained."""

    def _fitted(self, X: object, response: Any = None, weights: object = None) -> Fit:
        """Fit to the rows, and keep what there is to keep."""
        if self.formula is not None:
            check_text("formula", self.formula)
        frame = table_of(X)
        validate_data(self, X, skip_check_array=True)
        if len(frame) < 2:
            raise ValueError(f"n_samples={len(frame)}: a fit needs two rows or more")
        name = None
        if self._needs_response:
            name = response_name(self.formula, list(frame.columns))
            frame = frame.assign(**{name: response})
        columns = [column for column in frame.columns if column != name]
        self.formula_ = formula_of(self.formula, columns, name)
        options = {key: value for key, value in self.get_params().items() if key in FIT_OPTIONS}
        if weights is not None:
            weights = _check_sample_weight(weights, frame, dtype=np.float64)
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        self.fit_ = self._model(self.formula_, frame, weights).fit(**options, seed=seed)
        self.n_iter_ = self.fit_.n_iter
        return self.fit_

    def _table(self, X: object, y: Any = None) -> pd.DataFrame:
        """New rows, with the response if it is given."""
        check_is_fitted(self)
        frame = table_of(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if y is None:
            return frame
        (name,) = self.fit_.model.design.response_names
        return frame.assign(**{name.strip("`"): y})

    def _log_density(self, X: object, y: object = None) -> RowVector:
        """Log predictive density of each row."""
        rows = self._table(X, y)
        return np.asarray(self.fit_.log_density(rows), dtype=float)


PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

RESPONSE = "y"
"""Name of the response where the formula has none; underscores follow if a column has it."""


def table_of(X: object) -> pd.DataFrame:
    """Data frames as they are, missing values refused; arrays as numbers in columns x0, x1, ..."""
    if not hasattr(X, "columns") and not hasattr(X, "column_names"):
        values = check_array(X, dtype=np.float64)
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    frame = as_frame(X)
    numbers = frame.select_dtypes(include=["number", "bool"])
    if numbers.shape[1]:
        check_array(numbers, dtype="numeric")
    lacking = frame.columns[frame.isna().any()]
    if len(lacking):
        raise DataError(
            f"`{lacking[0]}` contains NaN or other missing values",
            hint="impute them first, or use the models of bayesvb, which drop such rows",
        )
    return frame


def response_name(formula: str | None, columns: Sequence[str]) -> str:
    """Name of the response: the left side of the formula, or an unused name.

    Raises
    ------
    DataError
        If the left side is not a name.
    """
    left = formula.partition("~")[0].strip() if formula and "~" in formula else ""
    if left:
        name = left.strip("`")
        if not (PLAIN.match(left) or left == f"`{name}`"):
            raise DataError(
                f"formula={formula!r}: its left side must be a name",
                hint="transform y by sklearn.compose.TransformedTargetRegressor",
            )
        return name
    name = RESPONSE
    while name in columns:
        name += "_"
    return name


def formula_of(formula: str | None, columns: Sequence[str], response: str | None) -> str:
    """The complete formula: the given one, with the response, or a sum of all columns."""
    right = formula.partition("~")[2] if formula and "~" in formula else formula
    right = right or " + ".join(_quoted(name) for name in columns)
    return f"{'' if response is None else _quoted(response)} ~ {right.strip()}".strip()


def _quoted(name: str) -> str:
    return name if PLAIN.match(name) else f"`{name}`"
