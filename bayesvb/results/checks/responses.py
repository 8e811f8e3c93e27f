"""Is the response such as a density can describe? Counts, rounding, shared values, its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.evaluation.discreteness import Discreteness, discreteness, rows_beyond
from bayesvb.results.checks.base import Check, Grade, Misfit, decided
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import Remedies

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

COARSE, ROUGH = 0.1, 0.07
"""Mean probability of one step of the response: a problem, and worth a note.

Of Poisson counts they are reached at means of 8 and 16; of rounding at a third and a quarter of
the noise.
"""

EXCESS = 0.05
"""Share of rows in excess at one value from which it is a problem."""


def response_checks(
    fit: AbstractFit, seen: Observed, whose: str
) -> tuple[list[Check], list[Misfit]]:
    """Discreteness, which is no test, and tests of a shared value and of both ends."""
    found = discreteness(seen.values, seen.law.cdf)
    tests = [_shared(found, whose)]
    for name, end, largest in (
        ("Smallest", seen.values.min(), False),
        ("Largest", seen.values.max(), True),
    ):
        tests.append(_end(fit, seen, f"{name} response{whose}", float(end), largest=largest))
    return [_steps(seen, found, whose)], tests


def _steps(seen: Observed, found: Discreteness, whose: str) -> Check:
    grade: Grade = "problem" if found.step > COARSE else "note" if found.step > ROUGH else "ok"
    threshold, remedy = f"note: above {ROUGH:g}; problem: above {COARSE:g}", _remedy(seen, found)
    return decided(f"Discreteness{whose}", "fit", grade, found.step, "probability of one step",
                   threshold=threshold, remedy=remedy, section="replicates")  # fmt: skip


def _remedy(seen: Observed, found: Discreteness) -> str:
    """What to do about values that rows share: one value, counts, or a coarse grid."""
    value, share = found.largest
    if (1.0 - share) * found.step <= ROUGH:  # without it all would be in order
        return (
            f"It comes from the rows that are exactly {value:g}: model whether the response is "
            "that value apart from the others."
        )
    if (seen.values == np.round(seen.values)).all() and seen.values.min() >= 0.0:
        return (
            "The response is a count: its probabilities are not those of a density; use a model of "
            "counts, or read intervals as rounded outwards to whole numbers."
        )
    return (
        "The response is rounded coarsely beside its noise: use exact values, or read intervals as "
        "rounded outwards."
    )


def _shared(found: Discreteness, whose: str) -> Misfit:
    remedy = (
        f"Many rows are exactly {found.value:g}, as if cut off there: model whether the response "
        "is that value apart from the others."
    )
    return Misfit(f"Shared value{whose}", found.excess, f"excess share at {found.value:g}", remedy,
                  "replicates", found.p_value, found.excess > EXCESS,
                  f"excess above {EXCESS:g}")  # fmt: skip


def _end(fit: AbstractFit, seen: Observed, name: str, end: float, *, largest: bool) -> Misfit:
    expected, p = rows_beyond(end, seen.law.cdf, len(seen.values), largest=largest)
    side = "above" if largest else "below"
    if expected > 1.0:
        remedy = Remedies(fit, seen.name).bounded(end, largest=largest)
    else:
        remedy = (
            f"The row with {end:.4g} is an outlier: see whether it is right; "
            '`family="student"` gives such rows less weight.'
        )
    return Misfit(name, expected, f"rows expected {side} it", remedy, "replicates", p, True,
                  "")  # fmt: skip
