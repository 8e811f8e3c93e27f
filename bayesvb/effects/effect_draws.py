"""Effects for every draw: quantities of the rows and of variants of the rows, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.effects.estimands import Estimand, Values
from bayesvb.effects.grid import Groups
from bayesvb.errors import DataError
from bayesvb.results.arviz_groups import MEMORY_BUDGET
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.named_draws import CHUNK_ENTRIES, count

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

Combined = Float[np.ndarray, "contrasts entries draws rows"]

Combine = Callable[[Sequence[Values], slice], Combined]


@dataclass(frozen=True, eq=False)
class Plan:
    """Variants of the same rows, and how their quantities become effects.

    Attributes
    ----------
    variants : tuple of pandas.DataFrame
        The same number of rows each.
    combine : callable
        Quantities of the variants and the rows they are of -> one array per contrast.
    contrasts : tuple of str
        Words for the contrasts; one without words if there is nothing to contrast.
    """

    variants: tuple[pd.DataFrame, ...]
    combine: Combine
    contrasts: tuple[str | None, ...] = field(default=(None,))


def drawn_distributions_of(fit: AbstractFit) -> HasDrawnDistributions:
    """The model of the fit, if its conditional distribution is known draw by draw.

    Raises
    ------
    DataError
        If it is not.
    """
    if isinstance(fit.model, HasDrawnDistributions):
        return fit.model
    raise DataError(
        f"{type(fit.model).__name__} has no effects of covariates",
        hint="effects are for fits of DensityRegression and ConditionalMixtureNetwork",
    )


def effect_draws(
    fit: AbstractFit,
    plan: Plan,
    estimand: Estimand,
    responses: Sequence[int],
    groups: Groups | None,
) -> Float[np.ndarray, "draws contrasts rows responses entries"]:
    """Effects for every draw, at every row or averaged over groups of rows."""
    n_rows = len(plan.variants[0]) if groups is None else len(groups.table)
    _check_memory(fit, estimand, n_rows * len(plan.contrasts) * len(responses))
    blocks = [_block(fit, variant) for variant in plan.variants]
    found = [
        _gathered(_pieces(fit, plan, blocks, (estimand, number)), groups) for number in responses
    ]
    # responses contrasts entries draws rows
    return np.ascontiguousarray(np.transpose(np.stack(found), (3, 1, 4, 0, 2)))


def _block(fit: AbstractFit, variant: pd.DataFrame) -> Block:
    """Standardised rows of a variant, all of them."""
    rows = fit.model.design.new(variant)
    if not rows.complete.all():
        raise DataError(
            f"{int((~rows.complete).sum())} of the rows asked for lack a value",
            hint="give no missing values in conditional and contrast",
        )
    block: Block = fit.model.block(rows)
    return block


def _pieces(
    fit: AbstractFit, plan: Plan, blocks: Sequence[Block], request: tuple[Estimand, int]
) -> Iterator[Combined]:
    """Effects of a few rows at a time, so that nothing with draws and components is large."""
    estimand, response = request
    entries = count(fit.draws) * fit.core.n_components * max(len(estimand.levels), 1)
    size = max(CHUNK_ENTRIES // entries, 1)
    for start in range(0, blocks[0].n_rows, size):
        rows = slice(start, min(start + size, blocks[0].n_rows))
        parts = [block.part(rows.start, rows.stop) for block in blocks]
        yield plan.combine([_values(fit, part, estimand, response) for part in parts], rows)


def _values(fit: AbstractFit, block: Block, estimand: Estimand, response: int) -> Values:
    """The quantity of a few rows; each draw is evaluated by the restart that it is from."""
    if estimand.target == "weights":
        weights = np.moveaxis(np.exp(fit.core.log_weights(fit.draws, block)), 1, 0)
        return np.broadcast_to(weights, (*weights.shape[:2], block.n_rows))
    if estimand.levels:
        return np.moveaxis(fit.core.drawn_probabilities(fit.draws, block), 1, 0)
    name = fit.model.design.response_names[response]
    return estimand(drawn_distributions_of(fit).drawn_mixture(fit, block, response), name)


def _gathered(pieces: Iterator[Combined], groups: Groups | None) -> Combined:
    """All rows one after the other, or their weighted sums by group."""
    if groups is None:
        return np.concatenate(list(pieces), axis=-1)
    total: Combined | None = None
    start = 0
    for piece in pieces:
        rows = slice(start, start + piece.shape[-1])
        start = rows.stop
        present, place = np.unique(groups.codes[rows], return_inverse=True)
        share = np.zeros((piece.shape[-1], len(present)))
        share[np.arange(len(share)), place] = groups.share[rows]
        if total is None:
            total = np.zeros((*piece.shape[:-1], len(groups.table)))
        total[..., present] += piece @ share
    if total is None:
        raise DataError("there are no rows to average")
    return total


def _check_memory(fit: AbstractFit, estimand: Estimand, n_rows: int) -> None:
    entries = len(estimand.entries(fit.core.n_components)[1])
    needed = 8 * count(fit.draws) * entries * n_rows
    if needed > MEMORY_BUDGET:
        raise DataError(
            f"{n_rows * entries} effects for each of {count(fit.draws)} draws take "
            f"{needed / 2**30:.1f} GiB, more than {MEMORY_BUDGET / 2**30:.0f}",
            hint="average them, average_by=True, or choose fewer rows: data=frame.sample(1000)",
        )
