"""Gates: how the weights of the components depend on covariates, one bound per file.

May import: linear, numerics, data, factors, variational.
"""

from __future__ import annotations

from bayesvb.gates.base import AnyGate
from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.gates.softmax import SoftmaxGate
from bayesvb.gates.softmax_bouchard import BouchardGate
from bayesvb.gates.softmax_jensen import JensenGate
from bayesvb.gates.stick_breaking import StickBreakingGate

GATES: dict[str, type[AnyGate]] = {
    "softmax": SoftmaxGate,
    "softmax-jensen": JensenGate,
    "softmax-bouchard": BouchardGate,
    "stick-breaking": StickBreakingGate,
    "dirichlet": DirichletGate,
}
