"""Multinomial regression with a ridge penalty as a baseline, judged on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax, softmax

from bayesvb.numerics.arrays import RowIntegers, RowMask, RowVector, TermVector
from bayesvb.numerics.special import log_sum_exp

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, kw_only=True)
class RidgeSettings:
    """Penalties that are tried, and how far the optimisation goes."""

    spreads: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    """Prior standard deviations that are tried, of coefficients of standardised terms."""

    default_sd: float = 1.0
    """Prior standard deviation where none can be chosen: weakly informative."""

    most_choices: int = 2000
    """Coefficients beyond which no penalty is chosen, and rows on which each is tried."""

    intercept_sd: float = 10.0
    """Prior standard deviation of intercepts: a class without rows stays possible, and rare."""

    tol: float = 1e-7
    """Largest gradient, per row, at which the optimisation stops."""

    max_iter: int = 200
    """Iterations of the optimisation, of which separable classes need the most."""


RIDGE = RidgeSettings()


def probabilities_left_out(
    terms: Float[np.ndarray, "rows terms"],
    codes: RowIntegers,
    folds: RowIntegers,
    n_classes: int | None = None,
    *,
    weights: RowVector | None = None,
    spreads: tuple[float, ...] = RIDGE.spreads,
) -> tuple[Float[np.ndarray, "rows classes"], str]:
    """Class probabilities of each row from multinomial regression on the other folds.

    The prior standard deviation of each fold is the best for predictions of the rows of the other
    folds, each held out as well: a fold is not used for the choice of the prior that predicts it.

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
    probabilities = np.zeros((len(codes), n_classes))
    for fold in np.unique(folds):
        out, sd = folds == fold, chosen.get(int(fold), RIDGE.default_sd)
        kept = used[~out], label[~out]
        b = ridge_coefficients(*kept, precisions(used, sd), blank, w[~out])
        probabilities[np.ix_(out, present)] = softmax(used[out] @ b, axis=1)
    return probabilities, _said(sorted(set(chosen.values())))


def _chosen(
    terms: Float[np.ndarray, "rows terms"],
    label: RowIntegers,
    folds: RowIntegers,
    weights: RowVector,
    spreads: tuple[float, ...],
) -> dict[int, float]:
    """Prior standard deviation by fold; none if there are too few folds or too many coefficients.

    Of many rows some choose, evenly spaced: the prior of many rows matters little.
    """
    numbers, n_classes = np.unique(folds), int(label.max()) + 1
    if len(numbers) < 3 or terms.shape[1] * n_classes > RIDGE.most_choices:
        return {}
    total = {int(fold): np.zeros(len(spreads)) for fold in numbers}
    some = np.zeros(len(label), dtype=bool)
    some[np.unique(np.linspace(0, len(label) - 1, RIDGE.most_choices).astype(int))] = True
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
    label: RowIntegers,
    weights: RowVector,
    coefficients: Float[np.ndarray, "terms classes"],
    at: RowMask,
) -> float:
    log_p = log_softmax(terms[at] @ coefficients, axis=1)
    return float(weights[at] @ log_p[np.arange(int(at.sum())), label[at]])


def _said(spreads: list[float]) -> str:
    if not spreads:
        return f"{RIDGE.default_sd:g}, fixed"
    ends = f"{spreads[0]:g}"
    if len(spreads) > 1:
        ends += f" to {spreads[-1]:g}"
    return f"{ends}, chosen by cross-validation within the training folds"


def standardised(terms: Float[np.ndarray, "rows terms"]) -> Float[np.ndarray, "rows used"]:
    """Terms of mean square one, centred if one of them is constant, which then comes first.

    Examples
    --------
    >>> standardised(np.array([[1.0, 2.0], [1.0, 6.0]])).round(6).tolist()
    [[1.0, -1.0], [1.0, 1.0]]
    """
    size = np.abs(terms).max(axis=0)
    scaled = terms / np.where(size > 0.0, size, 1.0)
    constant = np.ptp(scaled, axis=0) <= 1e-10
    intercept = bool((constant & (size > 0.0)).any())
    rest = scaled[:, ~constant]
    if intercept:
        rest = rest - rest.mean(axis=0)
    rest = rest / np.sqrt((rest**2).mean(axis=0))
    return np.column_stack([np.ones((len(terms), int(intercept))), rest])


def precisions(terms: Float[np.ndarray, "rows terms"], sd: float) -> TermVector:
    """Prior precision of the coefficients of each term: weak for an intercept, which comes first.

    Examples
    --------
    >>> precisions(np.array([[1.0, -1.0], [1.0, 1.0]]), 0.5).round(6).tolist()
    [0.01, 4.0]
    """
    precision = np.full(terms.shape[1], sd**-2.0)
    if len(precision) and (terms[:, 0] == 1.0).all():
        precision[0] = RIDGE.intercept_sd**-2.0
    return precision


def ridge_coefficients(
    terms: Float[np.ndarray, "rows terms"],
    codes: RowIntegers,
    precision: TermVector,
    start: Float[np.ndarray, "terms classes"],
    weights: RowVector | None = None,
) -> Float[np.ndarray, "terms classes"]:
    r"""Coefficients of every class at the one maximum of likelihood times prior.

    .. math:: \sum_i w_i \log \mathrm{softmax}(x_i^\top B)_{c_i}
              - \tfrac12 \sum_j \tau_j \sum_k B_{jk}^2

    Parameters
    ----------
    terms : array, shape (rows, terms)
        Of similar size; see ``standardised``.
    codes : array of int, shape (rows,)
        Observed classes 0, 1, ...; a class need not have rows.
    precision : array, shape (terms,)
        Prior precisions, above zero.
    start : array, shape (terms, classes)
        Initial coefficients.
    weights : array, shape (rows,), optional
        A row of weight w counts as w rows.

    Examples
    --------
    >>> ones, codes = np.ones((4, 1)), np.array([0, 0, 0, 1])
    >>> found = ridge_coefficients(ones, codes, np.array([1e-9]), np.zeros((1, 2)))
    >>> round(1.0 / (1.0 + float(np.exp(found[0, 1] - found[0, 0]))), 6)
    0.75
    """
    w = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=float)
    total = max(float(w.sum()), 1.0)
    happened = np.eye(start.shape[1])[codes] * w[:, None]
    shape, tau = start.shape, precision[:, None]

    by_class, known = np.ascontiguousarray(terms.T), np.ascontiguousarray(happened.T)

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        b = flat.reshape(shape)
        logit = b.T @ by_class
        top, p = log_sum_exp(logit)
        loss = float(w @ top) - float((known * logit).sum()) + 0.5 * float((tau * b**2).sum())
        slope = ((p * w - known) @ terms).T + tau * b
        return loss / total, slope.ravel() / total

    def curvature(flat: np.ndarray, step: np.ndarray) -> np.ndarray:
        p = log_sum_exp(flat.reshape(shape).T @ by_class)[1]
        moved = step.reshape(shape).T @ by_class
        spread = p * (moved - (p * moved).sum(axis=0)) * w
        coefficients = (spread @ terms).T + tau * step.reshape(shape)
        return np.asarray(coefficients.ravel() / total)

    from scipy.optimize import minimize  # here: it takes a tenth of importing a model

    coefficients = minimize(value, start.ravel(), jac=True, hessp=curvature, method="trust-ncg",
                     options={"gtol": RIDGE.tol, "maxiter": RIDGE.max_iter})  # fmt: skip
    return np.asarray(coefficients.x, dtype=float).reshape(shape)
