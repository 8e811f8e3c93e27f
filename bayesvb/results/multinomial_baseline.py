"""Multinomial regression with a ridge penalty, judged on rows that were left out."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_softmax, softmax

from bayesvb.data.parts import MEAN
from bayesvb.errors import DataError
from bayesvb.results.ridge_multinomial import precisions, ridge_coefficients, standardised

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

SPREADS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Prior standard deviations that are tried, of coefficients of standardised terms."""

UNTRIED = 1.0
"""Prior standard deviation where none can be chosen: weakly informative."""

MOST_CHOICES = 2000
"""Coefficients beyond which, and rows of which, trying all would take longer than it is worth."""


def multinomial_baseline(
    fit: AbstractFit, folds: Int[np.ndarray, " rows"]
) -> tuple[Float[np.ndarray, "rows classes"], str]:
    """Class probabilities of each row from the other folds, and the prior that was used.

    Coefficients have a normal prior, so that there are probabilities whatever the data: also if
    the terms separate the classes. See ``probabilities_left_out``.

    Parameters
    ----------
    fit : Fit
        Of a ``ConditionalMixtureNetwork`` for classes; its case weights count.
    folds : array of int, shape (rows,)
        Rows with the same number are left out together; ``held_out_classes(fit).folds``, to judge
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
            hint="see bayesvb.results.linear_baseline for numeric responses",
        )
    codes = np.asarray(design.response, dtype=int)
    terms, weights = design.matrices[MEAN], model.weights
    return probabilities_left_out(terms, codes, folds, len(design.levels), weights=weights)


def probabilities_left_out(
    terms: Float[np.ndarray, "rows terms"],
    codes: Int[np.ndarray, " rows"],
    folds: Int[np.ndarray, " rows"],
    n_classes: int | None = None,
    *,
    weights: Float[np.ndarray, " rows"] | None = None,
    spreads: tuple[float, ...] = SPREADS,
) -> tuple[Float[np.ndarray, "rows classes"], str]:
    """Class probabilities of each row from multinomial regression on the other folds.

    The prior standard deviation of each fold is the one that predicts best the rows of the other
    folds, each left out as well: a fold has no part in the choice of the prior that predicts it.

    Parameters
    ----------
    terms : array, shape (rows, terms)
        A column of ones among them, if the model is to have intercepts. Columns may depend on each
        other.
    codes : array of int, shape (rows,)
        Observed classes 0, 1, ...
    folds : array of int, shape (rows,)
        Numbers 0, 1, ... of the folds.
    n_classes : int, optional
        By default the largest code and one; a class without rows has probability zero.
    weights : array, shape (rows,), optional
        A row of weight w counts as w rows.
    spreads : tuple of float
        Prior standard deviations to choose from, of coefficients of standardised terms.

    Returns
    -------
    probabilities : array, shape (rows, classes)
    prior : str
        Prior standard deviations that were used, and whether they were chosen.

    Examples
    --------
    >>> ones, codes = np.ones((6, 1)), np.array([0, 0, 1, 0, 1, 1])
    >>> p, prior = probabilities_left_out(ones, codes, np.array([0, 0, 0, 1, 1, 1]))
    >>> p[:, 1].round(2).tolist(), prior
    ([0.67, 0.67, 0.67, 0.33, 0.33, 0.33], '1, fixed')
    """
    used = standardised(terms)
    present, label = np.unique(codes, return_inverse=True)
    w = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=float)
    chosen = _chosen(used, label, folds, w, spreads)
    blank = np.zeros((used.shape[1], len(present)))
    n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
    found = np.zeros((len(codes), n_classes))
    for fold in np.unique(folds):
        out, sd = folds == fold, chosen.get(int(fold), UNTRIED)
        kept = used[~out], label[~out]
        b = ridge_coefficients(*kept, precisions(used, sd), blank, w[~out])
        found[np.ix_(out, present)] = softmax(used[out] @ b, axis=1)
    return found, _said(sorted(set(chosen.values())))


def _chosen(
    terms: Float[np.ndarray, "rows terms"],
    label: Int[np.ndarray, " rows"],
    folds: Int[np.ndarray, " rows"],
    weights: Float[np.ndarray, " rows"],
    spreads: tuple[float, ...],
) -> dict[int, float]:
    """Prior standard deviation by fold; none if there are too few folds or too many coefficients.

    Of many rows some choose, evenly spaced: the prior of many rows matters little.
    """
    numbers, n_classes = np.unique(folds), int(label.max()) + 1
    if len(numbers) < 3 or terms.shape[1] * n_classes > MOST_CHOICES:
        return {}
    total = {int(fold): np.zeros(len(spreads)) for fold in numbers}
    some = np.zeros(len(label), dtype=bool)
    some[np.unique(np.linspace(0, len(label) - 1, MOST_CHOICES).astype(int))] = True
    for one, other in combinations(total, 2):
        kept = some & (folds != one) & (folds != other)
        judges = [(one, some & (folds == other)), (other, some & (folds == one))]
        b = np.zeros((terms.shape[1], n_classes))
        for number, sd in enumerate(spreads):
            given = terms[kept], label[kept], precisions(terms, sd)
            b = ridge_coefficients(*given, b, weights[kept])
            for fold, at in judges:
                total[fold][number] += _log_density(terms, label, weights, b, at)
    return {fold: spreads[int(np.argmax(score))] for fold, score in total.items()}


def _log_density(
    terms: Float[np.ndarray, "rows terms"],
    label: Int[np.ndarray, " rows"],
    weights: Float[np.ndarray, " rows"],
    coefficients: Float[np.ndarray, "terms classes"],
    at: Bool[np.ndarray, " rows"],
) -> float:
    log_p = log_softmax(terms[at] @ coefficients, axis=1)
    return float(weights[at] @ log_p[np.arange(int(at.sum())), label[at]])


def _said(spreads: list[float]) -> str:
    if not spreads:
        return f"{UNTRIED:g}, fixed"
    ends = f"{spreads[0]:g}"
    if len(spreads) > 1:
        ends += f" to {spreads[-1]:g}"
    return f"{ends}, chosen by rows left out of the other parts"
