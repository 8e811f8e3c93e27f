"""Initialisation of a fit at the solution of a fit with other components or another family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesvb.engines.partitions import FittedPart, KnownStart
from bayesvb.evaluation.unseen_optima import SAME
from bayesvb.models.mixture import Mixture

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit

NAME = "known fit"
"""Name of the start in the table of restarts."""

PROBES, FEW_PROBES = 3, 1
"""Other starts where one more component may improve the fit, and where the last one did not
(``bench_starts``)."""


def near_start(fit: Fit, n_components: int) -> KnownStart | None:
    """Start of a fit with as many components as this one or more; None where it says nothing.

    The components of the fit, and empty ones. Few other starts are tried with as many components,
    and where no other start of the fit itself ended higher than this one: the last component did
    not improve it. None with a gate whose components have an order: the empty ones might have to
    stand elsewhere, and four fits in a hundred would end lower.
    """
    core = fit.core
    if not isinstance(core, Mixture) or not 1 < core.n_components <= n_components:
        return None
    if not core.gate.exchangeable:
        return None
    rows = fit.model.all_rows or fit.model.source
    if not (fit.engine.maximises_bound and rows.rows_at_hand) or len(fit.parts) > 1:
        return None
    ended = fit.restarts.set_index("initialisation")["elbo"]
    saturated = NAME in ended and ended.max() <= ended[NAME] + SAME
    few = saturated or core.n_components == n_components
    part = FittedPart(core, core.update(fit.stats), n_components)
    return KnownStart(NAME, part, FEW_PROBES if few else PROBES, SAME)
