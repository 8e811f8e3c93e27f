"""Conditional mixture networks as a classifier and as a regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from bayesvb.estimators.network import ConditionalMixtureNetwork
from bayesvb.estimators.priors import NetworkPriors
from bayesvb.sklearn.base import AbstractModelEstimator
from bayesvb.sklearn.regressors import AbstractDensityRegressor


class AbstractNetworkEstimator(AbstractModelEstimator):
    """An estimator that fits a ``ConditionalMixtureNetwork``."""

    def __init__(
        self,
        formula: str | None = None,
        *,
        n_experts: int = 10,
        latent_dim: int | None = None,
        priors: NetworkPriors | None = None,
        method: str = "cavi",
        combine: str | None = None,
        restarts: int = 8,
        tol: float = 1e-3,
        max_iter: int = 2000,
        covariance: str = "auto",
        random_state: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.formula = formula
        self.n_experts = n_experts
        self.latent_dim = latent_dim
        self.priors = priors
        self.method = method
        self.combine = combine
        self.restarts = restarts
        self.tol = tol
        self.max_iter = max_iter
        self.covariance = covariance
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _model(
        self, formula: str, data: pd.DataFrame, weights: object
    ) -> ConditionalMixtureNetwork:
        return ConditionalMixtureNetwork(
            formula,
            data,
            n_experts=self.n_experts,
            latent_dim=self.latent_dim,
            priors=self.priors,
            weights=weights,
            missing="raise",
        )


class MixtureNetworkRegressor(AbstractDensityRegressor, AbstractNetworkEstimator):
    """Regression by a layer of linear experts; see ``ConditionalMixtureNetwork``.

    Parameters
    ----------
    formula : str, optional
        ``"y ~ x1 + x2"``, or only its right side. A sum of all columns if left out. Columns of an
        array are called x0, x1, ...
    n_experts, latent_dim, priors
        As in ``ConditionalMixtureNetwork``.
    method, combine, restarts, tol, max_iter, covariance, n_jobs
        As in its ``fit``.
    random_state : int, RandomState or None
        Same number, same fit.
    """


class MixtureNetworkClassifier(ClassifierMixin, AbstractNetworkEstimator):
    """Classification by a layer of linear experts; see ``ConditionalMixtureNetwork``.

    Parameters
    ----------
    formula, n_experts, latent_dim, priors
        As in ``MixtureNetworkRegressor``.
    method, combine, restarts, tol, max_iter, covariance, n_jobs, random_state
        As there.

    Attributes
    ----------
    classes_ : ndarray
        In the order of the columns of ``predict_proba``.
    fit_ : Fit
        The fit, with all that bayesvb says of it; its classes are numbered from 0.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> from bayesvb.sklearn import MixtureNetworkClassifier
    >>> data = bvb.datasets.load("iris")
    >>> classifier = MixtureNetworkClassifier(n_experts=2, restarts=1, random_state=1)
    >>> fitted = classifier.fit(data[["petal_length", "petal_width"]], data["label"])
    >>> bool(fitted.score(data[["petal_length", "petal_width"]], data["label"]) > 0.9)
    True
    """

    @property
    def _needs_response(self) -> bool:
        return True

    def fit(self, X: object, y: object, sample_weight: object = None) -> MixtureNetworkClassifier:
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
        self.classes_, places = np.unique(labels, return_inverse=True)
        codes: Int[np.ndarray, " rows"] = np.asarray(places)
        if len(self.classes_) < 2:
            raise ValueError("y has 1 class; a classifier needs two classes or more")
        names = [str(code) for code in range(len(self.classes_))]
        self._fitted(X, pd.Categorical.from_codes(codes.tolist(), pd.Index(names)), sample_weight)
        return self

    def predict_proba(self, X: object) -> Float[np.ndarray, "rows classes"]:
        """Probability of each class of each row, columns in the order of ``classes_``."""
        rows = self._table(X)
        return np.asarray(self.fit_.predict(rows, kind="probability"), dtype=float)

    def predict_log_proba(self, X: object) -> Float[np.ndarray, "rows classes"]:
        """Log probabilities."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: object) -> Any:
        """The most probable class of each row."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]

    def log_density(self, X: object, y: object) -> Float[np.ndarray, " rows"]:
        """Log probability of the class of each row; minus infinity of one that was not there."""
        p = self.predict_log_proba(X)
        place = pd.Index(self.classes_).get_indexer(pd.Index(column_or_1d(y)))
        found = np.where(place >= 0, p[np.arange(len(p)), np.maximum(place, 0)], -np.inf)
        return np.asarray(found)
