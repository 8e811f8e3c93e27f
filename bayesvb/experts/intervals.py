"""Responses of regressions that are known to lie in intervals: what their experts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block, Members
from bayesvb.data.response_columns import INTERVAL
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.experts.base import AbstractExperts, PosteriorT, StatsT
from bayesvb.numerics.arrays import ExpertRows
from bayesvb.numerics.records import changed

ExpertsT = TypeVar("ExpertsT", bound="AbstractIntervalExperts[Any, Any]")


@dataclass(frozen=True)
class HiddenRows:
    """Rows of a block whose response is not seen, and the intervals in which it lies.

    Attributes
    ----------
    at : ndarray, shape (hidden,)
        Positions.
    lower, upper : ndarray, shape (hidden,)
    """

    at: Int[np.ndarray, " hidden"]
    lower: Float[np.ndarray, " hidden"]
    upper: Float[np.ndarray, " hidden"]

    @classmethod
    def of_block(cls, block: Block) -> HiddenRows:
        """Rows of a block with a proper interval; none if responses are unknown."""
        ends = block.designs.get(INTERVAL)
        if ends is None:
            return cls(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
        at = np.flatnonzero(ends.any(axis=0))
        (below, above), y = ends[:, at], block.response[0, at]
        return cls(at, y - below, y + above)


class AbstractIntervalExperts(AbstractExperts[PosteriorT, StatsT]):
    """Experts of one continuous response, some of whose values are known up to an interval.

    Log densities of rows that are seen are in the units of the data, as ``log_unit`` says: the
    probability of an interval has no unit, and both are added.
    """

    response_columns: ClassVar[tuple[str, ...]] = (INTERVAL,)
    posterior_by_group = False
    is_conjugate = False

    log_unit: float

    def in_unit(self: ExpertsT, log_unit: float) -> ExpertsT:
        """Experts of a response whose unit has this logarithm."""
        return changed(self, log_unit=log_unit)

    def row_scalars(self, block: Block, n_experts: int) -> None:
        """None: the log probability of an interval is not linear in expectations."""

    def supports(self, n_components: int) -> None:
        """None: the log likelihood is not written for arrays of JAX."""

    def predictive_without(
        self,
        posterior: PosteriorT,
        weights: ExpertRows,
        block: Block,
        left_out: ExpertRows,
        ratio: ExpertRows | None = None,
        noise: float | ExpertRows = 1.0,
    ) -> None:
        """None: the statistics of other rows follow."""

    def component_scores(
        self, laws: Sequence[AbstractComponentMixture], block: Block
    ) -> ExpertRows:
        """Log densities of rows that are seen, in units of the data, or log probabilities."""
        scores = super().component_scores(laws, block) - self.log_unit
        rows = HiddenRows.of_block(block)
        if len(rows.at):
            lower, upper = (np.zeros(block.n_rows) for _ in range(2))
            lower[rows.at], upper[rows.at] = rows.lower, rows.upper
            scores[:, rows.at] = laws[0].component_log_mass(lower, upper)[:, rows.at]
        return scores

    def log_predictive_of_groups(
        self, posterior: PosteriorT, members: Members, n_experts: int
    ) -> Float[np.ndarray, "experts groups"]:
        """Product over the rows of each group."""
        return AbstractExperts.log_predictive_of_groups(self, posterior, members, n_experts)
