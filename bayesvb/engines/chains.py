"""Markov chains in pieces of several steps, with progress reports and Ctrl-C between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from jaxtyping import Float, Shaped

from bayesvb.engines.base import RunProgress
from bayesvb.numerics.array_library import AnyArray, ArrayFunction
from bayesvb.numerics.arrays import DrawParameters, Floats

PIECE = 100
"""Steps of a piece at most."""

ENOUGH = 50
"""Draws of each chain that are kept after Ctrl-C; with fewer it goes through."""

STATISTICS = {
    "energy": "energy",
    "diverging": "diverging",
    "n_steps": "num_steps",
    "acceptance_rate": "accept_prob",
    "step_size": "adapt_state.step_size",
}
"""ArviZ names of statistics of a step, and where NumPyro has them in the state of a chain."""

TOLD = ("z", "potential_energy", *STATISTICS.values())
"""Part of the state that is stored after each step."""


@dataclass(frozen=True)
class ToldDraws:
    """Draws of several chains, and the sampler's report on each step.

    Attributes
    ----------
    vectors : ndarray, shape (draws, numbers)
        One chain after the other.
    statistics : Mapping of str to ndarray, shape (draws,)
        By the names of ArviZ, in the order of ``vectors``.
    interrupted : bool
        Whether Ctrl-C ended it before there were as many as asked for.
    """

    vectors: DrawParameters
    statistics: Mapping[str, Shaped[np.ndarray, " draws"]]
    interrupted: bool = False


@dataclass(frozen=True)
class Transitions:
    """Compiled functions of chains.

    Attributes
    ----------
    begin : callable
        State of all chains, of keys, starts, first inverse masses and arrays of the rows.
    advance : callable
        State after several steps, at most ``PIECE``, and the report on each; from a state, their
        number, initial inverse masses and arrays.
    n_chains : int
    chains_first : bool
        Whether reports have chains before steps.
    """

    begin: ArrayFunction
    advance: ArrayFunction
    n_chains: int
    chains_first: bool

    @classmethod
    def of(
        cls,
        kernel: Callable[[AnyArray, AnyArray], AnyArray],
        n_chains: int,
        warmup: int,
        *,
        in_turn: bool,
    ) -> Transitions:
        """Transitions of a sampler of NumPyro, whose chains advance together or one after another.

        Parameters
        ----------
        kernel : callable
            A sampler, of first inverse masses and arrays of the rows.
        n_chains, warmup : int
        in_turn : bool
        """
        import jax
        import jax.numpy as jnp

        told_of = attrgetter(*TOLD)

        def begin(key: AnyArray, start: AnyArray, *given: AnyArray) -> AnyArray:
            return kernel(*given).init(key, warmup, start)

        def advance(state: AnyArray, count: AnyArray, *given: AnyArray) -> AnyArray:
            sampler = kernel(*given)
            sampler.init(state.rng_key, warmup, state.z)  # which makes its step

            def step(number: AnyArray, held: AnyArray) -> AnyArray:
                moved = sampler.sample(held[0], (), {})
                each = zip(held[1], told_of(moved), strict=True)
                return moved, tuple(all_.at[number].set(value) for all_, value in each)

            blank = [jnp.asarray(value) for value in told_of(state)]
            records = tuple(jnp.zeros((PIECE, *one.shape), one.dtype) for one in blank)
            return jax.lax.fori_loop(0, count, step, (state, records))

        if not in_turn:
            return cls(jax.jit(begin), jax.jit(advance), n_chains, chains_first=False)

        def each_begin(keys: AnyArray, starts: AnyArray, *given: AnyArray) -> AnyArray:
            return jax.lax.map(lambda own: begin(*own, *given), (keys, starts))

        def each_advance(states: AnyArray, count: AnyArray, *given: AnyArray) -> AnyArray:
            return jax.lax.map(lambda state: advance(state, count, *given), states)

        return cls(jax.jit(each_begin), jax.jit(each_advance), n_chains, chains_first=True)


@dataclass(frozen=True)
class Chains:
    """Chains of one target.

    Attributes
    ----------
    transitions : Transitions
    inverse_masses : ndarray
    arrays : tuple of ndarray
        Of the rows.
    """

    transitions: Transitions
    inverse_masses: Floats
    arrays: tuple[np.ndarray, ...]

    def sampled(
        self,
        key: AnyArray,
        starts: Float[np.ndarray, "*chains numbers"],
        warmup: int,
        n_each: int,
        *,
        progress: RunProgress | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> ToldDraws:
        """Draws of all chains after their warm-up.

        How long pieces are changes no draw.

        Raises
        ------
        KeyboardInterrupt
            If Ctrl-C comes before there are ``ENOUGH`` draws of each chain.
        """
        import jax

        several = self.transitions.n_chains > 1
        keys = jax.random.split(key, self.transitions.n_chains) if several else key
        given = self.inverse_masses, self.arrays
        pieces: list[tuple[np.ndarray, ...]] = []
        done, count, interrupted = 0, 1, False
        try:
            state = self.transitions.begin(keys, starts, *given)
            while done < warmup + n_each:
                count, began = min(count, warmup + n_each - done), clock()
                state, records = self.transitions.advance(state, count, *given)
                piece = self._by_step(records, count)
                done += count
                pieces.append(piece)
                if progress is not None:
                    progress(done, -float(piece[1][-1].mean()))
                count = next_count(count, clock() - began)
        except KeyboardInterrupt:
            interrupted = True
            if sum(len(piece[0]) for piece in pieces) < warmup + ENOUGH:
                raise
        whole = [np.concatenate(parts)[warmup:] for parts in zip(*pieces, strict=True)]
        vectors, _, *values = (_chain_after_chain(one) for one in whole)
        statistics = dict(zip(STATISTICS, values, strict=True))
        # As in ArviZ: doublings until the steps of the trajectory are as many.
        statistics["tree_depth"] = np.frexp(statistics["n_steps"])[1]
        return ToldDraws(vectors, statistics, interrupted)

    def _by_step(self, records: AnyArray, count: int) -> tuple[np.ndarray, ...]:
        """Reports, shape (steps, chains, ...)."""
        arrays = [np.asarray(one) for one in records]
        if self.transitions.chains_first:
            arrays = [np.moveaxis(one, 0, 1) for one in arrays]
        elif self.transitions.n_chains == 1:
            arrays = [one[:, None] for one in arrays]
        return tuple(one[:count].copy() for one in arrays)


def _chain_after_chain(
    values: Shaped[np.ndarray, "steps chains ..."],
) -> Shaped[np.ndarray, "draws ..."]:
    """Values of each step, of the first chain first."""
    return np.moveaxis(values, 0, 1).reshape(-1, *values.shape[2:])


def next_count(count: int, seconds: float) -> int:
    """Steps of the next piece, from the count and the seconds of the last one.

    Examples
    --------
    >>> next_count(10, 0.05), next_count(10, 1.0), next_count(80, 0.001)
    (20, 5, 100)
    """
    # At most halved or doubled: a piece that waited for another process says little.
    # Seconds that a piece is to take.
    factor = min(max(0.25 / max(seconds, 1e-9), 0.5), 2.0)
    return max(min(int(count * factor), PIECE), 1)
