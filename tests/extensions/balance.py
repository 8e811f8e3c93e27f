# reports/sections/balance.py
"""Balance: how evenly the rows are spread over the components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..cells.plain import Summary

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def summary(fit: AbstractFit) -> Summary | None:
    """Effective number of components, exp of the entropy of the shares; None for one."""
    if fit.model.n_components == 1:
        return None
    share = fit.components()["share"].to_numpy()
    effective = float(np.exp(-(share * np.log(share)).sum()))
    return {"effective": effective, "given": fit.model.n_components}
