"""Effective degrees of freedom of smooth curves: how many coefficients they are worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.data.parts import MEAN

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def smooth_dof(fit: AbstractFit) -> Mapping[str, Float[np.ndarray, " components"]] | None:
    """Of each smooth of the mean, in each component; None where they are not known.

    Of combined restarts those of the heaviest.
    """
    one, design = fit.parts[0].fit, fit.model.design
    known = design.curves(MEAN) if MEAN in design.terms else ()
    if not known or one.sampled or one.engine.finds_points:
        return None
    each = one.core.effective_dof(one.q)
    if each is None:
        return None
    return {curve.name: each[:, list(curve.places)].sum(axis=1) for curve in known}
