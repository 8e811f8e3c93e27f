"""Table of a fit: one row per parameter."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.distributions.draw_summaries import summarised
from bayesvb.distributions.intervals import PROB
from bayesvb.evaluation.mixing import mixing
from bayesvb.results.base import AbstractFit
from bayesvb.results.named_draws import NamedDraws, PriorDraws
from bayesvb.storage.arviz_objects import in_chains

if TYPE_CHECKING:
    import pandas as pd


def coefficient_table(
    fit: AbstractFit, prob: float = PROB, *, robust: bool | None = False
) -> pd.DataFrame:
    """Mean (or point estimate), standard deviation, interval and P(> 0) of every parameter.

    Rows are indexed by part, component and term; see ``Fit.summary``. A parameter that is fixed or
    a point estimate has a value and no interval: NaN. Draws in several chains add R-hat and the
    effective sample size. ``robust`` as in ``summarised``: left to it (None), ``attrs["robust"]``
    has the labels of rows with median and scaled median absolute deviation.
    """
    import pandas as pd

    named, points = fit.named, _at_the_point(fit)
    tables, replaced = [], []
    for name, part in named.parts.items():
        flat = named.values[name].reshape(len(named.values[name]), -1)
        found = summarised(flat, prob, robust=robust if points is None else False)
        signed = name in named.signed
        columns = {
            "mean": found.centre,
            "sd": found.spread,
            "lower": found.lower,
            "upper": found.upper,
            "p_positive": (flat > 0.0).mean(axis=0) if signed else np.nan,
        }
        if fit.chains > 1:
            columns |= mixing(in_chains(flat, fit.chains))
        if points is not None:
            columns["mean"] = points.values[name].ravel()
        if name in named.single or fit.only_points:
            columns |= dict.fromkeys(("sd", "lower", "upper", "p_positive"), np.nan)
        tables.append(pd.DataFrame(columns, index=labels(named, name, part)))
        if name not in named.single:
            replaced += list(tables[-1].index[found.robust])
    whole = pd.concat(tables)
    whole.index = in_reading_order(whole.index)
    whole.attrs = intervals(fit) | {"robust": replaced}
    return whole


def _at_the_point(fit: AbstractFit) -> NamedDraws | None:
    """Parameters at the estimates of an engine that finds points."""
    if not fit.engine.finds_points or fit.members:
        return None
    return fit.model.named_draws(PriorDraws(fit.core, fit.core.point(fit.q)))


def in_reading_order(index: Any) -> pd.MultiIndex:
    """The same labels, with levels in the order of their appearance.

    pandas then takes the index for sorted, and finds ``("mean", 1)`` at once and silently.
    """
    import pandas as pd

    levels: list[list[Hashable]] = [[], [], []]
    before: Sequence[Hashable] = (None, None, None)
    for labels in index:
        for level, label, last in zip(levels, labels, before, strict=True):
            if label not in level:
                level.insert(level.index(last) + 1 if last in level else 0, label)
        before = labels
    codes = [
        [level.index(label) for label in index.get_level_values(name)]
        for level, name in zip(levels, index.names, strict=True)
    ]
    return pd.MultiIndex(levels, codes, names=index.names)


def intervals(fit: AbstractFit) -> dict[Hashable | None, str]:
    """What a table says of its intervals: their covariance, and why it is only mean-field."""
    label: dict[Hashable | None, str] = {"covariance": fit.covariance}
    if fit.robust is not None:
        label["clusters"] = fit.robust.words
    failure = fit.response.failure
    return label if failure is None else label | {"failure": failure}


def labels(named: NamedDraws, name: str, part: str) -> pd.MultiIndex:
    """(part, component, term) of every entry; axes other than components join into the term."""
    import pandas as pd

    dims = named.dims[name]
    first = dims[:1] if dims and dims[0].startswith("component") else []
    rows = [
        (
            part,
            labels[0] if first else "",
            ": ".join(str(label) for label in labels[len(first) :]),
        )
        for labels in product(*(named.coords[dim] for dim in dims))
    ]
    return pd.MultiIndex.from_tuples(rows, names=["part", "component", "term"])
