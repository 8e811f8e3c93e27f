"""Rows that are left out, a fifth at a time, and an ascent that goes on without them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Block, Source
from bayesvb.engines.cavi import cavi
from bayesvb.models.base import AbstractModel

FOLDS = 5

PASSES = 20
"""Passes over the rows that remain: ten find most of what further ones would change, if a fold is
forgotten at all."""

TOLERANCE = 1e-5
"""Gain of the bound per row at which a fold is finished."""


def held_out_density(
    model: AbstractModel[Any, Any], source: Source, sums: Any
) -> Float[np.ndarray, " rows"] | None:
    """Log predictive density of every row from an ascent that went on without its fold.

    Ratios of likelihoods over draws would need no ascent, but tell little where the posterior is
    much narrower than the exact one: no draw has forgotten the row. None for models whose draws
    may tell.
    """
    if model.log_predictive(model.update(sums), source.blocks[0].part(0, 1)) is None:
        return None
    whole = Block.joined(source.blocks)
    found = np.empty(whole.n_rows)
    for rows, rest in folds(whole, source.workers):
        posterior = model.update(continued(model, rest, sums))
        found[rows] = model.log_predictive(posterior, whole.take(rows))
    return found


def folds(whole: Block, workers: int) -> Iterator[tuple[Int[np.ndarray, " fold"], Source]]:
    """Positions of the rows of each fold, and the rows that remain."""
    fold = assigned(whole)
    for number in range(fold.max() + 1):
        rest = whole.take(np.flatnonzero(fold != number))
        yield np.flatnonzero(fold == number), Source((rest,), workers)


def assigned(block: Block) -> Int[np.ndarray, " rows"]:
    """Fold of each row, the same each time; each fold has its share of all responses."""
    chance = np.random.default_rng(FOLDS).random(block.n_rows)
    order = np.lexsort((chance, block.response[0]))
    fold = np.empty(block.n_rows, dtype=int)
    fold[order] = np.arange(block.n_rows) % min(FOLDS, block.n_rows)
    return fold


def continued(model: AbstractModel[Any, Any], rest: Source, sums: Any) -> Any:
    """Statistics of an ascent that goes on with these rows alone."""
    posterior = model.update(sums)
    first = model.advance(posterior, rest.map_reduce(partial(model.local, posterior)).sums)
    return cavi(model, rest, first, tol=TOLERANCE, max_iter=PASSES).sums
