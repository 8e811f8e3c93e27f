"""Mixtures of Gaussian regressions as the compiled core reads them.

It covers the most frequent models with few rows: dense designs, one response, normal-gamma priors
or common coefficients, softmax weights with the tilted bound, learned scales. All other models, and
all that is not a sweep, are left to NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.sources import AbstractSource
from bayesvb.experts.linear import LinearExperts
from bayesvb.factors.bounded_scale import BoundedScale
from bayesvb.factors.gamma import Gamma
from bayesvb.gates.softmax import SoftmaxGate
from bayesvb.models.compiled_pass import (
    MOST_COMPONENTS,
    CompiledPass,
    compiled_block,
    is_plain,
)
from bayesvb.models.term_scales import TermScales


@dataclass(frozen=True)
class LearnedScales:
    """Prior precisions of a mixture and their priors, experts first; see ``ScaledMixture``.

    Attributes
    ----------
    of_experts, of_gate : TermScales
        Without blocks where none is learned.
    prior : Gamma
    grids : mapping of int to BoundedScale
        Priors that are not gamma, by position.
    places : list of int
        Columns with common coefficients.
    """

    of_experts: TermScales
    of_gate: TermScales
    prior: Gamma
    grids: Mapping[int, BoundedScale]
    places: list[int]

    @classmethod
    def of(cls, mixture: Any, grids: Mapping[int, BoundedScale]) -> LearnedScales:
        """Scales of a mixture, with the precisions of its priors where none is learned."""
        of_experts, of_gate, n = mixture.of_experts, mixture.of_gate, mixture.n_components
        common = mixture.common if len(of_experts.start) else None
        if not len(of_experts.start):
            of_experts = TermScales.of((), mixture.experts.prior.operator.entries, n)
        if not len(of_gate.start):
            of_gate = TermScales.of((), mixture.gate.prior.precisions, n)
        places = [] if common is None else common.places.tolist()
        return cls(of_experts, of_gate, mixture.prior, grids, places)

    def sizes(self) -> list[int]:
        """Numbers of common columns and of blocks, common columns, grid points of each block."""
        blocks = [len(self.of_experts.start), len(self.of_gate.start)]
        on_grid = (self.grids.get(number) for number in range(sum(blocks)))
        points = [0 if grid is None else len(grid.precision) for grid in on_grid]
        return [len(self.places), *blocks, *self.places, *points]

    def numbers(self) -> list[Any]:
        """Shape and rate of each prior, shape and coefficients of each posterior, then grids."""
        counts = np.concatenate([self.of_experts.counts, self.of_gate.counts])
        prior = [np.broadcast_to(x, counts.shape) for x in (self.prior.shape, self.prior.rate)]
        grids = [self.grids[at] for at in sorted(self.grids)]
        known = [one for grid in grids for one in (grid.precision, grid.log_weight)]
        return [*prior, prior[0] + 0.5 * counts, counts, *known]


def compile_mixture(
    mixture: Any,
    grids: Sequence[tuple[int, BoundedScale]],
    divergence: float,
    source: AbstractSource,
) -> CompiledPass | None:
    """The sweep of a ``ScaledMixture``; None if the core is absent, or does not cover it.

    Parameters
    ----------
    mixture : ScaledMixture
    grids : sequence of (int, BoundedScale)
        Priors of learned precisions that are not gamma, by position.
    divergence : float
        Part of the divergence that no statistic changes.
    source : AbstractSource
    """
    experts, gate, block = mixture.experts, mixture.gate, compiled_block(source)
    if block is None or mixture.n_spread or not _covers(experts, gate, block):
        return None
    scales = LearnedScales.of(mixture, dict(grids))
    own, of_experts, of_gate = experts.prior, scales.of_experts, scales.of_gate
    prior = [own.shape, own.rate, divergence, of_experts.fixed, of_experts.membership]
    prior += [of_gate.fixed, of_gate.membership, gate.prior.mean, *scales.numbers()]
    weight = [] if block.weight is None else [block.weight]
    designs = [block.designs[MEAN], block.designs[GATING]]
    first = [block.n_rows, gate.n_components, *map(len, designs), len(weight)]
    rows = [block.response, *weight, *designs]
    return CompiledPass.of("sweep", [*first, *scales.sizes()], prior, rows)


class CompiledScales:
    """The part of a ``ScaledMixture`` that hands it to the compiled core."""

    def compiled(self: Any, source: AbstractSource) -> CompiledPass | None:
        """The compiled sweep over these rows, where the core covers experts and gate."""
        return compile_mixture(self, self._grids, self._known_divergence, source)


def _covers(experts: Any, gate: Any, block: Block) -> bool:
    """Whether the core knows a mixture and its rows."""
    if type(experts) is not LinearExperts or type(gate) is not SoftmaxGate:
        return False
    if not 1 < gate.n_components <= MOST_COMPONENTS or len(block.response) != 1:
        return False
    if block.members is not None or experts.common is not None or experts.prior.mean.any():
        return False
    laws = ((experts.prior.operator, MEAN), (gate.prior.operator, GATING))
    return all(is_plain(operator, len(block.designs[part])) for operator, part in laws)
