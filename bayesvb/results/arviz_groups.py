"""The ArviZ object of a fit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.errors import warn
from bayesvb.models.ensemble import MEMBER
from bayesvb.numerics.arrays import DrawRows
from bayesvb.numerics.streams import Streams
from bayesvb.results.groups import units_of
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import NamedDraws, chunks, count, log_joint, log_lik_blocks
from bayesvb.results.prior_predictive import prior_predictive
from bayesvb.storage.arviz_objects import (
    RESERVED,
    check_names,
    coordinate,
    group,
    in_chains,
    to_arviz,
)

if TYPE_CHECKING:
    import xarray as xr

    from bayesvb.results.base import AbstractFit


def arviz_object(fit: AbstractFit) -> object:
    """InferenceData (ArviZ 0.x) or DataTree (ArviZ 1.x) of a fit; see ``Fit.idata``.

    Draw ``s`` of ``posterior``, ``log_likelihood``, ``log_prior``, ``posterior_predictive`` and
    ``sample_stats`` is the same draw of all parameters: tools of ArviZ pair the groups by it.
    """
    groups, named = fixed_groups(fit)
    prior = prior_predictive(fit.model, count(fit.draws), fit.seed)
    groups["prior"] = group(prior, "prior")[list(named.values)]  # EM has no scales of terms
    groups["prior_predictive"] = group(prior, "prior_predictive")
    n_values = count(fit.draws) * fit.model.source.n_rows * len(groups["observed_data"])
    every = holds_all_rows(fit.model.source)
    if every and 2 * 8 * n_values <= LIMITS.bytes_stored:
        log_lik = {fit.model.joint_name: log_likelihood(fit)}
        groups["log_likelihood"] = by_row(fit, log_lik, sampled=True, units=True)
        groups["posterior_predictive"] = by_row(fit, replicated(fit), sampled=True)
    elif every:
        warn(
            f"log_likelihood and posterior_predictive are omitted: {n_values:.1e} values each. "
            "fit.loo() and fit.waic() read the rows in blocks; fit(draws=...) makes fewer draws",
        )
    return to_arviz(
        groups, dims=named.dims, coords=named.coords, attrs=attributes(fit), n_chains=fit.chains
    )


def posterior_of(fit: AbstractFit) -> xr.Dataset:
    """Draws in the data's units; see ``Fit.posterior``."""
    named = fit.named_draws
    tree = to_arviz(
        {"posterior": named.values}, dims=named.dims, coords=named.coords, kind="datatree",
        n_chains=fit.chains,
    )  # fmt: skip
    return group(tree, "posterior")


def fixed_groups(fit: AbstractFit, *, joint: bool = True) -> tuple[dict[str, Any], NamedDraws]:
    """Groups whose size does not grow with rows times draws; with the log joint density or not."""
    named = fit.named_draws
    groups: dict[str, object] = {"posterior": named.values}
    statistics = {"log_q": fit.log_q}
    if fit.covariance == "engine":
        statistics |= fit.sample_stats
    if all(part.fit.core.draws_complete for part in fit.parts):
        groups["log_prior"] = {"parameters": fit.core.log_prior(fit.draws)}
        if joint and holds_all_rows(fit.model.source):
            lp = log_joint(fit.core, fit.model.source, fit.draws, fit.model.log_jacobian)
            statistics = {"lp": lp, **statistics}
    if fit.members:
        numbers = np.array([member.number for member in fit.members])
        statistics["restart"] = numbers[fit.draws[MEMBER].astype(int)]
    elbo = fit.elbo_trace.to_numpy()
    constant = by_row(fit, covariates(fit)).assign_coords(iteration=np.arange(len(elbo)))
    groups |= {
        "sample_stats": statistics,
        "observed_data": by_row(fit, fit.model.observed()),
        "constant_data": constant.assign(elbo=("iteration", elbo)),
    }
    return groups, named


def by_row(
    fit: AbstractFit,
    values: Mapping[str, np.ndarray],
    *,
    sampled: bool = False,
    units: bool = False,
) -> xr.Dataset:
    """One group of arrays with a number per row, or (``sampled``) per draw and row.

    Or (``units``) per group, with the groups' own dimension, where rows come in groups.

    Raises
    ------
    DataError
        If a response has a name that ArviZ needs for itself.
    """
    import xarray as xr

    check_names(values)
    own = units_of(fit.model)
    of_groups = units and own.grouping is not None
    along = "group_id" if of_groups else "obs_id"
    coords = {along: coordinate(own.index if of_groups else fit.model.design.index)}
    if not sampled:
        return xr.Dataset({name: (along, array) for name, array in values.items()}, coords)
    n_chains = fit.chains
    each = count(fit.draws) // n_chains
    coords |= {"chain": np.arange(n_chains), "draw": np.arange(each)}
    dims = ("chain", "draw", along)
    chains = {name: (dims, in_chains(array, n_chains)) for name, array in values.items()}
    return xr.Dataset(chains, coords)


def covariates(fit: AbstractFit) -> dict[str, np.ndarray]:
    """Numeric columns of the data that the formula reads, other than the response."""
    frame: pd.DataFrame = fit.model.design.frame
    taken = {*fit.model.observed(), *RESERVED}
    return {
        _variable(str(name)): column.to_numpy(dtype=float)
        for name, column in frame.items()
        if column.dtype.kind in "iuf" and str(name) not in taken
    }


def _variable(name: str) -> str:
    """Name of a column as a variable name, in which a slash would begin a group."""
    return "dot" if name == "." else name.replace("/", "\N{DIVISION SLASH}")


def log_likelihood(fit: AbstractFit) -> DrawRows:
    """Log likelihood of every row for every draw of the posterior, in the data's units."""
    source, unit = fit.model.source, fit.model.log_jacobian
    return np.concatenate(list(log_lik_blocks(fit.core, source, fit.draws, unit)), axis=1)


def replicated(fit: AbstractFit) -> dict[str, np.ndarray]:
    """Replicated data by name, one data set per draw of the posterior; the same ones each time."""
    rng = Streams(fit.seed).rng("replicates")
    pieces = [
        fit.model.replicates(fit, fit.draws, block, rng)
        for block in chunks(fit.core, fit.model.source, count(fit.draws))
    ]
    whole = {name: np.concatenate([one[name] for one in pieces], axis=1) for name in pieces[0]}
    units = units_of(fit.model)
    return {name: units.in_row_order(values) for name, values in whole.items()}


def attributes(fit: AbstractFit) -> dict[str, object]:
    """Root attributes: how the fit was made, in Bambi's names where it has them."""
    return {
        "formula": fit.model.formula.canonical(),
        "family": fit.model.likelihood_name,
        "n_components": fit.model.size,
        "inference_method": fit.method,
        "covariance": fit.covariance,
        **_sampler(fit),
        "elbo": fit.elbo,
        "n_iter": fit.n_iter,
        "converged": int(fit.converged),
        "n_restarts": len(fit.restarts),
        "seed": fit.seed,
        "fit_seconds": fit.seconds,
        "n_missing": fit.model.design.n_missing,
        "options": json.dumps(fit.model.options()),
    }


def _sampler(fit: AbstractFit) -> dict[str, object]:
    """Sampler of the exact posterior, with its diagnostics, where it made the draws."""
    if fit.sampler is None:
        return {}
    description = fit.sampler.description()
    return {f"sampler_{name}": value for name, value in description.items()
            if value is not None and name != "interrupted"}  # fmt: skip
