"""Sections of the report: each a summary and the template which shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..cells.plain import Summary
from . import (
    accuracy,
    audit,
    calibration,
    classes,
    classification,
    components,
    computation,
    conditional,
    data,
    effects,
    exact,
    influence,
    learning,
    limits,
    model,
    pairs,
    posterior,
    replicates,
    reproduce,
    scores,
    sensitivity,
    survival,
    trajectories,
)

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

__all__ = ["SECTIONS", "Section"]


@dataclass(frozen=True)
class Section:
    """One section of a report.

    Attributes
    ----------
    title : str
    summary : callable
        Fit -> JSON-able values and SVG strings, or None if the section does not apply.
    short : callable, optional
        Function for the short edition; by default the section is omitted there.
    """

    title: str
    summary: Callable[[AbstractFit], Summary | None]
    short: Callable[[AbstractFit], Summary | None] | None = None


SECTIONS = {
    "conditional": Section("Conditional density", conditional.summary, conditional.short),
    "classes": Section("Class probabilities", classes.summary, classes.short),
    "classification": Section("Classification", classification.summary),
    "pairs": Section("Joint density", pairs.summary, pairs.short),
    "scores": Section("Principal components", scores.summary, scores.short),
    "exact": Section("Exact posterior", exact.summary, exact.short),
    "trajectories": Section("Trajectories", trajectories.summary, trajectories.summary),
    "effects": Section("Average effects", effects.summary, effects.summary),
    "components": Section("Components", components.summary, components.short),
    "posterior": Section("Posterior", posterior.summary),
    "replicates": Section("Predictive check", replicates.summary),
    "survival": Section("Survival", survival.summary),
    "calibration": Section("Calibration", calibration.summary, calibration.short),
    "accuracy": Section("Accuracy", accuracy.summary),
    "influence": Section("Influence", influence.summary),
    "data": Section("Data", data.summary),
    "model": Section("Model and priors", model.summary, model.summary),
    "computation": Section("Computation", computation.summary, computation.short),
    "learning": Section("Prior and posterior", learning.summary),
    "sensitivity": Section("Prior sensitivity", sensitivity.summary),
    "audit": Section("Audited by simulation", audit.summary),
    "limits": Section("Not checked", limits.summary, limits.summary),
    "reproduce": Section("Reproduce", reproduce.summary, reproduce.summary),
}
"""Name -> section, in the order of the page; ``<name>.html`` is its template."""
