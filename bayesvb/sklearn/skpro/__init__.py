"""Density regression as a probabilistic regressor of skpro.

May import: errors, argument_checks, numerics, data, distributions, formula, estimators.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("skpro") is None:
    raise ImportError("bayesvb.sklearn.skpro needs skpro: pip install 'bayesvb[skpro]'")

from bayesvb.sklearn.skpro.distribution import PredictiveDistribution
from bayesvb.sklearn.skpro.regressor import DensityProbaRegressor

__all__ = ["DensityProbaRegressor", "PredictiveDistribution"]
