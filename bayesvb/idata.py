"""The ArviZ object of a fit."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.named_draws import NamedDraws, chunks, count, log_joint, log_lik_blocks

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.fit import Fit

MEMORY_BUDGET = 1 << 30
"""Bytes that the groups with one number per draw and row may take together."""


def arviz_object(fit: Fit) -> object:
    """InferenceData (ArviZ 0.x) or DataTree (ArviZ 1.x) of a fit; see ``Fit.idata``."""
    from bayesvb.arviz import to_arviz

    groups, named = draw_groups(fit)
    dims = {**named.dims, "elbo": ["iteration"]}
    coords: dict[str, Any] = {**named.coords, "obs_id": fit.model.design.index}
    groups["observed_data"] = dict(fit.model.observed())
    groups["constant_data"] |= covariates(fit)
    dims |= {name: ["obs_id"] for name in groups["observed_data"]}
    dims |= {name: ["obs_id"] for name in groups["constant_data"] if name != "elbo"}
    n_values = count(fit.draws) * fit.model.source.n_rows * len(groups["observed_data"])
    if 2 * 8 * n_values <= MEMORY_BUDGET:
        groups["log_likelihood"] = {fit.model.joint_name: log_likelihood(fit)}
        groups["posterior_predictive"] = replicated(fit)
        dims |= {fit.model.joint_name: ["obs_id"]}
    else:
        warnings.warn(
            f"log_likelihood and posterior_predictive are left out: {n_values:.1e} numbers each. "
            "fit.loo() and fit.waic() go over the rows in blocks; fit(draws=...) makes fewer draws",
            stacklevel=3,
        )
    return to_arviz(groups, dims=dims, coords=coords, attrs=attributes(fit))


def draw_groups(fit: Fit) -> tuple[dict[str, dict[str, object]], NamedDraws]:
    """Posterior, sampler statistics and trace: what does not grow with the rows."""
    named = fit.model.named_draws(fit)
    statistics = {
        "lp": log_joint(fit.core, fit.model.source, fit.draws, fit.model.log_unit),
        "log_q": fit.core.log_posterior(fit.q, fit.draws),
    }
    groups: dict[str, dict[str, object]] = {
        "posterior": dict(named.values),
        "sample_stats": dict(statistics),
        "constant_data": {"elbo": fit.elbo_trace.to_numpy()},
    }
    return groups, named


def covariates(fit: Fit) -> dict[str, object]:
    """Numeric columns of the data that the formula reads, other than the response."""
    frame: pd.DataFrame = fit.model.design.frame
    taken = {*fit.model.observed(), "elbo"}
    return {
        str(name): column.to_numpy(dtype=float)
        for name, column in frame.items()
        if column.dtype.kind in "iuf" and str(name) not in taken
    }


def log_likelihood(fit: Fit) -> Float[np.ndarray, "draws rows"]:
    """Log likelihood of every row for every draw."""
    return np.concatenate(list(log_lik_blocks_of(fit)), axis=1)


def log_lik_blocks_of(fit: Fit) -> Iterator[Float[np.ndarray, "draws rows"]]:
    """Log likelihood in the data's units, block by block."""
    return log_lik_blocks(fit.core, fit.model.source, fit.draws, fit.model.log_unit)


def replicated(fit: Fit) -> dict[str, object]:
    """Replicated data by name; the same ones each time."""
    rng = np.random.default_rng([fit.seed, 1])
    pieces = [
        fit.model.replicates(fit, fit.draws, block, rng)
        for block in chunks(fit.core, fit.model.source, count(fit.draws))
    ]
    return {name: np.concatenate([piece[name] for piece in pieces], axis=1) for name in pieces[0]}


def attributes(fit: Fit) -> dict[str, object]:
    """Root attributes: how the fit was made, in Bambi's names where it has them."""
    import bayesvb

    return {
        "formula": fit.model.formula.canonical(),
        "family": fit.model.family,
        "n_components": fit.core.n_components,
        "inference_method": "cavi",
        "inference_library": "bayesvb",
        "inference_library_version": bayesvb.__version__,
        "modeling_interface": "bayesvb",
        "modeling_interface_version": bayesvb.__version__,
        "elbo": fit.elbo,
        "n_iter": fit.n_iter,
        "converged": int(fit.converged),
        "n_restarts": len(fit.restarts),
        "seed": fit.seed,
        "fit_seconds": fit.seconds,
        "n_missing": fit.model.design.n_missing,
        "options": json.dumps(fit.model.options()),
    }
