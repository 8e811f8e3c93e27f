"""Bayesian R2: share of the variance of a response that the fitted means explain.

The leave-one-out R2 compares each response with its mean given all other rows, by Pareto-smoothed
importance sampling, and has its uncertainty from Bayesian bootstrap weights of the rows.

References
----------
Gelman, Goodrich, Gabry and Vehtari (2019), R-squared for Bayesian regression models, The American
Statistician 73(3), equation 3; its online appendix has the leave-one-out R2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.distributions.intervals import tails
from bayesvb.errors import DataError, warn
from bayesvb.numerics.arrays import DrawVector, RowVector
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import chunks, count

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

WITHOUT_VARIANCE = ("classes", "levels", "none")
"""Kinds of responses that have no variance."""


def r2_table(fit: AbstractFit, loo: bool, prob: float) -> pd.DataFrame:
    """Table of R2, one row per response; see ``Fit.r2``."""
    from bayesvb.data.line_width import PrintedTable

    model, kind = fit.model, fit.model.response.kind
    if kind in WITHOUT_VARIANCE or not isinstance(model, HasDrawnDistributions):
        raise DataError(
            "R2 needs a response with a variance, and this fit has "
            + ("no response" if kind == "none" else f"a response of {kind}"),
            hint="fit.loo() measures predictive accuracy",
        )
    check_all_rows(model, "R2", "it averages over them")
    block, names = model.block(model.rows()), model.design.response_names
    drawn = _held_out_r2 if loo else _drawn_r2
    values = np.stack([drawn(fit, model, block, number) for number in range(len(names))])
    lower, upper = np.quantile(values, tails(prob), axis=1)
    sd = np.full(len(values), np.nan) if fit.is_point_estimate else values.std(axis=1, ddof=1)
    columns = {"estimate": values.mean(axis=1), "sd": sd, "lower": lower, "upper": upper}
    return PrintedTable(columns, index=pd.Index(names, name="response"))


def _drawn_r2(
    fit: AbstractFit, model: HasDrawnDistributions, block: Block, response: int
) -> DrawVector:
    """R2 of one response in every draw.

    Raises
    ------
    DataError
        If the variance of the response is infinite.
    """
    pieces = chunks(fit.core, InMemorySource((block,)), count(fit.draws))
    parts = [model.drawn_mixture(fit, piece, response) for piece in pieces]
    means = np.concatenate([part.mean() for part in parts], axis=-1)
    variances = np.concatenate([part.sd() ** 2 for part in parts], axis=-1)
    if np.isinf(variances).any():
        raise DataError(
            "R2 is not defined: the variance of the response is infinite, its tails too heavy",
            hint="fit.loo() measures predictive accuracy",
        )
    weights = fit.model.weights
    deviations = means - np.average(means, axis=-1, weights=weights)[..., None]
    explained = np.average(deviations**2, axis=-1, weights=weights)
    return np.asarray(explained / (explained + np.average(variances, axis=-1, weights=weights)))


def _held_out_r2(
    fit: AbstractFit, model: HasDrawnDistributions, block: Block, response: int
) -> DrawVector:
    """Leave-one-out R2 of one response, one value for each draw of bootstrap weights.

    Raises
    ------
    DataError
        If responses are censored.
    """
    design, n_draws = fit.model.design, count(fit.draws)
    if design.hidden.any():
        raise DataError(
            "loo=True needs responses without censoring", hint="fit.r2() has R2 of the fitted means"
        )
    means = _held_out_means(fit, model, block, response)
    observed = design.responses[:, response]
    weights = np.ones(len(means)) if fit.model.weights is None else fit.model.weights
    rng, values = Streams(fit.seed).branch("r2").rng("rows"), np.empty(n_draws)
    both = np.stack([observed - means, observed])
    both = both - np.average(both, axis=1, weights=weights)[:, None]  # against cancellation
    for draw in range(n_draws):  # one at a time: draws x rows may not fit in memory
        share = rng.standard_gamma(weights)
        share /= share.sum()
        error, total = both**2 @ share - (both @ share) ** 2
        values[draw] = 1.0 - error / total
    return values


def _held_out_means(
    fit: AbstractFit, model: HasDrawnDistributions, block: Block, response: int
) -> RowVector:
    """Predictive mean of each row given the others, by importance weights of the draws."""
    from bayesvb.evaluation.psis import psis

    block = fit.model.source.take(np.arange(block.n_rows))  # with the responses
    means, largest = [], []
    for piece in chunks(fit.core, InMemorySource((block,)), count(fit.draws)):
        log_weights, pareto_k = psis(-fit.core.log_lik(fit.draws, piece))
        drawn = model.drawn_mixture(fit, piece, response).mean()
        means.append((np.exp(log_weights) * drawn).sum(axis=0))
        largest.append(pareto_k)
    limit = LIMITS.usable_khat
    high = int(np.count_nonzero(np.concatenate(largest) > limit))
    if high:
        warn(
            f"Pareto k of {high} of {block.n_rows} rows is above {limit}: their leave-one-out "
            "means are unreliable; bvb.cross_validate refits the model without each fold"
        )
    return np.concatenate(means)
