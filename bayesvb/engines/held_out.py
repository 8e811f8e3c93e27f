"""Rows that are left out, a fifth at a time, and an ascent that goes on without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Block, Source
from bayesvb.engines.cavi import cavi
from bayesvb.models.base import AbstractModel

FOLDS = 5

PASSES = 50
"""Passes over the rows that remain. With few the fold is not forgotten, the less so the wider the
prior is; fifty find nearly all that hundreds would."""

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
    if not draws_flatter(model, source, sums):
        return None
    whole = Block.joined(source.blocks)

    def density(own: Any, rows: Int[np.ndarray, " fold"]) -> Any:
        return model.log_predictive(model.update(own), whole.take(rows))

    return over_folds(whole, without_folds(model, source, sums), density)


def draws_flatter(model: AbstractModel[Any, Any], source: Source, sums: Any) -> bool:
    """Whether draws say little of rows left out: then the model has a predictive density."""
    return model.log_predictive(model.update(sums), source.blocks[0].part(0, 1)) is not None


def without_folds(model: AbstractModel[Any, Any], source: Source, sums: Any) -> tuple[Any, ...]:
    """Statistics of one ascent for each fold, which went on without it."""
    whole = Block.joined(source.blocks)
    return tuple(continued(model, rest, sums) for _, rest in folds(whole, source.workers))


def over_folds(
    whole: Block, each: Sequence[Any], density: Callable[[Any, Int[np.ndarray, " fold"]], Any]
) -> Float[np.ndarray, " rows"]:
    """Density of every row, from the statistics of the ascent without its fold."""
    found = np.empty(whole.n_rows)
    for rows, sums in zip(fold_rows(whole), each, strict=True):
        found[rows] = density(sums, rows)
    return found


def folds(whole: Block, workers: int) -> Iterator[tuple[Int[np.ndarray, " fold"], Source]]:
    """Positions of the rows of each fold, and the rows that remain."""
    for rows in fold_rows(whole):
        rest = whole.take(np.delete(np.arange(whole.n_rows), rows))
        yield rows, Source((rest,), workers)


def fold_rows(whole: Block) -> list[Int[np.ndarray, " _"]]:
    """Positions of the rows of each fold."""
    fold = assigned(whole)
    return [np.flatnonzero(fold == number) for number in range(fold.max() + 1)]


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
