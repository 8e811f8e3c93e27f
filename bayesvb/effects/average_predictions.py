"""Predictions averaged over observed rows, with one covariate set to each of several values.

For values ``v_j`` of covariate ``x`` and observed rows ``i`` with case weights ``w_i``, each draw
of the parameters gives ``m_j = sum_i w_i m(v_j, z_i) / sum_i w_i``, where ``z_i`` are the other
covariates of row ``i``. Differences of the ``m_j`` are average contrasts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.effects.effect_draws import Plan, effect_draws
from bayesvb.effects.estimands import Estimand, estimand
from bayesvb.effects.grid import EvaluationGrid, Groups
from bayesvb.effects.observed_rows import ObservedRows
from bayesvb.errors import DataError

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

Draws = Float[np.ndarray, "draws values responses entries"]
RowDraws = Float[np.ndarray, "draws values rows responses entries"]


def average_predictions(
    fit: AbstractFit,
    rows: ObservedRows,
    name: str,
    values: Sequence[object],
    targets: Sequence[str],
) -> Mapping[str, Draws]:
    """Draws of average predictions for each target that is finite.

    Parameters
    ----------
    fit : Fit
        Of a model with effects of covariates.
    rows : ObservedRows
        Rows over which predictions are averaged, by case weight.
    name : str
        The covariate that is set to each value in all rows.
    values : sequence
        Numbers, levels or dates.
    targets : sequence of str
        ``"mean"`` and ``"sd"`` of a numeric response, ``"probability"`` of a categorical one. A
        target that is infinite under a draw, as an ``"sd"`` with heavy tails is, has no entry.

    Returns
    -------
    mapping of str to array, shape (draws, values, responses, entries)
        Entries are the levels of a categorical response; there is one otherwise.
    """
    grid = _grid(fit, rows)
    groups = Groups.of(grid, True)
    try:
        draws = _draws(fit, grid, name, values, (targets, groups))
    except DataError:
        if len(targets) == 1:
            return {}
        each = [average_predictions(fit, rows, name, values, (target,)) for target in targets]
        return {target: draws for finite in each for target, draws in finite.items()}
    return {target: one[:, :, 0] for target, one in zip(targets, draws, strict=True)}


def row_predictions(
    fit: AbstractFit, rows: ObservedRows, name: str, values: Sequence[object], target: str
) -> RowDraws:
    """Draws of the predictions of one target at each value, with an entry for every row."""
    (draws,) = _draws(fit, _grid(fit, rows), name, values, ((target,), None))
    return draws


def _grid(fit: AbstractFit, rows: ObservedRows) -> EvaluationGrid:
    return EvaluationGrid(rows.frame, fit.model.design.covariates, {}, rows.shares, False)


def _draws(
    fit: AbstractFit,
    grid: EvaluationGrid,
    name: str,
    values: Sequence[object],
    request: tuple[Sequence[str], Groups | None],
) -> list[RowDraws]:
    """Draws of each target; ``request`` holds the targets and the groups that are averaged."""
    targets, groups = request
    design = fit.model.design
    settings = design.in_days(name, list(values))
    plan = Plan(
        tuple(grid.with_column(name, value) for value in settings),
        lambda predictions, where: np.stack(predictions),
        tuple(map(str, settings)),
    )
    quantities: list[Estimand] = [estimand(target, {}, fit.model.response) for target in targets]
    responses = range(len(design.response_names) if quantities[0].of_response else 1)
    return effect_draws(fit, plan, quantities, responses, groups)
