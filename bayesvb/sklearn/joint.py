"""Models of whole rows: a Gaussian mixture as a density, principal components as a transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin

from bayesvb.estimators.gaussian_mixture import GaussianMixture
from bayesvb.estimators.pca import BayesianPCA
from bayesvb.estimators.priors import GaussianPriors, PcaPriors
from bayesvb.numerics.arrays import RowIntegers, RowVector
from bayesvb.sklearn.base import AbstractModelEstimator


class AbstractRowEstimator(AbstractModelEstimator):
    """An estimator of whole rows, whose score is a density."""

    @property
    def _needs_response(self) -> bool:
        return False

    def score_samples(self, X: object) -> RowVector:
        """Log predictive density of each row."""
        return self._log_density(X)

    def score(self, X: object, y: object = None) -> float:
        """Mean log predictive density of the rows: larger is better."""
        return float(np.mean(self.score_samples(X)))


@dataclass(eq=False, repr=False)
class GaussianMixtureDensity(AbstractRowEstimator, DensityMixin, AbstractModelEstimator):
    """The joint density of columns as a mixture of Gaussians; see ``GaussianMixture``.

    Parameters
    ----------
    formula : str, optional
        ``"~ a + b"``; by default all columns. Columns of an array are called x0, x1, ...
    n_components, priors
        As in ``GaussianMixture``.
    method, restarts, tol, max_iter, covariance, n_jobs
        As in its ``fit``.
    random_state : int, RandomState or None
        Same number, same fit.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> from bayesvb.sklearn import GaussianMixtureDensity
    >>> data = bvb.datasets.load("faithful")
    >>> density = GaussianMixtureDensity(n_components=2, restarts=2, random_state=1).fit(data)
    >>> round(density.score(data), 1)
    -4.2
    """

    _: KW_ONLY
    n_components: int = 5
    priors: GaussianPriors | None = None

    def _model(self, formula: str, data: pd.DataFrame, weights: object) -> GaussianMixture:
        return GaussianMixture(
            formula,
            data,
            n_components=self.n_components,
            priors=self.priors,
            weights=weights,
            missing="raise",
        )

    def fit(self, X: object, y: object = None) -> GaussianMixtureDensity:
        """Fit to rows; ``y`` is not read.

        Raises
        ------
        DataError
            If values are missing or infinite, or the formula does not go with the columns.
        """
        self._fitted(X)
        return self

    def predict_proba(self, X: object) -> Float[np.ndarray, "rows components"]:
        """Probability of each component given the row; components are sorted by weight."""
        rows = self._table(X)
        return np.asarray(self.fit_.responsibilities(rows), dtype=float)

    def predict(self, X: object) -> RowIntegers:
        """The most probable component of each row, from 0."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))


@dataclass(eq=False, repr=False)
class PcaTransformer(
    AbstractRowEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, AbstractModelEstimator
):
    """Scores on principal components whose number is learned; see ``BayesianPCA``.

    Parameters
    ----------
    formula : str, optional
        ``"~ a + b + c"``; by default all columns. Columns of an array are called x0, x1, ...
    n_components : int, optional
        Largest number of components; by default one less than there are columns. The scores belong
        to components that the data support, at least one.
    scale, priors
        As in ``BayesianPCA``.
    method, restarts, tol, max_iter, covariance, n_jobs
        As in its ``fit``.
    random_state : int, RandomState or None
        Same number, same fit.

    Attributes
    ----------
    n_components_ : int
        Number of scores.
    """

    _: KW_ONLY
    n_components: int | None = None
    scale: bool = True
    priors: PcaPriors | None = None

    def _model(self, formula: str, data: pd.DataFrame, weights: object) -> BayesianPCA:
        if data.shape[1] < 2:
            raise ValueError("X has 1 feature(s); principal components need two or more")
        return BayesianPCA(
            formula,
            data,
            n_components=self.n_components,
            scale=self.scale,
            priors=self.priors,
            weights=weights,
        )

    def fit(self, X: object, y: object = None) -> PcaTransformer:
        """Fit to rows; ``y`` is not read.

        Raises
        ------
        DataError
            If values are missing or infinite, or the formula does not go with the columns.
        """
        fit = self._fitted(X)
        model: Any = fit.model
        self.n_components_ = max(model.effective(fit), 1)
        return self

    def transform(self, X: object) -> Float[np.ndarray, "rows components"]:
        """Mean scores of each row on the components that the data support."""
        rows = self._table(X)
        scores = np.asarray(
            self.fit_.predict(rows, kind="scores", extrapolation="keep"), dtype=float
        )
        return scores[:, : self.n_components_]

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)
