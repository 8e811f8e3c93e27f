"""Tables of the components of a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.intervals import tails
from bayesvb.results.summary import intervals

if TYPE_CHECKING:
    import pandas as pd

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

    rows: Float[np.ndarray, " experts"]
    certainty: Float[np.ndarray, " experts"]

    @classmethod
    def of(cls, responsibilities: Float[np.ndarray, "experts rows"]) -> Membership:
        """Sums of one block."""
        n_experts = len(responsibilities)
        likely: Int[np.ndarray, " rows"] = responsibilities.argmax(axis=0)
        largest = responsibilities.max(axis=0)
        return cls(
            np.bincount(likely, minlength=n_experts).astype(float),
            np.bincount(likely, largest, minlength=n_experts),
        )


def component_table(model: AbstractEstimator, fit: AbstractFit, prob: float) -> pd.DataFrame:
    """Share, size, separation and noise of every component; see ``Fit.components``."""
    import pandas as pd

    low, high = tails(prob)
    named = fit.named
    members = model.source.map_reduce(
        lambda block: Membership.of(fit.core.responsibilities(fit.q, block))
    )
    with np.errstate(invalid="ignore"):
        separation = members.certainty / members.rows
    columns: dict[str, object] = {}
    for name in ("share", "sigma"):
        values = named.values.get(name)
        if values is None or values.ndim > 2:
            continue
        columns[name] = values.mean(axis=0)
        columns[f"{name}_lower"], columns[f"{name}_upper"] = np.quantile(
            values, [low, high], axis=0
        )
        if name == "share":
            columns |= {"rows": members.rows.astype(int), "separation": separation}
    index = pd.Index(named.coords["component"], name="component")
    table = pd.DataFrame(columns, index=index)
    table.attrs = intervals(fit)
    return table


def responsibility_table(model: AbstractEstimator, fit: AbstractFit) -> pd.DataFrame:
    """Probability of each component for the rows used in the fit."""
    import pandas as pd

    q = fit.q
    values = model.source.map_rows(partial(fit.core.responsibilities, q))
    labels = pd.RangeIndex(1, fit.core.n_components + 1, name="component")
    return pd.DataFrame(values.T, model.design.index, labels)
