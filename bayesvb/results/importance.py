"""Importance weights of draws: how far a fit can be trusted, and draws made of the weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.errors import DataError
from bayesvb.evaluation.information_criteria import khat
from bayesvb.evaluation.psis import psis
from bayesvb.numerics.arrays import DrawVector
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.base import AbstractFit, replace_draws
from bayesvb.results.exact_draws import (
    is_integrated,
    log_importance_ratio,
    with_exact_draws,
    with_integrated_scales,
)
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import PosteriorDraws, count
from bayesvb.results.reduced_draws import (
    importance_sample,
    reduced_khat,
    resample_posterior,
    space_of,
)
from bayesvb.results.robust import (
    default_covariance,
    moved,
    robust_covariance,
    with_complete_draws,
)
from bayesvb.sensitivity.covariance import NOT_ASKED


def log_ratio(fit: AbstractFit, n_draws: int | None = None) -> DrawVector:
    """Log of the exact posterior over the approximate one, up to a constant, for each draw.

    For the first draws, if their number is given.

    Raises
    ------
    DataError
        If not all rows are in memory, or draws lack the effects of very many groups.
    """
    why = "the exact posterior is a product over them for every draw"
    check_all_rows(fit.model, "the Pareto k of draws", why)
    complete, groups = with_complete_draws(fit), fit.model.design.groups
    if groups is not None and not complete.core.draws_complete:
        raise DataError(
            f"draws do not contain the effects of {len(groups.groups.groups)} groups, so their "
            "Pareto k is not available",
            hint="use a coarser grouping, whose effects are part of the draws",
        )
    return log_importance_ratio(complete, n_draws)


def pareto_k(fit: AbstractFit, n_draws: int | None = None) -> float:
    """Pareto k of the approximation from which the (first) draws are; see ``Fit.khat``.

    Where prior scales and common logits can be integrated out, of the parameters that remain.

    References
    ----------
    Yao, Vehtari, Simpson, Gelman (2018), Yes, but did it work?, arXiv:1802.02538, section 3.
    """
    if fit.covariance == "exact" and is_integrated(fit):
        return float("nan")
    if fit.members:
        return float(np.fmax.reduce([pareto_k(member.fit, n_draws) for member in fit.members]))
    other = fit.covariance in ("importance", "robust", "exact")
    given = of_one_restart(fit, fit.own_covariance) if other else fit
    k = khat(log_ratio(given, n_draws))
    space = None if fit.is_sampled or np.isnan(k) else space_of(given)
    return k if space is None else reduced_khat(given, space, n_draws)


def of_one_restart(fit: AbstractFit, covariance: str) -> AbstractFit:
    """The fit of one restart with draws that have this covariance; see ``with_covariance``."""
    if covariance != "exact":
        fit = fit.plain
    if covariance == fit.covariance:
        return fit
    if covariance == "robust":
        return moved(fit, fit.robust or robust_covariance(fit, None))
    if covariance == "importance":
        return _resampled(of_one_restart(fit, fit.own_covariance))
    if covariance == "exact":
        integrated = with_integrated_scales(fit)
        if integrated is not None:
            return integrated
        return with_exact_draws(of_one_restart(fit, fit.own_covariance))
    if covariance in ("mean-field", "engine"):
        log_q = fit.engine_log_q
        if log_q is None:
            log_q = fit.core.log_posterior(fit.q, fit.variational_draws)
        core = fit.core.knowing(fit.q) if covariance == "mean-field" else fit.core
        return replace_draws(
            replace(fit, core=core), PosteriorDraws(fit.variational_draws, log_q, covariance)
        )
    if fit.response.failure is not None:
        raise DataError(
            f"covariance={covariance!r} is not available: {fit.response.failure}",
            hint="covariance='mean-field' is, with intervals that are too narrow",
        )
    draws, log_q = fit.response.move(fit.core, fit.q, fit.variational_draws)
    source = fit.model.source
    core = fit.core.knowing(fit.q, fit.stats, source if holds_all_rows(source) else None)
    return replace_draws(replace(fit, core=core), PosteriorDraws(draws, log_q, covariance))


def with_default_covariance(fit: AbstractFit) -> AbstractFit:
    """The fit of one restart with its default draws.

    Exact ones where prior scales can be integrated out, unless weights are of a sample or no more
    than the variational posterior is requested.
    """
    covariance = default_covariance(fit)
    result = None
    if covariance != "robust" and fit.response.failure != NOT_ASKED:
        result = with_integrated_scales(fit)
    return of_one_restart(fit, covariance) if result is None else result


def _resampled(fit: AbstractFit) -> AbstractFit:
    """Draws by smoothed importance weights; the same ones each time.

    New draws in the reduced space of the model if it has one, else the fit's draws again.
    """
    ratio = log_ratio(fit)
    space = None if fit.is_sampled else space_of(fit)
    if space is not None:
        sample = importance_sample(fit, space, lambda: ratio)
        check_weights(sample.record.khat, sample.record.effective, LIMITS.exact_draws)
        return replace_draws(fit, resample_posterior(fit, sample, "importance"))
    log_weights, k = psis(ratio[:, None])
    weights = np.exp(log_weights[:, 0])
    check_weights(float(k[0]), float(1.0 / (weights**2).sum()), LIMITS.draws)
    n_draws = count(fit.draws)
    rng = Streams(fit.seed).rng("importance")
    chosen = rng.choice(n_draws, n_draws, p=weights)
    draws = {name: values[chosen] for name, values in fit.draws.items()}
    return replace_draws(fit, PosteriorDraws(draws, fit.log_q[chosen], "importance"))


def check_weights(k: float, effective: float, enough: int) -> None:
    """Refuse weights of which a few decide everything."""
    hint = "take the draws as they are, or use fewer components"
    if k > LIMITS.usable_khat:
        raise DataError(
            f"covariance='importance' is unreliable: the Pareto k of the weights is "
            f"{k:.2f}, above {LIMITS.usable_khat}",
            hint=hint,
        )
    if effective < enough:
        raise DataError(
            f"covariance='importance' is unreliable: the weights are equivalent to {effective:.0f} "
            f"draws; at least {enough:.0f} are needed",
            hint=hint,
        )
