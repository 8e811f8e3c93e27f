"""Why many components may be chosen: heavy tails, or skewed noise that several describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.case_weights import sum_and_error
from bayesvb.distributions.base import AbstractRowDistribution
from bayesvb.errors import ignoring_user_warnings
from bayesvb.evaluation.elpd import Elpd
from bayesvb.numerics.arrays import PointRows, PointVector
from bayesvb.results.criteria import elpd
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit

FamilyFit = Callable[[int], "Fit | None"]
"""A fit with Student experts and a number of components; None if it was interrupted."""


@dataclass(frozen=True, kw_only=True)
class ShapeLimits:
    """When a predictive distribution counts as unimodal, skewed or heavy-tailed."""

    rows: int = 50
    """Rows whose predictive densities are evaluated."""

    points: int = 400
    """Points of each density."""

    bimodal: float = 0.1
    """Part of the rows that may have two modes where the density counts as unimodal."""

    fall: float = 0.7
    """Part of the lower of two maxima below which the density falls between two modes."""

    least_height: float = 0.05
    """Proportion of the largest maximum below which a maximum is not a mode."""

    skewness: float = 0.3
    """Skewness from which a distribution is called skewed."""

    kurtosis: float = 0.5
    """Excess kurtosis from which it is called heavy-tailed."""


SHAPES = ShapeLimits()


def student_alternative(
    fits: Mapping[int, Fit], results: Mapping[int, Elpd], chosen: int, fit_student: FamilyFit
) -> tuple[dict[int, Fit], str]:
    """Fits with Student experts, and a sentence if they need fewer components or predict better.

    From the chosen number downwards, until one predicts worse: a Gaussian mixture spends
    components on the tails of its noise.

    Parameters
    ----------
    fits : mapping of int to Fit
        With Gaussian experts.
    results : mapping of int to Elpd
        Their criteria.
    chosen : int
    fit_student : callable
    """
    students: dict[int, Fit] = {}
    alternative: tuple[int, float, float] | None = None
    for number in sorted((k for k in fits if k <= chosen), reverse=True):
        fit = fit_student(number)
        if fit is None:
            break
        students[number] = fit
        with ignoring_user_warnings():
            criterion = elpd(fit, results[chosen].kind)
        gap, error = sum_and_error(
            criterion.pointwise - results[chosen].pointwise, criterion.weights, ddof=0
        )
        margin = max(LIMITS.equal_elpd, LIMITS.standard_errors * error)
        if gap < -margin:
            break
        if number < chosen or gap > margin:
            alternative = number, gap, error
    return students, "" if alternative is None else _sentence(chosen, *alternative)


def _sentence(chosen: int, number: int, gap: float, error: float) -> str:
    difference = f"elpd {gap:+.1f} compared with {chosen} Gaussian components, se {error:.1f}"
    if number < chosen:
        plural = "component predicts" if number == 1 else "components predict"
        return (
            f'With `family="student"` {number} {plural} as well ({difference}): fewer '
            "components with heavier tails do."
        )
    return (
        f'With `family="student"` the same number predicts better ({difference}): the noise has '
        "heavy tails."
    )


def unimodal_noise(fit: Fit) -> str:
    """A sentence if the predictive density is unimodal at nearly every row; else empty."""
    frame = fit.model.design.frame
    at = np.unique(np.linspace(0, len(frame) - 1, SHAPES.rows).astype(int))
    with ignoring_user_warnings():
        laws = [
            fit.predictive(frame.iloc[at], response=name)
            for name in fit.model.design.response_names
        ]
    if len(laws) != 1 or fit.model.size == 1:
        return ""
    densities, points = _densities(laws[0])
    if np.mean([_n_modes(one) > 1 for one in densities.T]) > SHAPES.bimodal:
        return ""
    skewness, kurtosis = _shape(densities, points)
    names = ["skewed"] if abs(skewness) > SHAPES.skewness else []
    names += ["heavy-tailed"] if kurtosis > SHAPES.kurtosis else []
    if not names:
        return ""
    return (
        f"The predictive density is unimodal at nearly every row, {' and '.join(names)} (skewness "
        f"{skewness:.1f}, excess kurtosis {kurtosis:.1f}): the {fit.model.size} components "
        "describe the shape of the noise, and need not be groups."
    )


def _densities(law: AbstractRowDistribution) -> tuple[PointRows, PointRows]:
    """Densities of the rows between their outer quantiles, at points of their own."""
    low, high = law.quantile(np.array([0.001, 0.999]))
    points = np.linspace(low, high, SHAPES.points)
    return np.exp(np.stack([law.log_density(each) for each in points])), points


def _n_modes(density: PointVector) -> int:
    """Maxima between which the density falls clearly below the lower of both.

    Examples
    --------
    >>> _n_modes(np.array([0.0, 1.0, 0.9, 1.0, 0.2, 0.5, 0.0]))
    2
    """
    peaks: list[float] = []
    valley = 0.0
    for height in density[density > SHAPES.least_height * density.max()].tolist():
        valley = min(valley, height)
        if not peaks or valley < SHAPES.fall * min(peaks[-1], height):
            peaks.append(height)
            valley = height
        elif height > peaks[-1]:
            peaks[-1] = valley = height
    return len(peaks)


def _shape(densities: PointRows, points: PointRows) -> tuple[float, float]:
    """Median skewness and excess kurtosis of the rows."""
    mass = densities / densities.sum(axis=0)
    centred = points - (mass * points).sum(axis=0)
    moments = [(mass * centred**power).sum(axis=0) for power in (2, 3, 4)]
    skewness = moments[1] / moments[0] ** 1.5
    return float(np.median(skewness)), float(np.median(moments[2] / moments[0] ** 2 - 3.0))
