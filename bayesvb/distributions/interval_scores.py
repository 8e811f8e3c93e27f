"""Scores of responses that are known to lie in intervals."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.special import log_total


def interval_log_scores(
    law: AbstractComponentMixture, observed: RowVector, interval: Float[np.ndarray, "2 rows"]
) -> RowVector:
    """Log densities of rows that are seen, and log probabilities of intervals.

    Parameters
    ----------
    law : AbstractComponentMixture
    observed : ndarray, shape (rows,)
        Responses as recorded.
    interval : ndarray, shape (2, rows)
        Distances to the lower and to the upper end; both zero where the response is seen.
    """
    seen = ~interval.any(axis=0)
    mass = law.component_log_mass(observed - interval[0], observed + interval[1])
    with np.errstate(divide="ignore"):
        terms = np.log(law.weights) + np.where(seen, law.component_log_density(observed), mass)
    return np.asarray(log_total(terms, axis=0))
