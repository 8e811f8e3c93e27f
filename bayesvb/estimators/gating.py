"""The gate of a density regression: its class, its prior, and the matrices that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.parts import PARTS
from bayesvb.data.scaling import Scaling
from bayesvb.estimators.priors import Priors
from bayesvb.factors.normal import Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import AbstractGate, GatePrior
from bayesvb.gates.dirichlet import DirichletGate

__all__ = ["gate_class", "gate_prior", "matrices_read"]


def gate_class(name: str, n_components: int) -> type[AbstractGate[Any, Any]]:
    """Gate of this name; a single component has the weight 1, which needs no coefficients."""
    return GATES[name] if n_components > 1 else DirichletGate


def matrices_read(
    matrices: Mapping[str, Float[np.ndarray, "rows _"]], n_components: int
) -> Mapping[str, Float[np.ndarray, "rows _"]]:
    """Matrices of the parts, without those of the weights where there is one component."""
    if n_components > 1:
        return matrices
    unread = {name for name, part in PARTS.items() if part.of_weights}
    return {part: matrix for part, matrix in matrices.items() if part not in unread}


def gate_prior(scaling: Scaling, priors: Priors) -> GatePrior:
    """Prior of the gate's coefficients on the standardised scale."""
    sds = np.full(len(scaling.scale), float(priors.gating_sd))
    intercept = np.zeros(len(sds))
    if scaling.intercept is not None:
        sds[scaling.intercept] = priors.gating_intercept_sd
        intercept[scaling.intercept] = 1.0
    coefficients = Normal.from_precision(np.zeros(len(sds)), np.diag(sds**-2.0))
    return GatePrior(coefficients, intercept, priors.concentration, even=priors.even_sticks)
