"""The public models, one class per file, each with what its fits mean in the data's units."""

from __future__ import annotations

from typing import Any

from bayesvb.workbench.base import AbstractWorkbench
from bayesvb.workbench.density import DensityRegression
from bayesvb.workbench.gaussian_mixture import GaussianMixture
from bayesvb.workbench.network import ConditionalMixtureNetwork
from bayesvb.workbench.normal import Normal
from bayesvb.workbench.pca import BayesianPCA

__all__ = [
    "COMMAND_NAMES",
    "MODELS",
    "AbstractWorkbench",
    "BayesianPCA",
    "ConditionalMixtureNetwork",
    "DensityRegression",
    "GaussianMixture",
    "Normal",
]

MODELS: dict[str, type[Any]] = {
    "BayesianPCA": BayesianPCA,
    "ConditionalMixtureNetwork": ConditionalMixtureNetwork,
    "DensityRegression": DensityRegression,
    "GaussianMixture": GaussianMixture,
    "Normal": Normal,
}
"""Public models by the name of their class, which a saved file holds."""

COMMAND_NAMES = {
    "density": "DensityRegression",
    "gmm": "GaussianMixture",
    "network": "ConditionalMixtureNetwork",
    "normal": "Normal",
    "pca": "BayesianPCA",
}
"""Names of the models on the command line."""
