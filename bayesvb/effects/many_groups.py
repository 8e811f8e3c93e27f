"""Effects of very many groups, component by component: from the posterior, without draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.stats import t as student

from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.partly_kept import all_kept
from bayesvb.distributions.intervals import tails

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

__all__ = ["many_groups"]


def many_groups(fit: AbstractFit, effect: int, prob: float) -> pd.DataFrame:
    """Mean and equal-tailed interval of an effect of every group, of one that was not there last.

    Parameters
    ----------
    fit : Fit
        Of a design whose effects of groups stay apart from the columns.
    effect : int
        Number of the effect.
    prob : float
    """
    model: Any = fit.model
    known, law = model.design.groups, fit.parts[0].fit.q.experts
    variances = _variances(fit.parts[0].fit)
    unit = model.scales.response.scale[:, None] / model.scales.parts[GROUP_ROWS].scale[1 + effect]
    several, tables = len(unit) > 1, []
    for component, border in enumerate(zip(law.border.shape, law.border.rate, strict=True)):
        shape, rate = border
        mean = unit * law.effects[component, :, effect]
        spread = variances[component, :, effect]
        sd = unit * np.sqrt((rate / shape)[:, None] * spread)
        quantile = student.ppf(tails(prob)[1], 2.0 * shape)
        for response, name in enumerate(model.design.response_names):
            ends = quantile * sd[response]
            table = pd.DataFrame({"term": known.effects[effect], "group": known.labels})
            table["component"] = component + 1
            if several:
                table["response"] = name
            table["estimate"] = mean[response]
            table["lower"], table["upper"] = mean[response] - ends, mean[response] + ends
            tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _variances(fit: Any) -> Float[np.ndarray, "experts responses effects groups"]:
    """Of effects in units of the noise: by linear response, if the fit has it; else those of q."""
    law, source = fit.q.experts, fit.model.source
    if fit.covariance == "linear-response" and all_kept(source):
        shared = fit.core.response_of_shared(fit.stats, fit.core.update(fit.stats), source)
        found = None if shared is None else shared.effect_variances()
        if found is not None:
            return np.asarray(found)
    return np.broadcast_to(law.effect_spread()[:, None], law.effects.shape)
