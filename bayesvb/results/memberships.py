"""How surely rows, or groups of rows, belong to their most likely component."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import entr

from bayesvb.results.units import units_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit


def modal_table(fit: AbstractFit) -> pd.DataFrame:
    """Rows or groups by most likely component; see ``Fit.classification_table``."""
    import pandas as pd

    given = fit.responsibilities().to_numpy()
    n_components = given.shape[1]
    likely = given.argmax(axis=1)
    counts = np.bincount(likely, minlength=n_components)
    sums = np.zeros((n_components, n_components))
    np.add.at(sums, likely, given)
    with np.errstate(invalid="ignore"):
        means = sums / counts[:, None]
    index = pd.RangeIndex(1, n_components + 1, name="most likely")
    units = {units_of(fit.model).plural: counts, "percent": 100.0 * counts / len(given)}
    table = pd.DataFrame(units, index=index)
    table[list(range(1, n_components + 1))] = means
    table.attrs["relative_entropy"] = relative_entropy(given)
    return table


def relative_entropy(probabilities: Float[np.ndarray, "rows experts"]) -> float:
    """One less the mean entropy of memberships, relative to that of equal ones: 1 if all are sure.

    References
    ----------
    Ramaswamy, DeSarbo, Reibstein, Robinson (1993), An empirical pooling approach for estimating
    marketing mix elasticities with PIMS data, Marketing Science 12(1).

    Examples
    --------
    >>> relative_entropy(np.array([[1.0, 0.0], [0.5, 0.5]]))
    0.5
    """
    n_rows, n_experts = probabilities.shape
    if n_experts == 1:
        return 1.0
    entropy = float(entr(probabilities).sum())
    return float(1.0 - entropy / (n_rows * np.log(n_experts)))
