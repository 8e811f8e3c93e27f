"""The public models, one class per file, each with what its fits mean in the data's units.

May import: errors, argument_checks, numerics, linear, storage, data, factors, variational,
formula, distributions, evaluation, gates, experts, sensitivity, engines, models, results, plots,
reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesvb.estimators.base import AbstractEstimator
    from bayesvb.estimators.density_regression import DensityRegression
    from bayesvb.estimators.gaussian_mixture import GaussianMixture
    from bayesvb.estimators.network import ConditionalMixtureNetwork
    from bayesvb.estimators.normal import Normal
    from bayesvb.estimators.pca import BayesianPCA
    from bayesvb.estimators.public_models import MODELS
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


def __getattr__(name: str) -> object:
    # Late: a fit of one model does not wait for the code of the others.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import bayesvb.estimators.public_models as public_models

    return getattr(public_models, name)
