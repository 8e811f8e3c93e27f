"""What a model says before any data are seen, as an ArviZ object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.blocks import Source
from bayesvb.design import Rows
from bayesvb.idata import check_names, library
from bayesvb.named_draws import PriorDraws, chunks, count
from bayesvb.options import check_count, fresh_seed

if TYPE_CHECKING:
    import xarray as xr

    from bayesvb.workbench.generative import AbstractGenerative

MOST_ROWS = 500
"""Rows at which data are drawn; more are thinned at even distances."""


def prior_predictive(model: AbstractGenerative, draws: int, seed: int | None) -> object:
    """Groups ``prior`` and ``prior_predictive``; see ``DensityRegression.prior_predictive``."""
    from bayesvb.arviz import to_arviz

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


def _thinned(model: AbstractGenerative) -> Rows:
    """Rows of the fit, at most ``MOST_ROWS`` of them."""
    rows = model.rows()
    n_rows = len(rows.index)
    at = np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).round().astype(int)
    matrices = {part: matrix[at] for part, matrix in rows.matrices.items()}
    return Rows(rows.index[at], rows.complete[at], matrices, None)


def _data(
    model: AbstractGenerative,
    drawn: PriorDraws,
    rows: Rows,
    rng: np.random.Generator,
) -> xr.Dataset:
    """One data set per draw, by name."""
    import xarray as xr

    from bayesvb.arviz import coordinate

    n_draws = count(drawn.draws)
    blocks = chunks(drawn.core, Source((model.block(rows),)), n_draws)
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


def _attributes(model: AbstractGenerative, seed: int, rows: Rows) -> dict[str, object]:
    """How the draws were made."""
    used, shown = len(model.design.index), len(rows.index)
    thinned = f"{shown} of {used} rows, evenly thinned" if shown < used else f"all {used} rows"
    return {
        **library(),
        "formula": model.formula.canonical(),
        "family": model.family,
        "n_components": getattr(model, "n_components", 1),
        "seed": seed,
        "rows": thinned,
        "options": json.dumps(model.options()),
    }
