"""Leave-one-out probability integral transforms of the responses of a fit, also within groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.special import softmax

from bayesvb.argument_checks import check_choice
from bayesvb.data.blocks import BLOCK_ROWS, Block, Members
from bayesvb.data.response_columns import upper_ends
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.base import average_nodes, shares_by_label
from bayesvb.distributions.interval_scores import interval_log_scores
from bayesvb.engines.folds import by_fold
from bayesvb.errors import DataError
from bayesvb.evaluation.calibration import randomised_pit
from bayesvb.evaluation.normal_scores import normal_scores
from bayesvb.evaluation.psis import psis
from bayesvb.models.ensemble import thinned
from bayesvb.models.mixture import Mixture
from bayesvb.numerics.arrays import EntryVector, ExpertValues, Indices, ResponseRows, RowVector
from bayesvb.numerics.pieces import pieces
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.numerics.streams import Streams
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.criteria import answers, leaves_folds_out
from bayesvb.results.groups import units_of
from bayesvb.results.leave_one_out import leave_folds_out, without_rows
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import ModelDraws, count
from bayesvb.sensitivity.deletion import ROWS_AT_ONCE, SHARES, Deletion

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def pit(fit: AbstractFit) -> pd.Series | pd.DataFrame:
    """Leave-one-out PIT of each row of the fit; see ``Fit.pit``."""
    check_numeric(fit)
    names, index = fit.model.design.response_names, fit.model.design.index
    values = pit_values(fit, np.arange(fit.model.design.n_rows))
    table = pd.DataFrame(values.T, index=index, columns=list(names))
    return table[names[0]].rename("pit") if len(names) == 1 else table


def check_numeric(fit: AbstractFit) -> None:
    """Raise unless a numeric response is explained."""
    response = fit.model.response
    if not response.is_numeric:
        what = "classes" if response.is_categorical else "no response"
        raise DataError(
            f"PIT values need a numeric response, and this {type(fit.model).__name__} has {what}",
            hint="fit.calibration() is for classes" if response.is_categorical else None,
        )


def check_continuous(fit: AbstractFit) -> None:
    """Raise unless a continuous response is explained, whose predictions PIT values correct."""
    check_numeric(fit)
    if fit.model.design.is_censored:
        raise DataError(
            "recalibrate= needs the value of every response, and some are censored",
            hint="omit recalibrate; fit.calibration() compares predictions with the data",
        )
    if fit.model.response.measure != "a density":
        raise DataError(
            "recalibrate= is for continuous responses, and the response has "
            f"{fit.model.response.measure}",
            hint="omit recalibrate; fit.calibration() compares predictions with the data",
        )


def check_rows_alone(fit: AbstractFit, recalibrate: object) -> None:
    """Raise if rows are grouped: rows of one group are not exchangeable with other rows."""
    grouping = fit.model.grouping
    if grouping is not None:
        raise DataError(
            f"recalibrate={recalibrate!r} needs independent rows, but the model has "
            f"group={grouping.name!r}",
            hint="recalibrate=True holds out whole groups",
        )


def pit_values(fit: AbstractFit, at: Indices) -> Float[np.ndarray, "responses chosen"]:
    """PIT values of rows of a fit, combined restarts by weight."""
    if leaves_folds_out(fit):
        leave_folds_out(fit)
    return np.asarray(sum(part.weight * _of_one(part.fit, at) for part in fit.parts))


def seen_pits(fit: AbstractFit, at: Indices) -> Float[np.ndarray, "responses chosen"]:
    """PIT values of rows that the fit has seen, combined restarts by weight."""
    return np.asarray(sum(part.weight * _seen(part.fit, at) for part in fit.parts))


def _of_one(fit: AbstractFit, at: Indices) -> Float[np.ndarray, "responses chosen"]:
    """PIT values from one restart: without the row, its fold, or not at all."""
    if fit.model.grouping is not None:
        cdf, mass = within_groups(fit)
        return randomised(fit, at, cdf[:, at], mass[at])
    if answers(fit):
        left_out = without_rows(fit, at)
        return randomised(fit, at, left_out.cdf, np.exp(left_out.log_density))
    if fit.core.follows_rows:
        return _by_folds(fit, at)
    model: object = fit.model
    if fit.is_sampled and isinstance(model, HasDrawnDistributions):
        return _by_draws(fit, model, at)
    return _seen(fit, at)


def randomised(
    fit: AbstractFit,
    at: Indices,
    cdf: Float[np.ndarray, "responses chosen"],
    mass: Float[np.ndarray, " chosen"],
) -> Float[np.ndarray, "responses chosen"]:
    """PIT values of rows of a fit, randomised where the response has a probability.

    Discrete responses do, and those that are censored or rounded: their value is
    ``F(l) + v [F(h) - F(l)]`` with a uniform number v for each row.

    Parameters
    ----------
    fit : Fit
    at : ndarray, shape (chosen,)
        Positions of the rows.
    cdf : ndarray, shape (responses, chosen)
        Distribution functions at the responses, or at the upper ends of their intervals.
    mass : ndarray, shape (chosen,)
        Probabilities of the responses, read only where they have some.
    """
    design = fit.model.design
    probable = design.hidden[at] | _have_mass(fit, at)
    if not probable.any():
        return cdf
    mass = np.where(probable, mass, 0.0)
    v = Streams(fit.seed).branch("pit").rng("rows").random(design.n_rows)[at]
    return randomised_pit(cdf, mass, v)


def _by_folds(fit: AbstractFit, at: Indices) -> Float[np.ndarray, "responses chosen"]:
    """PIT of each row by the run that continued without its fold."""

    def cdf(
        stats: SufficientStats, rows: Int[np.ndarray, " fold"]
    ) -> Float[np.ndarray, "responses fold"]:
        return _seen(replace(fit, stats=stats), rows)

    return by_fold(fit.model.source, fit.without_folds, cdf, at)


def _by_draws(
    fit: AbstractFit, model: HasDrawnDistributions, at: Indices
) -> Float[np.ndarray, "responses chosen"]:
    """Distribution functions of draws, weighed as if the row had not been seen (PSIS)."""
    source, design = fit.model.source, fit.model.design
    some = ModelDraws(fit.core, fit.variational_draws)
    observed = design.responses
    draws = np.empty((observed.shape[1], len(at)))
    step = max(LIMITS.entries_in_memory // (count(some.draws) * fit.core.n_components), 1)
    for start in range(0, len(at), step):
        rows = at[start : start + step]
        block = source.take(rows)
        log_lik = fit.core.log_lik(some.draws, block)
        weights = np.exp(psis(-log_lik)[0])
        mass = np.where(_have_mass(fit, rows), np.exp(log_lik), 0.0)
        each = [
            model.drawn_mixture(some, block, i).below(values) + mass
            for i, values in enumerate(observed[rows].T)
        ]
        cdf = np.stack([(weights * one).sum(axis=0) for one in each])
        draws[:, start : start + step] = randomised(fit, rows, cdf, (weights * mass).sum(axis=0))
    return draws


def _seen(fit: AbstractFit, at: Indices) -> Float[np.ndarray, "responses _"]:
    """Distribution functions at the responses from the posterior of the fit."""
    design = fit.model.design
    data, response = design.data_at(at), design.responses
    laws = [fit.model.predictive(fit, data, name) for name in design.response_names]
    ends = response if design.interval is None else response + design.interval[:, 1:]
    cdf = np.stack([law.cdf(y) for law, y in zip(laws, ends[at].T, strict=True)])
    mass = np.zeros(len(at))
    if (probable := _have_mass(fit, at)).any():
        mass = np.where(probable, np.exp(laws[0].log_density(response[at, 0])), 0.0)
    if design.interval is not None:
        mass = np.exp(interval_log_scores(laws[0], response[at, 0], design.interval[at].T))
    return randomised(fit, at, cdf, mass)


def _have_mass(fit: AbstractFit, at: Indices) -> Bool[np.ndarray, " chosen"]:
    """Rows whose response has a probability, and not a density."""
    design = fit.model.design
    if design.response is None:
        return np.zeros(len(at), dtype=bool)
    return fit.model.response.has_mass(design.responses[at, 0])


Transforms = tuple[ResponseRows, RowVector]
"""Distribution functions at the responses, and probabilities of the responses, read if discrete."""


def within_groups(fit: AbstractFit) -> Transforms:
    r"""Transforms of the rows of a fit of one restart.

    .. math:: u_n = \sum_k w_{nk} F_k(y_n \mid x_n), \qquad
              w_{nk} \propto \pi_k(x_g) \prod_{m \in g,\, m < n} p_k(y_m \mid x_m),

    with the rows of a group in the order of the data. They are independent and uniform where the
    model is right and its parameters are known; the posterior is the one given all rows.

    References
    ----------
    Rosenblatt (1952), Remarks on a multivariate transformation, Annals of Mathematical Statistics
    23(3).
    """
    pieces = [
        _of_draws(fit, part) if fit.is_sampled else _of_posterior(fit, part)
        for block in fit.model.source.iterate()
        for part in block.split(max(BLOCK_ROWS // 8, 1))
    ]
    values = units_of(fit.model).in_row_order(np.concatenate(pieces, axis=-1))
    return values[:-1], values[-1]


def _of_posterior(fit: AbstractFit, block: Block) -> Float[np.ndarray, "transforms rows"]:
    """PIT values from the predictive distribution of each component under the posterior."""
    members = block.members
    assert members is not None
    core, n_responses = cast(Mixture, fit.core), len(members.rows.response)
    laws = [core.predictive(fit.q, block, i) for i in range(n_responses)]
    n, pairs = core.n_components, list(zip(laws, upper_ends(members.rows), strict=True))
    density = average_nodes(laws[0], core.experts.component_scores(laws, members.rows), n)
    with np.errstate(divide="ignore"):
        prior = np.log(laws[0].by_label(n).weights)
    weights = softmax(prior + earlier_rows(density, members), axis=0)
    below = [_each_cdf(law, values, shares_by_label(law, n)) for law, values in pairs]
    return np.stack([(weights * each).sum(axis=0) for each in (*below, np.exp(density))])


def _of_draws(fit: AbstractFit, block: Block) -> Float[np.ndarray, "transforms rows"]:
    """Averages over draws of the parameters."""
    members, model = block.members, fit.model
    assert members is not None and isinstance(model, HasDrawnDistributions)
    draws = thinned(fit.variational_draws, min(count(fit.variational_draws), LIMITS.draws))
    rows, some = block.ungrouped(), ModelDraws(fit.core, draws)
    laws = [model.drawn_mixture(some, rows, i) for i in range(len(rows.response))]
    with np.errstate(divide="ignore"):
        prior = np.moveaxis(np.log(laws[0].weights), 0, 1)
    density = cast(Mixture, fit.core).experts.log_lik(draws, rows)
    weights = softmax(prior + earlier_rows(density, members), axis=1)
    scales = model.scales  # type: ignore[attr-defined]
    scaling, shift = scales.response, scales.shift(rows.offset)
    observed = rows.response * scaling.scale[:, None] + scaling.centre[:, None]
    observed = observed if shift is None else observed + shift
    below = [
        _each_cdf(law, values, np.ones((1, *law.weights.shape)))
        for law, values in zip(laws, observed, strict=True)
    ]
    each = [np.moveaxis(one, 0, 1) for one in below]
    probable = model.response.has_mass(observed[0])  # less than, then up to
    each = [one + np.where(probable, np.exp(density), 0.0) for one in each]
    return np.stack([(weights * one).sum(axis=1).mean(axis=0) for one in (*each, np.exp(density))])


def _each_cdf(
    law: Any, values: RowVector, shares: Float[np.ndarray, "nodes experts *axes"]
) -> ExpertValues:
    """Distribution function of each component of a mixture, by mixtures of that one alone."""
    cdfs = []
    for component in range(shares.shape[1]):
        only = np.zeros_like(shares)
        only[:, component] = shares[:, component]
        one = replace(law, weights=only.reshape(law.weights.shape))
        cdfs.append(one.below(values) if law.weights.ndim > 2 else one.cdf(values))
    return np.stack(cdfs)


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
    earlier = np.zeros_like(values)
    for start, size in zip(members.starts, members.sizes, strict=True):
        earlier[..., start + 1 : start + size] = np.cumsum(
            values[..., start : start + size - 1], axis=-1
        )
    return earlier


def check_answers(fit: AbstractFit) -> None:
    """Raise unless linear response gives the posterior without a group.

    Raises
    ------
    DataError
        If the engine does not maximise the bound, or the model has no closed predictive density.
    """
    if not all(answers(part.fit) for part in fit.parts):
        raise DataError(
            "recalibrate=True needs the posterior without each group, and "
            f"{type(fit.model).__name__} fitted by {fit.engine.title} has none by linear response",
            hint="fit by 'cavi' or 'em', or omit recalibrate",
        )


def without_groups(fit: AbstractFit, groups: Indices) -> tuple[ResponseRows, RowVector]:
    r"""Transforms of the rows of these groups, group by group, and the case weights of the rows.

    .. math:: u_n = \sum_k \pi_k(x_g) F_k(y_n \mid x_n)

    by the posterior without group ``g``, and by no other row of the group: as rows of a new
    group are predicted. They are uniform if that prediction is right, but values
    of a group depend on one another. Of combined restarts the mean by weight. The posterior is
    the linear-response one, with a full update; nothing is refitted.
    """
    cdf = sum(part.weight * _of_one_restart(part.fit, groups) for part in fit.parts)
    block = fit.model.source.take(groups)
    assert block.members is not None
    weight = np.ones(len(groups)) if block.weight is None else block.weight
    return np.asarray(cdf), block.members.repeated(weight)


def _of_one_restart(fit: AbstractFit, groups: Indices) -> ResponseRows:
    """Transforms by one restart."""
    one, cdfs = fit.one_restart, []
    deletion = one.deletion
    with single_threaded_blas(), np.errstate(all="ignore"):
        for some in pieces(len(groups), 1, ROWS_AT_ONCE):
            block = one.source.take(groups[some])
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            direct = -deletion.of_rows(block) * weight[:, None]
            change = deletion.solve(direct)
            for n in range(block.n_rows):
                cdfs.append(_of_group(deletion, direct[n], change[n], block.part(n, n + 1)))
    return np.concatenate(cdfs, axis=-1)


def _of_group(
    deletion: Deletion, direct: EntryVector, change: EntryVector, group: Block
) -> ResponseRows:
    """Transforms of one group's rows, NaN where it holds a component in place.

    Where the first-order change leads to statistics of no data, the part of it that is the answer
    of the other groups is shortened.
    """
    assert group.members is not None
    observed = group.members.rows.response
    model: Any = deletion.model
    centre = deletion.stats.to_vector() + direct
    for share in SHARES:
        try:
            moved = deletion.stats.with_vector(centre + share * (change - direct))
            posterior = model.update(moved)
            cdfs = [
                model.predictive(posterior, group, i).cdf(seen) for i, seen in enumerate(observed)
            ]
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(cdfs).all():
            return np.stack(cdfs)
    return np.full(observed.shape, np.nan)


KINDS = ("quantile", "response")


def fitted(fit: AbstractFit) -> pd.Series | pd.DataFrame:
    """Predictive means, of classes their probabilities, of the rows used; see ``Fit.fitted``."""
    design = fit.model.design
    if design.response is None:
        raise DataError(
            f"{type(fit.model).__name__} has no response",
            hint=f"fit.predict(response={next(iter(fit.model.observed()))!r}) predicts a variable "
            "from the others",
        )
    if fit.model.response.is_categorical:
        return fit.predict(kind="probability")
    names = design.response_names
    if len(names) == 1:
        return pd.Series(fit.predict(kind="mean"), name="fitted")
    means = {name: fit.predict(kind="mean", response=name) for name in names}
    return pd.DataFrame(means, index=design.index)


def residuals(fit: AbstractFit, kind: str) -> pd.Series | pd.DataFrame:
    """Residuals of the rows used; see ``Fit.residuals``."""
    check_choice("kind", kind, KINDS)
    if kind == "quantile":
        check_numeric(fit)
        values = pit(fit)
        if isinstance(values, pd.Series):
            return pd.Series(normal_scores(values.to_numpy()), values.index, name="residual")
        scores = {name: normal_scores(values[name].to_numpy()) for name in values}
        return pd.DataFrame(scores, index=values.index)
    fitted_values, design = fitted(fit), fit.model.design
    if fit.model.response.is_categorical:
        codes = np.asarray(design.response)
        hits = np.eye(len(design.class_labels))[codes]
        return pd.DataFrame(
            hits - fitted_values.to_numpy(), fitted_values.index, list(design.class_labels)
        )
    observed = design.responses
    if isinstance(fitted_values, pd.Series):
        own = np.where(design.hidden, np.nan, observed[:, 0] - fitted_values.to_numpy())
        return pd.Series(own, fitted_values.index, name="residual")
    return pd.DataFrame(
        observed - fitted_values.to_numpy(), fitted_values.index, list(design.response_names)
    )
