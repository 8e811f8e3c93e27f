"""Scores of quantiles: the pinball loss, whose mean the true quantile makes smallest."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def pinball(
    observed: Float[np.ndarray, " rows"],
    quantiles: Float[np.ndarray, "probs rows"],
    probs: Float[np.ndarray, " probs"],
) -> Float[np.ndarray, "probs rows"]:
    r"""Pinball loss of each quantile at each row, in the units of the response.

    .. math:: \rho_p(y - q) = \max\{p (y - q), (p - 1)(y - q)\}

    Twice its integral over p is the CRPS.

    References
    ----------
    Koenker, Bassett (1978), Regression quantiles, Econometrica 46(1). Gneiting, Raftery (2007),
    doi:10.1198/016214506000001437, section 6.

    Examples
    --------
    >>> pinball(np.array([3.0]), np.array([[1.0], [4.0]]), np.array([0.1, 0.9])).ravel().round(3)
    array([0.2, 0.1])
    """
    above = observed - quantiles
    level = probs[:, None]
    return np.asarray(np.maximum(level * above, (level - 1.0) * above))
