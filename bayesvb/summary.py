"""Tables of a fit: one row per coefficient, one row per component."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.errors import DataError
from bayesvb.posterior_draws import approximation, named_draws
from bayesvb.stats import Stats

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.fit import Fit

PROB = 0.89
"""Probability of credible intervals unless told otherwise: ArviZ's."""

PARTS = {"beta": "mean", "gamma": "gating", "sigma": "sigma", "share": "share"}
"""Names of the draws, and what their part is called in tables."""


@dataclass(frozen=True)
class Membership(Stats):
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


def tails(prob: float) -> tuple[float, float]:
    """Lower and upper quantile of an equal-tailed interval.

    Raises
    ------
    DataError
        If ``prob`` is not between 0 and 1.
    """
    if not 0.0 < prob < 1.0:
        raise DataError(f"prob={prob!r} must lie between 0 and 1", hint="write 0.9 for 90 %")
    return (1.0 - prob) / 2.0, (1.0 + prob) / 2.0


def coefficient_table(fit: Fit, prob: float = PROB, covariance: str | None = None) -> pd.DataFrame:
    """Mean, standard deviation, equal-tailed interval and P(> 0) of every parameter.

    Rows are indexed by part, component and term; see ``Fit.summary``.
    """
    import pandas as pd

    low, high = tails(prob)
    used = approximation(fit, covariance)
    named = named_draws(fit, used.draws)
    tables = []
    for name, part in PARTS.items():
        if name not in named.values:
            continue
        dims = named.dims[name]
        levels = [named.coords[dim] for dim in dims]
        index = pd.MultiIndex.from_product(levels, names=[_level(dim) for dim in dims])
        flat = named.values[name].reshape(len(named.values[name]), -1)
        bounds = np.quantile(flat, [low, high], axis=0)
        table = pd.DataFrame(
            {
                "mean": flat.mean(axis=0),
                "sd": flat.std(axis=0, ddof=1),
                "lower": bounds[0],
                "upper": bounds[1],
                "p_positive": (flat > 0.0).mean(axis=0),
            },
            index=index,
        )
        if part in ("sigma", "share"):
            table["p_positive"] = np.nan
        tables.append(_indexed(table, part, n_responses=len(fit.model.design.response_names)))
    whole = pd.concat(tables)
    whole.attrs = intervals(fit, used.covariance)
    return whole


def intervals(fit: Fit, covariance: str) -> dict[Hashable | None, str]:
    """What a table says of its intervals: their covariance, and why it is only mean-field."""
    label: dict[Hashable | None, str] = {"covariance": covariance}
    failure = fit.response.failure
    return label if failure is None else label | {"failure": failure}


def _level(dim: str) -> str:
    return {"component_gating": "component", "term_mean": "term", "term_gating": "term"}.get(
        dim, dim
    )


def _indexed(table: pd.DataFrame, part: str, *, n_responses: int) -> pd.DataFrame:
    """The same rows under (part, component, [response,] term)."""
    wanted = ["part", "component", *(["response"] if n_responses > 1 else []), "term"]
    flat = table.reset_index().assign(part=part)
    for name in wanted:
        if name not in flat:
            flat[name] = ""
    return flat.set_index(wanted)


def component_table(fit: Fit, prob: float = PROB) -> pd.DataFrame:
    """Share, size, separation and noise of every component; see ``Fit.components``."""
    import pandas as pd

    low, high = tails(prob)
    named = named_draws(fit)
    members = fit.model.source.map_reduce(
        lambda block: Membership.of(fit.mixture.responsibilities(fit.q, block))
    )
    with np.errstate(invalid="ignore"):
        separation = members.certainty / members.rows
    columns: dict[str, object] = {}
    for name in ("share", "sigma"):
        values = named.values[name]
        if values.ndim > 2:
            continue
        columns[name] = values.mean(axis=0)
        columns[f"{name}_lower"], columns[f"{name}_upper"] = np.quantile(
            values, [low, high], axis=0
        )
        if name == "share":
            columns |= {"rows": members.rows.astype(int), "separation": separation}
    index = pd.Index(named.coords["component"], name="component")
    table = pd.DataFrame(columns, index=index)
    table.attrs = intervals(fit, fit.response.label)
    return table
