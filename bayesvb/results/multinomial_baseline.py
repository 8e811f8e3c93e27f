"""Multinomial regression on the terms of the mean part, judged on rows that were left out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from bayesvb.errors import DataError

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_COEFFICIENTS = 600
"""Coefficients beyond which the comparison would take longer than it is worth."""

CERTAIN = 0.01
"""Distance of all fitted probabilities from 0 or 1 below which coefficients run to infinity."""

ASCENTS = {"newton": 50, "bfgs": 1000}
"""Method -> iterations; Newton's steps are quick, but may overshoot."""

SEPARATED = (
    "its likelihood has no maximum, because its terms separate a class completely from the others "
    "(the larger the coefficients, the better)"
)


def multinomial_baseline(
    fit: AbstractFit, folds: Int[np.ndarray, " rows"]
) -> tuple[Float[np.ndarray, "rows classes"] | None, str]:
    """Class probabilities of each row from the other folds, or None and why there are none.

    Parameters
    ----------
    fit : Fit
        Of a ``ConditionalMixtureNetwork`` for classes.
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
    if model.weights is not None:
        return None, "it knows no case weights, and these rows have some"
    codes = np.asarray(design.response, dtype=int)
    return probabilities_left_out(design.matrices["mean"], codes, folds, len(design.levels))


def probabilities_left_out(
    terms: Float[np.ndarray, "rows terms"],
    codes: Int[np.ndarray, " rows"],
    folds: Int[np.ndarray, " rows"],
    n_classes: int | None = None,
) -> tuple[Float[np.ndarray, "rows classes"] | None, str]:
    """Class probabilities of each row from multinomial regression on the other folds.

    None, and why, if there are none: too many coefficients, a class that is in one fold only, or
    classes that the terms separate.

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

    Examples
    --------
    >>> ones, codes = np.ones((6, 1)), np.array([0, 0, 1, 0, 1, 1])
    >>> p, _ = probabilities_left_out(ones, codes, np.array([0, 0, 0, 1, 1, 1]))
    >>> p[:, 1].round(6).tolist()
    [0.666667, 0.666667, 0.666667, 0.333333, 0.333333, 0.333333]
    """
    basis = spanning(terms)
    n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
    if basis.shape[1] * (n_classes - 1) > MOST_COEFFICIENTS:
        return None, f"it has more than {MOST_COEFFICIENTS} coefficients"
    found = np.zeros((len(codes), n_classes))
    for fold in range(int(folds.max()) + 1):
        out = folds == fold
        if len(np.unique(codes[~out])) < len(np.unique(codes)):
            return None, "a class has too few rows for any to be left out"
        given = multinomial_probabilities(basis[~out], codes[~out], basis[out])
        if given is None:
            return None, SEPARATED
        found[np.ix_(out, np.unique(codes))] = given
    return found, ""


def spanning(terms: Float[np.ndarray, "rows terms"]) -> Float[np.ndarray, "rows basis"]:
    """Columns of mean square one that span the terms: the same predictions, well conditioned."""
    size = np.abs(terms).max(axis=0)
    left, singular, _ = np.linalg.svd(terms / np.where(size > 0.0, size, 1.0), full_matrices=False)
    return np.asarray(left[:, singular > singular[0] * 1e-10] * np.sqrt(len(terms)))


def multinomial_probabilities(
    terms: Float[np.ndarray, "rows terms"],
    codes: Int[np.ndarray, " rows"],
    others: Float[np.ndarray, "others terms"],
) -> Float[np.ndarray, "others classes"] | None:
    """Probabilities of the classes that occur, by maximum likelihood; None if it has no maximum.

    Parameters
    ----------
    terms : array, shape (rows, terms)
        Columns that do not depend on each other, of similar size; see ``spanning``.
    codes : array of int, shape (rows,)
        Observed classes.
    others : array, shape (others, terms)
        The same columns for the rows to be predicted.

    Examples
    --------
    >>> ones, codes = np.ones((4, 1)), np.array([0, 0, 0, 1])
    >>> multinomial_probabilities(ones, codes, ones[:1]).round(6)
    array([[0.75, 0.25]])
    """
    _, label = np.unique(codes, return_inverse=True)
    coefficients = _maximum(terms, label)
    if coefficients is None or _separated(_probabilities(terms, coefficients), label):
        return None
    return _probabilities(others, coefficients)


def _maximum(
    terms: Float[np.ndarray, "rows terms"], label: Int[np.ndarray, " rows"]
) -> Float[np.ndarray, "terms free"] | None:
    """Coefficients of every class but the first; None if no method comes to an end."""
    from statsmodels.discrete.discrete_model import MNLogit

    for method, steps in ASCENTS.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = MNLogit(label, terms).fit(method=method, maxiter=steps, disp=0)
            except (np.linalg.LinAlgError, ValueError, ArithmeticError):
                continue
            coefficients = np.asarray(found.params, dtype=float).reshape(terms.shape[1], -1)
            if found.mle_retvals["converged"] and np.isfinite(found.llf):
                return coefficients
    return None


def _probabilities(
    terms: Float[np.ndarray, "rows terms"], coefficients: Float[np.ndarray, "terms free"]
) -> Float[np.ndarray, "rows classes"]:
    logit = np.column_stack([np.zeros(len(terms)), terms @ coefficients])
    return np.asarray(softmax(logit, axis=1))


def _separated(p: Float[np.ndarray, "rows classes"], label: Int[np.ndarray, " rows"]) -> bool:
    """Whether a class has no row about whose membership there is any doubt."""
    happened = np.eye(p.shape[1])[label]
    return bool((np.abs(p - happened).max(axis=0) < CERTAIN).any())
