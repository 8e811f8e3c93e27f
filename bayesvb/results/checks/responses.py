"""Checks whether the distribution can describe the response: counts, rounding, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from bayesvb.data.line_width import number_text
from bayesvb.evaluation.discreteness import Discreteness, discreteness, rows_beyond
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.numerics.segments import segment_sums
from bayesvb.results.checks.base import Check, Misfit, decided
from bayesvb.results.checks.edits import Edit, Remedy
from bayesvb.results.checks.grading import GRADES, MATTERS
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import DISPERSED, HURDLE, STUDENT, Remedies
from bayesvb.results.checks.scope import SCOPE
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

ZEROS = "Zeros"
"""Name of the test of the number of zeros of a count."""


def response_checks(
    fit: AbstractFit, seen: Observed, whose: str
) -> tuple[list[Check], list[Misfit]]:
    """Discreteness, which is not a test, and tests of a repeated value and of both ends."""
    result = discreteness(seen.values, seen.law.cdf)
    tests = [_shared(seen, result, whose)]
    for name, end, largest in (
        ("Smallest", seen.values.min(), False),
        ("Largest", seen.values.max(), True),
    ):
        tests.append(_end(fit, seen, f"{name} response{whose}", float(end), largest=largest))
    return [_steps(fit, seen, result, whose)], tests


def _steps(fit: AbstractFit, seen: Observed, discrete: Discreteness, whose: str) -> Check:
    limits = GRADES["Discreteness"]
    return decided(f"Discreteness{whose}", "fit", limits.grade(discrete.step), discrete.step,
                   "probability of one step", threshold=limits.description,
                   remedy=_remedy(fit, seen, discrete), section="replicates")  # fmt: skip


def _remedy(fit: AbstractFit, seen: Observed, discrete: Discreteness) -> str:
    """Remedy for values that rows share: one value, counts, or a coarse grid."""
    value, share = discrete.largest
    # without that value the check would be in order
    if (1.0 - share) * discrete.step <= GRADES["Discreteness"].note:
        return (
            f"The cause is rows that are exactly {value:g}: model separately whether the "
            "response has that value."
        )
    rounded = Remedies(fit, seen.name, seen.may_split).rounded()
    interval = ("read intervals as rounded outwards",) if rounded is None else ("fit ", rounded)
    if _are_counts(seen):
        return Remedy.of(
            "A density does not give the probabilities of whole numbers. For counts use ",
            ("a model of counts", DISPERSED), "; for rounded measurements ", *interval, ".",
        )  # fmt: skip
    start = "The response is rounded coarsely compared with its noise: use exact values, or "
    return Remedy.of(start, *interval, ".")


def _are_counts(seen: Observed) -> bool:
    return bool((seen.values == np.round(seen.values)).all() and seen.values.min() >= 0.0)


def _shared(seen: Observed, discrete: Discreteness, whose: str) -> Misfit:
    model = "model separately whether the response has that value"
    change: str | tuple[str, Edit] = model
    if discrete.value == 0.0 == seen.values.min():
        change = (model, DISPERSED if _are_counts(seen) else HURDLE)
    start = f"Many rows are exactly {discrete.value:g}, as if censored there: "
    remedy = Remedy.of(start, change, ".")
    return Misfit(f"Repeated value{whose}", discrete.excess, f"excess share at {discrete.value:g}",
                  remedy, "replicates", discrete.p_value, discrete.excess > MATTERS.excess,
                  f"excess above {MATTERS.excess:g}")  # fmt: skip


def zero_tests(fit: AbstractFit, seen: Observed, whose: str) -> list[Misfit]:
    """Test of the number of zeros of a count, given the probability of one in each row.

    Probabilities are in-sample predictions: the test is conservative.

    References
    ----------
    van den Broek (1995), A score test for zero inflation in a Poisson distribution, Biometrics
    51(2), for the test with the coefficients estimated.
    """
    probability = np.exp(seen.law.log_density(np.zeros(len(seen.values))))
    rest = (seen.values == 0.0) - probability
    deviation = float(np.sqrt((probability * (1.0 - probability)).sum()))
    if deviation == 0.0:
        return []
    excess, p_value = float(rest.mean()), 2.0 * float(ndtr(-abs(rest.sum()) / deviation))
    matters = abs(excess) > MATTERS.excess
    remedy = Remedies(fit, seen.name, seen.may_split).zeros(excess)
    return [Misfit(f"{ZEROS}{whose}", excess, "excess share of zeros", remedy, "replicates",
                   p_value, matters, f"excess above {MATTERS.excess:g}")]  # fmt: skip


def _end(fit: AbstractFit, seen: Observed, name: str, end: float, *, largest: bool) -> Misfit:
    expected, p = rows_beyond(end, seen.law.cdf, len(seen.values), largest=largest)
    side = "above" if largest else "below"
    if expected > 1.0:
        remedy = Remedies(fit, seen.name, seen.may_split).bounded(end, largest=largest)
    else:
        words = f"The row with {number_text(end)} is an outlier: verify its value; "
        remedy = Remedy.of(words, STUDENT, " gives such rows less weight.")
    return Misfit(name, expected, f"rows expected {side} it", remedy, "replicates", p, True,
                  "")  # fmt: skip


def tied_checks(fit: AbstractFit, seen: Observed, whose: str) -> list[Check]:
    """One check, if a value is shared by several rows and components are distinguished.

    The likelihood has no maximum there: the noise of a component that holds the rows of one value
    goes to zero, and only its prior keeps it from it (Day 1969, doi:10.1093/biomet/56.3.463).
    """
    n_rows = fit.model.design.n_rows
    if not fit.model.order_rule or fit.model.size == 1:
        return []
    values, codes, counts = np.unique(seen.values, return_inverse=True, return_counts=True)
    if counts.max() < SCOPE.tied_rows:
        return []
    given = fit.responsibilities().to_numpy()
    if len(given) != n_rows:  # those of groups
        return []
    given = given[seen.at]
    if fit.model.weights is not None:
        given = given * fit.model.weights[seen.at, None]
    shares = shares_of_values(given, codes)
    shares[counts < SCOPE.tied_rows] = 0.0
    shares[:, given.sum(axis=0) < LIMITS.negligible_weight * given.sum()] = 0.0
    place, component = divmod(int(shares.argmax()), shares.shape[1])
    share, value = float(shares[place, component]), float(values[place])
    limits = GRADES["Degenerate component"]
    return [decided(f"Degenerate component{whose}", "fit", limits.grade(share), share,
                    "share of one value in a component", threshold=limits.description,
                    remedy=_tied_advice(share, component + 1, value),
                    section="replicates")]  # fmt: skip


def _tied_advice(share: float, component: int, value: float) -> str:
    """Consequence for this component, and the remedy."""
    if share > GRADES["Degenerate component"].problem:
        return (
            f"Component {component} holds the rows that are exactly {value:g}: its noise is "
            "determined by the prior, and densities near that value are meaningless. Model "
            "separately whether the response has that value, or use exact values."
        )
    return (
        f"Of the rows of component {component}, {share:.0%} are exactly {value:g}: they make its "
        "noise small, and densities near that value mean little. Use exact values if there are any."
    )


def shares_of_values(
    memberships: Float[np.ndarray, "rows experts"], codes: RowIntegers
) -> Float[np.ndarray, "found experts"]:
    """Part of each component's rows that have each value; ``codes`` number the values.

    Examples
    --------
    >>> memberships = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> shares_of_values(memberships, np.array([0, 0, 1, 0]))
    array([[1. , 0.5],
           [0. , 0.5]])
    """
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(codes.max() + 1))
    sums = segment_sums(np.ascontiguousarray(memberships[order].T), starts).T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nan_to_num(sums / memberships.sum(axis=0)))
