"""Density regression of two classes, or of ordered ones, as a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import type_of_target

from bayesvb.argument_checks import check_choice
from bayesvb.estimators.density_regression import DensityRegression
from bayesvb.estimators.priors import Priors
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.sklearn.classifiers import AbstractClassifier

FAMILIES = ("bernoulli", "ordinal")


@dataclass(eq=False, repr=False)
class DensityClassifier(AbstractClassifier):
    """Binary or ordinal regression as a classifier; see ``DensityRegression``.

    Parameters
    ----------
    formula : str, optional
        ``"y ~ s(x1) + x2"``, or only its right side. By default a sum of all columns. Columns of an
        array are called x0, x1, ...
    n_components, gate, priors
        As in ``DensityRegression``; ordered classes have one component.
    family : {"bernoulli", "ordinal"}
        Two classes, or classes with an order, of which two are a Bernoulli response.
    levels : sequence, optional
        Classes from the lowest to the highest. By default the order of ordered pandas categories,
        or else the sorted order.
    method, restarts, tol, max_iter, covariance, n_jobs
        As in ``DensityRegression.fit``.
    random_state : int, RandomState or None
        Same number, same fit.

    Attributes
    ----------
    classes_ : ndarray
        In the order of the columns of ``predict_proba``: from the lowest to the highest.
    fit_ : Fit
        The fit; a Bernoulli response is 1 for the second class.
    formula_, n_iter_, n_features_in_, feature_names_in_
        As of ``DensityRegressor``.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> from bayesvb.sklearn import DensityClassifier
    >>> data = bvb.datasets.load("iris").query("label != 'setosa'")
    >>> X, y = data[["petal_length", "petal_width"]], data["label"]
    >>> classifier = DensityClassifier(random_state=1).fit(X, y)
    >>> classifier.classes_.tolist(), bool(classifier.score(X, y) > 0.9)
    (['versicolor', 'virginica'], True)
    """

    _: KW_ONLY
    n_components: int = 1
    gate: str = "softmax"
    family: str = "bernoulli"
    levels: Sequence[object] | None = None
    priors: Priors | None = None

    def _classes(self, y: object, labels: np.ndarray) -> np.ndarray:
        """Classes that occur, from the lowest to the highest.

        Raises
        ------
        ValueError
            If there are several classes without an order, or a class that ``levels`` lacks.
        """
        check_choice("family", self.family, FAMILIES)
        classes = np.unique(labels)
        if self.family == "bernoulli" and len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}. Classes with an order: family='ordinal'"
            )
        kind = getattr(y, "dtype", None)
        order: Sequence[object] | pd.Index | None = self.levels
        if order is None and isinstance(kind, pd.CategoricalDtype) and kind.ordered:
            order = kind.categories
        if order is None:
            return classes
        known = pd.Index(list(order))
        lacking = classes[known.get_indexer(pd.Index(classes)) < 0]
        if len(lacking):
            raise ValueError(f"levels={list(order)!r} lacks the class {lacking.tolist()[0]!r}")
        return np.asarray(known[known.isin(classes)])

    def _response(self, codes: RowIntegers) -> object:
        if len(self.classes_) == 2:
            return codes.astype(float)
        names = [str(label) for label in self.classes_]
        return pd.Categorical.from_codes(codes.tolist(), pd.Index(names), ordered=True)

    def _model(self, formula: str, data: pd.DataFrame, weights: object) -> DensityRegression:
        return DensityRegression(
            formula,
            data,
            n_components=self.n_components,
            gate=self.gate,
            family=self.family if len(self.classes_) > 2 else "bernoulli",
            priors=self.priors,
            weights=weights,
            missing="raise",
        )

    def __sklearn_tags__(self) -> object:
        """Tags: several classes need an order, in which sorted labels need not be."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.family != "bernoulli"
        tags.classifier_tags.poor_score = self.family != "bernoulli"
        return tags
