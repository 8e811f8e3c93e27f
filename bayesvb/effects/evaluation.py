"""Effects for every draw: quantities of the rows and of variants of the rows, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.blocks import Block
from bayesvb.effects.quantities import Quantity, Values
from bayesvb.effects.rows import Groups
from bayesvb.errors import DataError
from bayesvb.idata import MEMORY_BUDGET
from bayesvb.named_draws import CHUNK_ENTRIES, Drawn, count
from bayesvb.normal_mixture import NormalMixture

if TYPE_CHECKING:
    from bayesvb.fit import Fit

Combined = Float[np.ndarray, "contrasts entries draws rows"]
Combine = Callable[[Sequence[Values], slice], Combined]


@runtime_checkable
class DrawsMixtures(Protocol):
    """A model whose numeric responses have a mixture of Gaussians given its parameters.

    A response of classes has the ``drawn_probabilities`` of its core instead.
    """

    def drawn_mixture(self, fit: Drawn, block: Block, response: int) -> NormalMixture:
        """Distribution of one response given each draw, axes (experts, draws, rows)."""


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


def require_mixtures(fit: Fit) -> None:
    """Raise for a model whose conditional distribution is not known draw by draw."""
    if not isinstance(fit.model, DrawsMixtures):
        raise DataError(
            f"{type(fit.model).__name__} has no effects of covariates",
            hint="effects are for fits of DensityRegression and ConditionalMixtureNetwork",
        )


def effect_draws(
    fit: Fit, plan: Plan, quantity: Quantity, responses: Sequence[int], groups: Groups | None
) -> Float[np.ndarray, "draws contrasts rows responses entries"]:
    """Effects for every draw, at every row or averaged over groups of rows."""
    n_rows = len(plan.variants[0]) if groups is None else len(groups.table)
    _check_memory(fit, quantity, n_rows * len(plan.contrasts) * len(responses))
    blocks = [_block(fit, variant) for variant in plan.variants]
    found = [
        _gathered(_pieces(fit, plan, blocks, (quantity, number)), groups) for number in responses
    ]
    # responses contrasts entries draws rows
    return np.ascontiguousarray(np.transpose(np.stack(found), (3, 1, 4, 0, 2)))


def _block(fit: Fit, variant: pd.DataFrame) -> Block:
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
    fit: Fit, plan: Plan, blocks: Sequence[Block], asked: tuple[Quantity, int]
) -> Iterator[Combined]:
    """Effects of a few rows at a time, so that nothing with draws and components is large."""
    quantity, response = asked
    entries = count(fit.draws) * fit.core.n_components * max(len(quantity.levels), 1)
    size = max(CHUNK_ENTRIES // entries, 1)
    for start in range(0, blocks[0].n_rows, size):
        rows = slice(start, min(start + size, blocks[0].n_rows))
        parts = [block.part(rows.start, rows.stop) for block in blocks]
        yield plan.combine([_values(fit, part, quantity, response) for part in parts], rows)


def _values(fit: Fit, block: Block, quantity: Quantity, response: int) -> Values:
    """The quantity of a few rows; each draw is evaluated by the restart that it is from."""
    if quantity.target == "weights":
        weights = np.moveaxis(np.exp(fit.core.log_weights(fit.draws, block)), 1, 0)
        return np.broadcast_to(weights, (*weights.shape[:2], block.n_rows))
    if quantity.levels:
        return np.moveaxis(fit.core.drawn_probabilities(fit.draws, block), 1, 0)
    return quantity(fit.model.drawn_mixture(fit, block, response))


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


def _check_memory(fit: Fit, quantity: Quantity, n_rows: int) -> None:
    entries = len(quantity.entries(fit.core.n_components)[1])
    needed = 8 * count(fit.draws) * entries * n_rows
    if needed > MEMORY_BUDGET:
        raise DataError(
            f"{n_rows * entries} effects for each of {count(fit.draws)} draws take "
            f"{needed / 2**30:.1f} GiB, more than {MEMORY_BUDGET / 2**30:.0f}",
            hint="average them, average_by=True, or choose fewer rows: data=frame.sample(1000)",
        )
