"""Data sets: shipped tables and generators of simulated ones.

May import: errors, argument_checks.
"""

from .catalogue import Column, Description, describe, names
from .designs import AbstractClassSimulation, AbstractSimulation, Simulation
from .loading import load
from .pinwheel import Pinwheel
from .simulations import SIMULATIONS
from .waveform import Waveform

__all__ = [
    "SIMULATIONS",
    "AbstractClassSimulation",
    "AbstractSimulation",
    "Column",
    "Description",
    "Pinwheel",
    "Simulation",
    "Waveform",
    "describe",
    "load",
    "names",
]
