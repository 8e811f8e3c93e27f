"""Table of the public models."""

from __future__ import annotations

from typing import Any

from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.density_regression import DensityRegression
from bayesvb.estimators.gaussian_mixture import GaussianMixture
from bayesvb.estimators.network import ConditionalMixtureNetwork
from bayesvb.estimators.normal import Normal
from bayesvb.estimators.pca import BayesianPCA
from bayesvb.estimators.shell_line import COMMAND_NAMES

__all__ = ["COMMAND_NAMES", "AbstractEstimator"]  # read by the package

MODELS: dict[str, type[Any]] = {
    "BayesianPCA": BayesianPCA,
    "ConditionalMixtureNetwork": ConditionalMixtureNetwork,
    "DensityRegression": DensityRegression,
    "GaussianMixture": GaussianMixture,
    "Normal": Normal,
}
"""Public models by the name of their class, which a saved file holds."""
