"""LOO and WAIC of a fit: from its draws, or from held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from jaxtyping import Float, Int

from bayesvb.argument_checks import check_choice
from bayesvb.data.case_weights import sum_and_error
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.folds import by_fold
from bayesvb.errors import DataError, warn
from bayesvb.evaluation.elpd import Elpd
from bayesvb.evaluation.information_criteria import loo as loo_of
from bayesvb.evaluation.information_criteria import waic as waic_of
from bayesvb.models.ensemble import thinned
from bayesvb.numerics.arrays import DrawRows, Indices, RowVector
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.exact_draws import is_integrated, likelihood_draws
from bayesvb.results.groups import group_numbers, units_of
from bayesvb.results.importance import log_ratio
from bayesvb.results.leave_one_out import (
    RowsLeftOut,
    every_row_without,
    fold_probabilities,
    has_log_predictive,
    leave_folds_out,
    leave_one_out,
)
from bayesvb.results.named_draws import count, log_lik_blocks
from bayesvb.results.stacking import combined
from bayesvb.variational.local import Draws

if TYPE_CHECKING:
    from bayesvb.data.blocks import Block
    from bayesvb.results.base import AbstractFit


METHODS = ("linear-response", "psis", "folds", "exact")
"""Methods of leave-one-out."""


def loo(
    fit: AbstractFit, *, method: str | None = None, groups: object = None, corrected: bool = False
) -> Elpd:
    """Leave-one-out criterion of the fit; see ``Fit.loo``."""
    if method is None:
        method = "psis" if corrected else own_method(fit)
    check_choice("method", method, METHODS)
    if corrected and method != "psis":
        raise DataError(
            f"corrected=True is for method='psis', not for method={method!r}, which has no draws",
            hint="omit corrected, or choose method='psis'",
        )
    if groups is not None and method not in ("linear-response", "exact"):
        raise DataError(
            f"method={method!r} does not hold out groups of rows",
            hint="choose method='linear-response' or method='exact'",
        )
    estimates: dict[str, Callable[[AbstractFit], Elpd]] = {
        "linear-response": partial(_by_response, groups=groups, exact=False),
        "exact": partial(_by_response, groups=groups, exact=True),
        "folds": left_out,
        "psis": partial(_by_draws, corrected=corrected),
    }
    if method == "folds" and not folds_known(fit):
        leave_folds_out(fit)
    return _criterion(fit, estimates[method])


def elpd(fit: AbstractFit, criterion: str = "loo", *, refits: bool = True) -> Elpd:
    """Default ``"loo"`` or ``"waic"`` of a fit, as in ``fit.loo()`` and ``fit.waic()``.

    With ``refits=False`` rows are not refitted without where each refit is slow.

    Raises
    ------
    DataError
        If the fit stopped before it converged, and rows would be held out to first order.
    """
    if criterion == "waic":
        return waic(fit)
    check_finished(fit)
    if refits or own_method(fit) != "linear-response":
        return loo(fit)
    return _criterion(fit, partial(_by_response, groups=None, exact=False, refits=False))


def check_finished(fit: AbstractFit) -> None:
    """Raise if the fit stopped early and rows would be held out to first order.

    The approximation holds at an optimum of the ELBO. Elsewhere most rows are refitted, which
    took 5 s of CPU time where 0.003 s are enough after convergence (133 rows, three components).
    """
    if all(part.fit.converged for part in fit.parts) or own_method(fit) != "linear-response":
        return
    raise DataError(
        f"the fit stopped after {fit.n_iter} iterations, before it converged: it has no "
        "leave-one-out by linear response",
        hint="fit with a larger max_iter, or name a method: fit.loo('linear-response')",
    )


def own_method(fit: AbstractFit) -> str:
    """Default method of leave-one-out of this fit."""
    first = fit.parts[0].fit
    if first.core.follows_rows:
        return "folds"
    return "linear-response" if answers(first) else "psis"


def answers(fit: AbstractFit) -> bool:
    """Whether linear response predicts a row without its own contribution, for one restart."""
    if not fit.engine.maximises_bound or fit.core.follows_rows:
        return False
    known = has_log_predictive(fit.core, fit.model.source, fit.stats)
    return known and fit.one_restart.affordable


def _by_draws(fit: AbstractFit, *, corrected: bool) -> Elpd:
    """From ratios of the likelihoods of draws; corrected ones are those that intervals go by."""
    units = units_of(fit.model)
    ratio = log_ratio(fit) if corrected and fit.covariance != "importance" else None
    blocks = _log_lik(fit, fit.draws) if corrected else predictive_log_lik(fit)
    return loo_of(blocks, labels=units.index, log_ratio=ratio, weights=units.weights)


def predictive_log_lik(fit: AbstractFit) -> Iterator[DrawRows]:
    """Log likelihood of the rows, block by block, under draws of the predictive distribution.

    Draws are as many as there are of the posterior.
    """
    draws = likelihood_draws(fit)
    return _log_lik(fit, thinned(draws, min(count(draws), count(fit.draws))))


def _log_lik(fit: AbstractFit, draws: Draws) -> Iterator[DrawRows]:
    """Log likelihood of the rows in the data's units, block by block."""
    return log_lik_blocks(fit.core, fit.model.source, draws, fit.model.log_jacobian)


def _by_response(fit: AbstractFit, *, groups: object, exact: bool, refits: bool = True) -> Elpd:
    """From the posterior without each row, or group of rows."""
    if not answers(fit):
        raise DataError(
            f"{type(fit.model).__name__} fitted by {fit.engine.title} has no leave-one-out by "
            f"{'refits' if exact else 'linear response'}",
            hint=f"method={own_method(fit)!r} is available",
        )
    if exact:
        check_all_rows(fit.model, "fit.loo(method='exact')", "it fits again without each of them")
    if groups is not None:
        check_all_rows(fit.model, f"fit.loo(groups={groups!r})", "whole groups are held out")
    integrated = groups is None and is_integrated(fit)
    if integrated or (groups is None and not exact):
        scores = every_row_without(fit, refits=refits)
    else:
        every, design = np.arange(fit.model.source.n_rows), fit.model.design
        _check_ungrouped(fit, groups)
        numbers = None if groups is None else group_numbers(groups, design, name="groups")
        scores = leave_one_out(fit.one_restart, every, groups=numbers, exact=exact)
    if scores.doubtful.any():
        warn(
            f"{scores.doubtful.sum()} of {len(scores.at)} rows change the fit so much that they "
            "need refits, which takes long: use fit.loo(method='exact')",
        )
    method = "integrated" if integrated else "exact" if exact else "linear-response"
    units = units_of(fit.model)
    pointwise, p = of_all_rows(fit, scores)
    doubtful, n_refitted = bool(scores.doubtful.any()), int(scores.refitted.sum())
    return Elpd(
        kind="loo", pointwise=pointwise, p=p, warning=doubtful, labels=units.index,
        weights=units.weights, method=method, n_refitted=n_refitted,
    )  # fmt: skip


def _check_ungrouped(fit: AbstractFit, groups: object) -> None:
    """Raise if groups are requested for a fit that holds out its own groups."""
    grouping = fit.model.grouping
    if groups is not None and grouping is not None:
        raise DataError(
            f"groups= is given, but the model has group={grouping.name!r}",
            hint="omit groups=: loo() holds out all rows of a group together",
        )


def of_all_rows(fit: AbstractFit, held_out: RowsLeftOut) -> tuple[RowVector, float]:
    """Log densities in the data's units, and how much the rows lose together.

    Rows outside the sample lose the sample's average, a difference estimator:
    its error depends on the losses alone, which are small for many rows.

    References
    ----------
    Magnusson, Andersen, Jonasson, Vehtari (2020), Leave-one-out cross-validation for model
    comparison in large data, AISTATS, section 2.2.
    """
    source, weights = fit.model.source, units_of(fit.model).weights
    lost = held_out.seen - held_out.log_density
    if len(held_out.at) == source.n_rows:
        pointwise = held_out.log_density - fit.model.log_jacobian
        return pointwise, sum_and_error(lost, weights)[0]
    mean = float(np.average(lost, weights=None if weights is None else weights[held_out.at]))
    density = cast("Callable[[Block], np.ndarray]", partial(fit.core.log_predictive, fit.q))
    pointwise = source.map_rows(density) - mean
    pointwise[held_out.at] = held_out.log_density
    return pointwise - fit.model.log_jacobian, mean * source.total_weight


def leaves_folds_out(fit: AbstractFit) -> bool:
    """Whether draws of this fit are optimistic, so that rows must be held out in refits."""
    return bool(fit.parts[0].fit.core.follows_rows)


def folds_known(fit: AbstractFit) -> bool:
    """Whether the cross-validation has been computed."""
    each = [member.fit for member in fit.parts]
    return all(one.held_out is not None or "fold statistics" in one.cache for one in each)


def left_out(fit: AbstractFit, at: Indices | None = None) -> Elpd:
    """Criterion of one restart from cross-validation: no ratios, no Pareto k.

    Of the rows ``at`` these positions, if they are given. For models whose predictive density is
    based on q.
    """
    model, source = fit.model, fit.model.source
    chosen = np.arange(source.n_rows) if at is None else at

    def density(
        stats: SufficientStats, rows: Int[np.ndarray, " fold"]
    ) -> Float[np.ndarray, " fold"]:
        one = replace(fit, stats=stats)
        log_density = fit.core.log_predictive(one.q, source.take(rows))
        if log_density is not None:
            return np.asarray(log_density - model.log_jacobian)
        return np.asarray(one.log_density(model.design.data_at(rows)), dtype=float)

    if fit.held_out is not None:
        densities = fit.held_out[chosen] - model.log_jacobian
    elif fit.core.predicts_classes and not fit.is_point_estimate:
        codes = np.asarray(model.design.response, dtype=int)[chosen]
        with np.errstate(divide="ignore"):  # a probability may round to zero
            densities = np.log(fold_probabilities(fit)[codes, chosen])
    else:
        densities = by_fold(source, fit.without_folds, density, chosen)
    seen = density(fit.stats, chosen)
    units = units_of(model).take(chosen)
    p = sum_and_error(seen - densities, units.weights)[0]
    return Elpd(
        kind="loo",
        pointwise=densities,
        p=p,
        labels=units.index,
        weights=units.weights,
        method="folds",
    )


def waic(fit: AbstractFit) -> Elpd:
    """Widely applicable information criterion of the fit; see ``Fit.waic``."""

    def one(member: AbstractFit) -> Elpd:
        units = units_of(member.model)
        blocks = predictive_log_lik(member)
        return waic_of(blocks, labels=units.index, weights=units.weights)

    return _criterion(fit, one)


def _criterion(fit: AbstractFit, estimate: Callable[[AbstractFit], Elpd]) -> Elpd:
    """``_of_all`` of a fit; of combined restarts, for the mixture of their predictions."""
    if not fit.members:
        return estimate(fit)
    weights = np.array([member.weight for member in fit.members])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        each = [estimate(member.fit) for member in fit.members]
    if said:
        warn(f"in one restart or more: {said[0].message}")
    whole = combined(weights, each)
    return replace(whole, labels=units_of(fit.model).index)
