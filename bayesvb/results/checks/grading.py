"""Thresholds of the grades of the checks: two tables, with the reason of each entry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from bayesvb.results.limits import LIMITS

Grade = Literal["ok", "note", "problem"]


@dataclass(frozen=True, kw_only=True)
class GradeLimits:
    """Values of a number from which a check is worth a note, and a problem.

    Attributes
    ----------
    note, problem : float
        Limits of the two grades, in the unit of the number. Smaller values are worse if
        ``problem`` is below ``note``, larger values otherwise.

    Examples
    --------
    >>> limits = GradeLimits(note=0.95, problem=0.8)
    >>> limits.grade(0.9), limits.description
    ('note', 'note: below 0.95; problem: below 0.8')
    """

    note: float
    problem: float

    @property
    def description(self) -> str:
        """Both limits, as the table of checks shows them."""
        side = "below" if self.problem < self.note else "above"
        return f"note: {side} {self.note:g}; problem: {side} {self.problem:g}"

    def grade(self, number: float) -> Grade:
        """Grade of a number; one at a limit has the better grade."""
        sign = -1.0 if self.problem < self.note else 1.0
        if sign * number > sign * self.problem:
            return "problem"
        return "note" if sign * number > sign * self.note else "ok"


GRADES: Mapping[str, GradeLimits] = MappingProxyType(
    {
        # Adjusted p-values: the remainder of five false alarms in a hundred right fits is left to
        # the checks that are no tests.
        "p-value": GradeLimits(note=0.1, problem=0.03),
        # Mean probability of one step of the response. Of Poisson counts the limits are reached
        # at means of 16 and 8; of rounding at a quarter and a third of the noise.
        "Discreteness": GradeLimits(note=0.07, problem=0.1),
        # Part of the rows of a component that have one value.
        "Degenerate component": GradeLimits(note=0.5, problem=0.9),
        # Change of the predictions of a run that stopped at max_iter, in posterior standard
        # deviations and a hundred iterations. Ten times the first limit and up to twice the
        # second were missing from the optimum.
        "Convergence": GradeLimits(note=0.01, problem=0.1),
        # Nats per row between the predictions of rival restarts.
        "Restart predictions": GradeLimits(note=0.05, problem=0.25),
        # Width of an interval as a share of the exact one.
        "Close to the posterior": GradeLimits(note=0.95, problem=0.8),
        # Share of the noise that is the prior's. It is 0.3 and more where rows are fitted exactly,
        # and below 1e-5 for other data with the default prior.
        "Noise of the components": GradeLimits(note=0.01, problem=0.1),
        # R-hat. Of independent draws in 4 chains of 250 the largest of 30 parameters is below
        # 1.011 in 99 of 100 cases.
        "Chains agree": GradeLimits(note=1.02, problem=LIMITS.exact_r_hat),
        # Share of optima not yet found. No number of restarts makes it a problem.
        "Restarts agree": GradeLimits(note=0.5, problem=math.inf),
        # Standard errors of the gain by one more component.
        "One more component": GradeLimits(note=2.0, problem=3.0),
    }
)
"""Limits by name of the check."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of misfits that are negligible, however small their p-values.

    With many rows every misfit is beyond doubt, also one that changes no prediction.
    """

    variance: float = 0.005
    """Share of the variance of the normal scores that covariates, or groups of rows, explain."""

    autocorrelation: float = 0.05
    """Autocorrelation of the scores, or of their sizes, at lag 1."""

    skewness: float = 0.2
    """Skewness of the scores."""

    kurtosis: float = 0.3
    """Excess kurtosis of the scores."""

    distance: float = 0.02
    """Largest difference between the distribution functions of the scores and of the normal law."""

    width: float = 0.05
    """Relative error of the standard deviation of the scores."""

    excess: float = 0.05
    """Share of rows at one value beyond those that are predicted there."""

    miscalibration: float = 0.002
    """Mean squared error of class probabilities."""


MATTERS = Sizes()
