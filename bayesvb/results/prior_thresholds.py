"""Values of the numbers of a prior at which an effect changes its sign, or is no longer clear.

The direct effect of another prior on an iteration is computed in full at each value; the indirect
effect is a first-order approximation by the sensitivity operator. Intervals widen or narrow with
the standard deviations of the factorised posterior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.results.prior_sensitivity import changes_with_numbers
from bayesvb.results.summary import coefficient_table

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

DOUBLINGS = np.array([-10.0, -8.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, -0.5, 0.0,
                      0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0])  # fmt: skip
"""Binary logarithms of the factors that are tried: thresholds between two are interpolated."""


def prior_thresholds(fit: AbstractFit, prob: float) -> pd.DataFrame:
    """Nearest thresholds of every coefficient; see ``Fit.prior_thresholds``."""
    named, values, moved, posteriors = changes_with_numbers(fit, DOUBLINGS.tolist())
    table = coefficient_table(fit.parts[0].fit, prob).loc[named.index]
    mean, lower, upper = (table[name].to_numpy(dtype=float) for name in ("mean", "lower", "upper"))
    sign, width = np.sign(mean), np.where(mean > 0.0, mean - lower, upper - mean)
    spread = named.spread(named.jackknife.deletion.posterior)
    parts = {}
    for number, (name, value) in enumerate(values.items()):
        means = sign * (mean + moved[number] * named.sd)
        wider = np.stack([named.spread(one) for one in posteriors[number]])
        ratio = np.divide(wider, spread, out=np.ones_like(wider), where=spread > 0.0)
        columns = {
            "value": value,
            "zero_in_interval": value * _factors(means - width * ratio),
            "sign_changes": value * _factors(means),
        }
        parts[name] = pd.DataFrame(columns, index=named.index)[named.signed]
    whole = pd.concat(parts, names=["number"])
    whole = whole.reorder_levels([*map(str, named.index.names), "number"])
    by_parameter = np.arange(len(whole)).reshape(len(parts), -1).T.ravel()
    return whole.iloc[by_parameter]


def _factors(heights: Float[np.ndarray, "steps parameters"]) -> Float[np.ndarray, " parameters"]:
    """Factor of the number, nearest to 1, at which each height is zero; or NaN."""
    return np.array([_factor(height) for height in heights.T])


def _factor(height: Float[np.ndarray, " steps"]) -> float:
    """Factor at which the height is zero first, on either side of the number as it is.

    Examples
    --------
    >>> _factor(1.0 - 0.5 * DOUBLINGS)
    4.0
    >>> _factor(np.full(len(DOUBLINGS), -1.0)), _factor(np.ones(len(DOUBLINGS)))
    (1.0, nan)
    """
    centre = int(np.flatnonzero(DOUBLINGS == 0.0)[0])
    if height[centre] <= 0.0:
        return 1.0
    crossings = []
    for way in (-1, 1):
        at = centre
        while 0 <= at + way < len(height):
            if height[at + way] <= 0.0:
                share = height[at] / (height[at] - height[at + way])
                crossings.append(DOUBLINGS[at] + share * (DOUBLINGS[at + way] - DOUBLINGS[at]))
                break
            at += way
    return float(2.0 ** min(crossings, key=abs)) if crossings else float("nan")
