"""Gates: how the weights of the components depend on covariates, one bound per file."""

from __future__ import annotations

from typing import Any

from bayesvb.gates.base import AbstractGate
from bayesvb.gates.bouchard import BouchardGate
from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.gates.jensen import JensenGate
from bayesvb.gates.softmax import SoftmaxGate
from bayesvb.gates.stick_breaking import StickBreakingGate

GATES: dict[str, type[AbstractGate[Any, Any]]] = {
    "softmax": SoftmaxGate,
    "softmax-jensen": JensenGate,
    "softmax-bouchard": BouchardGate,
    "stick-breaking": StickBreakingGate,
    "dirichlet": DirichletGate,
}
