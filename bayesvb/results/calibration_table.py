"""Whether what a fit calls probable happens as often: coverage of intervals, shares of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.errors import DataError
from bayesvb.evaluation.calibration import coverage, uniformity_p_value
from bayesvb.evaluation.classification import calibration_error, reliability
from bayesvb.numerics.streams import Streams
from bayesvb.results.class_folds import HeldOutClasses, held_out_classes, held_out_events
from bayesvb.results.pit import check_numeric, is_binary, pit_values
from bayesvb.results.subsampling import sample

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit

PROBS = (0.5, 0.8, 0.9, 0.95)

ROWS = 5000
"""Rows that are left out; of more a choice, the same one each time."""


def calibration(fit: AbstractFit) -> pd.DataFrame:
    """Expected and observed shares; see ``Fit.calibration``."""
    labels = fit.model.design.class_labels
    if labels:
        return _of_classes(fit, held_out_classes(fit), labels)
    if is_binary(fit):
        return _of_classes(fit, held_out_events(fit, sample(fit, ROWS).at), ("0", "1"))
    return _of_numbers(fit)


def _of_numbers(fit: AbstractFit) -> pd.DataFrame:
    """Share of rows inside central intervals, by their leave-one-out PIT values."""
    import pandas as pd

    check_numeric(fit)
    at = sample(fit, ROWS).at
    tables, p_values = {}, {}
    for name, pit in zip(fit.model.design.response_names, pit_values(fit, at), strict=True):
        found = coverage(np.clip(pit, 0.0, 1.0), PROBS)
        columns = {"observed": found.observed, "se": found.standard_error}
        tables[name] = pd.DataFrame(columns, index=pd.Index(found.prob, name="expected"))
        p_values[name] = uniformity_p_value(pit)
    if len(tables) > 1:
        whole = pd.concat(tables, names=["response"])
        whole.attrs["p_value"] = p_values
        return whole
    ((name, whole),) = tables.items()
    whole.attrs["p_value"] = p_values[name]
    return whole


def _of_classes(fit: AbstractFit, found: HeldOutClasses, labels: tuple[str, ...]) -> pd.DataFrame:
    """Share of each class among rows with about the same probability of it; of 1 if binary."""
    import pandas as pd

    if not len(found.codes):
        raise DataError("the fit has no rows")
    rng = Streams(fit.seed).reliability(len(found.codes))
    tables = {}
    for code, label in enumerate(labels):
        if is_binary(fit) and not code:
            continue
        one = reliability(found.probabilities[:, code], found.codes == code, rng=rng)
        used = one.count > 0
        columns = {
            "expected": one.confidence[used],
            "observed": one.frequency[used],
            "lower": one.band_lower[used],
            "upper": one.band_upper[used],
            "rows": one.count[used],
        }
        tables[label] = pd.DataFrame(columns)
    whole = pd.concat(tables, names=["class", "bin"])
    whole.attrs["ece"] = calibration_error(found.probabilities, found.codes).error
    how = "each row" if is_binary(fit) else "a fifth at a time"
    whole.attrs["left_out"] = how if found.folds is not None else "none"
    return whole
