"""One replication: parameters, data and fit, and where the truth stands among the draws."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.estimators.base import AbstractEstimator
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.numerics.streams import EngineStreams
from bayesvb.results.named_draws import count
from bayesvb.studies.quantities import Quantities
from bayesvb.studies.quiet_fits import in_one_line, quiet_fit
from bayesvb.studies.simulated_rows import Simulation


@dataclass(frozen=True)
class Replication:
    """Result of one data set.

    Attributes
    ----------
    number : int
        Counted from 0.
    seconds : float
    ranks : tuple of int or None
        Number of draws that are smaller than the true value, by quantity; None without a fit.
    n_draws : int
    converged : bool
    covariance : str
        Source of the draws.
    problem : str
        Reason why ranks are missing; empty if they exist.
    """

    number: int
    seconds: float
    ranks: tuple[int, ...] | None = None
    n_draws: int = 0
    converged: bool = False
    covariance: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Replicator:
    """All that a replication needs besides its number; it travels to other processes.

    Attributes
    ----------
    model : AbstractEstimator
        Its design and scales stay; only its rows are exchanged.
    simulation : Simulation
    quantities : Quantities
    options : mapping
        Arguments of ``fit``.
    seed : int
    """

    model: AbstractEstimator
    simulation: Simulation
    quantities: Quantities
    options: Mapping[str, Any]
    seed: int

    def __call__(self, number: int) -> Replication:
        """The replication of this number, bitwise identical in every process.

        What goes wrong becomes part of the result; only Ctrl-C goes through.
        """
        began = time.perf_counter()
        try:
            with single_threaded_blas(), np.errstate(all="ignore"):
                replicate = self._made(number)
        except Exception as error:
            replicate = {"problem": in_one_line(error)}
        return Replication(number, time.perf_counter() - began, **replicate)

    def _made(self, number: int) -> dict[str, Any]:
        streams = EngineStreams(self.seed).branch("calibrate")
        order = streams.rng("posterior draws").permutation(self.simulation.n_posterior)
        branch = streams.branch(number)
        truth = self.simulation.truth(number, branch.rng("parameters"), order)
        source = self.simulation.rows(truth, branch.rng("responses"))
        seed = int(branch.rng("fit").integers(2**32))
        fit = quiet_fit(self.model.over(source), {**self.options, "seed": seed, "n_jobs": 1})
        true = self.quantities(truth, source)[0]
        ranks = ranks_among(true, self.quantities(fit, source), branch.rng("ties"))
        return {
            "ranks": tuple(ranks.tolist()),
            "n_draws": count(fit.draws),
            "converged": fit.converged,
            "covariance": fit.covariance,
        }


def ranks_among(
    truth: Float[np.ndarray, " quantities"],
    draws: Float[np.ndarray, "draws quantities"],
    rng: np.random.Generator,
) -> Int[np.ndarray, " quantities"]:
    """Number of draws below the truth; of those that are equal to it a random number.

    Raises
    ------
    ArithmeticError
        If a quantity is not a number, so that it has no rank.
    """
    if np.isnan(truth).any() or np.isnan(draws).any():
        raise ArithmeticError("a quantity of the truth or of the draws is not a number")
    equal = (draws == truth).sum(axis=0)
    return np.asarray((draws < truth).sum(axis=0) + rng.integers(0, equal + 1))
