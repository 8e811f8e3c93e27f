"""Has a component shrunk to one value of the response? Then its prior alone keeps its noise up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.numerics.segments import segment_sums
from bayesvb.results.checks.base import Check, Grade, decided
from bayesvb.results.checks.pits import Observed
from bayesvb.results.empty_components import OCCUPIED

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

SHARE, NOTED_SHARE = 0.9, 0.5
"""Part of a component's rows with one value: a problem, and worth a note."""

FEWEST = 5
"""Rows that share a value, from which it is a tie: fewer are chance, or copies of a row."""


def tied_checks(fit: AbstractFit, seen: Observed, whose: str) -> list[Check]:
    """One check, where a value is shared by several rows and components are told apart.

    The likelihood has no maximum there: the noise of a component that holds the rows of one value
    goes to zero, and only its prior keeps it from it (Day 1969, doi:10.1093/biomet/56.3.463).
    """
    n_rows = fit.model.design.n_rows
    if not fit.model.order_rule or fit.model.size == 1:
        return []
    values, codes, counts = np.unique(seen.values, return_inverse=True, return_counts=True)
    if counts.max() < FEWEST:
        return []
    given = fit.responsibilities().to_numpy()
    if len(given) != n_rows:  # those of groups
        return []
    given = given[seen.at]
    if fit.model.weights is not None:
        given = given * fit.model.weights[seen.at, None]
    shares = shares_of_values(given, codes)
    shares[counts < FEWEST] = 0.0
    shares[:, given.sum(axis=0) < OCCUPIED * given.sum()] = 0.0
    place, component = divmod(int(shares.argmax()), shares.shape[1])
    share, value = float(shares[place, component]), float(values[place])
    grade: Grade = "problem" if share > SHARE else "note" if share > NOTED_SHARE else "ok"
    return [decided(f"Component of one value{whose}", "fit", grade, share,
                    "share of one value in a component",
                    threshold=f"note: above {NOTED_SHARE:g}; problem: above {SHARE:g}",
                    remedy=_remedy(share, component + 1, value), section="replicates")]  # fmt: skip


def _remedy(share: float, component: int, value: float) -> str:
    """What it means for this component, and what to do."""
    if share > SHARE:
        return (
            f"Component {component} holds the rows that are exactly {value:g}: its noise is what "
            "its prior leaves, and densities near that value mean nothing. Model whether the "
            "response is that value apart from the others, or use exact values."
        )
    return (
        f"Of the rows of component {component}, {share:.0%} are exactly {value:g}: they make its "
        "noise small, and densities near that value mean little. Use exact values if there are any."
    )


def shares_of_values(
    memberships: Float[np.ndarray, "rows experts"], codes: Int[np.ndarray, " rows"]
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
