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
from bayesvb.experts.linear_mixed import MixedExperts
from bayesvb.factors.bordered_normal import BorderedNormal
from bayesvb.factors.bordered_normal_gamma import BorderedNormalGamma
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.gates.logit_stats import LogitStats
from bayesvb.gates.logits_by_group import GroupedLogitStats
from bayesvb.linear.precisions import DensePrecision
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
        weights: bool,
        most_shared: int = MOST_BESIDE,
    ) -> GroupsApart | None:
        """That of a mixture with scales of terms and experts that may have columns of groups.

        None where there are none with many groups, or where the rows share more than
        ``most_shared`` statistics besides. With ``weights`` those of the gate are taken apart too.
        """
        of_gate = _many(model.of_gate) if weights and model.gate.learns_scales else []
        columns = GroupedColumns.of(_many(model.of_experts), source, of_gate)
        if columns is None:
            return None
        experts = MixedExperts(_prior(model.experts.prior, columns))
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
    gate = stats.gate
    if isinstance(gate, GroupedLogitStats):
        gate = LogitStats(gate.curvature, gate.linear)
    sizes = (stats.experts.linear.to_vector().size, gate.to_vector().size, len(model.counts))
    return sum(sizes)


def _prior(law: MatrixNormalGamma, columns: GroupedColumns) -> BorderedNormalGamma:
    """Prior of coefficients that are independent of each other, by group."""
    at = columns.experts.border
    border = MatrixNormalGamma.prior(
        law.mean[:, at], law.precision[np.ix_(at, at)], float(law.shape), law.rate
    )
    precision = np.diagonal(law.precision)[columns.experts.own[:, :1].ravel()]
    return BorderedNormalGamma.prior(border, precision, columns.n_groups)


def _logit_prior(law: Normal, columns: OwnColumns) -> BorderedNormal:
    """The same of logits."""
    precision, at = np.diagonal(law.precision, axis1=-2, axis2=-1), columns.border
    border = Normal(law.mean[:, at], DensePrecision(np.diag(precision[at])))
    return BorderedNormal.prior(border, precision[columns.own[:, 0]], columns.own.shape[1])


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
