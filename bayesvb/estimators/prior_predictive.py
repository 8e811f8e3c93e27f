"""What a model says before any data are seen, as an ArviZ object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.argument_checks import check_count, fresh_seed
from bayesvb.data.sources import InMemorySource
from bayesvb.formula.design import Rows
from bayesvb.results.arviz_groups import check_names, library
from bayesvb.results.named_draws import PriorDraws, chunks, count

if TYPE_CHECKING:
    import xarray as xr

    from bayesvb.results.base import AbstractPublicModel

MOST_ROWS = 500
"""Rows at which data are drawn; more are thinned at even distances."""


def prior_predictive(model: AbstractPublicModel, draws: int, seed: int | None) -> object:
    """Groups ``prior`` and ``prior_predictive``; see ``DensityRegression.prior_predictive``."""
    from bayesvb.storage.arviz_objects import to_arviz

    check_count("draws", draws)
    seed = fresh_seed(seed)
    rng = np.random.default_rng(seed)
    core = model.core
    drawn = PriorDraws(core, core.prior_draws(draws, rng))
    named = model.named_draws(drawn)
    rows = _thinned(model)
    groups: dict[str, Any] = {
        "prior": named.values,
        "prior_predictive": _data(model, drawn, rows, rng),
    }
    attrs = _attributes(model, seed, rows)
    return to_arviz(groups, dims=named.dims, coords=named.coords, attrs=attrs)


def _thinned(model: AbstractPublicModel) -> Rows:
    """Rows of the fit, at most ``MOST_ROWS`` of them."""
    n_rows = model.design.n_rows
    at = np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).round().astype(int)
    return model.design.rows_at(at)


def _data(
    model: AbstractPublicModel,
    drawn: PriorDraws,
    rows: Rows,
    rng: np.random.Generator,
) -> xr.Dataset:
    """One data set per draw, by name."""
    import xarray as xr

    from bayesvb.storage.arviz_objects import coordinate

    n_draws = count(drawn.draws)
    blocks = chunks(drawn.core, InMemorySource((model.block(rows),)), n_draws)
    pieces = [model.replicates(drawn, drawn.draws, block, rng) for block in blocks]
    check_names(pieces[0])
    coords = {
        "chain": np.arange(1),
        "draw": np.arange(n_draws),
        "obs_id": coordinate(rows.index),
    }
    whole = {name: np.concatenate([piece[name] for piece in pieces], axis=1) for name in pieces[0]}
    dims = ("chain", "draw", "obs_id")
    return xr.Dataset({name: (dims, values[None]) for name, values in whole.items()}, coords)


def _attributes(model: AbstractPublicModel, seed: int, rows: Rows) -> dict[str, object]:
    """How the draws were made."""
    used, shown = model.design.n_rows, len(rows.index)
    thinned = f"{shown} of {used} rows, evenly thinned" if shown < used else f"all {used} rows"
    return {
        **library(),
        "formula": model.formula.canonical(),
        "family": model.likelihood_name,
        "n_components": getattr(model, "n_components", 1),
        "seed": seed,
        "rows": thinned,
        "options": json.dumps(model.options()),
    }
