"""A fit as one netCDF file, and back: formula, data and state as arrays, no pickle.

Loading builds the design again from the formula and the stored rows, and the posterior from the
stored statistics. The ArviZ groups lie beside them, so that ArviZ opens the file too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.arviz import as_tree, to_arviz
from bayesvb.errors import DataError, FormulaError
from bayesvb.fit import Fit
from bayesvb.idata import attributes, fixed_groups
from bayesvb.linear_response import LinearResponse
from bayesvb.stacking import Member, stacked
from bayesvb.stats import Stats
from bayesvb.storage import dataset_to_frame, frame_to_dataset, read_tree, write_tree
from bayesvb.workbench.base import blank_sums

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from bayesvb.workbench.base import AbstractWorkbench

FRAME, STATE = "data_frame", "fit_state"
"""Nodes of the file that are not ArviZ groups."""


def save(fit: Fit, path: str | os.PathLike[str]) -> Path:
    """Write a fit; see ``Fit.save``."""
    import xarray as xr

    groups, named = fixed_groups(fit)
    attrs = attributes(fit) | {"fit": json.dumps(_description(fit))}
    tree = as_tree(to_arviz(groups, dims=named.dims, coords=named.coords, attrs=attrs))
    tree[FRAME] = xr.DataTree(frame_to_dataset(fit.model.design.frame))
    tree[STATE] = xr.DataTree(_state(fit))
    return write_tree(tree, path)


def _description(fit: Fit) -> dict[str, object]:
    """What is not an array."""
    model = fit.model
    return {
        "model": type(model).__name__,
        "formula": model.formula.text,
        "options": model.options(),
        "parts": [_part(member) for member in fit.parts],
        "combined": bool(fit.members),
        "covariance": fit.covariance,
        "traces": [str(key) for key in fit.traces],
        "restarts": fit.restarts.to_dict(orient="list"),
        "seconds": fit.seconds,
        "seed": fit.seed,
    }


def _part(member: Member) -> dict[str, object]:
    """What is not an array of one restart."""
    fit = member.fit
    return {
        "number": member.number,
        "weight": member.weight,
        "order": list(fit.order),
        "response": {"n_iter": fit.response.n_iter, "failure": fit.response.failure},
        "converged": fit.converged,
        "n_iter": fit.n_iter,
    }


def _state(fit: Fit) -> xr.Dataset:
    """Statistics, standardised draws, traces and case weights."""
    import xarray as xr

    arrays: dict[str, np.ndarray] = {}
    for member in fit.parts:
        prefix, one = f"part{member.number}.", member.fit
        arrays |= {f"{prefix}sums.{name}": leaf for name, leaf in one.sums.leaves()}
        arrays |= {f"{prefix}draws.{name}": values for name, values in one.q_draws.items()}
        arrays[f"{prefix}response"] = one.response.covariance
    arrays |= {f"trace.{key}": trace for key, trace in fit.traces.items()}
    arrays["complete"] = fit.model.design.complete.astype(np.int8)
    if fit.model.weights is not None:
        arrays["weights"] = fit.model.weights
    return xr.Dataset(
        {
            name: ([f"{name}_{axis}" for axis in range(values.ndim)], values)
            for name, values in arrays.items()
        }
    )


def load(path: str | os.PathLike[str], *, context: Mapping[str, object] | None = None) -> Fit:
    """The fit that ``fit.save(path)`` wrote; nothing in the file is executed.

    Parameters
    ----------
    path : str or path
    context : mapping, optional
        Functions of your own that the formula calls, as at the first fit.

    Raises
    ------
    DataError
        If there is no such file, it is damaged, not ours or from a later version.
    FormulaError
        If the formula needs a ``context`` that was not given.

    Examples
    --------
    >>> import bayesvb as bvb, tempfile, pathlib
    >>> model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    >>> fit = model.fit(seed=1, restarts=1)
    >>> path = fit.save(pathlib.Path(tempfile.mkdtemp()) / "faithful.nc")
    >>> bvb.load(path).elbo == fit.elbo
    True
    """
    from bayesvb.workbench import MODELS

    tree = read_tree(path)
    try:
        told = json.loads(tree.attrs["fit"])
        state = {str(name): array.to_numpy() for name, array in tree[STATE].data_vars.items()}
        frame = dataset_to_frame(tree[FRAME].to_dataset())
        known = told["model"] in MODELS
    except (KeyError, ValueError) as error:
        raise DataError(f"path={str(path)!r} does not hold a fit: {error}") from error
    if not known:
        raise DataError(
            f"path={str(path)!r} holds a fit of {told['model']!r}, which is not known here",
            hint=f"a later version wrote it; this one reads {', '.join(MODELS)}",
        )
    try:
        return _rebuilt(told, state, _model(told, state, frame, context))
    except (KeyError, TypeError) as error:
        raise DataError(
            f"path={str(path)!r} does not hold a fit as this version writes it: {error}",
            hint="a later version may have written it",
        ) from error


def _model(
    told: Mapping[str, Any],
    state: Mapping[str, np.ndarray],
    frame: pd.DataFrame,
    context: Mapping[str, object] | None,
) -> AbstractWorkbench:
    from bayesvb.workbench import MODELS
    from bayesvb.workbench.rebuilding import built

    options = told["options"] if context is None else {**told["options"], "context": context}
    try:
        return built(
            MODELS[told["model"]],
            told["formula"],
            frame,
            options=options,
            complete=state["complete"] > 0,
            weights=state.get("weights"),
        )
    except FormulaError as error:
        if context is not None:
            raise
        hint = "functions of your own must be given again: load(path, context={...})"
        raise FormulaError(error.formula, error.why, error.at, hint) from error


def _rebuilt(
    told: Mapping[str, Any], state: Mapping[str, np.ndarray], model: AbstractWorkbench
) -> Fit:
    """Fit from its stored parts."""
    parts = [
        Member(part["number"], part["weight"], _one(told, part, state, model))
        for part in told["parts"]
    ]
    fit = stacked(parts) if told["combined"] else parts[0].fit
    return replace(fit, seconds=told["seconds"])


def _one(
    told: Mapping[str, Any],
    part: Mapping[str, Any],
    state: Mapping[str, np.ndarray],
    model: AbstractWorkbench,
) -> Fit:
    """Fit of one restart."""
    restarts = _table(told["restarts"], part["number"])
    core = model.relabelled(
        _core(model, restarts.loc[part["number"]], len(restarts)), part["order"]
    )
    prefix = f"part{part['number']}."
    sums = filled(core.start(blank_sums(core, model.source)), state, f"{prefix}sums.")
    q, q_draws = core.update(sums), _named(state, f"{prefix}draws.")
    fit = Fit(
        model=model,
        core=core,
        sums=sums,
        order=tuple(part["order"]),
        draws=q_draws,
        log_q=core.log_posterior(q, q_draws),
        covariance="mean-field",
        q_draws=q_draws,
        response=LinearResponse(state[f"{prefix}response"], **part["response"]),
        restarts=restarts,
        traces={_key(key): state[f"trace.{key}"] for key in told["traces"]},
        converged=part["converged"],
        n_iter=part["n_iter"],
        seconds=told["seconds"],
        seed=told["seed"],
    )
    return fit.with_covariance(told["covariance"])


def _core(model: AbstractWorkbench, restart: pd.Series, n_restarts: int) -> Any:
    """What a restart fitted."""
    own = {**model.core.starting_models(n_restarts), **model.core.alternatives()}
    return own.get(restart.get("prior") or restart["start"], model.core)


def _table(columns: Mapping[str, Any], best: int) -> pd.DataFrame:
    """Table of the restarts, one of them marked."""
    import pandas as pd

    table = pd.DataFrame(columns)
    table.index = pd.RangeIndex(1, len(table) + 1, name="restart")
    return table.assign(best=table.index == best)


def _named(state: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Arrays whose names begin so, without it."""
    return {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}


def _key(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def filled(blank: Any, state: Mapping[str, np.ndarray], prefix: str) -> Any:
    """Statistics of the shapes of ``blank`` with the stored numbers."""
    assert isinstance(blank, Stats)
    leaves = [state[prefix + name] for name, _ in blank.leaves()]
    return blank.with_vector(np.concatenate([np.ravel(leaf) for leaf in leaves]))
