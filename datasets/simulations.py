"""The simulation designs: equations on one page, and the table of them all.

Each design has ``sample(n, rng)`` and the true ``log_density(frame)``; those with a real response
also ``cdf``, ``mean`` and ``quantile``, those with classes ``probabilities``.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy import special

from .designs import AbstractSimulation, Simulation
from .laws import BetaLaw, NormalMixture, normal_mixture
from .pinwheel import Pinwheel
from .waveform import Waveform

__all__ = [
    "SIMULATIONS",
    "beta1",
    "beta2",
    "bimodal",
    "dpmix1",
    "dpmix2",
    "pinwheel",
    "two_experts",
    "waveform",
]


def _standard_normal(rng: np.random.Generator, n: int) -> Float[np.ndarray, " rows"]:
    return rng.standard_normal(n)


def _unit(rng: np.random.Generator, n: int) -> Float[np.ndarray, " rows"]:
    return rng.random(n)


def _inner(rng: np.random.Generator, n: int) -> Float[np.ndarray, " rows"]:
    return rng.uniform(0.05, 0.95, n)


def _symmetric(rng: np.random.Generator, n: int) -> Float[np.ndarray, " rows"]:
    return rng.uniform(-2.0, 2.0, n)


def _bimodal(x: Float[np.ndarray, " rows"]) -> NormalMixture:
    return normal_mixture((0.5, x - 1.5, 0.5), (0.5, x + 1.5, 1.0))


def _dpmix1(x: Float[np.ndarray, " rows"]) -> NormalMixture:
    return normal_mixture((1.0, -1 + 2 * x, 0.1))


def _dpmix2(x: Float[np.ndarray, " rows"]) -> NormalMixture:
    first = np.exp(-2 * x)
    return normal_mixture((first, x, 0.1), (1 - first, -2 * x, 0.2))


def _two_experts(x: Float[np.ndarray, " rows"]) -> NormalMixture:
    first = special.expit(0.3 + x)
    return normal_mixture((first, 1 + 1.5 * x, 0.5), (1 - first, -1 - x, 0.8))


def _beta1(x1: Float[np.ndarray, " rows"], x2: Float[np.ndarray, " rows"]) -> BetaLaw:
    return BetaLaw(4 * x1 + 3 * x2**2, 10 * x2)


def _beta2(
    x1: Float[np.ndarray, " rows"],
    x2: Float[np.ndarray, " rows"],
    x3: Float[np.ndarray, " rows"],
    x4: Float[np.ndarray, " rows"],
) -> BetaLaw:
    return BetaLaw(5 * x2 * np.exp(2 * x1), 5 * x3 + 3 * x4)


bimodal = Simulation(("x",), _standard_normal, _bimodal)
dpmix1 = Simulation(("x",), _unit, _dpmix1)
dpmix2 = Simulation(("x",), _unit, _dpmix2)
two_experts = Simulation(("x",), _symmetric, _two_experts)
beta1 = Simulation(("x1", "x2"), _inner, _beta1)
beta2 = Simulation(("x1", "x2", "x3", "x4"), _inner, _beta2)
pinwheel = Pinwheel()
waveform = Waveform()

SIMULATIONS: dict[str, AbstractSimulation] = {
    "bimodal": bimodal,
    "dpmix1": dpmix1,
    "dpmix2": dpmix2,
    "two_experts": two_experts,
    "beta1": beta1,
    "beta2": beta2,
    "pinwheel": pinwheel,
    "waveform": waveform,
}
