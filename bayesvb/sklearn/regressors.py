"""Shared code of regressors: means, quantiles, intervals, and a score that is a density."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length, column_or_1d

from bayesvb.numerics.arrays import RowVector
from bayesvb.sklearn.base import AbstractModelEstimator

Regressor = TypeVar("Regressor", bound="AbstractDensityRegressor")


class AbstractDensityRegressor(RegressorMixin, AbstractModelEstimator):
    """A regressor that predicts a distribution for each row."""

    @property
    def _needs_response(self) -> bool:
        return True

    def fit(self: Regressor, X: object, y: object, sample_weight: object = None) -> Regressor:
        """Fit to rows and their responses.

        Parameters
        ----------
        X : array or data frame, shape (rows, columns)
        y : array, shape (rows,)
        sample_weight : array, shape (rows,), optional
            A row of weight two counts as two.

        Raises
        ------
        DataError
            If values are missing or infinite, or the formula does not go with the columns.
        """
        self._fitted(X, _numbers(X, y), sample_weight)
        return self

    def predict(self, X: object) -> RowVector:
        """Predictive mean of each row."""
        rows = self._table(X)
        return np.asarray(self.fit_.predict(rows, kind="mean", extrapolation="keep"), dtype=float)

    def predict_quantile(
        self, X: object, q: Sequence[float] = (0.05, 0.5, 0.95)
    ) -> Float[np.ndarray, "rows probs"]:
        """Quantiles of the predictive distribution of each row, one column for each of ``q``."""
        rows = self._table(X)
        return np.asarray(
            self.fit_.predict(rows, kind="quantile", q=list(q), extrapolation="keep"), dtype=float
        )

    def log_density(self, X: object, y: object) -> RowVector:
        """Log predictive density of the response of each row."""
        return self._log_density(X, _numbers(X, y))

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Mean log predictive density of the responses: larger is better."""
        weights: Any = sample_weight
        return float(np.average(self.log_density(X, y), weights=weights))

    def __sklearn_tags__(self) -> object:
        """Tags: the score is not R², rows must be complete, names of columns may be levels."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def _numbers(X: object, y: object) -> RowVector:
    """The response, as many numbers as there are rows."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    values = column_or_1d(y, warn=True, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity")
    check_consistent_length(X, values)
    return np.asarray(values)
