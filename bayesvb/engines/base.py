"""Contract of an engine: from initial statistics to final ones, or to draws."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import ClassVar, Generic, TypeVar

import numpy as np
from jaxtyping import Float, Shaped

from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.run_log import AbstractRunLog
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import DrawVector
from bayesvb.numerics.records import changed, values_of
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel, ModelOf

StatsT = TypeVar("StatsT", bound=SufficientStats)

ReachedT = TypeVar("ReachedT", bound=SufficientStats, covariant=True)
"""Statistics of a result, which is read only: a result of some statistics is one of any."""

Engine = TypeVar("Engine", bound="AbstractEngine")

EVERY_FIT = (
    "restarts", "combine", "draws", "seed", "tol", "max_iter", "covariance", "n_jobs", "checkpoint",
    "seconds", "start",
)  # fmt: skip
"""Arguments of every fit, which may have been meant where an option is not known."""

FEWEST_ROWS = 300.0
"""Rows for which a tolerance per row is at least: of fewer, densities are known less well."""

RunProgress = Callable[[int, float], object]
"""Called with the passes so far and the bound; raises KeyboardInterrupt to end the run."""

ProgressCallback = Callable[[int, int, float], object]
"""Called with the number of the run, the passes so far and the bound; True ends the fit."""


@dataclass(frozen=True)
class Budget:
    """Limits of a run: iterations, tolerance, and progress.

    Attributes
    ----------
    tol : float
        Stop when the bound would rise by less than this in all further passes together, in nats.
    max_iter : int
        Passes over the rows.
    accelerate : bool
        Extrapolate between sweeps, for engines that can.
    n_draws : int
        Draws that an engine returns which returns draws.
    progress : callable, optional
        Called after every gain with the number of passes and the bound.
    log : AbstractRunLog, optional
        Where runs are written down, by engines that can.
    per_row : float
        The tolerance is this number of nats per row, if that is more; with fewer than
        ``FEWEST_ROWS`` rows, as with that number.
    least : int
        Iterations before which a tolerance ends nothing: a run that has only begun may meet a
        coarse one by chance.
    memory : int
        Earlier sweeps from which an extrapolation is made; with zero, the last two.
    floor : float
        ELBO of other runs: a run that cannot be expected to come near it may end, not converged.
    """

    tol: float = 1e-3
    max_iter: int = 2000
    accelerate: bool = True
    n_draws: int = 1000
    progress: RunProgress | None = None
    log: AbstractRunLog | None = None
    per_row: float = 0.0
    least: int = 0
    memory: int = 0
    floor: float = -np.inf

    def over(self, total_weight: float) -> Budget:
        """Budget with the tolerance for rows with these case weights in all."""
        return replace(self, tol=max(self.tol, self.per_row * max(total_weight, FEWEST_ROWS)))


@dataclass(frozen=True)
class EngineResult(Generic[ReachedT]):
    """Result of a run.

    Attributes
    ----------
    stats : SufficientStats
        Statistics at the end; ``model.update`` makes the posterior of them.
    trace : ndarray, shape (accepted sweeps,)
        ELBO of every accepted posterior, the last one at ``stats``.
    n_iter : int
        Iterations over the rows, including rejected proposals.
    converged : bool
        The engine ended of itself before ``max_iter`` passes.
    interrupted : bool
        Ended by Ctrl-C; ``stats`` is the best state so far.
    draws : Mapping of str to ndarray, optional
        Draws of all parameters, named and shaped as in ``model.draws``, from an engine with a
        better approximation of the posterior than ``stats``. Components have the order of
        ``stats``, and keep it.
    log_q : ndarray, shape (draws,), optional
        Log density of ``draws``, up to a constant, under their proposal distribution; None if that
        is the exact posterior.
    n_chains : int
        Chains of a Markov chain sampler; the draws of one chain precede the draws of the next.
    sample_stats : Mapping of str to ndarray, shape (draws,)
        Statistics of the sampler for each draw, by the names of ArviZ.
    findings : Mapping of str to float
        What else the engine has to say of the run, by name: divergent transitions, say.
    failure : str
        Why it did not converge and what to do, if it is not for want of passes.
    """

    stats: ReachedT
    trace: Float[np.ndarray, " sweeps"]
    n_iter: int
    converged: bool
    interrupted: bool = False
    draws: Draws | None = None
    log_q: DrawVector | None = None
    n_chains: int = 1
    sample_stats: Mapping[str, Shaped[np.ndarray, " draws"]] = field(default_factory=dict)
    findings: Mapping[str, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def bound(self) -> float:
        """Lower bound at the end."""
        return float(self.trace[-1])

    def whole(self) -> EngineResult[ReachedT]:
        """Return this result if Ctrl-C did not end the run, as part of a result of several runs.

        Raises
        ------
        KeyboardInterrupt
            If it did.
        """
        if self.interrupted:
            raise KeyboardInterrupt
        return self


def is_ended_by(progress: RunProgress | None, n_iter: int, bound: float) -> bool:
    """Report progress, and return whether the fit is to end there."""
    if progress is None:
        return False
    try:
        progress(n_iter, bound)
    except KeyboardInterrupt:
        return True
    return False


class AbstractEngine(abc.ABC):
    """An algorithm that fits any model, which it knows through ``AbstractVariationalModel`` only.

    Restarts, folds, pruning and linear response run the engine that they are given, and query its
    properties; nothing depends on its class. Engines hold no state of a run: they are frozen
    dataclasses, whose fields are the options of ``model.fit(method, **options)``.
    """

    title: ClassVar[str]
    """Short name, as in "variational posterior (CAVI)"."""

    posterior: ClassVar[str] = "variational posterior"
    """Name of the engine's result, in words."""

    maximises_bound: ClassVar[bool] = False
    """Whether the bound never falls and is stationary at the end: linear response then applies."""

    approaches_maximum: ClassVar[bool] = False
    """Whether the end is near a maximum of the bound up to noise: linear response applies then
    where another sweep would hardly move any parameter."""

    bounds_evidence: ClassVar[bool] = False
    """Whether the largest bounds of models of different size can be compared."""

    resumes: ClassVar[bool] = False
    """Whether a checkpointed run that was killed continues where it stopped."""

    finds_points: ClassVar[bool] = False
    """Whether it returns point estimates; their spread is then approximate."""

    @property
    def found(self) -> str:
        """Name of the result and of the engine, as in "variational posterior (CAVI)"."""
        return f"{self.posterior} ({self.title})"

    @property
    def objective(self) -> str:
        """Name of the objective, for the middle of a sentence."""
        return "lower bound"

    @property
    def symbol(self) -> str:
        """Short name of the objective."""
        return "ELBO"

    @property
    def prior_counts(self) -> bool:
        """Whether anything depends on the prior."""
        return True

    def interval_words(self, covariance: str) -> str | None:
        """Sentence on intervals with this covariance; None for the usual words."""
        return None

    def with_options(self: Engine, **options: object) -> Engine:
        """Engine of the same kind with some of its options changed.

        Raises
        ------
        DataError
            If it has no such option, or the value is none for it.
        """
        known: list[str] = list(values_of(self)) if is_dataclass(self) else []
        unknown = [name for name in options if name not in known]
        if unknown:
            name = unknown[0]
            available = f"its options are {', '.join(known)}" if known else "it has no options"
            near = get_close_matches(name, [*known, *EVERY_FIT], 1)
            hint = f"did you mean {near[0]}?" if near else None
            if isinstance(options[name], dict):
                hint = f"its entries are arguments themselves: not {name}={{...}} but **{{...}}"
            raise DataError(
                f"{name}={options[name]!r} is not an option of {self.title}: {available}", hint=hint
            )
        return changed(self, **options) if options else self

    def check(self, core: AnyModel) -> None:
        """Raise if it cannot fit this model here; asked before the first run.

        Raises
        ------
        DataError
            With the requirement that is not met, and the remedy.
        """
        return None

    def model_for(self, core: AnyModel) -> AnyModel:
        """The model as this engine fits it, known by it before any run; the same as a rule."""
        return core

    @abc.abstractmethod
    def run(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        start: StatsT,
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """State at the end of one run.

        It makes at most ``budget.max_iter`` passes over the rows, at least one. The result is the
        same to the last bit for the same arguments, with any number of threads. Ctrl-C after the
        first bound is known ends the run, not the program: the best state so far is returned with
        ``interrupted=True``. Before that it goes through.

        Parameters
        ----------
        model : AbstractVariationalModel
        source : AbstractSource
            The rows; everything is learned of them in ``source.map_reduce``.
        start : SufficientStats
            Initial statistics.
        budget : Budget
        streams : EngineStreams
            Randomness, for engines that need it: ``streams.rng("any name")``.
        """

    def completed(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        result: EngineResult[StatsT],
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """Completion of a run that is kept: a sampler that started from variational optima samples.

        Called once for every run that the fit is made of, its components in the order of their
        labels; runs that are only ranked are spared it. The result as it is, as a rule.
        """
        return result

    def description(self, factors: str) -> str:
        """A sentence for the report on how the posterior was found.

        Parameters
        ----------
        factors : str
            Factors that are independent in the variational posterior of the model.
        """
        return f"The {self.posterior} ({self.title}); independent factors: {factors}."


@dataclass(frozen=True)
class Iterate(Generic[StatsT]):
    """Statistics, the bound of the posterior that they make, and the statistics one sweep on."""

    stats: StatsT
    bound: float
    following: StatsT


def one_pass(model: ModelOf[StatsT], source: AbstractSource, stats: StatsT) -> Iterate[StatsT]:
    """Bound of the posterior of these statistics, and what follows, from one pass over the rows.

    Raises
    ------
    numpy.linalg.LinAlgError
        The statistics are outside the domain.
    """
    with np.errstate(all="ignore"):  # what overflows is refused here
        posterior = model.update(stats)
        sweep = source.map_reduce(partial(model.e_step, posterior))
        bound = sweep.bound - model.kl(posterior)
        if not np.isfinite(bound):
            raise np.linalg.LinAlgError("the lower bound is not finite")
        return Iterate(stats, bound, model.global_step(posterior, sweep.stats))
