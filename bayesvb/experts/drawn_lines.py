"""Linear predictors of rows in draws, which may hold keys instead of effects of groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN
from bayesvb.errors import DataError
from bayesvb.factors.normal import Normal
from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import DrawnEffects
from bayesvb.linear.precisions import AbstractPrecision
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.numbered_normals import LARGEST_KEY
from bayesvb.variational.linear_predictors import design_of
from bayesvb.variational.local import Draws

EFFECT_KEY = "effect_key"
"""Name of the draws' keys, of which effects of groups without columns are functions."""

EFFECT_SCALE = "effect_scale"
"""Name of factors of effects, in draws from a prior whose scales are drawn too."""

LOG_SD = "log_sd"
"""Name of deviations of the log standard deviation of the noise from its level, by row: added to
draws of experts whose spread depends on covariates."""


def draw_with_keys(
    operator: AbstractPrecision, draws: Draws, rng: np.random.Generator
) -> dict[str, Float[np.ndarray, "draws ..."]]:
    """Return draws, with a key of the effects that they do not hold for each line."""
    if operator.is_complete:
        return dict(draws)
    keys = rng.integers(0, LARGEST_KEY, draws["precision"].shape).astype(float)
    return {**draws, EFFECT_KEY: keys}


def drawn_lines(
    law: Normal, draws: Draws, block: Block, response: int
) -> Float[np.ndarray, "draws experts rows"]:
    """Return linear predictors of rows in each draw.

    Effects of groups that a draw does not hold are a function of its key, of the number of the
    group and of the coefficients that all rows share: the same wherever they are asked for. Draws
    without keys hold every coefficient.

    Parameters
    ----------
    law : Normal
        Distribution of the coefficients of the response in units of the noise: the posterior of
        all lines, or the prior of one.
    draws : Mapping of str to ndarray
        ``coefficients``, ``precision``, and ``effect_key`` where effects have no columns; with
        ``effect_scale``, effects are multiplied by these, as draws of learned prior scales are.
    block : Block
    response : int
    """
    coefficients = draws["coefficients"][:, :, response]
    design = design_of(law.operator, block, MEAN)
    location: Float[np.ndarray, "draws experts rows"]
    location = design.predict_drawn(coefficients, _drawn_effects(law, draws, response))
    return location


def noise_precision(draws: Draws, response: int) -> Float[np.ndarray, "draws experts _"]:
    """Return precisions of the noise in each draw: of each row where these differ."""
    precision = draws["precision"][:, :, response, None]
    if LOG_SD not in draws:
        return precision
    varying: Float[np.ndarray, "draws experts rows"]
    varying = precision * namespace(precision).exp(-2.0 * draws[LOG_SD])
    return varying


def _drawn_effects(law: Normal, draws: Draws, response: int) -> DrawnEffects | None:
    """Return effects of groups by the keys of draws; None where draws have no keys."""
    if EFFECT_KEY not in draws:
        return None
    return law.operator.draw_effects(
        law.mean[..., None, :],
        draws["coefficients"][:, :, response, None],
        draws[EFFECT_KEY][:, :, response, None, None],
        1.0 / np.sqrt(draws["precision"][:, :, response, None]),
        draws.get(EFFECT_SCALE),
    )


def completed_draws(
    laws: Sequence[Normal], draws: Draws
) -> tuple[Draws, Float[np.ndarray, " draws"]]:
    """Return draws with the effects of all groups, and the log density of these effects.

    The density is that of effects given the coefficients and the noise that the draws hold.

    Parameters
    ----------
    laws : sequence of Normal
        Of each response, as of ``drawn_lines``.
    draws : Mapping of str to ndarray
    """
    wholes, density = [], np.zeros(len(draws["precision"]))
    for i, law in enumerate(laws):
        effects = _drawn_effects(law, draws, i)
        if effects is None:
            return draws, density
        shared, precision = draws["coefficients"][:, :, i], draws["precision"][:, :, i]
        operator = law.operator
        assert isinstance(operator, ArrowPrecision)
        every = effects(np.arange(operator.n_groups))
        whole = np.concatenate([shared, every.reshape(*shared.shape[:2], -1)], axis=-1)
        density = density + law.effect_log_density(whole, precision).sum(axis=1)
        wholes.append(whole)
    kept = {name: values for name, values in draws.items() if name != EFFECT_KEY}
    return {**kept, "coefficients": np.stack(wholes, axis=2)}, density


def chosen_lines(
    laws: Sequence[Normal], draws: Draws, block: Block, chosen: Int[np.ndarray, "draws rows"]
) -> tuple[Float[np.ndarray, "draws responses rows"], Float[np.ndarray, "draws responses rows"]]:
    """Return linear predictor and noise precision of the expert chosen for each row and draw.

    With a law for each response.
    """
    each = [drawn_lines(law, draws, block, i) for i, law in enumerate(laws)]
    location = np.stack(each, axis=2)
    precision = np.stack([noise_precision(draws, i) for i in range(len(laws))], axis=2)
    return taken(location, chosen), taken(precision, chosen)


def taken(
    values: Float[np.ndarray, "draws experts responses _"], chosen: Int[np.ndarray, "draws rows"]
) -> Float[np.ndarray, "draws responses rows"]:
    """Return values of the expert chosen for each row and draw."""
    return np.asarray(np.take_along_axis(values, chosen[:, None, None, :], axis=1)[:, 0])


def check_draws_hold_effects(operator: AbstractPrecision) -> None:
    """Raise if draws do not hold the effects of all groups.

    Raises
    ------
    DataError
    """
    if isinstance(operator, ArrowPrecision) and not operator.is_complete:
        raise DataError(
            f"draws do not hold the effects of {operator.n_groups - 1} groups, so that their "
            "prior density is not available",
            hint="group by something coarser: effects of few groups are columns, and are drawn",
        )
