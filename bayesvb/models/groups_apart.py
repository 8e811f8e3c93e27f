"""A mixture whose experts have a column for each group, with the effects taken apart from these.

It is the same model. Its statistics are fewer, those of a group know of those of another through
what all rows share only, and what takes derivatives eliminates them group by group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.experts.linear import LinearExperts
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.models.group_columns import GroupedColumns, OwnColumns
from bayesvb.models.grouped_response import MOST_BESIDE
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
    def of(
        cls,
        model: Any,
        stats: Any,
        source: AbstractSource,
        *,
        most_shared: int = MOST_BESIDE,
    ) -> GroupsApart | None:
        """That of a mixture with scales of terms and experts that may have columns of groups.

        None where there are none with many groups, or where the rows share more than
        ``most_shared`` statistics besides.
        """
        of_gate = _many(model.of_gate) if model.gate.learns_scales else []
        columns = GroupedColumns.of(_many(model.of_experts), source, of_gate)
        if columns is None:
            return None
        experts = LinearExperts(_prior(model.experts.prior, columns.experts))
        scales = _scales(model.of_experts, columns.experts)
        own = replace(model, experts=experts, of_experts=scales)
        if columns.gate is not None:
            law = _logit_prior(model.gate.prior, columns.gate)
            gate = replace(model.gate, prior=law)
            own = replace(own, gate=gate, of_gate=_scales(model.of_gate, columns.gate))
        sums = replace(
            stats,
            experts=columns.split(stats.experts),
            gate=columns.split_logits(stats.gate),
        )
        if _shared(own, sums) > most_shared:
            return None
        return cls(columns, own, columns.source(source), sums)

    def with_columns(self, vector: Float[np.ndarray, " apart"]) -> Float[np.ndarray, " entries"]:
        """A change of the statistics, as one of those of columns."""
        change = self.stats.with_vector(vector)
        whole = replace(
            change,
            experts=self.columns.joined(change.experts),
            gate=self.columns.joined_logits(change.gate),
        )
        return np.asarray(whole.to_vector())


def _many(scales: TermScales) -> list[Int[np.ndarray, " columns"]]:
    """Columns of terms that have many."""
    terms = [np.flatnonzero(one) for one in scales.membership]
    return [columns for columns in terms if len(columns) >= FEWEST_GROUPS]


def _shared(model: Any, stats: Any) -> int:
    """Number of statistics that all rows share."""
    n_experts, n_responses = stats.experts.yy.shape
    n_terms = model.experts.prior.operator.shared.n_coefficients
    n_pairs = n_terms * (n_terms + 1) // 2
    size: int = n_experts * (1 + n_pairs + n_responses * (n_terms + 1)) + len(model.counts)
    if model.gate.draws_complete:
        return size + int(stats.gate.to_vector().size)
    n_logits, n_terms = model.gate.prior.shared.mean.shape
    return size + int(n_logits * (n_terms * (n_terms + 1) // 2 + n_terms))


def _prior(law: MatrixNormalGamma, columns: OwnColumns) -> MatrixNormalGamma:
    """Prior of coefficients that are independent of each other, by group."""
    operator = columns.operator(law.operator.entries)
    return replace(law, mean=law.mean[:, columns.order], operator=operator)


def _logit_prior(law: Normal, columns: OwnColumns) -> Normal:
    """The same of logits."""
    return Normal(law.mean[:, columns.order], columns.operator(law.precisions))


def _scales(scales: TermScales, columns: OwnColumns) -> TermScales:
    """Scales of terms whose effects of groups are one term each."""
    kept: Sequence[int] = [*columns.border, *columns.own[:, 0]]
    n_effects, n_groups = columns.own.shape
    sizes = np.concatenate([
        np.ones(len(columns.border)), np.full(n_effects, float(n_groups))
    ])  # fmt: skip
    return replace(
        scales, membership=scales.membership[:, kept], fixed=scales.fixed[kept], sizes=sizes
    )
