"""Shared code of classifiers: classes to a response, and probabilities back to classes."""

from __future__ import annotations

import abc
from typing import TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
)

from bayesvb.numerics.arrays import RowIntegers, RowVector
from bayesvb.sklearn.base import AbstractModelEstimator

Classifier = TypeVar("Classifier", bound="AbstractClassifier")


class AbstractClassifier(ClassifierMixin, AbstractModelEstimator):
    """A classifier that fits a model of classes.

    Attributes
    ----------
    classes_ : ndarray
        In the order of the columns of ``predict_proba``.
    """

    classes_: np.ndarray

    @property
    def _needs_response(self) -> bool:
        return True

    @abc.abstractmethod
    def _response(self, codes: RowIntegers) -> object:
        """Response of the model, of rows with these positions in ``classes_``."""

    def _classes(self, y: object, labels: np.ndarray) -> np.ndarray:
        """Classes in their order."""
        return np.unique(labels)

    def fit(self: Classifier, X: object, y: object, sample_weight: object = None) -> Classifier:
        """Fit to rows and their classes.

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
        ValueError
            If there is one class only, or the labels are none of classes.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        self.classes_ = self._classes(y, labels)
        codes = np.asarray(pd.Index(self.classes_).get_indexer(pd.Index(labels)))
        weight = _check_sample_weight(sample_weight, labels)
        if len(np.unique(codes[weight > 0.0])) < 2:
            raise ValueError(
                "y has 1 class among the rows with weight; a classifier needs two classes or more"
            )
        self._fitted(X, self._response(codes), sample_weight)
        return self

    def predict_proba(self, X: object) -> Float[np.ndarray, "rows classes"]:
        """Probability of each class of each row, columns in the order of ``classes_``."""
        rows = self._table(X)
        probabilities = np.asarray(
            self.fit_.predict(rows, kind="probability", extrapolation="keep"), dtype=float
        )
        return (
            probabilities
            if probabilities.ndim == 2
            else np.column_stack([1.0 - probabilities, probabilities])
        )

    def predict_log_proba(self, X: object) -> Float[np.ndarray, "rows classes"]:
        """Log probabilities."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: object) -> object:
        """The most probable class of each row."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]

    def log_density(self, X: object, y: object) -> RowVector:
        """Log probability of the class of each row; minus infinity of one that was not there."""
        p = self.predict_log_proba(X)
        place = pd.Index(self.classes_).get_indexer(pd.Index(column_or_1d(y)))
        log_density = np.where(place >= 0, p[np.arange(len(p)), np.maximum(place, 0)], -np.inf)
        return np.asarray(log_density)
