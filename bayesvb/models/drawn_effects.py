"""Effects of groups in draws that hold keys instead: the same ones wherever rows ask for them.

An effect is a function of the key of its draw, of the number of its group, and of the coefficients
that the draw holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.experts.drawn_lines import LINE_EFFECTS
from bayesvb.factors.normal import Normal
from bayesvb.gates.gaussian_logits import LOGIT_EFFECTS
from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import DrawnEffects, GroupRows
from bayesvb.numerics.arrays import DrawVector
from bayesvb.numerics.numbered_normals import LARGEST_KEY
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.local import Draws

EFFECT_KEY = "effect_key"
"""Name of the keys of effects on the lines, in draws."""

EFFECT_SCALE = "effect_scale"
"""Name of factors of these effects, in draws of which prior scales are drawn too."""

GATE_EFFECT_KEY = "gate_effect_key"
"""Name of the keys of effects on the logits, in draws."""

GATE_EFFECT_SCALE = "gate_effect_scale"
"""Name of factors of these effects, in draws from a prior whose scales are drawn too."""


def with_line_keys(draws: Draws, rng: np.random.Generator) -> Draws:
    """Return draws with a key of the effects on each line."""
    keys = rng.integers(0, LARGEST_KEY, draws["precision"].shape).astype(float)
    return {**draws, EFFECT_KEY: keys}


def with_gate_keys(draws: Draws, n_logits: int, rng: np.random.Generator) -> Draws:
    """Return draws with a key of the effects on each logit."""
    keys = rng.integers(0, LARGEST_KEY, (len(draws["gate"]), n_logits)).astype(float)
    return {**draws, GATE_EFFECT_KEY: keys}


@dataclass(frozen=True)
class DrawnVectors:
    """Drawn vectors of coefficients that lack the effects of groups.

    Attributes
    ----------
    law : Normal
        Distribution of all coefficients, in units of the noise: of each vector, or of several
        vectors as one.
    shared : ndarray, shape (draws, laws, shared)
        Coefficients that all rows share.
    keys : ndarray, shape (draws, laws, vectors of a law)
    precision : ndarray, shape (draws, laws)
        Precision of the noise.
    factors : ndarray, shape (draws, effects) or (draws, effects, effects), or None
        As of ``AbstractPrecision.draw_effects``.
    """

    law: Normal
    shared: Float[np.ndarray, "draws laws shared"]
    keys: Float[np.ndarray, "draws laws vectors"]
    precision: Float[np.ndarray, "draws laws"]
    factors: Float[np.ndarray, "draws effects *more"] | None

    @property
    def effects(self) -> DrawnEffects:
        """Effects of some groups, by their numbers."""
        effects = self.law.operator.draw_effects(
            self.law.mean[..., None, :],
            self.shared[:, :, None],
            self.keys[:, :, None],
            1.0 / np.sqrt(self.precision[:, :, None]),
            self.factors,
        )
        assert effects is not None, "vectors with keys have effects of groups"
        return effects

    def completed(self) -> tuple[Float[np.ndarray, "draws vectors effects"], DrawVector]:
        """Return effects of all groups, vector by vector, and their log density.

        The density is conditional on the coefficients and the noise in the draws.
        """
        operator = self.law.operator
        assert isinstance(operator, ArrowPrecision)
        every = self.effects(np.arange(operator.n_groups))
        effects = every.reshape(*self.shared.shape[:2], -1)
        whole = np.concatenate([self.shared, effects], axis=-1)
        pull = operator.effects_quadratic((whole - self.law.mean)[..., None, :])[..., 0]
        log_scale = effects.shape[-1] * (np.log(self.precision) - LOG_2PI)
        density = 0.5 * (log_scale + operator.effects_log_det - self.precision * pull)
        return every.reshape(*every.shape[:2], -1), np.asarray(density.sum(axis=1))


@dataclass(frozen=True)
class EffectLaws:
    """Distributions that effects of groups in draws are from.

    Attributes
    ----------
    lines : tuple of Normal
        Distribution of the coefficients of each response in units of its noise: the posterior of
        all lines, or the prior of one.
    logits : Normal or None
        Distribution of the coefficients of each logit, or of all logits as one vector.
    """

    lines: tuple[Normal, ...]
    logits: Normal | None = None

    def _lines(self, draws: Draws) -> list[DrawnVectors]:
        """Drawn lines of each response; none where draws hold the effects on them."""
        if EFFECT_KEY not in draws:
            return []
        factors, precision = draws.get(EFFECT_SCALE), draws["precision"]
        return [
            DrawnVectors(
                law,
                draws["coefficients"][:, :, i],
                draws[EFFECT_KEY][:, :, i, None],
                precision[:, :, i],
                factors,
            )
            for i, law in enumerate(self.lines)
        ]

    def _logits(self, draws: Draws) -> list[DrawnVectors]:
        """Drawn logits; none where draws hold the effects on them."""
        law = self.logits
        if GATE_EFFECT_KEY not in draws or law is None:
            return []
        gate = draws["gate"]
        shape = (len(gate), len(law.mean))
        keys, factors = draws[GATE_EFFECT_KEY], draws.get(GATE_EFFECT_SCALE)
        shared, keys = gate.reshape(*shape, -1), keys.reshape(*shape, -1)
        return [DrawnVectors(law, shared, keys, np.ones(shape), factors)]

    def at_lines(self, draws: Draws, block: Block) -> Draws:
        """Return draws with what effects of groups add to the lines of these rows."""
        lines = self._lines(draws)
        if not lines:
            return draws
        rows = GroupRows.from_matrix(block.designs[GROUP_ROWS])
        each = [rows.drawn(line.effects) for line in lines]
        return {**draws, LINE_EFFECTS: np.stack(each, axis=2)}

    def at_logits(self, draws: Draws, block: Block) -> Draws:
        """Return draws with what effects of groups add to the logits of these rows."""
        logits = self._logits(draws)
        if not logits:
            return draws
        rows = GroupRows.from_matrix(block.designs[GATE_GROUPS])
        return {**draws, LOGIT_EFFECTS: rows.drawn(logits[0].effects)}

    def completed(self, draws: Draws) -> tuple[Draws, DrawVector]:
        """Return draws with the effects of all groups, and the log density of these effects."""
        complete, density = dict(draws), np.zeros(len(next(iter(draws.values()))))
        lines, logits = self._lines(draws), self._logits(draws)
        if lines:
            each, densities = zip(*(line.completed() for line in lines), strict=True)
            coefficients = [complete["coefficients"], np.stack(each, axis=2)]
            complete["coefficients"] = np.concatenate(coefficients, axis=-1)
            density = density + sum(densities)
            del complete[EFFECT_KEY]
        for logit in logits:
            effects, of_logits = logit.completed()
            complete["gate"] = np.concatenate([complete["gate"], effects], axis=-1)
            density = density + of_logits
            del complete[GATE_EFFECT_KEY]
        return complete, density
