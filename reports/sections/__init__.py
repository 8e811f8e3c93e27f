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
    """

    title: str
    summary: Callable[[AbstractFit], Summary | None]


SECTIONS = {
    "conditional": Section("Conditional density", conditional.summary),
    "classes": Section("Class probabilities", classes.summary),
    "classification": Section("Classification", classification.summary),
    "pairs": Section("Joint density", pairs.summary),
    "scores": Section("Principal components", scores.summary),
    "exact": Section("Exact posterior", exact.summary),
    "trajectories": Section("Trajectories", trajectories.summary),
    "effects": Section("Average effects", effects.summary),
    "components": Section("Components", components.summary),
    "posterior": Section("Posterior", posterior.summary),
    "replicates": Section("Predictive check", replicates.summary),
    "survival": Section("Survival", survival.summary),
    "calibration": Section("Calibration", calibration.summary),
    "accuracy": Section("Accuracy", accuracy.summary),
    "influence": Section("Influence", influence.summary),
    "data": Section("Data", data.summary),
    "model": Section("Model and priors", model.summary),
    "computation": Section("Computation", computation.summary),
    "learning": Section("Prior and posterior", learning.summary),
    "sensitivity": Section("Prior sensitivity", sensitivity.summary),
    "audit": Section("Audited by simulation", audit.summary),
    "limits": Section("Not checked", limits.summary),
    "reproduce": Section("Reproduce", reproduce.summary),
}
"""Name -> section, in the order of the page; ``<name>.html`` is its template."""
