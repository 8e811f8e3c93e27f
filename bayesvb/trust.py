"""Which draws a fit goes by, how far they can be trusted, and what importance weights add."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Block
from bayesvb.case_weights import sum_and_error
from bayesvb.criteria import khat
from bayesvb.criteria import loo as loo_of
from bayesvb.criteria import waic as waic_of
from bayesvb.elpd import Elpd, elpd_data, read_elpd
from bayesvb.engines.held_out import draws_flatter, over_folds
from bayesvb.errors import DataError
from bayesvb.idata import log_lik_blocks_of
from bayesvb.named_draws import count, log_joint
from bayesvb.options import check_choice
from bayesvb.psis import psis
from bayesvb.stacking import combined, stacked

if TYPE_CHECKING:
    from bayesvb.fit import Fit

COVARIANCES = ("linear-response", "mean-field", "importance")
"""What the draws of a fit may be made with."""

LARGEST_K = 0.7
"""Pareto k up to which importance weights can be trusted (Vehtari et al. 2024, section 3)."""


def log_ratio(fit: Fit, n_draws: int | None = None) -> Float[np.ndarray, " draws"]:
    """Log of the exact posterior over the approximate one, up to a constant, for each draw.

    For the first draws, if their number is given.
    """
    draws = {name: values[:n_draws] for name, values in fit.draws.items()}
    joint = log_joint(fit.core, fit.model.source, draws, fit.model.log_unit)
    return np.asarray(joint - fit.log_q[:n_draws])


def pareto_k(fit: Fit, n_draws: int | None = None) -> float:
    """Pareto k of the approximation from which the (first) draws are; see ``Fit.khat``.

    References
    ----------
    Yao, Vehtari, Simpson, Gelman (2018), Yes, but did it work?, arXiv:1802.02538, section 3.
    """
    if fit.members:
        return float(np.fmax.reduce([pareto_k(member.fit, n_draws) for member in fit.members]))
    given = with_covariance(fit, fit.response.label) if fit.covariance == "importance" else fit
    return khat(log_ratio(given, n_draws))


def with_covariance(fit: Fit, covariance: str) -> Fit:
    """The same fit with other draws; see ``Fit.with_covariance``."""
    check_choice("covariance", covariance, COVARIANCES)
    if covariance == fit.covariance:
        return fit
    if fit.members:
        each = [replace(m, fit=with_covariance(m.fit, covariance)) for m in fit.members]
        return stacked(each)
    if covariance == "importance":
        return _resampled(with_covariance(fit, fit.response.label))
    if covariance == "mean-field":
        log_q = fit.core.log_posterior(fit.q, fit.q_draws)
        return replace(fit, draws=fit.q_draws, log_q=log_q, covariance=covariance)
    if fit.response.failure is not None:
        raise DataError(
            f"covariance={covariance!r} is not to be had: {fit.response.failure}",
            hint="covariance='mean-field' is, with intervals that are too narrow",
        )
    draws, log_q = fit.response.move(fit.core, fit.q, fit.q_draws)
    return replace(fit, draws=draws, log_q=log_q, covariance=covariance)


def _resampled(fit: Fit) -> Fit:
    """Draws drawn again by their smoothed weights; the same ones each time."""
    log_weights, k = psis(log_ratio(fit)[:, None])
    if k[0] > LARGEST_K:
        raise DataError(
            f"covariance='importance' cannot be trusted: the Pareto k of the weights is "
            f"{k[0]:.2f}, above {LARGEST_K}",
            hint="take the draws as they are, or use fewer components",
        )
    n_draws = count(fit.draws)
    rng = np.random.default_rng([fit.seed, 2])
    chosen = rng.choice(n_draws, n_draws, p=np.exp(log_weights[:, 0]))
    draws = {name: values[chosen] for name, values in fit.draws.items()}
    return replace(fit, draws=draws, log_q=fit.log_q[chosen], covariance="importance")


def loo(fit: Fit, *, corrected: bool = False, folds: bool | None = None) -> object:
    """Leave-one-out criterion of the fit; see ``Fit.loo``. Importance draws are corrected.

    With ``folds`` rows are left out a fifth at a time, as they are of networks unless told.
    """
    if folds is None:
        folds = leaves_folds_out(fit) and not corrected

    def one(member: Fit) -> object:
        if folds:
            return elpd_data(left_out(member))
        ratio = log_ratio(member) if corrected and fit.covariance != "importance" else None
        labels, weights = member.model.design.index, member.model.weights
        blocks = log_lik_blocks_of(member)
        return loo_of(blocks, labels=labels, log_ratio=ratio, weights=weights)

    return _criterion(fit, one)


def leaves_folds_out(fit: Fit) -> bool:
    """Whether draws of this fit would flatter, so that rows are really left out."""
    first = fit.parts[0].fit
    return draws_flatter(first.core, first.model.source, first.sums)


def left_out(fit: Fit, at: Int[np.ndarray, " chosen"] | None = None) -> Elpd:
    """Criterion of one restart from rows left out a fold at a time: no ratios, all Pareto k zero.

    Of the rows ``at`` these positions, if they are given. For models whose predictive density is
    that of q.
    """
    model, whole = fit.model, Block.joined(fit.model.source.blocks)
    chosen = np.arange(whole.n_rows) if at is None else at

    def density(sums: object, rows: Int[np.ndarray, " fold"]) -> Float[np.ndarray, " fold"]:
        one = replace(fit, sums=sums)
        own = fit.core.log_predictive(one.q, whole.take(rows))
        if own is not None:
            return np.asarray(own - model.log_unit)
        return np.asarray(one.log_density(model.design.frame.iloc[rows]), dtype=float)

    found = over_folds(whole, fit.without_folds, density)[chosen]
    seen = density(fit.sums, chosen)
    labels, weights = model.design.index[chosen], model.weights
    weights = None if weights is None else weights[chosen]
    p = sum_and_error(seen - found, weights)[0]
    no_ratios = np.zeros(len(found))
    return Elpd("loo", found, p, count(fit.draws), False, no_ratios, labels, weights)


def waic(fit: Fit) -> object:
    """Widely applicable information criterion of the fit; see ``Fit.waic``."""

    def one(member: Fit) -> object:
        labels, weights = member.model.design.index, member.model.weights
        return waic_of(log_lik_blocks_of(member), labels=labels, weights=weights)

    return _criterion(fit, one)


def _criterion(fit: Fit, estimate: Callable[[Fit], object]) -> object:
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
