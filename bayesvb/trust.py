"""How far an approximation can be trusted, and what importance weights make of its draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.arviz import group, to_arviz
from bayesvb.criteria import khat
from bayesvb.criteria import loo as loo_of
from bayesvb.errors import DataError
from bayesvb.idata import log_lik_blocks_of
from bayesvb.models.base import Draws
from bayesvb.posterior_draws import Approximation, approximation, log_joint, named_draws
from bayesvb.psis import psis

if TYPE_CHECKING:
    import xarray as xr

    from bayesvb.fit import Fit

LARGEST_K = 0.7
"""Pareto k up to which importance weights can be trusted (Vehtari et al. 2024, section 3)."""


GOOD_K = 0.5
"""Pareto k up to which they have a variance, and reweighting does not disturb what is right."""


def log_ratio(fit: Fit, used: Approximation) -> Float[np.ndarray, " draws"]:
    """Log of the exact posterior over the approximate one, up to a constant, for each draw."""
    joint = log_joint(fit.mixture, fit.model.source, used.draws, fit.model.scales)
    return np.asarray(joint - used.log_density)


def pareto_k(fit: Fit) -> float:
    """Pareto k of the approximation from which the draws are; see ``Fit.khat``.

    References
    ----------
    Yao, Vehtari, Simpson, Gelman (2018), Yes, but did it work?, arXiv:1802.02538, section 3.
    """
    return khat(log_ratio(fit, approximation(fit)))


def dataset(fit: Fit, covariance: str | None, *, resampled: bool) -> xr.Dataset:
    """Draws in the data's units; see ``Fit.draws``."""
    used = approximation(fit, covariance)
    draws = _resampled(fit, used) if resampled else used.draws
    named = named_draws(fit, draws)
    tree = to_arviz({"posterior": named.values}, dims=named.dims, coords=named.coords)
    found: xr.Dataset = group(tree, "posterior")
    how = f"{used.covariance}, resampled" if resampled else used.covariance
    return found.assign_attrs(covariance=how)


def _resampled(fit: Fit, used: Approximation) -> Draws:
    """Draws drawn by their smoothed weights; the same ones each time."""
    log_weights, k = psis(log_ratio(fit, used)[:, None])
    if k[0] > LARGEST_K:
        raise DataError(
            f"resampled=True cannot be trusted: the Pareto k of the weights is {k[0]:.2f}, above "
            f"{LARGEST_K}",
            hint="take the draws as they are, or use fewer components",
        )
    rng = np.random.default_rng([fit.seed, 2])
    chosen = rng.choice(fit.n_draws, fit.n_draws, p=np.exp(log_weights[:, 0]))
    return {name: values[chosen] for name, values in used.draws.items()}


def loo(fit: Fit, corrected: bool | None) -> object:
    """Leave-one-out criterion of the fit; see ``Fit.loo``."""
    ratio = None if corrected is False else log_ratio(fit, approximation(fit))
    if corrected is None and ratio is not None and not khat(ratio) <= GOOD_K:
        ratio = None
    return loo_of(log_lik_blocks_of(fit), labels=fit.model.design.index, log_ratio=ratio)
