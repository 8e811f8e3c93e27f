"""Baselines of a fit on the same terms and held-out rows: least squares, multinomial regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.data.parts import MEAN
from bayesvb.errors import DataError
from bayesvb.evaluation.linear_baseline import leave_groups_out, leave_one_out
from bayesvb.evaluation.multinomial_baseline import probabilities_left_out
from bayesvb.numerics.arrays import RowIntegers, RowVector

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def linear_baseline(fit: AbstractFit) -> RowVector | None:
    """Leave-one-out log density of each row under least squares, summed over the responses.

    None if no row can be held out, or the response is discrete; NaN for a row without which the
    terms cannot be estimated. See ``leave_one_out``. In a model with groups, all rows of
    each group are held out together.

    Parameters
    ----------
    fit : Fit
        Of a model with terms and numeric responses; its case weights count.

    Raises
    ------
    DataError
        If the model is not a regression with a numeric response.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> fit = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1).fit(seed=1)
    >>> mean = linear_baseline(fit).mean()
    >>> bool(abs(mean - bvb.evaluation.elpd.read_elpd(fit.loo()).elpd / len(data)) < 0.01)
    True
    """
    return fit.cache.once("linear baseline", lambda: _linear_baseline(fit))


def _linear_baseline(fit: AbstractFit) -> RowVector | None:
    """``linear_baseline``, computed; the result is read-only."""
    design, response = fit.model.design, fit.model.response
    if response.measure != "a density" or design.interval is not None:
        return None
    if MEAN not in design.matrices or response.is_categorical:
        raise DataError(
            f"a fit of {type(fit.model).__name__} has no linear model to compare with",
            hint="give a fit of a DensityRegression with a numeric response",
        )
    grouping, terms = fit.model.grouping, design.matrices[MEAN]
    total = np.zeros(design.n_rows if grouping is None else len(grouping.labels))
    for one in fit.model.observed().values():
        one = one if design.offset is None else one - design.offset
        if grouping is None:
            scores = leave_one_out(terms, one, fit.model.weights)
        else:
            scores = leave_groups_out(terms, one, grouping.number, fit.model.weights)
        if scores is None:
            return None
        total += scores
    total.flags.writeable = False
    return total


def multinomial_baseline(
    fit: AbstractFit, folds: RowIntegers
) -> tuple[Float[np.ndarray, "rows classes"], str]:
    """Class probabilities of each row from the other folds, and the prior that was used.

    Coefficients have a normal prior, so that there are probabilities whatever the data: also if
    the terms separate the classes. See ``probabilities_left_out``.

    Parameters
    ----------
    fit : Fit
        Of a ``ConditionalMixtureNetwork`` for classes; its case weights count.
    folds : array of int, shape (rows,)
        Rows with the same number are held out together; ``held_out_classes(fit).folds`` gives
        both on the same footing.

    Raises
    ------
    DataError
        If the response of the fit has no classes.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("iris")
    >>> model = bvb.ConditionalMixtureNetwork("label ~ sepal_length", data, n_experts=1)
    >>> fit = model.fit(seed=1, restarts=1, draws=50)
    >>> p, _ = multinomial_baseline(fit, np.arange(150) % 5)
    >>> bool((p.argmax(axis=1) == fit.model.design.response).mean() > 0.7)
    True
    """
    model, design = fit.model, fit.model.design
    if not design.levels:
        raise DataError(
            f"the response of this fit of {type(model).__name__} has no classes",
            hint="see bayesvb.results.baselines.linear_baseline for numeric responses",
        )
    codes = np.asarray(design.response, dtype=int)
    terms, weights = design.matrices[MEAN], model.weights
    return probabilities_left_out(terms, codes, folds, len(design.levels), weights=weights)
