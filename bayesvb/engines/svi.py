"""Stochastic variational inference: natural-gradient steps on minibatches of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Generic

import numpy as np

from bayesvb.argument_checks import as_double, check_count, shown
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import (
    AbstractEngine,
    Budget,
    EngineResult,
    RunProgress,
    StatsT,
    is_ended_by,
    one_pass,
)
from bayesvb.engines.run_log import AbstractRunPage, Arrays
from bayesvb.engines.run_state import (
    finite,
    generator_at,
    of_generator,
    of_result,
    of_stats,
    result_of,
    state_read,
    stats_of,
)
from bayesvb.errors import DataError
from bayesvb.numerics.runtime import keep_freed_memory, single_threaded_blas
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.model import ModelOf

FEWEST_STEPS = 300
"""Steps that are made where a pass over the rows has fewer minibatches."""


@dataclass(frozen=True)
class _Steps(Generic[StatsT]):
    """State of the stochastic steps.

    Attributes
    ----------
    stats, mean : SufficientStats
        After the last step, and averaged over the last ones.
    number : int
        Steps so far.
    turn, place : int
        Passes before this one, and minibatches of it so far.
    of_rows : float
        Contribution of the rows of the current pass to the ELBO so far.
    """

    stats: StatsT
    mean: StatsT
    number: int = 0
    turn: int = 0
    place: int = 0
    of_rows: float = 0.0

    @classmethod
    def known(cls, start: StatsT, arrays: Arrays) -> _Steps[StatsT]:
        """The steps that were written down; none if there are none."""
        if not arrays:
            return cls(start, start)
        counts = ("number", "turn", "place")
        with state_read():
            number, turn, place = (int(finite(arrays, name)) for name in counts)
            stats, mean = (stats_of(start, arrays, name) for name in ("stats", "mean"))
            if min(number, turn, place) < 0:
                raise ValueError("it has a negative number of steps")
            return cls(stats, mean, number, turn, place, float(finite(arrays, "of_rows")))

    def arrays(self) -> Arrays:
        """All of it by name."""
        names = ("number", "turn", "place", "of_rows")
        numbers = {name: np.array(getattr(self, name)) for name in names}
        return {**of_stats(self.stats, "stats"), **of_stats(self.mean, "mean"), **numbers}


@dataclass(frozen=True)
class Svi(AbstractEngine):
    r"""Stochastic natural gradients of the lower bound, and the average of the last iterates.

    With ``N / |B|`` times the statistics of a minibatch ``B`` instead of the statistics of all
    rows, step ``t`` is

    .. math:: s_t = (1 - \rho_t)\, s_{t-1} + \rho_t\, \tfrac{N}{|B_t|} s(B_t), \qquad
              \rho_t = (t + \text{delay})^{-\text{forgetting}},

    which for conjugate parts is a step along the natural gradient; other parts make their own step
    from the scaled statistics. The steps satisfy the conditions of Robbins and Monro, ``sum rho``
    infinite and ``sum rho^2`` finite, if ``0.5 < forgetting <= 1`` and ``delay >= 0``. What comes
    out is the average of the statistics over the last half of the steps, whose error does not
    depend on their length to first order. A last pass over all rows makes the bound. One minibatch
    of all rows with ``delay=0`` is a sweep of coordinate ascent.

    Attributes
    ----------
    batch : int
        Rows of a minibatch, about.
    forgetting, delay : float
        Of the lengths of the steps.
    passes : int or None
        Passes over the rows in minibatches; None for as many as make ``FEWEST_STEPS`` steps, or as
        ``max_iter`` leaves.

    References
    ----------
    Hoffman, Blei, Wang, Paisley (2013), Stochastic variational inference, JMLR 14, eqs 24 to 26.
    Robbins, Monro (1951), A stochastic approximation method, Annals of Mathematical Statistics
    22(3). Polyak, Juditsky (1992), Acceleration of stochastic approximation by averaging, SIAM
    Journal on Control and Optimization 30(4).
    """

    title = "SVI"
    resumes = True
    approaches_maximum = True

    batch: int = 1000
    forgetting: float = 0.6
    delay: float = 1.0
    passes: int | None = None

    def __post_init__(self) -> None:
        """Refuse steps that do not converge, or that are none."""
        check_count("batch", self.batch)
        if self.passes is not None:
            check_count("passes", self.passes)
        if not 0.5 < as_double(self.forgetting) <= 1.0:
            raise DataError(
                f"forgetting={shown(self.forgetting)} must be more than 0.5 and at most 1",
                hint="up to 0.5 the steps do not converge, above 1 they vanish too early",
            )
        if not 0.0 <= as_double(self.delay) < np.inf:
            raise DataError(f"delay={shown(self.delay)} must be a number that is not negative")

    def description(self, factors: str) -> str:
        """Description of the approximation, and of the dependence that it neglects."""
        return (
            f"Stochastic variational inference: independent factors for {factors}, by steps along "
            f"the natural gradient of the lower bound on minibatches of about {self.batch} rows. "
            "Their statistics are averaged over the last half of the steps."
        )

    def run(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        start: StatsT,
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """Average of the last iterates, and its bound, for which there is one pass more.

        It has converged if it completed the requested passes; without a request, as many as the
        budget allows. Ctrl-C before the first step is raised.
        """
        page = None if budget.log is None else budget.log.run(streams.path)
        done = None if page is None else result_of(model, start, page.known)
        if done is not None:
            return done
        wanted = self.passes_over(source)
        passes = min(wanted, budget.max_iter - 1)
        enough = passes == wanted or (self.passes is None and passes > 0)
        keep_freed_memory()
        with single_threaded_blas(), np.errstate(all="ignore"):
            at, ended = self._averaged(model, source, start, passes, streams, page, budget.progress)
            stats, n_iter = at.mean, (at.turn + 1 if ended else passes) + 1
            bound = one_pass(model, source, stats).bound
        ended = ended or is_ended_by(budget.progress, n_iter, bound)
        outcome = EngineResult(stats, np.array([bound]), n_iter, enough and not ended, ended)
        if page is not None and not ended:
            page.keep(of_result(outcome))
            page.write()
        return outcome

    def passes_over(self, source: AbstractSource) -> int:
        """Passes over these rows in minibatches."""
        if self.passes is not None:
            return self.passes
        return -(-FEWEST_STEPS // max(source.n_rows // self.batch, 1))

    def step_length(self, number: int) -> float:
        """``rho_t`` of the step of this number, from 1."""
        return float((number + self.delay) ** -self.forgetting)

    def _averaged(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        start: StatsT,
        passes: int,
        streams: EngineStreams,
        page: AbstractRunPage | None,
        progress: RunProgress | None,
    ) -> tuple[_Steps[StatsT], bool]:
        """Last step with the mean of the iterates of the last passes; whether Ctrl-C ended it.

        Each pass is reported, with an estimate of the ELBO. A killed run repeats the minibatches of
        its pass that it had used, and continues after them.
        """
        n_steps = passes * max(source.n_rows // self.batch, 1)
        # Share of the steps, the last ones, over which the statistics are averaged.
        before = n_steps - int(0.5 * n_steps) - 1
        known: Arrays = {} if page is None else page.known
        at = _Steps.known(start, known)
        with state_read():
            rng = generator_at(streams.rng("minibatches"), known)
        try:
            for turn in range(at.turn, passes):
                shuffle = of_generator(rng)
                if at.turn != turn:
                    at = replace(at, turn=turn, place=0, of_rows=0.0)
                for rows in islice(source.minibatches(self.batch, rng), at.place, None):
                    at = self._stepped(model, source, at, rows, before)
                    if page is not None:
                        page.keep({**at.arrays(), **shuffle})
                if progress is not None:
                    progress(turn + 1, at.of_rows - model.kl(model.update(at.stats)))
        except KeyboardInterrupt:
            if page is not None:
                page.write()
            if not at.number:
                raise
            return at, True
        return at, False

    def _stepped(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        at: _Steps[StatsT],
        rows: AbstractSource,
        before: int,
    ) -> _Steps[StatsT]:
        """State after a further step; the mean is over the steps after this number."""
        number, stats = at.number + 1, at.stats
        posterior = model.update(stats)
        sweep = rows.map_reduce(partial(model.e_step, posterior))
        # N / |B| makes the minibatch an unbiased estimate of the sums of all rows (eq. 24).
        target = model.global_step(posterior, (source.n_rows / rows.n_rows) * sweep.stats)
        length = self.step_length(number)
        # A whole step is taken without arithmetic, so that it equals a sweep bit by bit.
        stats = target if length == 1.0 else (1.0 - length) * stats + length * target
        # A running mean, of which one record is kept; it begins anew until half the steps are made.
        share = 1.0 / max(number - before, 1)
        mean = stats if share == 1.0 else (1.0 - share) * at.mean + share * stats
        of_rows, place = at.of_rows + sweep.bound, at.place + 1
        return replace(at, stats=stats, mean=mean, number=number, place=place, of_rows=of_rows)
