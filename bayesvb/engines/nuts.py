"""The No-U-Turn sampler, on unconstrained parameters with classes and latent vectors summed out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, check_count, check_flag, check_probability
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import AbstractEngine, Budget, EngineResult, RunProgress, StatsT
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.chains import Chains, ToldDraws, Transitions
from bayesvb.engines.compiled import kept_for_equal, potential_of
from bayesvb.engines.differentiated import (
    Target,
    check_differentiable,
    double_precision,
    jax_key,
)
from bayesvb.numerics.array_library import AnyArray
from bayesvb.numerics.arrays import DrawParameters, Floats
from bayesvb.numerics.linalg import shrunken_covariance
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.model import AnyModel, ModelOf

STARTS = ("optimum", "random")

DENSE_NUMBERS = 300
"""Default limit of unconstrained parameters for a mass matrix."""


@dataclass(frozen=True)
class Nuts(AbstractEngine):
    """Draws of the exact posterior by the No-U-Turn sampler of NumPyro.

    A run is a coordinate ascent: restarts find optima and rank them. Chains start at the kept one,
    and take their labels from it: if components are exchangeable a priori, each draw has the labels
    that agree best with the variational optimum. Densities are computed by ``model.log_joint``, on
    unconstrained parameters, in double precision.

    Attributes
    ----------
    chains : int
    warmup : int
        Steps of each chain before draws are kept, in which step size and masses are adapted.
    start : {"optimum", "random"}
        Where chains start: at draws from the variational posterior, or from the prior. Chains of
        a multimodal posterior that start at its best optimum tend to stay there; their R-hat
        knows nothing of other modes.
    target_accept : float
        Acceptance probability that the step size is adapted to; larger where transitions diverge.
    max_tree_depth : int
        A transition takes at most ``2^max_tree_depth`` steps.
    dense_mass : bool, optional
        Whether masses are a matrix, as strongly correlated parameters need (as in a softmax gate:
        the data identify only differences between components), or one number each. By default a
        matrix for up to ``DENSE_NUMBERS`` parameters.
    vectorized : bool
        Whether chains advance in step, which is faster for few rows; or one after the other, as is
        faster where all rows of all chains do not fit into the cache (networks of classes, say).

    References
    ----------
    Hoffman, Gelman (2014), The No-U-Turn sampler, JMLR 15, 1593-1623. Phan, Pradhan, Jankowiak
    (2019), Composable effects for flexible and accelerated probabilistic programming in NumPyro,
    arXiv:1912.11554.
    """

    title = "NUTS"
    posterior = "draws of the posterior"

    chains: int = 4
    warmup: int = 1000
    start: str = "optimum"
    target_accept: float = 0.8
    max_tree_depth: int = 10
    dense_mass: bool | None = None
    vectorized: bool = True

    def __post_init__(self) -> None:
        check_count("chains", self.chains)
        check_count("warmup", self.warmup)
        # A transition with this number of doublings has a billion gradients.
        check_count("max_tree_depth", self.max_tree_depth, most=30, what="that ever end")
        check_choice("start", self.start, STARTS)
        check_probability("target_accept", self.target_accept)
        check_flag("vectorized", self.vectorized)
        if self.dense_mass is not None:
            check_flag("dense_mass", self.dense_mass)

    def check(self, core: AnyModel) -> None:
        """Raise unless NumPyro is installed and the model can be differentiated."""
        check_differentiable(core, "nuts")

    def model_for(self, core: AnyModel) -> AnyModel:
        """The model whose draws hold the effects of groups."""
        return core.with_complete_draws()

    def run(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        start: StatsT,
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """A coordinate ascent."""
        return Cavi().run(model, source, start, budget, streams)

    def completed(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        result: EngineResult[StatsT],
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """The run with draws: ``budget.n_draws``, or more until chains are equally long.

        Progress reports steps of each chain and their mean log density. After Ctrl-C, the draws so
        far, if they suffice.
        """
        target, posterior = Target.of(model, source), model.update(result.stats)
        rng = streams.rng("start")
        # Draws of the variational posterior of which the first masses are made.
        n_near = max(1000, self.chains)
        near = target.space.vectors(model.draws(posterior, n_near, rng))
        starts = near if self.start == "optimum" else target.prior_vectors(self.chains, rng)
        n_each = -(-budget.n_draws // self.chains)
        with double_precision():
            sample, findings = self._sampled(
                target, starts[: self.chains], self._masses(near), n_each, streams, budget.progress
            )
            drawn = target.draws(sample.vectors)
        # Rows, about, on which draws are labelled as the variational optimum is.
        draws, n_moved = model.relabelled_draws(drawn, posterior, source.thinned(500))
        findings["relabelled"] = float(n_moved)
        completed = replace(
            result,
            draws=draws,
            n_chains=self.chains,
            findings=findings,
            sample_stats=sample.statistics,
        )
        return (
            replace(completed, interrupted=True, converged=False)
            if sample.interrupted
            else completed
        )

    def _masses(self, near: DrawParameters) -> Floats:
        """First inverse masses: variances, or covariances, of the variational posterior."""
        n_numbers = near.shape[1]
        dense = n_numbers <= DENSE_NUMBERS if self.dense_mass is None else self.dense_mass
        variances: Float[np.ndarray, " numbers"] = near.var(axis=0)
        if not dense:
            return variances
        return shrunken_covariance(near)

    def _sampled(
        self,
        target: Target,
        starts: Float[np.ndarray, "chains numbers"],
        inverse_masses: Floats,
        n_each: int,
        streams: EngineStreams,
        progress: RunProgress | None,
    ) -> tuple[ToldDraws, dict[str, float]]:
        """Draws of all chains, and findings of the sampler."""
        potential, arrays = potential_of(target)
        chains = Chains(_compiled(potential, self), inverse_masses, arrays)
        given = starts if self.chains > 1 else starts[0]
        sample = chains.sampled(
            jax_key(streams, "chains"), given, self.warmup, n_each, progress=progress
        )
        longest = 2**self.max_tree_depth - 1
        return sample, {
            "divergences": float(sample.statistics["diverging"].sum()),
            "longest_trees": float((sample.statistics["n_steps"] >= longest).sum()),
            "mean_steps": float(sample.statistics["n_steps"].mean()),
            "mean_acceptance": float(sample.statistics["acceptance_rate"].mean()),
        }


@kept_for_equal
def _compiled(potential: Callable[..., AnyArray], engine: Nuts) -> Transitions:
    """Start and transitions of chains as functions of inverse masses and arrays of the rows."""
    from numpyro.infer import NUTS

    def kernel(inverse_masses: AnyArray, arrays: AnyArray) -> AnyArray:
        return NUTS(
            potential_fn=lambda vector: potential(vector, arrays),
            target_accept_prob=engine.target_accept,
            max_tree_depth=engine.max_tree_depth,
            dense_mass=inverse_masses.ndim == 2,
            inverse_mass_matrix=inverse_masses,
        )

    in_turn = engine.chains > 1 and not engine.vectorized
    return Transitions.of(kernel, engine.chains, engine.warmup, in_turn=in_turn)
