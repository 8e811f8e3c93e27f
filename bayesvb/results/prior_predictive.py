"""Predictions of a model before any data are seen, as an ArviZ object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesvb.argument_checks import check_count, fresh_seed
from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.formula.design import Rows
from bayesvb.numerics.arrays import Indices
from bayesvb.results.named_draws import ModelDraws, chunks, count
from bayesvb.storage.arviz_objects import check_names, coordinate, to_arviz

if TYPE_CHECKING:
    import xarray as xr

    from bayesvb.results.base import AbstractPublicModel

MOST_ROWS = 500
"""Rows at which data are drawn; more are thinned at even distances."""


def prior_predictive(model: AbstractPublicModel, draws: int, seed: int | None) -> object:
    """Groups ``prior`` and ``prior_predictive``; see ``DensityRegression.prior_predictive``."""
    check_count("draws", draws)
    seed = fresh_seed(seed)
    rng = np.random.default_rng(seed)
    core = model.core
    drawn = ModelDraws(core, core.prior_draws(draws, rng))
    named = model.named_draws(drawn)
    rows, block = _thinned(model)
    groups: dict[str, Any] = {
        "prior": named.values,
        "prior_predictive": _data(model, drawn, block, rows.index, rng),
    }
    attrs = _attributes(model, seed, rows)
    return to_arviz(groups, dims=named.dims, coords=named.coords, attrs=attrs)


def _thinned(model: AbstractPublicModel) -> tuple[Rows, Block]:
    """Rows of the fit, at most ``MOST_ROWS`` of them or about that number in whole groups."""
    design, grouping = model.design, model.grouping
    most = min(design.n_rows, MOST_ROWS)
    if grouping is None:
        rows = design.rows_at(_evenly(design.n_rows, most))
        return rows, model.block(rows)
    n_groups = len(grouping.labels)
    groups = _evenly(n_groups, max(n_groups * most // design.n_rows, 1))
    kept = grouping.order[np.isin(grouping.number[grouping.order], groups)]
    return design.rows_at(kept), model.source.take(groups)


def _evenly(n_all: int, most: int) -> Indices:
    """Evenly spaced positions."""
    return np.linspace(0, n_all - 1, most).round().astype(int)


def _data(
    model: AbstractPublicModel,
    drawn: ModelDraws,
    block: Block,
    index: pd.Index,
    rng: np.random.Generator,
) -> xr.Dataset:
    """One data set per draw, by name."""
    import xarray as xr

    n_draws = count(drawn.draws)
    blocks = chunks(drawn.core, InMemorySource((block,)), n_draws)
    pieces = [model.replicates(drawn, drawn.draws, one, rng) for one in blocks]
    check_names(pieces[0])
    coords = {
        "chain": np.arange(1),
        "draw": np.arange(n_draws),
        "obs_id": coordinate(index),
    }
    whole = {name: np.concatenate([piece[name] for piece in pieces], axis=1) for name in pieces[0]}
    dims = ("chain", "draw", "obs_id")
    return xr.Dataset({name: (dims, values[None]) for name, values in whole.items()}, coords)


def _attributes(model: AbstractPublicModel, seed: int, rows: Rows) -> dict[str, object]:
    """Attributes that record how the draws were made."""
    used, shown = model.design.n_rows, len(rows.index)
    thinned = f"{shown} of {used} rows, evenly thinned" if shown < used else f"all {used} rows"
    return {
        "formula": model.formula.canonical(),
        "family": model.likelihood_name,
        "n_components": getattr(model, "n_components", 1),
        "seed": seed,
        "rows": thinned,
        "options": json.dumps(model.options()),
    }
