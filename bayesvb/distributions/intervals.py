"""Equal-tailed intervals: their usual probability, and the quantiles at which they end."""

from __future__ import annotations

import numpy as np

from bayesvb.errors import DataError

PROB = 0.89
"""Default probability of credible intervals: ArviZ's."""


def tails(prob: float) -> tuple[float, float]:
    """Lower and upper quantile of an equal-tailed interval.

    Raises
    ------
    DataError
        If ``prob`` is not between 0 and 1.
    """
    if not isinstance(prob, float | np.floating) or not 0.0 < prob < 1.0:
        text = repr(prob)[:80]
        raise DataError(f"prob={text} must lie between 0 and 1", hint="write 0.9 for 90%")
    return (1.0 - prob) / 2.0, (1.0 + prob) / 2.0
