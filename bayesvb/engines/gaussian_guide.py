"""A Gaussian on unconstrained vectors, fitted by stochastic gradients of the lower bound in JAX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.engines.compiled import kept_for_equal
from bayesvb.numerics.array_library import AnyArray, ArrayFunction
from bayesvb.numerics.arrays import DrawParameters, DrawVector
from bayesvb.numerics.linalg import shrunken_covariance
from bayesvb.numerics.special import LOG_2PI

STEPS_AT_ONCE = 25
"""Steps between which the run accepts Ctrl-C and reports the ELBO."""

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-16
"""Decay rates of AdaBelief's moving averages, and the constant of its divisor; all as published."""


@dataclass(frozen=True)
class GaussianGuide:
    """``N(mean, root root')`` of unconstrained vectors.

    Attributes
    ----------
    mean : ndarray, shape (numbers,)
    root : ndarray, shape (numbers, numbers)
        Lower triangular, or diagonal.
    """

    mean: Float[np.ndarray, " numbers"]
    root: Float[np.ndarray, "numbers numbers"]

    @classmethod
    def of_draws(cls, vectors: DrawParameters, *, full: bool) -> GaussianGuide:
        """Gaussian with mean and variances of the vectors, if full with a share of covariances."""
        mean = vectors.mean(axis=0)
        if not full:
            return cls(mean, np.diag(np.sqrt(vectors.var(axis=0))))
        return cls(mean, np.linalg.cholesky(shrunken_covariance(vectors)))

    @property
    def entropy(self) -> float:
        """Entropy in nats."""
        log_det = np.log(np.diagonal(self.root)).sum()
        return float(log_det + 0.5 * len(self.mean) * (1.0 + LOG_2PI))

    def draws(self, n: int, rng: np.random.Generator) -> tuple[DrawParameters, DrawVector]:
        """Vectors, and their log densities."""
        noise = rng.standard_normal((n, len(self.mean)))
        log_det = np.log(np.diagonal(self.root)).sum()
        log_density = -0.5 * (noise**2).sum(axis=1) - 0.5 * len(self.mean) * LOG_2PI - log_det
        return self.mean + noise @ self.root.T, log_density


@dataclass(frozen=True)
class GuideFit:
    """Settings with which a guide is fitted.

    Attributes
    ----------
    full : bool
        Whether all covariances are free, or variances only.
    steps, particles : int
        Steps, and vectors of which each makes its gradient.
    learning_rate : float
        Size of the first steps.
    decaying : bool
        Whether steps become smaller, by a quarter of a cosine, down to none.
    """

    full: bool
    steps: int
    particles: int
    learning_rate: float
    decaying: bool

    def stages(
        self, potential: ArrayFunction, start: GaussianGuide, key: AnyArray, *given: AnyArray
    ) -> Iterator[tuple[int, float, GaussianGuide]]:
        """Steps so far, mean of the last estimates of the bound, and the guide, now and then.

        The potential is a function of a vector and of given arrays. Compiled functions are cached
        for an equal potential.

        References
        ----------
        Kucukelbir et al. (2017), Automatic differentiation variational inference, JMLR 18(14).
        Zhuang et al. (2020), AdaBelief optimizer, arXiv:2010.07468, algorithm 2.
        """
        import jax
        import jax.numpy as jnp

        advance = _compiled(potential, self)
        diagonal = jnp.log(jnp.diagonal(start.root))
        lower = jnp.tril(jnp.asarray(start.root), -1) if self.full else jnp.zeros(())
        values = (jnp.asarray(start.mean), diagonal, lower)
        zeros = jax.tree.map(jnp.zeros_like, values)
        state = (values, zeros, zeros)
        for first in range(0, self.steps, STEPS_AT_ONCE):
            numbers = jnp.arange(first, min(first + STEPS_AT_ONCE, self.steps))
            state, bounds = advance(state, numbers, key, given)
            mean, diagonal, lower = (np.asarray(value) for value in state[0])
            root = np.diag(np.exp(diagonal)) + (lower if self.full else 0.0)
            guide = GaussianGuide(mean, root)
            yield int(numbers[-1]) + 1, float(jnp.mean(bounds)), guide

    def advance(self, potential: ArrayFunction) -> ArrayFunction:
        """Some steps from a state: values of the guide and two moving averages of gradients."""
        import jax
        import jax.numpy as jnp

        def loss(values: AnyArray, noise: AnyArray, given: AnyArray) -> AnyArray:
            mean, diagonal, lower = values
            scaled = noise * jnp.exp(diagonal)
            vectors = mean + scaled + (noise @ jnp.tril(lower, -1).T if self.full else 0.0)
            each = jax.vmap(lambda vector: potential(vector, *given))(vectors)
            return each.mean() - diagonal.sum()

        constant = 0.5 * (1.0 + LOG_2PI)

        def step(state: AnyArray, number: AnyArray, key: AnyArray, given: AnyArray) -> AnyArray:
            values, first, second = state
            noise = jax.random.normal(
                jax.random.fold_in(key, number), (self.particles, len(values[0]))
            )
            loss_value, slope = jax.value_and_grad(loss)(values, noise, given)
            # One vector at which the density overflows must not end the fit.
            slope = jax.tree.map(lambda s: jnp.where(jnp.isfinite(s), s, 0.0), slope)
            values, first, second = self._believed(values, slope, first, second, number)
            return (values, first, second), constant * len(values[0]) - loss_value

        return lambda state, numbers, key, given: jax.lax.scan(
            lambda held, number: step(held, number, key, given), state, numbers
        )

    def _believed(
        self, values: AnyArray, slope: AnyArray, first: AnyArray, second: AnyArray, number: AnyArray
    ) -> AnyArray:
        """One step of AdaBelief: averages of gradients, over their spread about the average.

        Steps have the size of the rate whatever the gradient. A vector has as many covariances
        as numbers: theirs are smaller by the root of this, so that a step moves vectors about as
        far as one of mean and scales does.
        """
        import jax
        import jax.numpy as jnp

        one, two = FIRST_DECAY, SECOND_DECAY
        first = jax.tree.map(lambda m, s: one * m + (1.0 - one) * s, first, slope)
        second = jax.tree.map(
            lambda v, m, s: two * v + (1.0 - two) * (s - m) ** 2 + TINY, second, first, slope
        )
        share = jnp.cos(0.5 * jnp.pi * number / self.steps) if self.decaying else 1.0
        rate = self.learning_rate * share / (1.0 - one ** (number + 1.0))
        # Averages begin at zero; dividing by their total weight takes this bias out.
        whole = 1.0 - two ** (number + 1.0)
        sizes = (rate, rate, rate / np.sqrt(max(len(values[0]), 1)))
        moved = tuple(
            x - size * m / (jnp.sqrt(v / whole) + TINY)
            for x, m, v, size in zip(values, first, second, sizes, strict=True)
        )
        return moved, first, second


@kept_for_equal
def _compiled(potential: ArrayFunction, settings: GuideFit) -> ArrayFunction:
    """Several steps as a function of a state, their numbers, key, and given arrays."""
    import jax

    compiled: ArrayFunction = jax.jit(settings.advance(potential))
    return compiled
