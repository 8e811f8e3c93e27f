"""The public models, one class per file, each with what its fits mean in the data's units.

May import: errors, argument_checks, numerics, linear, storage, data, factors, variational,
formula, distributions, evaluation, gates, experts, sensitivity, engines, models, results, plots,
reports.
"""

from __future__ import annotations

from typing import Any

from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.density_regression import DensityRegression
from bayesvb.estimators.gaussian_mixture import GaussianMixture
from bayesvb.estimators.network import ConditionalMixtureNetwork
from bayesvb.estimators.normal import Normal
from bayesvb.estimators.pca import BayesianPCA
from bayesvb.estimators.shell_line import COMMAND_NAMES

__all__ = [
    "COMMAND_NAMES",
    "MODELS",
    "AbstractEstimator",
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
