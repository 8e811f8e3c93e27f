"""Breiman's waveforms: three classes of noisy mixtures of two of three triangular waves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import special

from .designs import AbstractClassSimulation, read_columns

__all__ = ["Waveform"]

_POSITIONS = np.arange(1, 22)
_FIRST, _SECOND, _THIRD = (np.maximum(6.0 - np.abs(_POSITIONS - peak), 0.0) for peak in (7, 15, 11))
_PAIRS = ((_FIRST, _SECOND), (_FIRST, _THIRD), (_SECOND, _THIRD))


@dataclass(frozen=True)
class Waveform(AbstractClassSimulation):
    """Waveform recognition, x = u h + (1 − u) h′ + ε with u ~ U(0, 1) and ε ~ N(0, I₂₁).

    The waves are triangles of height 6 with peaks at positions 7, 15 and 11. Class 0 mixes the
    first two, class 1 the first and the third, class 2 the last two; they are equally likely.
    The best possible classifier is wrong in 13 percent of the cases.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees,
    section 2.6.2.

    Examples
    --------
    >>> from bayesvb.datasets import load
    >>> load("waveform", n=5, seed=1).shape
    (5, 22)
    """

    @property
    def labels(self) -> tuple[str, ...]:
        return ("0", "1", "2")

    def sample(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        code = rng.integers(len(_PAIRS), size=n)
        u = rng.random((n, 1))
        pair: np.ndarray = np.array(_PAIRS)[code]
        noise = rng.standard_normal((n, _POSITIONS.size))
        return self.labelled(u * pair[:, 0] + (1 - u) * pair[:, 1] + noise, code)

    def log_class_densities(self, frame: pd.DataFrame) -> Float[np.ndarray, "rows classes"]:
        """Log density of each row's 21 values in each class."""
        x = read_columns(frame, [f"x{i}" for i in _POSITIONS])
        constant = 0.5 * _POSITIONS.size * np.log(2 * np.pi)
        return np.asarray(
            np.stack([_log_segment(x - end, start - end) for start, end in _PAIRS], 1) - constant
        )


def _log_segment(
    x: Float[np.ndarray, "rows terms"], step: Float[np.ndarray, " terms"]
) -> Float[np.ndarray, " rows"]:
    """Logarithm of ∫₀¹ exp(−½ |x − u step|²) du, a normal integral once the square is completed."""
    length = np.sqrt(step @ step)
    along = x @ step / length
    away = np.sum(x**2, axis=1) - along**2
    return np.asarray(
        -0.5 * away + 0.5 * np.log(2 * np.pi) - np.log(length) + _log_normal(-along, length)
    )


def _log_normal(low: Float[np.ndarray, " rows"], width: float) -> Float[np.ndarray, " rows"]:
    """Logarithm of Φ(low + width) − Φ(low), without cancellation in the upper tail."""
    low = np.where(low > 0, -(low + width), low)
    top = special.log_ndtr(low + width)
    result: np.ndarray = top + np.log1p(-np.exp(special.log_ndtr(low) - top))
    return result
