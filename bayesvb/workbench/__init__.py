"""The public models, one class per file, each with what its fits mean in the data's units."""

from __future__ import annotations

from collections.abc import Callable

from bayesvb.workbench.base import AbstractWorkbench
from bayesvb.workbench.density import DensityRegression

__all__ = ["COMMAND_NAMES", "MODELS", "AbstractWorkbench", "DensityRegression"]

MODELS: dict[str, Callable[..., AbstractWorkbench]] = {"DensityRegression": DensityRegression}
"""Public models by the name of their class, which a saved file holds."""

COMMAND_NAMES = {"density": "DensityRegression"}
"""Names of the models on the command line."""
