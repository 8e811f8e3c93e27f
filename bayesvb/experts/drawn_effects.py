"""Drawn effects of groups, made where rows ask for them: those of all groups need not be kept."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bayesvb.data.group_rows import GroupRows
from bayesvb.factors.bordered_normal_gamma import BorderedNormalGamma
from bayesvb.numerics.numbered_normals import numbered_normals
from bayesvb.numerics.small_blocks import roots_of_blocks
from bayesvb.variational.local import Draws


def effects_at(
    known: BorderedNormalGamma | None,
    prior: BorderedNormalGamma,
    draws: Draws,
    groups: GroupRows,
) -> Float[np.ndarray, "draws experts responses rows"]:
    """What the effects of its group add to each row, in each draw.

    A draw has the same effect of a group wherever it is asked for: it is a function of the key of
    the draw, the number of the group, and the coefficients that all rows share.

    Parameters
    ----------
    known : BorderedNormalGamma or None
        Posterior of the effects, one for each expert; None for those of the prior.
    prior : BorderedNormalGamma
        Of one expert.
    draws : Mapping of str to ndarray
        ``coefficients``, ``precision`` and ``effect_key``; of draws from a prior whose scales are
        drawn too ``effect_scale``, what effects are multiplied by.
    groups : GroupRows
    """
    there, place = np.unique(groups.place, return_inverse=True)
    law, n_effects = prior if known is None else known, len(groups.values)
    numbers = there[None] * n_effects + np.arange(n_effects)[:, None]
    noise = numbered_normals(draws["effect_key"], numbers.ravel())
    noise = noise.reshape(*noise.shape[:-1], *numbers.shape)
    root = roots_of_blocks(law.within[..., there])
    into = "abg" if known is None else "kabg"
    drawn = np.einsum(f"{into},skrbg->skrag", root, noise)
    drawn /= np.sqrt(draws["precision"])[..., None, None]
    if known is not None:
        shift = draws["coefficients"] - known.border.mean
        drawn += known.effects[..., there]
        drawn -= np.einsum("kapg,skrp->skrag", known.regression[..., there], shift)
    if "effect_scale" in draws:
        drawn *= draws["effect_scale"][:, None, None, :, None]
    found: Float[np.ndarray, "draws experts responses rows"]
    found = GroupRows(place.ravel(), groups.values).linear(drawn)
    return found
