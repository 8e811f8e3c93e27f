"""Mixtures of regressions as the compiled core reads them.

It covers the most frequent models with few rows: dense designs and one response; Gaussian and
Student noise, with normal-gamma priors or common coefficients, and counts; softmax weights with the
tilted bound, stick-breaking and constant weights; scales that are learned or fixed; and mixtures of
Gaussians with full covariance matrices. All other models, and all that is not a sweep, are left to
NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.special import gammaln

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.sources import AbstractSource
from bayesvb.factors.bounded_scale import BoundedScale
from bayesvb.factors.gamma import Gamma
from bayesvb.gates.base import AnyGate
from bayesvb.models.compiled_pass import (
    MOST_COMPONENTS,
    CompiledPass,
    compiled_block,
    is_plain,
)
from bayesvb.models.term_scales import TermScales
from bayesvb.numerics.special import LARGEST_EXPONENT
from bayesvb.variational.model import CompiledSweep

GAUSSIAN, STUDENT, POISSON = (
    f"bayesvb.experts.{name}"
    for name in ("linear.LinearExperts", "linear_student.StudentExperts", "poisson.PoissonExperts")
)
SOFTMAX, STICKS, CONSTANT = (
    f"bayesvb.gates.{name}"
    for name in (
        "softmax.SoftmaxGate",
        "stick_breaking.StickBreakingGate",
        "dirichlet.DirichletGate",
    )
)
JOINT = "bayesvb.experts.gaussian_full.FullGaussianExperts"
EXPERTS, GATES = (GAUSSIAN, STUDENT, POISSON), (SOFTMAX, STICKS, CONSTANT)
"""Kinds that the core knows, by their numbers there: modules that no fit uses are not imported."""

VARIABLES = "variables"

NO_TERMS = TermScales.of((), np.empty(0), 1)
NO_PRECISIONS = Gamma(np.empty(0), np.empty(0))


@dataclass(frozen=True)
class LearnedScales:
    """Prior precisions of a mixture and their priors; see ``ScaledMixture``.

    Attributes
    ----------
    of_experts, of_gate : TermScales
        Without blocks where none is learned.
    prior : Gamma
    grids : mapping of int to BoundedScale
        Priors that are not gamma, by position.
    places : list of int
        Columns with common coefficients.
    divergence : float
        Part of the divergence that no statistic changes.
    """

    of_experts: TermScales = NO_TERMS
    of_gate: TermScales = NO_TERMS
    prior: Gamma = NO_PRECISIONS
    grids: Mapping[int, BoundedScale] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)
    divergence: float = 0.0

    @classmethod
    def of(cls, mixture: Any) -> LearnedScales:
        """Scales of a mixture, which has none unless it is a ``ScaledMixture``."""
        if not hasattr(mixture, "of_experts"):
            return cls()
        places = [] if mixture.common is None else mixture.common.places.tolist()
        parts, grids = (mixture.of_experts, mixture.of_gate), dict(mixture._grids)
        return cls(*parts, mixture.prior, grids, places, mixture._known_divergence)

    def sizes(self) -> list[int]:
        """Numbers of common columns and of blocks."""
        return [len(self.places), len(self.of_experts.start), len(self.of_gate.start)]

    def points(self) -> list[int]:
        """Grid points of each block."""
        on_grid = (self.grids.get(number) for number in range(sum(self.sizes()[1:])))
        return [0 if grid is None else len(grid.precision) for grid in on_grid]

    def numbers(self) -> list[np.ndarray]:
        """Shape and rate of each prior, shape and coefficients of each posterior, then grids."""
        counts = np.concatenate([self.of_experts.counts, self.of_gate.counts])
        prior = [np.broadcast_to(x, counts.shape) for x in (self.prior.shape, self.prior.rate)]
        grids = [self.grids[at] for at in sorted(self.grids)]
        known = [one for grid in grids for one in (grid.precision, grid.log_weight)]
        return [*prior, prior[0] + 0.5 * counts, counts, *known]


def compile_mixture(
    experts: Any, gate: AnyGate, scales: LearnedScales, source: AbstractSource
) -> CompiledSweep | None:
    """The sweep of a mixture; None if the core is absent, or does not cover it."""
    if _kind(experts) == JOINT:
        return compile_gaussians(experts, gate, source)
    block = compiled_block(source)
    if block is None or not _covers(experts, gate, block):
        return None
    if block.n_rows < source.n_rows and _kind(experts) == POISSON:
        return None  # factorials of the counts of all rows would be computed in each pass
    noise, divergence = _likelihood(experts, block)
    prior: list[object] = [*noise[:2], scales.divergence + divergence, *noise[2:]]
    for part, own in ((experts, scales.of_experts), (gate, scales.of_gate)):
        known = own if len(own.start) else TermScales.of((), _precisions(part), 1)
        prior += [known.fixed, known.membership]
    prior.append(gate.prior.concentration if _is_constant(gate) else gate.prior.mean)
    sizes = [block.n_rows, gate.n_components, len(block.designs[MEAN]), len(_precisions(gate))]
    has_offset = experts.reads_offset and block.offset is not None
    sizes += [int(block.weight is not None), int(has_offset)]
    sizes += [*scales.sizes(), EXPERTS.index(_kind(experts)), GATES.index(_kind(gate))]
    # Component at which each stick stops.
    order = getattr(gate, "order", None) or range(gate.n_components)
    sizes += [*order, *scales.places, *scales.points()]
    numbers = [*prior, *scales.numbers()]
    arrays = partial(_arrays, experts.reads_offset, (MEAN, GATING)[: 2 - _is_constant(gate)])
    mixture = CompiledPass.of("sweep", sizes, numbers, arrays(block))
    return None if mixture is None else mixture.over(source, arrays)


def compile_gaussians(experts: Any, gate: AnyGate, source: AbstractSource) -> CompiledSweep | None:
    """The sweep of a mixture of Gaussians; None if the core is absent, or does not cover it."""
    block, prior = compiled_block(source), experts.prior
    if block is None or experts.point or gate.n_components > MOST_COMPONENTS:
        return None
    # Variables of a mixture of Gaussians up to which the core runs.
    if list(block.designs) != [VARIABLES] or prior.n_dims > 12:
        return None
    sizes = [block.n_rows, gate.n_components, prior.n_dims, int(block.weight is not None)]
    law = [prior.mean_precision, prior.dof, prior.log_det, prior.mean, prior.scatter]
    arrays = partial(_arrays, False, (VARIABLES,))
    compiled = CompiledPass.of("joint", sizes, [*law, gate.prior.concentration], arrays(block))
    return None if compiled is None else compiled.over(source, arrays)


def _arrays(reads_offset: bool, parts: Sequence[str], block: Block) -> list[np.ndarray]:
    """Response, weights, offsets, and columns of a block."""
    rows = (block.weight, block.offset if reads_offset else None)
    known = [one for one in rows if one is not None]
    return [block.response, *known, *(block.designs[part] for part in parts)]


def _covers(experts: object, gate: AnyGate, block: Block) -> bool:
    """Whether the core knows a mixture and its rows."""
    if _kind(experts) not in EXPERTS or _kind(gate) not in GATES:
        return False
    if not 1 < gate.n_components <= MOST_COMPONENTS or len(block.response) != 1:
        return False
    law = _lines(experts)
    if block.members is not None or law.mean.any() or getattr(experts, "common", None) is not None:
        return False
    if getattr(experts, "dof_power", 1.0) != 1.0:
        return False
    if not is_plain(law.operator, len(block.designs[MEAN])):
        return False
    return _is_constant(gate) or is_plain(gate.prior.operator, len(block.designs[GATING]))


def _kind(part: object) -> str:
    return f"{type(part).__module__}.{type(part).__qualname__}"


def _is_constant(gate: object) -> bool:
    return _kind(gate) == CONSTANT


def _lines(experts: Any) -> Any:
    """Prior of the coefficients, with their noise if they have it."""
    return experts.prior.linear if _kind(experts) == STUDENT else experts.prior


def _precisions(part: object) -> np.ndarray:
    """Prior precisions of the coefficients of experts or of a gate; none of constant weights."""
    return np.empty(0) if _is_constant(part) else _lines(part).operator.entries


def _likelihood(experts: Any, block: Block) -> tuple[list[float], float]:
    """Prior of the noise, ranges of parameters, and constant terms of the divergence."""
    if _kind(experts) == POISSON:
        each = block.weighted(gammaln(block.response + 1.0))
        return [0.0, 0.0, LARGEST_EXPONENT, 0.0, 0.0, 0.0, 0.0], float(each.sum())
    law = _lines(experts)
    noise = [float(law.shape), float(law.rate[0])]
    if _kind(experts) == GAUSSIAN:
        return [*noise, 0.0, 0.0, 0.0, 0.0, 0.0], 0.0
    from bayesvb.experts.degrees_of_freedom import (
        DOF_RANGE,
        FIRST_DOF,
        PRIOR_RATE,
        PRIOR_SHAPE,
        log_prior,
    )

    dof = float(experts.prior.dof[0])
    if not experts.learns_dof:
        return [*noise, dof, dof, dof, 1.0, 0.0], 0.0
    at_one = float(log_prior(np.ones(1))) + PRIOR_RATE
    return [*noise, FIRST_DOF, *DOF_RANGE, PRIOR_SHAPE, PRIOR_RATE], -at_one
