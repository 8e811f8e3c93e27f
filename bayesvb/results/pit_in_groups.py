"""Probability integral transforms of rows that come in groups: each given those before it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from bayesvb.data.blocks import BLOCK_ROWS, Block, Members
from bayesvb.models.ensemble import thinned
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.named_draws import count
from bayesvb.results.units import units_of

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

DRAWS = 100
"""Draws over which transforms are averaged where the engine returned some."""


Transforms = tuple[Float[np.ndarray, "responses rows"], Float[np.ndarray, " rows"]]
"""Distribution functions at the responses, and probabilities of the responses, read if discrete."""


def within_groups(fit: AbstractFit) -> Transforms:
    r"""Transforms of the rows of a fit of one restart.

    .. math:: u_n = \sum_k w_{nk} F_k(y_n \mid x_n), \qquad
              w_{nk} \propto \pi_k(x_g) \prod_{m \in g,\, m < n} p_k(y_m \mid x_m),

    with the rows of a group in the order of the data. They are independent and uniform where the
    model is right and its parameters are known; the posterior is that of all rows.

    References
    ----------
    Rosenblatt (1952), Remarks on a multivariate transformation, Annals of Mathematical Statistics
    23(3).
    """
    pieces = [
        _of_draws(fit, part) if fit.sampled else _of_posterior(fit, part)
        for block in fit.model.source.iterate()
        for part in block.split(max(BLOCK_ROWS // 8, 1))
    ]
    found = units_of(fit.model).in_row_order(np.concatenate(pieces, axis=-1))
    return found[:-1], found[-1]


def _of_posterior(fit: AbstractFit, block: Block) -> Float[np.ndarray, "transforms rows"]:
    """By the predictive distribution of each component under the posterior."""
    members = block.members
    assert members is not None
    core, n_responses = fit.core, len(members.rows.response)
    laws = [core.predictive(fit.q, block, i) for i in range(n_responses)]
    observed = members.rows.response
    pairs = list(zip(laws, observed, strict=True))
    density = sum(law.component_log_density(values) for law, values in pairs)
    with np.errstate(divide="ignore"):
        prior = np.log(laws[0].weights)
    weights = softmax(prior + earlier_rows(np.asarray(density), members), axis=0)
    below = [_each_cdf(law, values) for law, values in pairs]
    return np.stack([(weights * each).sum(axis=0) for each in (*below, np.exp(density))])


def _of_draws(fit: AbstractFit, block: Block) -> Float[np.ndarray, "transforms rows"]:
    """Averages over draws of the parameters."""
    members, model = block.members, fit.model
    assert members is not None and isinstance(model, HasDrawnDistributions)
    draws = thinned(fit.q_draws, min(count(fit.q_draws), DRAWS))
    rows, some = block.ungrouped(), replace(fit, draws=draws)
    laws = [model.drawn_mixture(some, rows, i) for i in range(len(rows.response))]
    with np.errstate(divide="ignore"):
        prior = np.moveaxis(np.log(laws[0].weights), 0, 1)
    density = fit.core.experts.log_lik(draws, rows)
    weights = softmax(prior + earlier_rows(density, members), axis=1)
    scaling = model.scales.response  # type: ignore[attr-defined]
    observed = rows.response * scaling.scale[:, None] + scaling.centre[:, None]
    observed = observed if rows.offset is None else observed + rows.offset
    below = [_each_cdf(law, values) for law, values in zip(laws, observed, strict=True)]
    each = [np.moveaxis(one, 0, 1) for one in below]
    if model.response is not None and model.response.is_discrete:  # less than, then up to
        each = [one + np.exp(density) for one in each]
    return np.stack([(weights * one).sum(axis=1).mean(axis=0) for one in (*each, np.exp(density))])


def _each_cdf(law: Any, values: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "experts ..."]:
    """Distribution function of each component of a mixture, by mixtures of that one alone."""
    found = []
    for component in range(len(law.weights)):
        only = np.zeros_like(law.weights)
        only[component] = 1.0
        one = replace(law, weights=only)
        found.append(one.below(values) if law.weights.ndim > 2 else one.cdf(values))
    return np.stack(found)


def earlier_rows(
    values: Float[np.ndarray, "*axes rows"], members: Members
) -> Float[np.ndarray, "*axes rows"]:
    """Sum over the rows of the same group that come before each row.

    Examples
    --------
    >>> rows = Block({}, np.zeros((1, 3)))
    >>> earlier_rows(np.array([1.0, 2.0, 4.0]), Members(rows, np.array([0, 2])))
    array([0., 1., 0.])
    """
    found = np.zeros_like(values)
    for start, size in zip(members.starts, members.sizes, strict=True):
        found[..., start + 1 : start + size] = np.cumsum(
            values[..., start : start + size - 1], axis=-1
        )
    return found
