"""Are some rows outliers? Rows much farther from predictions than the tails of the others reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool
from scipy.special import ndtr, ndtri, softmax

from bayesvb.data.line_width import number_text
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.evaluation.normal_scores import FEWEST_ROWS, skew_test, tail_test
from bayesvb.numerics.arrays import RowMask, RowVector
from bayesvb.results.checks.base import Check, decided
from bayesvb.results.checks.edits import Remedy
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import STUDENT
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

FAR_ROWS = "Rows far off"
"""Name of the check: where it is a problem all others describe a fit that these rows distort."""


@dataclass(frozen=True, kw_only=True)
class OutlierLimits:
    """When rows stand apart from the others."""

    expected: float = 1e-3
    """Rows that would be as far off by chance, below which they are outliers."""

    few: int = 2
    """Rows up to which rows are outliers, however few there are."""

    share: float = 0.02
    """Part of the rows up to which they are outliers; more are tails, or a component."""

    p_value: float = 0.02
    """p-value of kurtosis and skewness of the remaining rows below which their tails are heavy."""

    gap: float = 2.0
    """Times the distance of the next row from which a row stands apart.
    
    A mean that is wrong, as of a bend, makes rows far off that are next to others."""

    heavy_gap: float = 4.0
    """Times that distance where the tails of the remaining rows are heavy."""

    component: float = 3.5
    """Rows of a component below which it exists for these rows alone."""


OUTLIERS = OutlierLimits()


def far_row_checks(fit: AbstractFit, seen: Observed, whose: str) -> list[Check]:
    """One check: the rows that are outliers, named; it is a problem if there are any."""
    far = np.flatnonzero(outliers(_distances(fit, seen)))
    far = far[np.argsort(-np.abs(seen.values - np.median(seen.values))[far], kind="stable")]
    return [decided(f"{FAR_ROWS}{whose}", "fit", "problem" if len(far) else "ok", float(len(far)),
                    "rows beyond the tails of the others",
                    threshold="problem: as far off by chance with probability below "
                    f"{OUTLIERS.expected:g}",
                    remedy=_remedy(fit, seen, far) if len(far) else "", section="replicates")
    ]  # fmt: skip


def outliers(distances: RowVector) -> RowMask:
    """Rows that are farther off than the remaining rows make likely.

    Distances are measured by the spread of the middle of the rows, which outliers do not change
    although they widen the predictions of all rows. Where the remaining rows have heavy tails, a
    row has to stand apart from them.

    Parameters
    ----------
    distances : ndarray, shape (rows,)
        Signed, standard normal if the fit is right.

    Examples
    --------
    >>> even = ndtri((np.arange(100) + 0.5) / 100)
    >>> outliers(np.append(even, [7.0, -8.0])).nonzero()[0]
    array([100, 101])
    >>> outliers(even).any()
    np.False_
    """
    low, middle, high = np.quantile(distances, [0.1, 0.5, 0.9])
    spread = (high - low) / (2.0 * ndtri(0.9))
    if not spread > 0.0:
        return np.zeros(len(distances), dtype=bool)
    off = np.abs(distances - middle) / spread
    order = np.argsort(-off, kind="stable")
    most = min(max(OUTLIERS.few, int(OUTLIERS.share * len(off))), len(off) - FEWEST_ROWS)
    mask = np.zeros(len(distances), dtype=bool)
    for number in range(most, 0, -1):
        last, following = off[order[number - 1]], off[order[number]]
        by_chance = 2.0 * len(off) * ndtr(-last) >= OUTLIERS.expected
        if not by_chance and last > _gap(distances[order[number:]]) * following:
            mask[order[:number]] = True
            break
    return mask


def _gap(rest: RowVector) -> float:
    """Distance from the remaining rows at which a row is far off."""
    kurtosis, p_value = tail_test(rest)
    heavy = kurtosis > 0.0 and p_value < OUTLIERS.p_value
    skewed = skew_test(rest)[1] < OUTLIERS.p_value
    return OUTLIERS.heavy_gap if heavy or skewed else OUTLIERS.gap


def _distances(fit: AbstractFit, seen: Observed) -> RowVector:
    """Normal scores without a limit; of rows that have a component for themselves, without it."""
    pit, law = seen.pit.copy(), seen.law
    if isinstance(law, StudentMixture) and len(law.weights) > 1 and not fit.members:
        with np.errstate(divide="ignore"):
            terms = np.log(law.weights) + law.component_log_density(seen.values)
        belongs = softmax(terms, axis=0).reshape(-1, fit.core.n_components, terms.shape[1])
        belongs = belongs.sum(axis=0)  # a component may be there at several nodes
        small = belongs.sum(axis=1) < OUTLIERS.component
        alone = belongs[small].sum(axis=0) > 0.5
        if alone.any() and not small.all():
            pit[alone] = _cdf_of_others(seen, law, small)[alone]
    tiny = np.finfo(float).tiny
    return np.asarray(ndtri(np.clip(pit, tiny, 1.0 - np.finfo(float).epsneg)))


def _cdf_of_others(
    seen: Observed, law: StudentMixture, small: Bool[np.ndarray, " experts"]
) -> RowVector:
    """Distribution function of each row under the components that other rows have as well."""
    each = np.tile(small, len(law.weights) // len(small))
    weights = np.where(each[:, None], 0.0, law.weights)
    total = weights.sum(axis=0)
    weights = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), law.weights)
    return np.asarray(replace(law, weights=weights).cdf(seen.values))


def _remedy(fit: AbstractFit, seen: Observed, far: np.ndarray) -> Remedy:
    """The rows by their labels, and what to do about them."""
    index = fit.model.design.index[seen.at[far]]
    named = ", ".join(
        f"{label} ({seen.name} = {number_text(value)})"
        for label, value in zip(
            index[: LIMITS.named], seen.values[far[: LIMITS.named]], strict=True
        )
    )
    more = f" and {len(far) - LIMITS.named} more" if len(far) > LIMITS.named else ""
    one = len(far) == 1
    subject = f"Row {named} is an outlier" if one else f"Rows {named}{more} are outliers"
    kept = f"If {'it is' if one else 'they are'} correct, "
    student = getattr(fit.model, "family", "student") != "student"
    correct = f"{subject}: correct {'it' if one else 'them'} where wrong. {kept}"
    if not student:
        return Remedy.of(f"{correct}fit with a weight of 0 for comparison.")
    return Remedy.of(f"{correct}fit ", STUDENT, ".")
