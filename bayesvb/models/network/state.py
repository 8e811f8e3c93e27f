"""State of a fit of a network: statistics and posterior of its three parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesvb.data.statistics import SufficientStats
from bayesvb.experts.linear import LinearStats
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.variational.linear_predictors import LogitStats


@dataclass(frozen=True)
class NetworkStats(SufficientStats):
    """Sums of the experts, of the gate and of the output layer."""

    experts: LinearStats
    gate: LogitStats
    output: SufficientStats


@dataclass(frozen=True)
class NetworkPosterior:
    """Posterior of the experts, of the gate and of the output layer, independent of each other."""

    experts: MatrixNormalGamma
    gate: Normal
    output: Any
