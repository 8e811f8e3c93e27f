"""Shape and width of the noise, whatever the covariates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesvb.evaluation.normal_scores import shape_tests, width_test
from bayesvb.results.checks.base import Misfit
from bayesvb.results.checks.causes import without_shape, without_width
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import Remedies

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

LEAST_SKEW = 0.2
"""Skewness of the scores below which it is no problem."""

LEAST_KURTOSIS = 0.3
"""Excess kurtosis of the scores below which it is no problem."""

LEAST_DISTANCE = 0.02
"""Difference of the distribution functions below which it is no problem."""

LEAST_WIDTH = 0.05
"""Relative error of the width below which it is no problem."""


def shape_checks(fit: AbstractFit, seen: Observed, whose: str) -> list[Misfit]:
    """Skewness, tails, shape and width of the normal scores of one response."""
    remedies, found = Remedies(fit, seen.name), shape_tests(seen.scores)
    tests: list[Misfit] = []

    def add(
        name: str, value: tuple[float, float], least: float, measure: str, remedy: str, off: float
    ) -> None:
        without = without_width if name == "Width" else without_shape
        limit = f"{measure} off by more than {least:g}"
        tests.append(
            Misfit(f"{name}{whose}", value[0], measure, remedy, "calibration", value[1],
                   off > least, limit, without=without)
        )  # fmt: skip

    if found:
        skew, tails, shape = found["skew"], found["tails"], found["shape"]
        add("Skewness", skew, LEAST_SKEW, "skewness", remedies.skewed(), abs(skew[0]))
        add("Tails", tails, LEAST_KURTOSIS, "excess kurtosis", remedies.tails(tails[0]),
            abs(tails[0]))  # fmt: skip
        add("Shape", shape, LEAST_DISTANCE, "distance of the cdf", remedies.shape(), shape[0])
    width = width_test(seen.scores)
    add("Width", width, LEAST_WIDTH, "sd of normal scores", remedies.width(width[0]),
        abs(width[0] - 1.0))  # fmt: skip
    return tests
