"""Ascents that ran out of passes: whether what they predict still changes, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import Budget
from bayesvb.models.ensemble import thinned
from bayesvb.numerics.streams import Streams
from bayesvb.results.named_draws import log_lik_blocks
from bayesvb.results.subsampling import source_at, unit_sample

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit, Member

PASSES = 100
"""Passes that an ascent goes on for, to see what changes: a twentieth of those of the default."""

TOLERANCE = 1e-8
"""Nats below which it has nothing to gain any more."""

MOST_WORK = 2e7
"""Rows x components x passes that this may cost: some seconds."""

DRAWS = 100
"""Draws that tell how well a prediction is known."""

MOST_ROWS = 2000
"""Rows, or groups of rows, whose predictions are compared."""


def still_changing(fit: AbstractFit) -> float | None:
    """Change of the predictions in further passes, in posterior standard deviations.

    Root mean square, over rows (a choice of many), of the change of the log predictive density, by
    that of its posterior standard deviation; restarts that are combined keep their weights. None
    where it would take long, the engine takes no passes towards a maximum, or not all rows are at
    hand.
    """
    unfinished = [part for part in fit.parts if not part.fit.converged]
    work = fit.model.source.n_rows * fit.core.n_components * PASSES * len(unfinished)
    known = fit.engine.maximises_bound and fit.model.all_rows is None
    if not known or not unfinished or work > MOST_WORK:
        return None
    chosen = unit_sample(fit, MOST_ROWS)
    source = fit.model.source if chosen.whole else source_at(fit, chosen.at)
    before = _log_density(fit.parts, source, [part.fit.stats for part in fit.parts])
    after = _log_density(fit.parts, source, [_after(part.fit) for part in fit.parts])
    if before is None or after is None:
        return None
    draws = thinned(fit.draws, min(DRAWS, len(fit.log_q)))
    found = list(log_lik_blocks(fit.core, source, draws, 0.0))
    variance = float(np.concatenate(found, axis=-1).var(axis=0).mean())
    change = float(np.mean((after - before) ** 2))
    return float(np.sqrt(change / variance)) if variance > 0.0 else None


def _after(fit: AbstractFit) -> Any:
    """Statistics of one restart after further passes, if it ran out of them."""
    if fit.converged:
        return fit.stats
    budget, streams = Budget(TOLERANCE, PASSES), Streams(fit.seed).branch("restart", 0)
    found = fit.engine.run(fit.core, fit.model.source, fit.stats, budget, streams)
    return found.whole().stats


def _log_density(
    parts: Sequence[Member], source: AbstractSource, each: Sequence[Any]
) -> Float[np.ndarray, " _"] | None:
    """Log predictive density of the rows by all restarts together; None if it has no closed form.

    Of groups whose rows share a component there is one for each group.
    """
    found = []
    for part, stats in zip(parts, each, strict=True):
        model = part.fit.core
        predict = partial(model.log_predictive, model.update(stats))
        if predict(source.empty()) is None:
            return None
        found.append(np.log(part.weight) + np.asarray(source.map_rows(predict)))
    return np.asarray(logsumexp(np.stack(found), axis=0))
