"""Gates: how the weights of the components depend on covariates, one bound per file."""

from __future__ import annotations

from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.gates.softmax import SoftmaxGate
from bayesvb.gates.stick_breaking import StickBreakingGate

GATES = {
    "softmax": SoftmaxGate,
    "stick-breaking": StickBreakingGate,
    "dirichlet": DirichletGate,
}
