"""Runs that went on without each fifth of the rows: those of all restarts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayesvb.engines.folds import Ascended, without_folds
from bayesvb.numerics.streams import Streams
from bayesvb.results.leave_one_out import OneRestart


def leave_folds_out(fit: Any) -> None:
    """Have each restart go on without each fold, which it keeps; what was known stays."""
    each = [one.fit for one in fit.parts if "fold statistics" not in one.fit.cache]
    for one, stats in zip(each, stats_without_folds(each), strict=True):
        one.cache["fold statistics"] = stats


def stats_without_folds(fits: Sequence[OneRestart]) -> list[tuple[Any, ...]]:
    """Statistics of the runs of fits of one restart for each fold, without it."""
    if not fits:
        return []
    return without_folds([_ascended(one) for one in fits], fits[0].model.source, fits[0].engine)


def _ascended(fit: OneRestart) -> Ascended:
    """Where the run of a fit ended, from which others go on."""
    streams = Streams(fit.seed).branch("restart", fit.best_restart)
    return Ascended(fit.core, fit.stats, streams)
