"""The gate of a density regression: its class and its prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvb.data.scaling import Scaling
from bayesvb.estimators.priors import Priors
from bayesvb.factors.normal import Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import AbstractGate, GatePrior
from bayesvb.gates.dirichlet import DirichletGate

__all__ = ["gate_class", "gate_prior"]


def gate_class(name: str, n_components: int) -> type[AbstractGate[Any, Any]]:
    """Gate of this name; a single component has the weight 1, which needs no coefficients."""
    return GATES[name] if n_components > 1 else DirichletGate


def gate_prior(scaling: Scaling, priors: Priors) -> GatePrior:
    """Prior of the gate's coefficients on the standardised scale."""
    sds = np.full(len(scaling.scale), float(priors.gating_sd))
    intercept = np.zeros(len(sds))
    if scaling.intercept is not None:
        sds[scaling.intercept] = priors.gating_intercept_sd
        intercept[scaling.intercept] = 1.0
    coefficients = Normal.from_precision(np.zeros(len(sds)), np.diag(sds**-2.0))
    return GatePrior(coefficients, intercept, priors.concentration, even=priors.even_sticks)
