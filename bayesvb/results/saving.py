"""A fit as one netCDF file: formula, data and state as arrays, with the ArviZ groups."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.covariate_model import CovariateModel
from bayesvb.data.partly_kept import PartlyKept
from bayesvb.results.all_rows import is_sample, rows_to_keep, sample_state
from bayesvb.results.arviz_groups import attributes, fixed_groups
from bayesvb.results.base import AbstractFit, Member
from bayesvb.storage.arviz_objects import as_tree, to_arviz
from bayesvb.storage.netcdf import frame_to_dataset, write_tree

if TYPE_CHECKING:
    import xarray as xr

FRAME, STATE = "data_frame", "fit_state"
"""Nodes of the file that are not ArviZ groups."""


def save(fit: AbstractFit, path: str | os.PathLike[str]) -> Path:
    """Write a fit; see ``Fit.save``."""
    import xarray as xr

    # Without lp of networks: it averages over 64 latent vectors for each draw and row, which took
    # half the time of saving. fit.idata computes it.
    networks = any(part.fit.core.predicts_classes for part in fit.parts)
    groups, named = fixed_groups(fit, joint=not networks)
    attrs = attributes(fit) | {"fit": json.dumps(_description(fit))}
    # As a tree: an InferenceData would import ArviZ, and with it matplotlib.
    made = to_arviz(
        groups, dims=named.dims, coords=named.coords, attrs=attrs, kind="datatree",
        n_chains=fit.chains,
    )  # fmt: skip
    tree = as_tree(made)
    tree[FRAME] = xr.DataTree(frame_to_dataset(rows_to_keep(fit.model)))
    tree[STATE] = xr.DataTree(_state(fit))
    return write_tree(tree, path)


def _description(fit: AbstractFit) -> dict[str, object]:
    """Description of the fit: everything except arrays."""
    model, missing = fit.model, fit.model.design.left_out.counts
    return {
        "model": type(model).__name__,
        "formula": model.formula.text,
        "options": model.options(),
        "parts": [_part(member) for member in fit.parts],
        "combined": bool(fit.members),
        "covariance": fit.covariance,
        "automatic": fit.automatic,
        "correlated_groups": True,  # what (x | g) says; it was (x || g) in earlier files
        "traces": [str(key) for key in fit.traces],
        "restarts": fit.restarts.to_dict(orient="list"),
        "seconds": fit.seconds,
        "seed": fit.seed,
        "method": fit.method,
        "method_options": {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in fit.method_options.items()
        },
        "audit": None if fit.sbc is None else fit.sbc.described(),
        **({"units": dict(model.design.units)} if model.design.units else {}),
        **({"missing": dict(missing)} if any(missing.values()) else {}),
        **({} if fit.tol is None else {"tol": fit.tol, "max_iter": fit.max_iter}),
        **({"start_code": fit.start_code} if fit.start_code else {}),
        **_sampled(fit),
    }


def _sampled(fit: AbstractFit) -> dict[str, str]:
    """Source of the rows, if a sample of them is kept."""
    known = fit.model.design.all_rows
    return {} if known is None or not is_sample(fit.model) else {"read_from": known.words}


def _part(member: Member) -> dict[str, object]:
    """Description of one restart: everything except arrays."""
    fit = member.fit
    return {
        "number": member.number,
        "restart": fit.best_restart,
        "weight": member.weight,
        "order": list(fit.order),
        "response": {"n_iter": fit.response.n_iter, "failure": fit.response.failure},
        "robust": None if fit.robust is None else fit.robust.described(),
        "sampler": None if fit.sampler is None else fit.sampler.description(),
        "converged": fit.converged,
        "n_iter": fit.n_iter,
        "n_chains": int(fit.n_chains),
        "findings": dict(fit.findings),
    }


def _found_out(fit: AbstractFit) -> dict[str, np.ndarray]:
    """Stored predictions of one restart for held-out rows, and statistics of its sampler."""
    arrays = {} if fit.held_out is None else {"held_out": fit.held_out}
    arrays |= {f"sample_stats.{name}": values for name, values in fit.sample_stats.items()}
    rows = fit.cache.get("leave-one-out predictions")
    if rows is not None:
        arrays |= {f"left_out.{name}": np.asarray(values) for name, values in vars(rows).items()}
    return {
        name: values.astype(np.int8) if values.dtype == bool else values
        for name, values in arrays.items()
    }


def _imputed(fit: AbstractFit, one: AbstractFit) -> list[np.ndarray]:
    """Values of one completed table where the data have none, by column."""
    lacking = list(fit.model.design.imputed)
    given = fit.model.design.given[lacking]
    values = CovariateModel.from_frame(given).to_numbers(one.model.design.complete_frame)
    return [values[name] for name in lacking]


def _state(fit: AbstractFit) -> xr.Dataset:
    """Statistics, standardised draws, traces and case weights."""
    import xarray as xr

    arrays: dict[str, np.ndarray] = {}
    for member in fit.parts:
        prefix, one = f"part{member.number}.", member.fit
        arrays |= {f"{prefix}sums.{name}": leaf for name, leaf in one.stats.leaves()}
        arrays |= {
            f"{prefix}draws.{name}": values for name, values in one.variational_draws.items()
        }
        arrays[f"{prefix}response"] = one.response.covariance
        if one.sampler is not None and one.covariance != one.own_covariance:
            arrays |= {f"{prefix}sampled.{name}": values for name, values in one.draws.items()}
        if one.robust is not None:
            arrays[f"{prefix}robust"] = one.robust.covariance
        if one.engine_log_q is not None:
            arrays[f"{prefix}engine_log_q"] = one.engine_log_q
        arrays |= {f"{prefix}{name}": values for name, values in _found_out(one).items()}
        arrays |= {f"{prefix}imputed.{j}": imputed for j, imputed in enumerate(_imputed(fit, one))}
    arrays |= {f"trace.{key}": trace for key, trace in fit.traces.items()}
    source, complete = fit.model.source, fit.model.design.complete
    if is_sample(fit.model):
        complete = np.ones(len(rows_to_keep(fit.model)), dtype=bool)
        arrays |= sample_state(fit.model)
    arrays["complete"] = complete.astype(np.int8)
    if isinstance(source, PartlyKept):
        arrays["all_rows"] = np.array([float(source.count), source.weight])
    arrays |= {f"scales.{name}": one for name, one in fit.model.given_scales().items()}
    if fit.model.weights is not None:
        arrays["weights"] = fit.model.weights
    # Dimensions by length: HDF5 takes as long for a dimension as for a small array.
    return xr.Dataset(
        {
            name: ([f"axis{axis}_{size}" for axis, size in enumerate(values.shape)], values)
            for name, values in arrays.items()
        }
    )
