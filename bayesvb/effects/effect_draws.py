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
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import count

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
    estimands: Sequence[Estimand],
    responses: Sequence[int],
    groups: Groups | None,
) -> list[Float[np.ndarray, "draws contrasts rows responses _"]]:
    """Effects on each estimand for every draw, at every row or averaged over groups of rows."""
    n_rows = len(plan.variants[0]) if groups is None else len(groups.table)
    draws = []
    for estimand in estimands:
        _check_memory(fit, estimand, n_rows * len(plan.contrasts) * len(responses))
        n_entries = len(estimand.entries(fit.core.n_components)[1])
        shape = (count(fit.draws), len(plan.contrasts), n_rows, len(responses), n_entries)
        draws.append(np.zeros(shape))
    blocks = [_block(fit, variant) for variant in plan.variants]
    for place, number in enumerate(responses):
        for rows, pieces in _pieces(fit, plan, blocks, (estimands, number)):
            for effects, piece in zip(draws, pieces, strict=True):
                of_place = effects[..., place, :]
                if groups is None:
                    of_place[:, :, rows] = np.transpose(piece, (2, 0, 3, 1))
                else:
                    present, share = groups.shares(rows)
                    # One matrix product: a stack of them takes more CPU time with several threads.
                    averages = piece.reshape(-1, piece.shape[-1]) @ share
                    averages = averages.reshape(*piece.shape[:-1], -1)
                    of_place[:, :, present] += np.transpose(averages, (2, 0, 3, 1))
    return draws


def _block(fit: AbstractFit, variant: pd.DataFrame) -> Block:
    """Standardised rows of a variant, all of them."""
    rows = fit.model.design.of_typical_groups.new(variant)
    if not rows.complete.all():
        raise DataError(
            f"{int((~rows.complete).sum())} of the requested rows have missing values",
            hint="give no missing values in conditional and contrast",
        )
    block: Block = fit.model.block(rows)
    return block


def _pieces(
    fit: AbstractFit,
    plan: Plan,
    blocks: Sequence[Block],
    request: tuple[Sequence[Estimand], int],
) -> Iterator[tuple[slice, list[Combined]]]:
    """Effects of a few rows at a time, so that nothing with draws and components is large."""
    estimands, response = request
    entries = max(len(estimand.levels) for estimand in estimands) or 1
    if entries == 1 or not fit.model.response.is_categorical:  # classes sum components in pieces
        entries *= fit.core.n_components
    size = max(LIMITS.entries_in_memory // (entries * count(fit.draws)), 1)
    for start in range(0, blocks[0].n_rows, size):
        rows = slice(start, min(start + size, blocks[0].n_rows))
        parts = [block.part(rows.start, rows.stop) for block in blocks]
        each = [_values(fit, part, estimands, response) for part in parts]
        yield rows, [plan.combine(values, rows) for values in zip(*each, strict=True)]


def _values(
    fit: AbstractFit, block: Block, estimands: Sequence[Estimand], response: int
) -> list[Values]:
    """The quantities of a few rows; each draw is evaluated by the restart that it is from."""
    if estimands[0].target == "weights":
        weights = np.moveaxis(np.exp(fit.mixture.log_weights(fit.draws, block)), 1, 0)
        return [np.broadcast_to(weights, (*weights.shape[:2], block.n_rows))]
    if estimands[0].levels and fit.model.response.is_categorical:
        probabilities = fit.classifier.drawn_probabilities(fit.draws, block, few_points=True)
        return [np.moveaxis(probabilities, 1, 0)]
    name = fit.model.design.response_names[response]
    mixture = drawn_distributions_of(fit).drawn_mixture(fit, block, response)
    return [estimand(mixture, name) for estimand in estimands]


def _check_memory(fit: AbstractFit, estimand: Estimand, n_rows: int) -> None:
    entries = len(estimand.entries(fit.core.n_components)[1])
    needed = 8 * count(fit.draws) * entries * n_rows
    if needed > LIMITS.bytes_stored:
        raise DataError(
            f"{n_rows * entries} effects for each of {count(fit.draws)} draws take "
            f"{needed / 2**30:.1f} GiB, more than {LIMITS.bytes_stored / 2**30:.0f}",
            hint="average them, average_by=True, or choose fewer rows: data=frame.sample(1000)",
        )
