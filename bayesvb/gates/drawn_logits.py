"""Drawn effects of groups on logits, made where rows ask for them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bayesvb.factors.normal import Normal
from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import AbstractDesign, DrawnEffects, GroupedDesign
from bayesvb.numerics.numbered_normals import LARGEST_KEY
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


def drawn_logit_effects(
    law: Normal, draws: Draws, design: AbstractDesign
) -> Float[np.ndarray, "draws logits rows"] | None:
    """Return what effects of groups add to the logits of rows; None if draws hold all of them.

    A draw has the same effect of a group wherever it is asked for: it is a function of the key of
    the draw, the number of the group, and the coefficients that all rows share.

    Parameters
    ----------
    law : Normal
        Distribution of the coefficients: of each logit, or of all logits as one vector.
    draws : Mapping of str to ndarray
        ``gate`` and, where effects have no columns, ``gate_effect_key``.
    design : AbstractDesign
    """
    return design.drawn_effects(_drawn_effects(law, draws))


def _drawn_effects(law: Normal, draws: Draws) -> DrawnEffects | None:
    """Return effects of groups by the keys of draws; None where draws have no keys."""
    if KEYS not in draws:
        return None
    gate, shape = draws["gate"], (len(draws["gate"]), len(law.mean), 1, -1)
    return law.operator.draw_effects(
        law.mean[:, None],
        gate.reshape(shape),
        draws[KEYS].reshape(shape),
        np.ones(shape[:3]),
        draws.get(EFFECT_SCALE),
    )


def completed_gate(law: Normal, draws: Draws) -> tuple[Draws, Float[np.ndarray, " draws"]]:
    """Return draws with the effects of all groups on the logits, and their log density.

    The density is that of effects given the coefficients that the draws hold.

    Parameters
    ----------
    law : Normal
        As of ``drawn_logit_effects``.
    draws : Mapping of str to ndarray
    """
    gate = draws["gate"]
    effects = _drawn_effects(law, draws)
    if effects is None:
        return draws, np.zeros(len(gate))
    operator = law.operator
    assert isinstance(operator, ArrowPrecision)
    every = effects(np.arange(operator.n_groups))
    n_draws, n_laws = len(gate), len(law.mean)
    parts = [gate.reshape(n_draws, n_laws, -1), every.reshape(n_draws, n_laws, -1)]
    density = law.effect_log_density(np.concatenate(parts, axis=2)).sum(axis=1)
    whole = np.concatenate([gate, every.reshape(*gate.shape[:2], -1)], axis=2)
    kept = {name: values for name, values in draws.items() if name != KEYS}
    return {**kept, "gate": whole}, density


def logit_covariance_at(
    law: Normal, design: AbstractDesign
) -> Float[np.ndarray, "rows logits logits"]:
    """Covariance of the logits of rows under one law of all logits together.

    The rows are of groups; effects of a group on all logits are those of one vector.
    """
    assert isinstance(design, GroupedDesign)
    operator = law.operator
    assert isinstance(operator, ArrowPrecision)
    groups, x = design.groups, design.border
    n_effects, (n_terms, n_rows) = len(groups.values), x.shape
    n_logits = operator.n_shared // n_terms
    own = groups.at_rows(operator.regression[0]).reshape(n_logits, n_effects, -1, n_rows)
    lean = -np.einsum("kapn,an->nkp", own, groups.values)
    for logit in range(n_logits):
        lean[:, logit, logit * n_terms : (logit + 1) * n_terms] += x.T
    within = groups.at_rows(operator.within[0])
    within = within.reshape(n_logits, n_effects, n_logits, n_effects, n_rows)
    alone = np.einsum("kalbn,an,bn->nkl", within, groups.values, groups.values)
    return np.asarray(alone + lean @ operator.marginal.inverse @ lean.swapaxes(1, 2))
