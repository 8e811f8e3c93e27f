"""Checks of class probabilities: right as often as they say, and whatever the order of rows."""

from __future__ import annotations

import numpy as np

from bayesvb.evaluation.row_order import positive_autocorrelation
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.results.checks.base import Misfit
from bayesvb.results.checks.dependence import ALIKE, IF_ORDERED, NEVER, SIMILAR
from bayesvb.results.checks.grading import MATTERS
from bayesvb.results.checks.scope import SCOPE
from bayesvb.results.class_evaluation import HeldOutClasses, JudgedClasses

RECALIBRATE = (
    "Probabilities are not calibrated: use more experts or rows, or recalibrate them on held-out "
    "rows; the most probable class may still be right."
)


def class_tests(classes: JudgedClasses, order: RowIntegers | None = None) -> list[Misfit]:
    """Reliability of the probabilities of all classes, and dependence along the rows.

    Positions in an order that means something make dependence a problem; without, it is a note.
    """
    curves = classes.reliability
    off = float(sum(one.miscalibration for one in curves.curves))
    tests = [
        Misfit("Class probabilities", off, "miscalibration", RECALIBRATE, "classification",
               curves.p_value, off > MATTERS.miscalibration,
               f"miscalibration above {MATTERS.miscalibration:g}")
    ]  # fmt: skip
    return tests + _order(classes.held_out, order)


def _order(held_out: HeldOutClasses, order: RowIntegers | None) -> list[Misfit]:
    """Autocorrelation of the residuals of each class; none if sorted by the classes."""
    at = np.arange(len(held_out.codes)) if order is None else order
    codes, n_classes = held_out.codes[at], held_out.probabilities.shape[1]
    if order is None and np.count_nonzero(np.diff(codes)) < SCOPE.least_changes * n_classes:
        return []
    residual = np.eye(n_classes)[codes] - held_out.probabilities[at]
    each = [positive_autocorrelation(residual[:, k]) for k in range(n_classes)]
    lag, p = min(each, key=lambda one: one[1])
    ordered = order is not None
    return [
        Misfit("Serial correlation", lag, "autocorrelation at lag 1",
               ALIKE if ordered else IF_ORDERED.format(found=SIMILAR), "classification",
               min(1.0, n_classes * p), ordered and lag > MATTERS.autocorrelation,
               f"autocorrelation above {MATTERS.autocorrelation:g}" if ordered else NEVER)
    ]  # fmt: skip
