"""Conditional mixture networks as a classifier and as a regressor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import pandas as pd

from bayesvb.estimators.network import ConditionalMixtureNetwork
from bayesvb.estimators.priors import NetworkPriors
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.sklearn.base import AbstractModelEstimator
from bayesvb.sklearn.classifiers import AbstractClassifier
from bayesvb.sklearn.regressors import AbstractDensityRegressor


@dataclass(eq=False, repr=False)
class AbstractNetworkEstimator(AbstractModelEstimator):
    """An estimator that fits a ``ConditionalMixtureNetwork``."""

    _: KW_ONLY
    n_experts: int = 10
    latent_dim: int | None = None
    priors: NetworkPriors | None = None
    combine: str | None = None

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
        ``"y ~ x1 + x2"``, or only its right side. By default a sum of all columns. Columns of an
        array are called x0, x1, ...
    n_experts, latent_dim, priors
        As in ``ConditionalMixtureNetwork``.
    method, combine, restarts, tol, max_iter, covariance, n_jobs
        As in its ``fit``.
    random_state : int, RandomState or None
        Same number, same fit.
    """


class MixtureNetworkClassifier(AbstractClassifier, AbstractNetworkEstimator):
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

    def _response(self, codes: RowIntegers) -> object:
        names = [str(code) for code in range(len(self.classes_))]
        return pd.Categorical.from_codes(codes.tolist(), pd.Index(names))
