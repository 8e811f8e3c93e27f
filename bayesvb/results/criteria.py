"""LOO and WAIC of a fit: from its draws, or from rows that are really left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.case_weights import sum_and_error
from bayesvb.engines.folds import by_fold, needs_refits
from bayesvb.evaluation.elpd import Elpd, elpd_data, read_elpd
from bayesvb.evaluation.information_criteria import loo as loo_of
from bayesvb.evaluation.information_criteria import waic as waic_of
from bayesvb.results.arviz_groups import log_lik_blocks_of
from bayesvb.results.importance import log_ratio
from bayesvb.results.named_draws import count
from bayesvb.results.stacking import combined

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def loo(fit: AbstractFit, *, corrected: bool = False, folds: bool | None = None) -> object:
    """Leave-one-out criterion of the fit; see ``Fit.loo``. Importance draws are corrected.

    With ``folds`` rows are left out a fifth at a time, as they are of networks unless told.
    """
    if folds is None:
        folds = leaves_folds_out(fit) and not corrected

    def one(member: AbstractFit) -> object:
        if folds:
            return elpd_data(left_out(member))
        ratio = log_ratio(member) if corrected and fit.covariance != "importance" else None
        labels, weights = member.model.design.index, member.model.weights
        blocks = log_lik_blocks_of(member)
        return loo_of(blocks, labels=labels, log_ratio=ratio, weights=weights)

    return _criterion(fit, one)


def leaves_folds_out(fit: AbstractFit) -> bool:
    """Whether draws of this fit would flatter, so that rows are really left out."""
    first = fit.parts[0].fit
    return needs_refits(first.core, first.model.source, first.stats)


def left_out(fit: AbstractFit, at: Int[np.ndarray, " chosen"] | None = None) -> Elpd:
    """Criterion of one restart from rows left out a fold at a time: no ratios, all Pareto k zero.

    Of the rows ``at`` these positions, if they are given. For models whose predictive density is
    that of q.
    """
    model, source = fit.model, fit.model.source
    chosen = np.arange(source.n_rows) if at is None else at

    def density(stats: object, rows: Int[np.ndarray, " fold"]) -> Float[np.ndarray, " fold"]:
        one = replace(fit, stats=stats)
        own = fit.core.log_predictive(one.q, source.take(rows))
        if own is not None:
            return np.asarray(own - model.log_jacobian)
        return np.asarray(one.log_density(model.design.data_at(rows)), dtype=float)

    found = by_fold(source, fit.without_folds, density)[chosen]
    seen = density(fit.stats, chosen)
    labels, weights = model.design.index[chosen], model.weights
    weights = None if weights is None else weights[chosen]
    p = sum_and_error(seen - found, weights)[0]
    no_ratios = np.zeros(len(found))
    return Elpd("loo", found, p, count(fit.draws), False, no_ratios, labels, weights)


def waic(fit: AbstractFit) -> object:
    """Widely applicable information criterion of the fit; see ``Fit.waic``."""

    def one(member: AbstractFit) -> object:
        labels, weights = member.model.design.index, member.model.weights
        return waic_of(log_lik_blocks_of(member), labels=labels, weights=weights)

    return _criterion(fit, one)


def _criterion(fit: AbstractFit, estimate: Callable[[AbstractFit], object]) -> object:
    """That of a fit; of combined restarts that of the mixture of what they predict."""
    if not fit.members:
        return estimate(fit)
    weights = np.array([member.weight for member in fit.members])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        each = [read_elpd(estimate(member.fit)) for member in fit.members]
    if said:
        warnings.warn(f"in one restart or more: {said[0].message}", stacklevel=4)
    whole = combined(weights, each)
    return elpd_data(replace(whole, labels=fit.model.design.index))
