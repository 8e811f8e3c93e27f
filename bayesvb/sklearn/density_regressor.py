"""Density regression as a regressor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import pandas as pd

from bayesvb.estimators.density_regression import DensityRegression
from bayesvb.estimators.priors import Priors
from bayesvb.sklearn.regressors import AbstractDensityRegressor


@dataclass(eq=False, repr=False)
class DensityRegressor(AbstractDensityRegressor):
    """A mixture of regressions whose weights depend on the columns; see ``DensityRegression``.

    Parameters
    ----------
    formula : str, optional
        ``"y ~ s(x1) + x2 | gating(x1)"``, or only its right side. By default a sum of all columns.
        Columns of an array are called x0, x1, ...
    n_components, gate, family, priors
        As in ``DensityRegression``.
    method, restarts, tol, max_iter, covariance, n_jobs
        As in its ``fit``.
    random_state : int, RandomState or None
        Same number, same fit.

    Attributes
    ----------
    fit_ : Fit
        The fit, with all that bayesvb says of it.
    formula_ : str
        The formula that was fitted.
    n_iter_, n_features_in_, feature_names_in_
        As usual.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> from bayesvb.sklearn import DensityRegressor
    >>> data = bvb.datasets.load("faithful")
    >>> regressor = DensityRegressor(n_components=2, restarts=2, random_state=1)
    >>> regressor.fit(data[["eruptions"]], data["waiting"]).formula_
    'y ~ eruptions'
    >>> regressor.predict(data[["eruptions"]].iloc[:2]).round(-1).tolist()
    [80.0, 50.0]
    """

    _: KW_ONLY
    n_components: int = 5
    gate: str = "softmax"
    family: str = "gaussian"
    priors: Priors | None = None

    def _model(self, formula: str, data: pd.DataFrame, weights: object) -> DensityRegression:
        return DensityRegression(
            formula,
            data,
            n_components=self.n_components,
            gate=self.gate,
            family=self.family,
            priors=self.priors,
            weights=weights,
            missing="raise",
        )
