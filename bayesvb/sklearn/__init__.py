"""Models as scikit-learn estimators: for pipelines, grid searches and cross-validation.

May import: errors, argument_checks, numerics, data, distributions, formula, estimators.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("bayesvb.sklearn needs scikit-learn: pip install 'bayesvb[sklearn]'")

from bayesvb.sklearn.density_classifier import DensityClassifier
from bayesvb.sklearn.density_regressor import DensityRegressor
from bayesvb.sklearn.joint import GaussianMixtureDensity, PcaTransformer
from bayesvb.sklearn.networks import MixtureNetworkClassifier, MixtureNetworkRegressor

__all__ = [
    "DensityClassifier",
    "DensityRegressor",
    "GaussianMixtureDensity",
    "MixtureNetworkClassifier",
    "MixtureNetworkRegressor",
    "PcaTransformer",
]
