"""Elimination of group effects on logits, given the other coefficients and the rows of each group.

As for experts without noise: the square of a logit replaces the square of a residual, the logit
itself the multiplier of coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GATE_GROUPS
from bayesvb.data.parts import GATING
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import GroupRows
from bayesvb.models.mixed_elimination import MixedElimination
from bayesvb.models.solved_groups import GroupScalars
from bayesvb.variational.row_derivatives import consecutive


@dataclass(frozen=True)
class LogitElimination:
    """Sufficient statistics of logits as shared ones, and the remainder of each group.

    Attributes
    ----------
    posterior : Normal
        One law for each logit.
    first : int
        Place of the first of them among the statistics that all rows share.
    first_own : int
        Place of the first among the statistics of a group.
    """

    posterior: Normal
    first: int
    first_own: int

    @cached_property
    def without_noise(self) -> MixedElimination:
        """Elimination for experts whose noise has precision one."""
        law, one = self.posterior, np.ones(len(self.posterior.mean))
        lines = MatrixNormalGamma(law.mean[:, None], law.operator, one, one[:, None])
        return MixedElimination(lines)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of logits, terms and effects."""
        n_logits, n_terms = self.posterior.shared.mean.shape
        return n_logits, n_terms, self.without_noise.shape[-1]

    @cached_property
    def entries(self) -> Int[np.ndarray, "logits entries"]:
        """Places of the statistics of each logit among those that all rows share."""
        n_logits, n_terms, _ = self.shape
        widths = [n_terms * (n_terms + 1) // 2, n_terms]
        return self.first + np.concatenate(consecutive(n_logits, widths), axis=1)

    @cached_property
    def own(self) -> Int[np.ndarray, "logits own"]:
        """Positions of the statistics of each logit among a group's."""
        n_own = self.without_noise.places.shape[1]
        return self.first_own + np.arange(len(self.entries) * n_own).reshape(-1, n_own)

    def scalars(self, block: Block) -> tuple[GroupScalars, GroupScalars]:
        """``-E u^2 / 2`` and ``E u`` of the logits of rows."""
        groups, design = GroupRows.from_matrix(block.designs[GATE_GROUPS]), block.designs[GATING]
        n_effects, n_terms = len(groups.values), len(design)
        squares, linear = self.without_noise.features_of(
            groups, design, np.zeros((1, block.n_rows))
        )
        n_pairs = n_effects * (n_effects + 1) // 2 + n_effects * n_terms
        through = np.swapaxes(self.without_noise.operator.regression, -3, -2)
        return (
            GroupScalars(self.entries, squares[:, 1:-1], linear[:n_pairs], self.own[:, :n_pairs]),
            GroupScalars(
                self.entries[:, -n_terms:],
                design - groups.linear(through),
                groups.values,
                self.own[:, n_pairs:],
            ),
        )

    def effect_features(self, effect: int) -> Float[np.ndarray, "logits entries groups"]:
        """``-E[u^2 | b] / 2`` of an effect of each group, but for a constant."""
        return self.without_noise.effect_features(effect)[:, 1:-1]

    def taken_over(
        self, change: Float[np.ndarray, "logits own groups"]
    ) -> Float[np.ndarray, "logits entries"]:
        """Changes of the statistics that all rows share, from changes of statistics of groups."""
        return self.without_noise.taken_over(change, slice(None))[:, 1:-1]

    def place_of_effect(self, logit: int, effect: int) -> int:
        """Index of an effect among the statistics of a group."""
        return int(self.own[logit, self.without_noise.place_of_effect(0, effect)])

    def effect_leans(self, logit: int, effect: int) -> Float[np.ndarray, "groups entries"]:
        """``E[u - E u | b]`` of an effect in the statistics that all rows share."""
        return self.without_noise.effect_leans(logit, 0, effect)[:, 1:-1]
