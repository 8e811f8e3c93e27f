"""State of a fit of a network: statistics and posterior of its three parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesvb.experts.linear import LinearSums
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import LogitSums
from bayesvb.stats import Stats


@dataclass(frozen=True)
class NetworkSums(Stats):
    """Sums of the experts, of the gate and of the output layer."""

    experts: LinearSums
    gate: LogitSums
    output: Stats


@dataclass(frozen=True)
class NetworkPosterior:
    """Posterior of the experts, of the gate and of the output layer, independent of each other."""

    experts: MatrixNormalGamma
    gate: Normal
    output: Any
