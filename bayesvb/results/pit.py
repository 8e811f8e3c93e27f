"""Leave-one-out probability integral transforms of the responses of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.engines.folds import by_fold
from bayesvb.errors import DataError
from bayesvb.evaluation.psis import psis
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.criteria import answers, leaves_folds_out
from bayesvb.results.folds_left_out import leave_folds_out
from bayesvb.results.leave_one_out import without_rows
from bayesvb.results.named_draws import CHUNK_ENTRIES, count
from bayesvb.results.pit_in_groups import within_groups
from bayesvb.results.units import grouping_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit


def pit(fit: AbstractFit) -> pd.Series | pd.DataFrame:
    """Leave-one-out PIT of each row of the fit; see ``Fit.pit``."""
    import pandas as pd

    check_numeric(fit)
    names, index = fit.model.design.response_names, fit.model.design.index
    values = pit_values(fit, np.arange(fit.model.design.n_rows))
    table = pd.DataFrame(values.T, index=index, columns=list(names))
    return table[names[0]].rename("pit") if len(names) == 1 else table


def check_numeric(fit: AbstractFit) -> None:
    """Raise unless a numeric response is explained."""
    design = fit.model.design
    if design.response is None or design.levels:
        what = "classes" if design.levels else "no response"
        raise DataError(
            f"{type(fit.model).__name__} has {what}, so that no row has a PIT value",
            hint="it is the distribution function at a numeric response",
        )


def check_rows_alone(fit: AbstractFit, calibrated: object) -> None:
    """Raise if rows come in groups: those of one group are not exchangeable with other rows."""
    grouping = grouping_of(fit.model)
    if grouping is not None:
        raise DataError(
            f"calibrated={calibrated!r} is of rows that are independent, and the model has "
            f"group={grouping.name!r}",
            hint="calibrated=True leaves out whole groups",
        )


def pit_values(
    fit: AbstractFit, at: Int[np.ndarray, " chosen"]
) -> Float[np.ndarray, "responses chosen"]:
    """PIT values of rows of a fit, combined restarts by weight."""
    if leaves_folds_out(fit):
        leave_folds_out(fit)
    return np.asarray(sum(part.weight * _of_one(part.fit, at) for part in fit.parts))


def seen_pits(
    fit: AbstractFit, at: Int[np.ndarray, " chosen"]
) -> Float[np.ndarray, "responses chosen"]:
    """PIT values of rows that the fit has seen, combined restarts by weight."""
    return np.asarray(sum(part.weight * _seen(part.fit, at) for part in fit.parts))


def _of_one(
    fit: AbstractFit, at: Int[np.ndarray, " chosen"]
) -> Float[np.ndarray, "responses chosen"]:
    """PIT values from one restart: without the row, its fold, or not at all."""
    if grouping_of(fit.model) is not None:
        return within_groups(fit)[:, at]
    if answers(fit):
        return without_rows(fit, at).cdf
    if fit.core.follows_rows:
        return _by_folds(fit, at)
    model: object = fit.model
    if fit.sampled and isinstance(model, HasDrawnDistributions):
        return _by_draws(fit, model, at)
    return _seen(fit, at)


def _by_folds(
    fit: AbstractFit, at: Int[np.ndarray, " chosen"]
) -> Float[np.ndarray, "responses chosen"]:
    """Each row by the ascent that went on without its fold."""

    def cdf(stats: object, rows: Int[np.ndarray, " fold"]) -> Float[np.ndarray, "responses fold"]:
        return _seen(replace(fit, stats=stats), rows)

    return by_fold(fit.model.source, fit.without_folds, cdf, at)


def _by_draws(
    fit: AbstractFit, model: HasDrawnDistributions, at: Int[np.ndarray, " chosen"]
) -> Float[np.ndarray, "responses chosen"]:
    """Distribution functions of draws, weighed as if the row had not been seen (PSIS)."""
    source, design = fit.model.source, fit.model.design
    some = replace(fit, draws=fit.q_draws)
    observed = np.asarray(design.response, dtype=float).reshape(design.n_rows, -1)
    found = np.empty((observed.shape[1], len(at)))
    step = max(CHUNK_ENTRIES // (count(some.draws) * fit.core.n_components), 1)
    for start in range(0, len(at), step):
        rows = at[start : start + step]
        block = source.take(rows)
        log_weights, _ = psis(-fit.core.log_lik(some.draws, block))
        for i, values in enumerate(observed[rows].T):
            below = model.drawn_mixture(some, block, i).below(values)
            found[i, start : start + step] = (np.exp(log_weights) * below).sum(axis=0)
    return found


def _seen(fit: AbstractFit, at: Int[np.ndarray, " chosen"]) -> Float[np.ndarray, "responses _"]:
    """Distribution functions at the responses from the posterior of the fit."""
    design = fit.model.design
    data = design.data_at(at)
    response = np.asarray(design.response, dtype=float).reshape(design.n_rows, -1)
    return np.stack(
        [
            fit.model.predictive(fit, data, name).cdf(response[at, i])
            for i, name in enumerate(design.response_names)
        ]
    )
