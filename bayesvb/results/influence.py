"""Influence of rows, or of groups of rows that share a component, on a fit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.numerics.arrays import Indices, RowIntegers, RowVector
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.results.groups import units_of
from bayesvb.results.leave_one_out import group_sums
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_changes import NamedChanges
from bayesvb.results.robust import jackknife
from bayesvb.sensitivity.deletion import Deletion
from bayesvb.sensitivity.jackknife import CURVED, Jackknife

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

STEP = 1e-4
"""Step of a response, in its standard deviations, of which the statistics are differences."""

ANSWER = 1e-5
"""Part of the answer to a unit change of a response by which predictions are moved."""

MEASURES = ("cooks_distance", "leverage", "prediction")
"""Columns that are of the whole row; the others are of one parameter each."""


def influence(fit: AbstractFit) -> pd.DataFrame:
    """Influence of each row used; see ``Fit.influence``."""
    one = fit.parts[0].fit
    sensitivity = jackknife(one, "influence of rows")
    named = NamedChanges(one, sensitivity)
    points = changes_without_rows(sensitivity)
    changes, means = named.parameters(points), named.means(points)
    relative = named.in_sds(means, named.sd_of_means)
    ordered = bool(fit.model.response.order.values)
    columns: dict[str, object] = {
        "cooks_distance": named.distances(changes),
        # An ordered response has no values next to a level.
        "leverage": np.full(len(points), np.nan) if ordered else leverages(sensitivity),
        "prediction": np.abs(relative).max(axis=1, initial=0.0),
    }
    each = named.in_sds(changes, named.sd)
    names = [label_of(label) for label in named.index]
    table = pd.DataFrame({**columns, **dict(zip(names, each.T, strict=True))})
    table.index = pd.Index(units_of(fit.model).index)
    return table


def changes_without_rows(own: Jackknife) -> Float[np.ndarray, "rows coordinates"]:
    """Changes of the centre without each row; with very many rows, few are computed in full."""
    deletion = own.deletion
    n_rows = deletion.source.n_rows
    if n_rows <= CURVED:
        return own.changes(-group_sums(deletion, np.arange(n_rows)))
    changes = own.linear_without_rows()
    if changes is None:
        parts = deletion.parts(np.arange(n_rows))
        changes = own.linear(-_sums(deletion, rows) for rows in parts)
    far = np.argsort(-(changes**2).sum(axis=1), kind="stable")[: LIMITS.draws]
    changes[far] = own.changes(-_sums(deletion, far))
    return changes


def _sums(deletion: Deletion, rows: Indices) -> Float[np.ndarray, "chosen entries"]:
    """Contributions of these rows to the statistics, by case weight."""
    block = deletion.source.take(rows)
    each = deletion.of_rows(block)
    return each if block.weight is None else each * block.weight[:, None]


def placed(table: pd.DataFrame) -> tuple[RowVector, str]:
    """Positions of rows in a picture with their name: leverages; groups and levels have none.

    Examples
    --------
    >>> import pandas as pd
    >>> placed(pd.DataFrame({"leverage": [np.nan, np.nan]}))
    (array([1., 2.]), 'order of the data')
    """
    leverage = table["leverage"].to_numpy(dtype=float)
    if np.isnan(leverage).all():
        return np.arange(1.0, len(leverage) + 1.0), "order of the data"
    return leverage, "leverage"


def label_of(label: tuple[object, ...]) -> str:
    """Part, component and term of a parameter as one name.

    Examples
    --------
    >>> label_of(("mean", 1, "x")), label_of(("sigma", 2, ""))
    ('mean 1, x', 'sigma 2')
    """
    part, component, term = (str(one) for one in label)
    first = f"{part} {component}" if component else part
    return f"{first}, {term}" if term else first


def leverages(own: Jackknife) -> RowVector:
    """Derivative of the predictive mean of each row in its own response, averaged over responses.

    The direct effect of the row and the indirect effect of the others; with one component the
    diagonal of the hat matrix. NaN for a model without response.

    References
    ----------
    Wei, Hu, Fung (1998), Generalized leverage and its applications, Scandinavian Journal of
    Statistics 25(1).
    """
    deletion = own.deletion
    leverage = []
    with single_threaded_blas(), np.errstate(all="ignore"):
        for rows in deletion.parts(np.arange(deletion.source.n_rows)):
            block = deletion.source.take(rows)
            each = [_leverage(own, rows, block, i) for i in range(len(block.response))]
            leverage.append(np.mean(each, axis=0) if each else np.full(block.n_rows, np.nan))
    return np.concatenate(leverage)


def _leverage(own: Jackknife, rows: RowIntegers, block: Block, response: int) -> RowVector:
    """Leverage of one response."""
    deletion = own.deletion
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    ends = []
    for step in (STEP, -STEP):
        moved = np.array(block.response)
        moved[response] += step
        ends.append((replace(block, response=moved), weight / (2.0 * step)))
    answer = ANSWER * deletion.solve_difference(rows, ends)
    evaluate = partial(_mean, deletion.model, response)
    ahead = deletion.under(answer, answer, block, evaluate)
    return np.asarray((ahead - evaluate(deletion.posterior, block)) / ANSWER)


def _mean(model: Any, response: int, posterior: object, block: Block) -> RowVector:
    """Predictive means of rows."""
    return np.asarray(model.predictive(posterior, block, response).mean())
