"""Density regression as skpro's ``BaseProbaRegressor``."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd
from skpro.regression.base import BaseProbaRegressor

from bayesvb.estimators.priors import Priors
from bayesvb.sklearn.density_regressor import DensityRegressor
from bayesvb.sklearn.skpro.distribution import PredictiveDistribution


class DensityProbaRegressor(BaseProbaRegressor):
    """A mixture of regressions whose weights depend on the columns, for skpro.

    Parameters
    ----------
    formula, n_components, gate, family, priors, method, restarts, tol, max_iter
        As in ``bayesvb.sklearn.DensityRegressor``.
    covariance : str
        As there; predictions do not depend on it.
    random_state : int, RandomState or None
        Same number, same fit.
    n_jobs : int, optional
        Processors in use.

    Attributes
    ----------
    regressor_ : DensityRegressor
        Fitted estimator; ``regressor_.fit_`` is the fit.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> from bayesvb.sklearn.skpro import DensityProbaRegressor
    >>> data = bvb.datasets.load("faithful")
    >>> regressor = DensityProbaRegressor(n_components=2, restarts=2, random_state=1)
    >>> x, y = data[["eruptions"]], data[["waiting"]]
    >>> law = regressor.fit(x, y).predict_proba(x[:2])
    >>> law.mean()["waiting"].round(-1).tolist()
    [80.0, 50.0]
    """

    _tags: ClassVar[dict[str, object]] = {
        "capability:multioutput": False,
        "capability:missing": False,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(
        self,
        formula: str | None = None,
        *,
        n_components: int = 5,
        gate: str = "softmax",
        family: str = "gaussian",
        priors: Priors | None = None,
        method: str = "cavi",
        restarts: int = 8,
        tol: float = 1e-3,
        max_iter: int = 2000,
        covariance: str = "mean-field",
        random_state: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.formula = formula
        self.n_components = n_components
        self.gate = gate
        self.family = family
        self.priors = priors
        self.method = method
        self.restarts = restarts
        self.tol = tol
        self.max_iter = max_iter
        self.covariance = covariance
        self.random_state = random_state
        self.n_jobs = n_jobs
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: pd.DataFrame, C: object = None) -> DensityProbaRegressor:
        given = self.get_params(deep=False)
        self._response = y.columns
        self.regressor_ = DensityRegressor(**given).fit(_named(X), y.iloc[:, 0])
        return self

    def _predict(self, X: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(self.regressor_.predict(_named(X)), X.index, self._response)

    def _predict_proba(self, X: pd.DataFrame) -> PredictiveDistribution:
        fit, rows = self.regressor_.fit_, _named(X)
        return PredictiveDistribution(fit, rows, index=X.index, columns=self._response)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, object]]:
        """Arguments with which skpro tests regressors."""
        few = {"restarts": 1, "random_state": 1}
        return [{"n_components": 1, **few}, {"n_components": 2, "gate": "stick-breaking", **few}]


def _named(X: pd.DataFrame) -> pd.DataFrame:
    """Columns with names that are text."""
    if all(isinstance(name, str) for name in X.columns):
        return X
    return X.set_axis([f"x{name}" for name in X.columns], axis=1)
