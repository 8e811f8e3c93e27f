"""Linear predictors of rows, and precisions of their noise, in draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesvb.errors import DataError
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawExpertRows, DrawExpertTerms, DrawResponseRows
from bayesvb.variational.local import Draws

LINE_EFFECTS = "line_effects"
"""Name of what effects of groups add to the lines of rows, in draws that do not hold effects."""

LOG_SD = "log_sd"
"""Name of deviations of the log standard deviation of the noise from its level, by row: added to
draws of experts whose spread depends on covariates."""


def drawn_lines(design: AbstractDesign, draws: Draws, response: int) -> DrawExpertRows:
    """Return linear predictors of rows in each draw.

    Parameters
    ----------
    design : AbstractDesign
        Rows in the structure of the prior.
    draws : Mapping of str to ndarray
        ``coefficients``, and ``line_effects`` where these lack effects of groups.
    response : int
    """
    effects = draws[LINE_EFFECTS][:, :, response] if LINE_EFFECTS in draws else None
    return design.predict_drawn(draws["coefficients"][:, :, response], effects)


def noise_precision(draws: Draws, response: int) -> DrawExpertTerms:
    """Return precisions of the noise in each draw: of each row where these differ."""
    precision = draws["precision"][:, :, response, None]
    if LOG_SD not in draws:
        return precision
    varying: DrawExpertRows
    varying = precision * namespace(precision).exp(-2.0 * draws[LOG_SD])
    return varying


def chosen_lines(
    design: AbstractDesign, draws: Draws, chosen: Int[np.ndarray, "draws rows"]
) -> tuple[DrawResponseRows, DrawResponseRows]:
    """Return linear predictor and noise precision of the expert chosen for each row and draw."""
    responses = range(draws["precision"].shape[2])
    location = np.stack([drawn_lines(design, draws, i) for i in responses], axis=2)
    precision = np.stack([noise_precision(draws, i) for i in responses], axis=2)
    return taken(location, chosen), taken(precision, chosen)


def taken(
    values: Float[np.ndarray, "draws experts responses _"], chosen: Int[np.ndarray, "draws rows"]
) -> DrawResponseRows:
    """Return values of the expert chosen for each row and draw."""
    return np.asarray(np.take_along_axis(values, chosen[:, None, None, :], axis=1)[:, 0])


def check_draws_hold_effects(laws: Sequence[Normal]) -> None:
    """Raise if draws lack the effects of groups that these laws of lines are of.

    Raises
    ------
    DataError
    """
    if laws:
        n_groups = laws[0].operator.n_groups - 1  # one stands for all that were not there
        raise DataError(
            f"draws do not contain the effects of {n_groups} groups, so their prior density is "
            "not available",
            hint="use a coarser grouping, whose effects are part of the draws",
        )
