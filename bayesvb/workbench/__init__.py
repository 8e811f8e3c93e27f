"""The public models, one class per file, each with what its fits mean in the data's units."""

from __future__ import annotations

from typing import Any

from bayesvb.workbench.base import AbstractWorkbench
from bayesvb.workbench.density import DensityRegression
from bayesvb.workbench.gaussian_mixture import GaussianMixture

__all__ = ["COMMAND_NAMES", "MODELS", "AbstractWorkbench", "DensityRegression", "GaussianMixture"]

MODELS: dict[str, type[Any]] = {
    "DensityRegression": DensityRegression,
    "GaussianMixture": GaussianMixture,
}
"""Public models by the name of their class, which a saved file holds."""

COMMAND_NAMES = {"density": "DensityRegression", "gmm": "GaussianMixture"}
"""Names of the models on the command line."""
