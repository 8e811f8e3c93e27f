"""Reliability of class probabilities by isotonic regression, and what calibration would show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from bayesvb.evaluation.classification import checked_predictions
from bayesvb.numerics.arrays import Indices, PointVector, RowIntegers, RowVector

SETS = 1000
"""Sets of classes that are drawn with exactly the predicted probabilities."""

BAND = 0.9
"""Probability that a share lies within the band if predictions are right."""

POINTS = 101
"""Probabilities at which a band is kept."""


@dataclass(frozen=True)
class ReliabilityCurve:
    """Share of rows of one class as a rising function of its predicted probability.

    Attributes
    ----------
    probability : ndarray, shape (points,)
        Predicted probabilities, rising.
    share : ndarray, shape (points,)
        The isotonic regression of what happened on them.
    lower, upper : ndarray, shape (points,)
        Where the share would lie with probability ``BAND`` if predictions were right.
    brier, miscalibration, discrimination, uncertainty : float
        Mean squared error of the probability, and its parts: error is miscalibration less
        discrimination plus uncertainty.
    """

    probability: PointVector
    share: PointVector
    lower: PointVector
    upper: PointVector
    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True)
class Reliability:
    """Curves of all classes, and the probability of their misfit if predictions are right.

    Attributes
    ----------
    curves : tuple of ReliabilityCurve
    p_value : float
        Share of drawn sets of classes whose miscalibration, summed over the classes, is at least
        the observed one.
    """

    curves: tuple[ReliabilityCurve, ...]
    p_value: float


def reliability(
    probabilities: ArrayLike, codes: ArrayLike, rng: np.random.Generator, n_sets: int = SETS
) -> Reliability:
    """Curve of each class with its consistency band, and a test of all of them together.

    The curve is the isotonic regression of the indicator of the class on its probability, which
    needs no bins; the parts of its Brier score follow from it. Bands are quantiles of the curves
    of classes that are drawn with the predicted probabilities.

    Parameters
    ----------
    probabilities : array_like, shape (rows, classes)
        Predicted, of rows that the predictions have not seen.
    codes : array_like of int, shape (rows,)
        Observed classes 0, 1, ...
    rng : numpy.random.Generator
        For the classes that are drawn.
    n_sets : int
        How often classes are drawn for all rows.

    Returns
    -------
    Reliability

    Raises
    ------
    DataError
        If shapes do not match, a row is not a probability distribution, or a code is out of range.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    PNAS 118(8), doi:10.1073/pnas.2016191118, eqs 1, 4 and section "Uncertainty quantification".

    Examples
    --------
    Of 40 rows with probability 20% half belong to the class, and of 40 with 70% too:

    >>> p = np.repeat([0.2, 0.7], 40)
    >>> codes = np.tile([0, 1], 40)
    >>> found = reliability(np.column_stack([1.0 - p, p]), codes, np.random.default_rng(1))
    >>> curve = found.curves[1]
    >>> curve.probability.tolist(), curve.share.tolist()
    ([0.2, 0.7], [0.5, 0.5])
    >>> round(curve.miscalibration, 3), round(curve.discrimination, 3), found.p_value < 0.01
    (0.065, 0.0, True)
    """
    p, y = checked_predictions(probabilities, codes)
    n_rows, n_classes = p.shape
    edges = np.cumsum(p, axis=1)[:, :-1]
    drawn = np.array([(rng.random((n_rows, 1)) > edges).sum(axis=1) for _ in range(n_sets)])
    curves, total, totals = [], 0.0, np.zeros(n_sets)
    for k in range(n_classes):
        steps = _Steps.of(p[:, k])
        at = _chosen(len(steps.probability))
        sets = np.empty((n_sets, len(at)))
        for number, one in enumerate(drawn):
            share, miscalibration = steps.regression(one == k)
            sets[number] = share[at]
            totals[number] += miscalibration
        share, miscalibration = steps.regression(y == k)
        total += miscalibration
        low, high = np.quantile(sets, [(1.0 - BAND) / 2.0, (1.0 + BAND) / 2.0], axis=0)
        curves.append(_curve(steps, at, y == k, (share, low, high), miscalibration))
    reached = int((totals >= total * (1.0 - 1e-12)).sum())
    return Reliability(tuple(curves), (1 + reached) / (1 + n_sets))


def _chosen(n: int) -> Indices:
    """Positions of at most ``POINTS`` among ``n`` values, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, POINTS)).round().astype(int))


@dataclass(frozen=True)
class _Steps:
    """Different values of a predicted probability, and which of them each row has."""

    probability: Float[np.ndarray, " values"]
    value: RowIntegers
    rows: Float[np.ndarray, " values"]

    @classmethod
    def of(cls, predicted: RowVector) -> _Steps:
        probability, value = np.unique(predicted, return_inverse=True)
        return cls(probability, value, np.bincount(value).astype(float))

    def regression(self, happened: np.ndarray) -> tuple[Float[np.ndarray, " values"], float]:
        """Rising shares, and by how much they lower the mean squared error."""
        from scipy.optimize import isotonic_regression

        mean = np.bincount(self.value, happened, minlength=len(self.rows)) / self.rows
        share = np.asarray(isotonic_regression(mean, weights=self.rows).x)
        p = self.probability
        gain = self.rows @ (p**2 - share**2 - 2.0 * mean * (p - share)) / len(self.value)
        return share, float(gain)


def _curve(
    steps: _Steps,
    at: Int[np.ndarray, " points"],
    happened: np.ndarray,
    lines: tuple[np.ndarray, ...],
    miscalibration: float,
) -> ReliabilityCurve:
    share, low, high = lines
    brier = float(np.mean((steps.probability[steps.value] - happened) ** 2))
    uncertainty = float(happened.mean() * (1.0 - happened.mean()))
    return ReliabilityCurve(
        probability=steps.probability[at],
        share=share[at],
        lower=low,
        upper=high,
        brier=brier,
        miscalibration=miscalibration,
        discrimination=uncertainty + miscalibration - brier,
        uncertainty=uncertainty,
    )
