"""Drawn effects of groups on logits, made where rows ask for them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bayesvb.data.group_rows import GroupRows
from bayesvb.factors.bordered_normal import BorderedNormal
from bayesvb.numerics.numbered_normals import LARGEST_KEY, numbered_normals
from bayesvb.numerics.small_blocks import roots_of_blocks
from bayesvb.variational.local import Draws

KEYS = "gate_effect_key"
"""Name of the draws' keys, of which effects of groups are functions."""

EFFECT_SCALE = "gate_effect_scale"
"""Name of what effects are multiplied by, in draws from a prior whose scales are drawn too."""


def effect_keys(
    n: int, n_logits: int, rng: np.random.Generator
) -> dict[str, Float[np.ndarray, "draws logits"]]:
    """A key for each draw and logit."""
    return {KEYS: rng.integers(0, LARGEST_KEY, (n, n_logits)).astype(float)}


def logit_effects_at(
    law: BorderedNormal, draws: Draws, groups: GroupRows
) -> Float[np.ndarray, "draws logits rows"]:
    """What the effects of its group add to the logits of each row, in each draw.

    A draw has the same effect of a group wherever it is asked for: it is a function of the key of
    the draw, the number of the group, and the coefficients that all rows share.

    Parameters
    ----------
    law : BorderedNormal
        Of the effects given the other coefficients: one of each logit, or one of all together.
    draws : Mapping of str to ndarray
        ``gate`` and ``gate_effect_key``.
    groups : GroupRows
    """
    there, place = np.unique(groups.place, return_inverse=True)
    n_effects, n_logits = len(groups.values), draws[KEYS].shape[1]
    numbers = there[None] * n_effects + np.arange(n_effects)[:, None]
    noise = numbered_normals(draws[KEYS], numbers.ravel())
    noise = noise.reshape(-1, *law.effects.shape[:-1], len(there))
    drawn = np.einsum("kabg,skbg->skag", roots_of_blocks(law.within[..., there]), noise)
    drawn += law.effects[..., there]
    shift = draws["gate"].reshape(-1, *law.mean.shape) - law.mean
    drawn -= np.einsum("kapg,skp->skag", law.regression[..., there], shift)
    drawn = drawn.reshape(-1, n_logits, n_effects, len(there))
    if EFFECT_SCALE in draws:
        drawn *= draws[EFFECT_SCALE][:, None, :, None]
    return GroupRows(place.ravel(), groups.values).linear(drawn)


def logit_covariance_at(
    law: BorderedNormal, design: Float[np.ndarray, "terms rows"], groups: GroupRows
) -> Float[np.ndarray, "rows logits logits"]:
    """Covariance of the logits of rows under one law of all logits together."""
    n_effects, (n_terms, n_rows) = len(groups.values), design.shape
    n_logits = law.mean.shape[1] // n_terms
    own = groups.at_rows(law.regression[0]).reshape(n_logits, n_effects, -1, n_rows)
    lean = -np.einsum("kapn,an->nkp", own, groups.values)
    for logit in range(n_logits):
        lean[:, logit, logit * n_terms : (logit + 1) * n_terms] += design.T
    within = groups.at_rows(law.within[0])
    within = within.reshape(n_logits, n_effects, n_logits, n_effects, n_rows)
    alone = np.einsum("kalbn,an,bn->nkl", within, groups.values, groups.values)
    return np.asarray(alone + lean @ law.border.covariance @ lean.swapaxes(1, 2))
