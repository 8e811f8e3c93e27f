"""Probability integral transforms of the rows of each group from the posterior without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.engines.deletion import ROWS_AT_ONCE, SHARES, Deletion
from bayesvb.errors import DataError
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.numerics.streams import Streams
from bayesvb.results.criteria import answers

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_GROUPS = 2_000
"""With more groups than this a random choice of so many is left out."""


def chosen_groups(fit: AbstractFit) -> Int[np.ndarray, " chosen"]:
    """Numbers of the groups that are left out: all, unless there are very many."""
    n_groups = fit.model.source.n_rows
    if n_groups <= MOST_GROUPS:
        return np.arange(n_groups)
    rng = Streams(fit.seed).rows(MOST_GROUPS, n_groups)
    return np.sort(rng.choice(n_groups, size=MOST_GROUPS, replace=False))


def check_answers(fit: AbstractFit) -> None:
    """Raise unless the posterior without a group is told by linear response.

    Raises
    ------
    DataError
        If the engine does not maximise the bound, or the model has no closed predictive density.
    """
    if not all(answers(part.fit) for part in fit.parts):
        raise DataError(
            "calibrated=True needs the posterior without each group, and "
            f"{type(fit.model).__name__} fitted by {fit.engine.title} has none by linear response",
            hint="fit by 'cavi' or 'em', or leave calibrated out",
        )


def without_groups(
    fit: AbstractFit, groups: Int[np.ndarray, " chosen"]
) -> tuple[Float[np.ndarray, "responses rows"], Float[np.ndarray, " rows"]]:
    r"""Transforms of the rows of these groups, group by group, and the case weights of the rows.

    .. math:: u_n = \sum_k \pi_k(x_g) F_k(y_n \mid x_n)

    by the posterior without group ``g``, and by no other row of the group: as rows of a group
    that was never seen are predicted. They are uniform where that prediction is right, but those
    of a group depend on one another. Of combined restarts the mean by weight. The posterior is
    that of linear response, its update made in full; nothing is fitted again.
    """
    found = sum(part.weight * _of_one(part.fit, groups) for part in fit.parts)
    block = fit.model.source.take(groups)
    assert block.members is not None
    weight = np.ones(len(groups)) if block.weight is None else block.weight
    return np.asarray(found), block.members.repeated(weight)


def _of_one(
    fit: AbstractFit, groups: Int[np.ndarray, " chosen"]
) -> Float[np.ndarray, "responses rows"]:
    """Transforms by one restart."""
    one, found = fit.one_restart, []
    deletion = one.deletion
    with single_threaded_blas(), np.errstate(all="ignore"):
        for start in range(0, len(groups), ROWS_AT_ONCE):
            block = one.source.take(groups[start : start + ROWS_AT_ONCE])
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            direct = -deletion.of_rows(block) * weight[:, None]
            change = deletion.answered(direct)
            for n in range(block.n_rows):
                found.append(_of_group(deletion, direct[n], change[n], block.part(n, n + 1)))
    return np.concatenate(found, axis=-1)


def _of_group(
    deletion: Deletion,
    direct: Float[np.ndarray, " entries"],
    change: Float[np.ndarray, " entries"],
    group: Block,
) -> Float[np.ndarray, "responses rows"]:
    """Transforms of one group's rows, NaN where it holds a component in place.

    Where the first-order change leads to statistics of no data, the part of it that is the answer
    of the other groups is shortened.
    """
    assert group.members is not None
    observed = group.members.rows.response
    model: Any = deletion.model
    centre = deletion.stats.to_vector() + direct
    for share in SHARES:
        try:
            moved = deletion.stats.with_vector(centre + share * (change - direct))
            posterior = model.update(moved)
            found = [
                model.predictive(posterior, group, i).cdf(seen) for i, seen in enumerate(observed)
            ]
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(found).all():
            return np.stack(found)
    return np.full(observed.shape, np.nan)
