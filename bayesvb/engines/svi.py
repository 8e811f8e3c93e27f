"""Stochastic variational inference: natural-gradient steps on minibatches of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bayesvb.argument_checks import as_double, check_count, shown
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import (
    AbstractEngine,
    Budget,
    EngineResult,
    RunProgress,
    StatsT,
    one_pass,
)
from bayesvb.errors import DataError
from bayesvb.numerics.runtime import keep_freed_memory, single_threaded_blas
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.model import AbstractVariationalModel

FEWEST_STEPS = 300
"""Steps that are made where a pass over the rows has fewer minibatches."""

AVERAGED = 0.5
"""Share of the steps, the last ones, over which the statistics are averaged."""


@dataclass(frozen=True)
class Svi(AbstractEngine):
    r"""Stochastic natural gradients of the lower bound, and the average of the last iterates.

    With ``N / |B|`` times the statistics of a minibatch ``B`` in place of those of all rows, step
    ``t`` is

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
                hint="up to 0.5 the steps do not become small enough to settle, above 1 too soon",
            )
        if not 0.0 <= as_double(self.delay) < np.inf:
            raise DataError(f"delay={shown(self.delay)} must be a number that is not negative")

    def description(self, factors: str) -> str:
        """How the posterior was found, and what it leaves out."""
        return (
            f"Stochastic variational inference: independent factors for {factors}, by steps along "
            f"the natural gradient of the lower bound on minibatches of about {self.batch} rows. "
            "Their statistics are averaged over the last half of the steps."
        )

    def run(
        self,
        model: AbstractVariationalModel[Any, StatsT],
        source: AbstractSource,
        start: StatsT,
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """Average of the last iterates, and its bound, for which there is one pass more.

        It has converged if it made the passes that were asked for; as many as it can, within the
        budget, if none were. Ctrl-C before the bound goes through.
        """
        wanted = self.passes_over(source)
        passes = min(wanted, budget.max_iter - 1)
        enough = passes == wanted or (self.passes is None and passes > 0)
        keep_freed_memory()
        with single_threaded_blas(), np.errstate(all="ignore"):
            stats = self._averaged(model, source, start, passes, streams, budget.progress)
            bound = one_pass(model, source, stats).bound
        if budget.progress is not None:
            budget.progress(passes + 1, bound)
        return EngineResult(stats, np.array([bound]), passes + 1, converged=enough)

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
        model: AbstractVariationalModel[Any, StatsT],
        source: AbstractSource,
        start: StatsT,
        passes: int,
        streams: EngineStreams,
        progress: RunProgress | None,
    ) -> StatsT:
        """Mean of the iterates of the last passes, or of the last part of a single one."""
        n_steps = passes * max(source.n_rows // self.batch, 1)
        before = n_steps - int(AVERAGED * n_steps) - 1
        mean = start
        iterates = self._iterates(model, source, start, passes, streams, progress)
        for number, stats in enumerate(iterates, 1):
            share = 1.0 / max(number - before, 1)
            mean = stats if share == 1.0 else (1.0 - share) * mean + share * stats
        return mean

    def _iterates(
        self,
        model: AbstractVariationalModel[Any, StatsT],
        source: AbstractSource,
        stats: StatsT,
        passes: int,
        streams: EngineStreams,
        progress: RunProgress | None,
    ) -> Iterator[StatsT]:
        """Statistics after every step; each pass is told, with an estimate of the bound."""
        rng, number = streams.rng("minibatches"), 0
        for made in range(1, passes + 1):
            of_rows = 0.0
            for rows in source.minibatches(self.batch, rng):
                number += 1
                posterior = model.update(stats)
                sweep = rows.map_reduce(partial(model.e_step, posterior))
                of_rows += sweep.bound
                scaled = (source.n_rows / rows.n_rows) * sweep.stats
                target, length = model.global_step(posterior, scaled), self.step_length(number)
                stats = target if length == 1.0 else (1.0 - length) * stats + length * target
                yield stats
            if progress is not None:
                progress(made, of_rows - model.kl(model.update(stats)))
