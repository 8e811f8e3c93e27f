"""Random streams by name: the use of a seed for each purpose, so that no two streams coincide.

A stream is the seed with a key behind it. Keys are of four kinds that cannot be equal: numbers
that children of the seed have, numbers of ``NUMBERS``, sizes, and paths of names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bayesvb.numerics.arrays import Indices

Name = Literal["replicates", "importance", "stacking", "pruning", "prior"]

NUMBERS: dict[Name, int] = {
    "replicates": 1,
    "importance": 2,
    "stacking": 3,
    "pruning": 4,
    "prior": 5,
}
"""Key of each stream of a finished fit: data replicated for ArviZ, draws chosen by importance
weights, the order of stacked draws, draws after components were pruned, draws from the prior."""

ROWS, RELIABILITY = 1, 2
"""Last word of the key of streams that go by a size which is as small as a number above."""


@dataclass(frozen=True)
class Streams:
    """Random numbers of a fit, by purpose; the same ones at each request.

    Attributes
    ----------
    seed : int
    restarts : int
        Runs that the fit asked for; a finished fit needs no number here.

    Examples
    --------
    >>> streams = Streams(seed=1)
    >>> bool(streams.rng("prior").random() == streams.rng("prior").random())
    True
    >>> bool(streams.rng("prior").random() == streams.rng("pruning").random())
    False
    """

    seed: int
    restarts: int = 0

    def start(self, number: int) -> np.random.Generator:
        """Stream for the initial partition of a run, by the number of the run from 0."""
        if not 0 <= number < self.restarts:
            raise ValueError(f"number={number} is not one of {self.restarts} restarts")
        return self._child(number)

    def screening(self) -> np.random.Generator:
        """Sample of many rows on which starts are compared."""
        return self._child(self.restarts)

    def draws(self) -> np.random.Generator:
        """Draws from the posterior; the same standard normals for every run."""
        return self._child(self.restarts + 1)

    def response_rows(self) -> np.random.Generator:
        """Sample of many rows of which a linear response is made."""
        return self._child(self.restarts + 2)

    def rng(self, name: Name) -> np.random.Generator:
        """One of the streams of a finished fit."""
        return np.random.default_rng([self.seed, NUMBERS[name]])

    def rows(self, most: int, n_all: int) -> np.random.Generator:
        """Stream for a sample of ``most`` of ``n_all`` rows; for all of them there is none."""
        if not most < n_all:
            raise ValueError(f"most={most} must be below the number of rows, {n_all}")
        return self._sized(most, ROWS)

    def sample(self, most: int, n_all: int) -> Indices:
        """Positions of at most this number of rows in their order, chosen at random if need be."""
        if n_all <= most:
            return np.arange(n_all)
        return np.sort(self.rows(most, n_all).choice(n_all, size=most, replace=False))

    def reliability(self, n_all: int) -> np.random.Generator:
        """Stream for the rows of reliability curves, and for simulated classes.

        It has the key of a sample of this number of rows, which a fit to them never draws.
        """
        return self._sized(n_all, RELIABILITY)

    def replicated_sets(self, n_rows: int, n_sets: int) -> np.random.Generator:
        """Replicated data sets at a choice of rows."""
        if n_sets < 1:
            raise ValueError(f"n_sets={n_sets} must be at least 1")
        return np.random.default_rng([self.seed, n_rows, n_sets])

    def branch(self, *names: str | int) -> EngineStreams:
        """Streams for one place in the code, whatever names it uses."""
        return EngineStreams(self.seed).branch(*names)

    def _child(self, number: int) -> np.random.Generator:
        """Stream of a child that ``SeedSequence(seed).spawn`` would give."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))

    def _sized(self, size: int, use: int) -> np.random.Generator:
        key = [size] if size > max(NUMBERS.values()) else [size, 0, use]
        return np.random.default_rng([self.seed, *key])


@dataclass(frozen=True)
class EngineStreams:
    """Random numbers of one run of an engine, by names of the engine's own.

    Attributes
    ----------
    seed : int
    path : tuple of str
        Names of the place at which the engine runs.

    Examples
    --------
    >>> run = Streams(seed=1).branch("restart", 3)
    >>> run.path
    ('restart', '3')
    >>> bool(run.rng("rows").random() == run.rng("draws").random())
    False
    """

    seed: int
    path: tuple[str, ...] = ()

    def branch(self, *names: str | int) -> EngineStreams:
        """Streams of a place within this one."""
        return EngineStreams(self.seed, (*self.path, *map(str, names)))

    def rng(self, name: str) -> np.random.Generator:
        """The stream of this name; the same one each time.

        The letters themselves are the key, each name after a word that is not a letter: different
        paths have different keys, and none is as short as a child's.
        """
        key = tuple(word for part in (*self.path, name) for word in (0, *part.encode(), 256))
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
