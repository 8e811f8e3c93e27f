"""Parallel tempering: ladders of chains whose likelihoods have smaller and smaller powers.

Neighbours of a ladder exchange places after every transition, so that the chain of the posterior
itself reaches regimes between which it could not walk. One power makes it plain HMC.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from bayesvb.engines.hamiltonian import Hamiltonian, StepSize, Walkers, inverse_mass_root
from bayesvb.numerics.arrays import DrawParameters
from bayesvb.variational.reduced_space import AbstractReducedSpace

POWERS = (1.0, 0.75, 0.55, 0.4)
"""Powers of the likelihood in a ladder."""

WARM_UP = (25, 30, 40, 25)
"""Transitions of the warm-up: masses are adapted after each piece but the last."""

FEWEST_KEPT = 50
"""Fewest draws of each chain that Ctrl-C keeps; with fewer it interrupts the program."""


@dataclass(frozen=True)
class ChainDraws:
    """Draws of the chains of the posterior.

    Attributes
    ----------
    vectors : ndarray, shape (chains, draws, numbers)
    log_density : ndarray, shape (chains, draws)
    interrupted : bool
        Whether Ctrl-C ended it before there were as many as asked for.
    """

    vectors: Float[np.ndarray, "chains draws numbers"]
    log_density: Float[np.ndarray, "chains draws"]
    interrupted: bool = False


@dataclass(frozen=True)
class Ladders:
    """Chains of a reduced space, with all temperatures of a ladder in one array.

    Attributes
    ----------
    space : AbstractReducedSpace
    powers : tuple of float
        Of each ladder, the first of them one.
    n_ladders : int
    """

    space: AbstractReducedSpace
    powers: tuple[float, ...] = POWERS
    # Ladders, and chains of the posterior.
    n_ladders: int = 16

    def sample(self, starts: DrawParameters, n_each: int, rng: np.random.Generator) -> ChainDraws:
        """Draw ``n_each`` times from each chain, after a warm-up from rows of ``starts``.

        Raises
        ------
        KeyboardInterrupt
            If Ctrl-C comes before there are ``FEWEST_KEPT`` draws of each chain.
        """
        state = self._warm_up(starts, rng)
        vectors: list[np.ndarray] = []
        densities: list[np.ndarray] = []
        try:
            for _ in range(n_each):
                state = self._advance(state, rng, adapt=False)
                vectors.append(state.walkers.vectors[self.cold])
                densities.append(state.walkers.log_density(state.moves.powers)[self.cold])
        except KeyboardInterrupt:
            if len(densities) < FEWEST_KEPT:
                raise
        n_done = len(densities)
        return ChainDraws(
            np.stack(vectors[:n_done], axis=1), np.stack(densities, axis=1), n_done < n_each
        )

    @property
    def cold(self) -> slice:
        """Chains of the posterior itself."""
        return slice(0, None, len(self.powers))

    def _warm_up(self, starts: DrawParameters, rng: np.random.Generator) -> _State:
        """Chains after masses and step size are adapted."""
        powers, n_chains = np.tile(self.powers, self.n_ladders), self.n_ladders * len(self.powers)
        # Starting points from whose spread the first mass matrix is estimated.
        near = Walkers.at(self.space, starts[:400])
        slopes = near.row_slopes + near.prior_slopes
        usable = np.isfinite(slopes).all(axis=1)
        # Masses from starts and slopes: the first transitions then already have the scale.
        root = inverse_mass_root(near.vectors[usable], slopes[usable])
        chosen = rng.choice(len(starts), n_chains, replace=len(starts) < n_chains)
        # At a given acceptance steps scale as d^(-1/4) (Beskos et al. 2013, Bernoulli 19(5A)).
        first = np.log(0.6 * self.space.size**-0.25)
        # Acceptance probability to which step sizes are adapted.
        state = _State(
            Walkers.at(self.space, starts[chosen]),
            Hamiltonian(self.space, powers, root),
            StepSize.first(first, 0.8),
        )
        for n_steps in WARM_UP[:-1]:
            places, gradients = [], []
            for number in range(n_steps):
                state = self._advance(state, rng, adapt=True)
                # The first quarter still remembers where chains started.
                if number >= n_steps // 4:
                    places.append(state.walkers.vectors[self.cold])
                    gradients.append(state.walkers.gradient(powers)[self.cold])
            state = state.with_masses(np.concatenate(places), np.concatenate(gradients))
        for _ in range(WARM_UP[-1]):
            state = self._advance(state, rng, adapt=True)
        return replace(state, step=state.step.settled())

    def _advance(self, state: _State, rng: np.random.Generator, *, adapt: bool) -> _State:
        """Chains after a transition, and an exchange of neighbours."""
        number = state.number + 1
        walkers, acceptance = state.moves.transition(
            state.walkers, state.step.log_step, number, rng
        )
        step = state.step.adapted(acceptance) if adapt else state.step
        walkers = self._exchange(walkers, number % 2, rng)
        return replace(state, walkers=walkers, step=step, number=number)

    def _exchange(self, walkers: Walkers, first: int, rng: np.random.Generator) -> Walkers:
        """Chains after each second pair of neighbours may have changed places."""
        size = len(self.powers)
        pairs = np.arange(first, size - 1, 2)
        if not len(pairs):
            return walkers
        upper = (np.arange(self.n_ladders)[:, None] * size + pairs).ravel()
        powers = np.tile(self.powers, self.n_ladders)
        gain = walkers.log_lik[upper + 1] - walkers.log_lik[upper]
        # Metropolis ratio of an exchange: priors cancel, likelihoods differ by their powers.
        ratio = (powers[upper] - powers[upper + 1]) * gain
        chosen = upper[np.log(rng.random(len(ratio))) < ratio]
        order = np.arange(len(powers))
        order[chosen], order[chosen + 1] = chosen + 1, chosen
        return walkers.taken(order)


@dataclass(frozen=True)
class _State:
    """Chains with what moves them."""

    walkers: Walkers
    moves: Hamiltonian
    step: StepSize
    number: int = field(default=0)

    def with_masses(self, vectors: DrawParameters, gradients: DrawParameters) -> _State:
        """Chains with masses from these draws, and a step size that adapts from scratch."""
        root = inverse_mass_root(vectors, gradients)
        most = np.log(0.8 * self.moves.space.size**-0.25)
        log_step = min(most, self.step.settled().log_step + 0.7)
        return replace(
            self,
            moves=replace(self.moves, root=root),
            step=StepSize.first(log_step, self.step.goal),
        )
