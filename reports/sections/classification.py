"""Classification: accuracy of held-out probabilities, and the confusion of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.engines.folds import FOLDS
from bayesvb.evaluation.classification import calibration_error, confusion, scores
from bayesvb.evaluation.reliability import SETS, Reliability
from bayesvb.results.class_evaluation import HeldOutClasses, judged_classes

from ..cells.plain import Summary
from ..cells.tables import shaded, table
from ..figures.reliability import panels

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

Probabilities = Float[np.ndarray, "rows classes"]

BINS = 20
"""Bins of the calibration error, of equal width."""

MOST_CLASSES = 15
"""Largest number of classes of the confusion table."""


def summary(fit: AbstractFit) -> Summary | None:
    """Scores compared with simpler predictions, reliability and confusion."""
    levels = fit.model.design.levels
    if not levels:
        return None
    one = judged_classes(fit)
    found, curves = one.held_out, one.reliability
    linear, prior = one.baseline or (None, None)
    return {
        "n_rows": len(found.codes),
        "folds": FOLDS if found.folds is not None else None,
        "weighted": fit.model.weights is not None,
        "bins": BINS,
        "sets": SETS,
        "scores": _scores(found, linear, len(levels)),
        "baseline_prior": prior,
        "p_value": curves.p_value,
        "reliability": panels(levels, curves, found),
        "parts": _parts(levels, curves, found.codes),
        "confusion": _confusion(levels, found),
    }


def _scores(found: HeldOutClasses, linear: Probabilities | None, n_classes: int) -> Summary:
    shares = np.bincount(found.codes, minlength=n_classes) / len(found.codes)
    left_out = found.folds is not None
    given = {"this fit, held out": found.probabilities} if left_out else {}
    if linear is not None:
        given["multinomial, held out"] = linear
    given |= {
        "this fit, own rows": found.fitted,
        "class shares": np.tile(shares, (len(found.codes), 1)),
    }
    rows = {name: _line(p, found.codes) for name, p in given.items()}
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("prediction")
    caption = (
        "Accuracy: rows whose most probable class is the observed one. Log density: mean log "
        "probability of the observed class (nats; 0 is perfect). Brier: mean squared distance of "
        "the probabilities from what happened (0 perfect, 2 worst). Calibration: expected "
        "calibration error, the mean distance of the largest probability from the share of hits in "
        f"{BINS} bins of equal width; debiased: its root mean square, less what chance adds."
    )
    titles = {"accuracy": "accuracy (%)", "log_density": "log density", "brier": "Brier",
              "error": "calibration", "debiased": "debiased"}  # fmt: skip
    decimals = {"accuracy": 1, "log_density": 3, "brier": 3, "error": 3, "debiased": 3}
    return table(frame, caption, titles=titles, decimals=decimals)


def _line(p: Probabilities, codes: Int[np.ndarray, " rows"]) -> dict[str, float]:
    mean, off = scores(p, codes), calibration_error(p, codes, n_bins=BINS)
    return {"accuracy": 100.0 * mean.accuracy, "log_density": mean.log_density,
            "brier": mean.brier, "error": off.error, "debiased": off.debiased}  # fmt: skip


def _parts(
    levels: tuple[str, ...], curves: Reliability, codes: Int[np.ndarray, " rows"]
) -> Summary:
    rows = {
        str(level): {
            "rows": int((codes == k).sum()),
            "brier": one.brier,
            "miscalibration": one.miscalibration,
            "discrimination": one.discrimination,
            "uncertainty": one.uncertainty,
        }
        for k, (level, one) in enumerate(zip(levels, curves.curves, strict=True))
    }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("class").astype({"rows": int})
    caption = (
        "Squared error of the probability of each class, in parts: miscalibration (the part "
        "that recalibration would remove; 0 is best) minus discrimination (the part that the "
        "probabilities explain; larger is better) plus uncertainty (the error of predicting the "
        "class's share)."
    )
    return table(frame, caption, titles={"brier": "squared error"},
                 decimals=dict.fromkeys(list(frame.columns)[1:], 4))  # fmt: skip


def _confusion(levels: tuple[str, ...], found: HeldOutClasses) -> Summary:
    counts = confusion(found.probabilities, found.codes)
    names = [str(level) for level in levels]
    often = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES])
    frame = pd.DataFrame(counts, names, names).iloc[often, often]
    whose = "held out" if found.folds is not None else "to which the model was fitted"
    more = (
        f" The {MOST_CLASSES} most frequent of {len(names)} classes."
        if len(often) < len(names)
        else ""
    )
    caption = (
        f"Observed classes (rows) and most probable ones (columns) of rows {whose}: counts, and "
        f"percent of the rows of the observed class.{more}"
    )
    return shaded(frame, caption, corner="observed", across="predicted")
