"""Multinomial regression with normal priors on its coefficients: a maximum always exists."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize

from bayesvb.numerics.special import log_sum_exp

INTERCEPT_SD = 10.0
"""Prior standard deviation of intercepts: a class without rows stays possible, and rare."""

TOLERANCE = 1e-7
"""Largest slope, per row, at which an ascent ends."""

ASCENTS = 200
"""Steps of an ascent, of which separable classes need the most."""


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


def precisions(terms: Float[np.ndarray, "rows terms"], sd: float) -> Float[np.ndarray, " terms"]:
    """Prior precision of the coefficients of each term: weak for an intercept, which comes first.

    Examples
    --------
    >>> precisions(np.array([[1.0, -1.0], [1.0, 1.0]]), 0.5).round(6).tolist()
    [0.01, 4.0]
    """
    found = np.full(terms.shape[1], sd**-2.0)
    if len(found) and (terms[:, 0] == 1.0).all():
        found[0] = INTERCEPT_SD**-2.0
    return found


def ridge_coefficients(
    terms: Float[np.ndarray, "rows terms"],
    codes: Int[np.ndarray, " rows"],
    precision: Float[np.ndarray, " terms"],
    start: Float[np.ndarray, "terms classes"],
    weights: Float[np.ndarray, " rows"] | None = None,
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
        Where the ascent begins.
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
        found = (spread @ terms).T + tau * step.reshape(shape)
        return np.asarray(found.ravel() / total)

    found = minimize(value, start.ravel(), jac=True, hessp=curvature, method="trust-ncg",
                     options={"gtol": TOLERANCE, "maxiter": ASCENTS})  # fmt: skip
    return np.asarray(found.x, dtype=float).reshape(shape)
