"""Tables of the components of a mixture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from bayesvb.data.blocks import Block
from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.intervals import tails
from bayesvb.models.ensemble import thinned
from bayesvb.models.mixture import Mixture
from bayesvb.numerics.arrays import ExpertRows, ExpertVector, RowIntegers
from bayesvb.results.groups import observed_units, units_of
from bayesvb.results.named_draws import count
from bayesvb.results.summary import intervals

if TYPE_CHECKING:
    from bayesvb.estimators.base import AbstractEstimator
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True)
class Membership(SufficientStats):
    """Sums over rows by most likely component.

    Attributes
    ----------
    rows : ndarray, shape (experts,)
        Rows whose most likely component this is.
    certainty : ndarray, shape (experts,)
        Sum of the largest responsibility of these rows.
    """

    rows: ExpertVector
    certainty: ExpertVector

    @classmethod
    def of(cls, responsibilities: ExpertRows) -> Membership:
        """Sums of one block."""
        n_experts = len(responsibilities)
        likely: RowIntegers = responsibilities.argmax(axis=0)
        largest = responsibilities.max(axis=0)
        return cls(
            np.bincount(likely, minlength=n_experts).astype(float),
            np.bincount(likely, largest, minlength=n_experts),
        )


def component_table(model: AbstractEstimator, fit: AbstractFit, prob: float) -> pd.DataFrame:
    """Share, size, membership probability, noise and further numbers of every component.

    See ``Fit.components``.
    """
    from bayesvb.data.former_columns import FormerColumns

    low, high = tails(prob)
    named = fit.named_draws
    columns: dict[str, object] = {}
    per_component = [name for name, dims in named.dims.items() if dims == ["component"]]
    for name in dict.fromkeys(
        ("share", "sigma", *(name for name in per_component if name in named.parts))
    ):
        values = named.values.get(name)
        if values is None or values.ndim > 2:
            continue
        columns[name] = values.mean(axis=0)
        bounds = np.quantile(values, [low, high], axis=0)
        columns[f"{name}_lower"], columns[f"{name}_upper"] = (
            np.full_like(bounds, np.nan) if fit.is_point_estimate else bounds
        )
        if name == "share" and holds_all_rows(model.source):
            columns |= _memberships(model, fit)
    index = pd.Index(named.coords["component"], name="component")
    table = FormerColumns(columns, index=index)
    table.attrs = intervals(fit)
    return table


def _memberships(model: AbstractEstimator, fit: AbstractFit) -> dict[str, object]:
    """Rows, or groups, whose most likely component each one is, and how sure they are."""
    memberships = responsibilities_of(fit)
    members = model.source.map_reduce(lambda block: Membership.of(memberships(block)))
    with np.errstate(invalid="ignore"):
        certainty = members.certainty / members.rows
    return {units_of(model).plural: members.rows.astype(int), "membership_prob": certainty}


def responsibilities_of(fit: AbstractFit) -> Callable[[Block], ExpertRows]:
    """Probability of each component given the row, as a function of some rows.

    Averaged over the engine's draws where it returned some, and the model knows it for each.
    """
    if not (fit.is_sampled and hasattr(fit.parts[0].fit.core, "drawn_responsibilities")):
        return partial(fit.mixture.responsibilities, fit.q)
    every = fit.predictive_draws
    # Draws over which memberships of the rows are averaged.
    draws = thinned(every, min(count(every), 100))
    return lambda block: cast(Mixture, fit.core).drawn_responsibilities(draws, block).mean(axis=0)


def responsibility_table(
    model: AbstractEstimator, fit: AbstractFit, data: object = None
) -> pd.DataFrame:
    """Probability of each component for the rows (or groups) used in the fit, or for others."""
    labels = pd.RangeIndex(1, fit.core.n_components + 1, name="component")
    memberships = responsibilities_of(fit)
    if data is None:
        values = model.source.map_rows(memberships)
        return pd.DataFrame(values.T, units_of(model).index, labels)
    index, complete, block = observed_units(model, data)
    table = np.full((len(index), len(labels)), np.nan)
    table[complete] = memberships(block).T
    return pd.DataFrame(table, index, labels)
