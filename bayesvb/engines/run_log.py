"""Log of runs, from which a killed run continues."""

from __future__ import annotations

import abc
from collections.abc import Mapping

import numpy as np
from jaxtyping import Shaped

Arrays = Mapping[str, Shaped[np.ndarray, "..."]]


class AbstractRunLog(abc.ABC):
    """A log of the runs of one fit, by the place at which an engine runs.

    Runs are deterministic: states that were not stored are recomputed, bitwise identical.
    """

    @abc.abstractmethod
    def run(self, path: tuple[str, ...]) -> AbstractRunPage:
        """The page of the next run at this place."""


class AbstractRunPage(abc.ABC):
    """Log of one run."""

    @property
    @abc.abstractmethod
    def known(self) -> Arrays:
        """State that was written down by a run that was killed; empty if there is none."""

    @abc.abstractmethod
    def keep(self, state: Arrays) -> None:
        """Keep a state, and write it down if it is time to."""

    @abc.abstractmethod
    def write(self) -> None:
        """Write the latest state."""
