"""A mixture whose experts have a column for each group, with the effects taken apart from these.

It is the same model. Its statistics are fewer, those of a group know of those of another through
what all rows share only, and what takes derivatives eliminates them group by group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.experts.linear_mixed import MixedExperts
from bayesvb.factors.bordered_normal_gamma import BorderedNormalGamma
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.models.group_columns import GroupedColumns
from bayesvb.models.grouped_response import MOST_SHARED
from bayesvb.models.term_scales import TermScales

FEWEST_GROUPS = 8
"""Columns of a term from which they are taken apart: less is not worth a second way."""


@dataclass(frozen=True, eq=False)
class GroupsApart:
    """A state of a fit without columns for groups.

    Attributes
    ----------
    columns : GroupedColumns
    model : ScaledMixture
    source : InMemorySource
    stats : ScaledStats
    """

    columns: GroupedColumns
    model: Any
    source: InMemorySource
    stats: Any

    @classmethod
    def of(cls, model: Any, stats: Any, source: AbstractSource) -> GroupsApart | None:
        """That of a mixture with scales of terms and experts that may have columns of groups.

        None where there are none with many groups, or where the rows share too much besides.
        """
        terms = [np.flatnonzero(one) for one in model.of_experts.membership]
        many = [columns for columns in terms if len(columns) >= FEWEST_GROUPS]
        columns = GroupedColumns.of(many, source) if many else None
        if columns is None or _shared(model, stats, len(columns.border)) > MOST_SHARED:
            return None
        experts = MixedExperts(_prior(model.experts.prior, columns))
        own = replace(model, experts=experts, of_experts=_scales(model.of_experts, columns))
        sums = replace(stats, experts=columns.split(stats.experts))
        return cls(columns, own, columns.source(source), sums)

    def with_columns(self, vector: Float[np.ndarray, " apart"]) -> Float[np.ndarray, " entries"]:
        """A change of the statistics, as one of those of columns."""
        change = self.stats.with_vector(vector)
        whole = replace(change, experts=self.columns.joined(change.experts))
        return np.asarray(whole.to_vector())


def _shared(model: Any, stats: Any, n_terms: int) -> int:
    """Number of statistics that all rows share."""
    n_experts, n_responses = stats.experts.yy.shape
    each = 1 + n_terms * (n_terms + 1) // 2 + n_responses * (n_terms + 1)
    return int(n_experts * each + stats.gate.to_vector().size + len(model.counts))


def _prior(law: MatrixNormalGamma, columns: GroupedColumns) -> BorderedNormalGamma:
    """Prior of coefficients that are independent of each other, by group."""
    at = columns.border
    border = MatrixNormalGamma.prior(
        law.mean[:, at], law.precision[np.ix_(at, at)], float(law.shape), law.rate
    )
    precision = np.diagonal(law.precision)[columns.own[:, 0]]
    return BorderedNormalGamma.prior(border, precision, columns.n_groups)


def _scales(scales: TermScales, columns: GroupedColumns) -> TermScales:
    """Scales of terms whose effects of groups are one term each."""
    kept: Sequence[int] = [*columns.border, *columns.own[:, 0]]
    sizes = np.concatenate([
        np.ones(len(columns.border)), np.full(len(columns.own), float(columns.n_groups))
    ])  # fmt: skip
    return replace(
        scales, membership=scales.membership[:, kept], fixed=scales.fixed[kept], sizes=sizes
    )
