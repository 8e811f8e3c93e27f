"""Leave-one-out probability integral transforms of the responses of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.engines.folds import by_fold
from bayesvb.errors import DataError
from bayesvb.evaluation.psis import psis
from bayesvb.numerics.streams import Streams
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
    response = fit.model.response
    if response is None or not response.is_numeric:
        what = "no response" if response is None else "classes"
        raise DataError(
            f"{type(fit.model).__name__} has {what}, so that no row has a PIT value",
            hint="it is the distribution function at a numeric response",
        )


def is_discrete(fit: AbstractFit) -> bool:
    """Whether the response of a fit has probabilities and no density."""
    response = fit.model.response
    return response is not None and response.is_discrete


def is_binary(fit: AbstractFit) -> bool:
    """Whether the response of a fit is 0 or 1: PIT values then do not depend on the predictions."""
    response = fit.model.response
    return response is not None and response.kind == "binary"


def check_continuous(fit: AbstractFit) -> None:
    """Raise unless a continuous response is explained, whose predictions PIT values correct."""
    check_numeric(fit)
    if is_discrete(fit):
        raise DataError(
            "calibrated= is for continuous responses, and the response is discrete",
            hint="leave calibrated out; fit.calibration() compares predictions with the data",
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
        cdf, mass = within_groups(fit)
        return randomised(fit, at, cdf[:, at], mass[at])
    if answers(fit):
        left_out = without_rows(fit, at)
        return randomised(fit, at, left_out.cdf, np.exp(left_out.log_density))
    if fit.core.follows_rows:
        return _by_folds(fit, at)
    model: object = fit.model
    if fit.sampled and isinstance(model, HasDrawnDistributions):
        return _by_draws(fit, model, at)
    return _seen(fit, at)


def randomised(
    fit: AbstractFit,
    at: Int[np.ndarray, " chosen"],
    cdf: Float[np.ndarray, "responses chosen"],
    mass: Float[np.ndarray, " chosen"],
) -> Float[np.ndarray, "responses chosen"]:
    """PIT values ``F(y) - (1 - v) P(y)`` of a discrete response, ``F(y)`` of a continuous one.

    They are uniform if the predictions are right; without the uniform numbers v, one for each row
    of the fit, they would be too large (Dunn and Smyth 1996, section 2).

    Parameters
    ----------
    fit : Fit
    at : ndarray, shape (chosen,)
        Positions of the rows.
    cdf : ndarray, shape (responses, chosen)
        Distribution functions at the responses.
    mass : ndarray, shape (chosen,)
        Probabilities of the responses, read of discrete ones only.
    """
    if not is_discrete(fit):
        return cdf
    v = Streams(fit.seed).branch("pit").rng("rows").random(fit.model.design.n_rows)[at]
    return np.asarray(np.clip(cdf - (1.0 - v) * mass, 0.0, 1.0))


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
        log_lik = fit.core.log_lik(some.draws, block)
        weights = np.exp(psis(-log_lik)[0])
        mass = np.exp(log_lik) if is_discrete(fit) else np.zeros_like(log_lik)
        each = [
            model.drawn_mixture(some, block, i).below(values) + mass
            for i, values in enumerate(observed[rows].T)
        ]
        cdf = np.stack([(weights * one).sum(axis=0) for one in each])
        found[:, start : start + step] = randomised(fit, rows, cdf, (weights * mass).sum(axis=0))
    return found


def _seen(fit: AbstractFit, at: Int[np.ndarray, " chosen"]) -> Float[np.ndarray, "responses _"]:
    """Distribution functions at the responses from the posterior of the fit."""
    design = fit.model.design
    data = design.data_at(at)
    response = np.asarray(design.response, dtype=float).reshape(design.n_rows, -1)
    laws = [fit.model.predictive(fit, data, name) for name in design.response_names]
    cdf = np.stack([law.cdf(y) for law, y in zip(laws, response[at].T, strict=True)])
    mass = np.exp(laws[0].log_density(response[at, 0])) if is_discrete(fit) else np.zeros(len(at))
    return randomised(fit, at, cdf, mass)
