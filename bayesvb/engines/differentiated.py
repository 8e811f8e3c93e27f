"""The log joint density of a model on unconstrained vectors, compiled and differentiated by JAX.

JAX and NumPyro are imported inside functions: without the extra ``mcmc`` everything else works.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.errors import DataError
from bayesvb.numerics.array_library import AnyArray
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel
from bayesvb.variational.parameter_space import ParameterSpace


def check_differentiable(core: AnyModel, method: str) -> None:
    """Raise unless NumPyro is installed and the model can be differentiated.

    Raises
    ------
    DataError
        With the command that installs NumPyro, or the methods that the model has.
    """
    if importlib.util.find_spec("numpyro") is None:
        raise DataError(
            f"method={method!r} needs NumPyro, which is not installed",
            hint='pip install "bayesvb[mcmc]"',
        )
    if core.with_complete_draws().parameter_space() is None:
        raise DataError(
            f"method={method!r} is not available for this model: a part of "
            "it has no derivatives of the log joint density",
            hint="choose method='cavi'; user-defined parts must also accept arrays of JAX",
        )


@contextmanager
def double_precision() -> Iterator[None]:
    """Double precision in JAX inside the block; the setting outside is restored."""
    import jax

    if hasattr(jax, "enable_x64"):
        context = jax.enable_x64(True)
    else:  # older versions of JAX
        from jax.experimental import enable_x64

        context = enable_x64(True)
    with context:
        yield


def jax_key(streams: EngineStreams, name: str) -> AnyArray:
    """Key of JAX's random numbers, from the stream of this name."""
    import jax

    return jax.random.PRNGKey(int(streams.rng(name).integers(2**63)))


@dataclass(frozen=True)
class Target:
    """Target of sampling: log prior plus log likelihood plus log volume, of unconstrained vectors.

    Attributes
    ----------
    model : AbstractVariationalModel
        With a parameter space.
    space : ParameterSpace
    rows : Block
        All rows.
    """

    model: AnyModel
    space: ParameterSpace
    rows: Block

    @classmethod
    def of(cls, model: AnyModel, source: AbstractSource) -> Target:
        """The joint density of the model and of all rows, in one block."""
        space = model.parameter_space()
        assert space is not None, "checked before the first run"
        return cls(model, space, source.whole())

    def log_densities(self, vectors: AnyArray) -> AnyArray:
        """Log density of each vector, for arrays of NumPy or of JAX."""
        draws, log_volume = self.space.draws(vectors)
        log_lik, weight = self.model.log_lik(draws, self.rows), self.rows.weight
        total = log_lik.sum(axis=1) if weight is None else log_lik @ weight
        return total + self.model.log_prior(draws) + log_volume

    def potential(self, vector: AnyArray) -> AnyArray:
        """Negative log density of one vector."""
        return -self.log_densities(vector[None])[0]

    def draws(self, vectors: AnyArray) -> Draws:
        """Parameters that these unconstrained vectors represent, as NumPy arrays."""
        draws, _ = self.space.draws(np.asarray(vectors))
        return {name: np.array(values) for name, values in draws.items()}

    def prior_vectors(
        self, n: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "vectors numbers"]:
        """Vectors drawn from the prior, at which the log density is finite.

        Raises
        ------
        DataError
            Hardly any draw of the prior has one.
        """
        with np.errstate(all="ignore"):
            vectors = self.space.vectors(self.model.prior_draws(50 * n, rng))
            usable = [one for one in vectors if np.isfinite(self.potential(one))]
        if len(usable) < n:
            raise DataError(
                f"start='random': the log joint density is finite at {len(usable)} of {50 * n} "
                "draws of the prior",
                hint="choose start='optimum', or a narrower prior",
            )
        return np.stack(usable[:n])
