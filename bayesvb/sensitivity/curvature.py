"""Second derivatives of the rows' part of the bound: as a matrix, or times changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.sensitivity.operator import Model
from bayesvb.variational.row_derivatives import RowDerivatives

ROWS_AT_ONCE = 1024
"""Rows whose second derivatives are in memory together: (scalars, scalars, rows)."""

TOGETHER = 1 << 20
"""Numbers of changes that are multiplied together: derivatives of rows are made once for all."""


@dataclass(frozen=True)
class Curvature(SufficientStats):
    """Second derivative of the rows' part of the bound in the expectations, or times changes."""

    value: Float[np.ndarray, "some entries"]


def curvature_of_rows(
    model: Model, posterior: Any, kept: Bool[np.ndarray, " entries"], block: Block
) -> Curvature:
    """Sum over the rows of a block, a part at a time, in these entries."""
    if kept.all():
        return _over_parts(model, posterior, block, RowDerivatives.curvature)
    return _over_parts(
        model, posterior, block, lambda known, weight: known.restricted(kept).curvature(weight)
    )


def _curved(
    model: Model, posterior: Any, change: Float[np.ndarray, "some entries"], block: Block
) -> Curvature:
    """Product of the second derivatives of a block's rows with changes of the expectations."""
    return _over_parts(model, posterior, block, lambda known, weight: known.curved(change, weight))


def _over_parts(
    model: Model, posterior: Any, block: Block, of: Callable[..., Float[np.ndarray, "_ _"]]
) -> Curvature:
    """Sum of a function of derivatives of rows and case weights, a part of a block at a time."""
    parts = block.split(ROWS_AT_ONCE)
    each = (of(derivatives_of_rows(model, posterior, part), part.weight) for part in parts)
    return Curvature(np.asarray(sum(each, start=np.zeros(()))))


def derivatives_of_rows(model: Model, posterior: Any, block: Block) -> Any:
    """Derivatives of the rows of a model that has them."""
    return model.row_derivatives(posterior, block)


def curved_along(
    model: Model,
    source: AbstractSource,
    posterior: Any,
    change: Float[np.ndarray, "directions entries"],
) -> tuple[Float[np.ndarray, "directions entries"], int]:
    """Product of ``f''``, of all rows and the prior, with changes; and the passes over the rows."""
    together = max(TOGETHER // max(change.shape[1], 1), 1)
    parts = [change[start : start + together] for start in range(0, len(change), together)]
    tasks = [partial(_curved, model, posterior, part) for part in parts]
    found = np.concatenate([part.value for part in source.map_reduce_all(tasks)])
    first = derivatives_of_rows(model, posterior, source.take(np.arange(1)))
    of_prior = np.arange(change.shape[1]) >= change.shape[1] - first.n_more
    bend = model.prior_curvature(posterior, of_prior)
    if bend is not None:
        found[:, of_prior] += change[:, of_prior] @ bend
    return found, len(tasks)
