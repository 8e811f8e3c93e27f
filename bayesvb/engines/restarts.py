"""Several ascents from different starts, the best one finished on all rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayesvb.blocks import BLOCK_ROWS, Block, Source
from bayesvb.engines.cavi import Ascent, cavi
from bayesvb.engines.starts import (
    SAMPLE_ROWS,
    STARTS,
    AbstractStart,
    Starter,
    sample_rows,
    together_start,
)
from bayesvb.models.base import AbstractModel

ROUGH = 10.0
"""Multiple of ``tol`` at which runs stop first if only some of them will count."""

SCREEN_ROWS = 20_000
"""With more rows than this, starts are compared on a sample and only the best sees all rows."""


@dataclass(frozen=True)
class Run:
    """One ascent from one start.

    Attributes
    ----------
    start : str
        How the rows were divided at first, a key of ``STARTS``, or the model's own name of it.
    prior : str
        Name of the prior, one of the model's ``alternatives``; empty if there is one only.
    model : AbstractModel
        What was fitted: runs may differ in the prior.
    ascent : Ascent
    score : float
        What runs are ranked by: the bound, or a tighter one of the same posterior.
    n_rows : int
        Rows that it went over.
    total_weight : float
        Sum of their case weights.
    seconds : float
    """

    start: str
    prior: str
    model: AbstractModel[Any, Any]
    ascent: Ascent[Any]
    score: float
    n_rows: int
    total_weight: float
    seconds: float


@dataclass(frozen=True)
class Effort:
    """How long an engine may try; see ``cavi``."""

    tol: float = 1e-6
    max_iter: int = 2000
    accelerate: bool = True


@dataclass(frozen=True)
class Search:
    """All runs, and the ascent that the fit keeps.

    Attributes
    ----------
    runs : tuple of Run
        In the order in which they were made.
    best : int
        Number of the run with the largest score.
    final : Ascent
        The best run; continued on all rows where the runs went over a sample.
    screened : Source
        Rows that the runs went over.
    interrupted : bool
        Ended by Ctrl-C, in whichever run.
    """

    runs: tuple[Run, ...]
    best: int
    final: Ascent[Any]
    screened: Source
    interrupted: bool = False

    def finished(self, number: int, source: Source, effort: Effort) -> Ascent[Any]:
        """One of the runs, continued on all rows if it went over a sample."""
        run = self.runs[number]
        if number == self.best:
            return self.final
        if run.n_rows == source.n_rows:
            return run.ascent
        return _on_all_rows(run.model, source, run.ascent.sums, effort, None)

    def settled(self, numbers: Iterable[int], effort: Effort, watch: Watch | None = None) -> Search:
        """The search after these runs went on until they meet this effort.

        Runs over a sample do not: they are finished on all rows.
        """
        if self.interrupted or self.final is not self.runs[self.best].ascent:
            return self
        runs, interrupted = list(self.runs), False
        try:
            for number in numbers:
                watched = _numbered(watch, number, runs[number].ascent.n_iter)
                runs[number] = _continued(runs[number], self.screened, effort, watched)
                interrupted = runs[number].ascent.interrupted
                if interrupted:
                    break
        except KeyboardInterrupt:
            interrupted = True
        final = runs[self.best].ascent
        return replace(self, runs=tuple(runs), final=final, interrupted=interrupted)


Watch = Callable[[int, int, float], None]
"""Called with the number of the run, the passes so far and the bound."""


def search(
    model: AbstractModel[Any, Any],
    source: Source,
    *,
    restarts: int,
    effort: Effort,
    seeds: Sequence[np.random.SeedSequence],
    rough: bool = False,
    watch: Watch | None = None,
) -> Search:
    """Best of several ascents.

    Starts take turns: k-means++ on response and covariates, slices of least-squares residuals,
    rows at random; and so do priors, if the model has alternatives. A model that brings its own
    starts is run from these, once each. The largest score wins: the bound, plus ``model.slack``.
    Ctrl-C ends the search; what was reached so far is kept. It goes through before the first run
    has a bound, when there is nothing to keep.

    Parameters
    ----------
    model : AbstractModel
        Needs ``n_components``.
    source : Source
    restarts : int
    effort : Effort
    seeds : sequence of SeedSequence
        One more than restarts; the last one draws the sample of a large source.
    rough : bool
        Runs stop at ``ROUGH`` times the tolerance, for those that count to be ``settled``.
    watch : callable, optional
    """
    rng = np.random.default_rng(seeds[restarts])
    screened = source
    if source.n_rows > SCREEN_ROWS:
        sample = sample_rows(source, SCREEN_ROWS // 2, rng)
        screened = Source(tuple(sample.split(BLOCK_ROWS)), source.workers)
    first = replace(effort, tol=ROUGH * effort.tol) if rough else effort
    runs: list[Run] = []
    beginnings = _beginnings(model, restarts)
    try:
        for number, beginning in enumerate(beginnings):
            start_rng = np.random.default_rng(seeds[number])
            sample = sample_rows(screened, SAMPLE_ROWS, start_rng)
            start = beginning.divide(sample, model.n_components, start_rng)
            runs.append(_run(beginning, screened, start, first, _numbered(watch, number)))
            if runs[-1].ascent.interrupted:
                break
    except KeyboardInterrupt:
        if not runs:
            raise
    interrupted = len(runs) < len(beginnings) or runs[-1].ascent.interrupted
    best = int(np.argmax([run.score for run in runs]))
    final = runs[best].ascent
    if screened is not source:
        passes = replace(effort, max_iter=1) if interrupted else effort
        kept = runs[best].model
        final = _on_all_rows(kept, source, final.sums, passes, _numbered(watch, restarts))
    return Search(tuple(runs), best, final, screened, interrupted or final.interrupted)


@dataclass(frozen=True)
class _Beginning:
    """Where one run sets out."""

    start: str
    model: AbstractModel[Any, Any]
    divide: Starter
    prior: str = ""


def _beginnings(model: AbstractModel[Any, Any], restarts: int) -> list[_Beginning]:
    """Starts of the model's own; else divisions of the rows and priors, in turns."""
    own = model.starting_models(restarts)
    if own:
        return [_Beginning(name, one, together_start) for name, one in own.items()]
    kinds, priors = list(STARTS), model.alternatives()
    names = list(priors) or [""]
    beginnings = []
    for number in range(restarts):
        round_, place = divmod(number, len(kinds))
        prior = names[(place + round_) % len(names)]
        kind = kinds[place]
        beginnings.append(_Beginning(kind, priors.get(prior, model), STARTS[kind], prior))
    return beginnings


def _numbered(
    watch: Watch | None, number: int, before: int = 0
) -> Callable[[int, float], None] | None:
    """The watch of one run that has made some passes already."""
    if watch is None:
        return None
    return lambda n_iter, bound: watch(number, before + n_iter, bound)


def _run(
    beginning: _Beginning,
    source: Source,
    start: AbstractStart,
    effort: Effort,
    watch: Callable[[int, float], None] | None,
) -> Run:
    began, model = time.perf_counter(), beginning.model

    def divide(block: Block) -> Any:
        return model.begin(block, start.responsibilities(block))

    sums = model.start(source.map_reduce(divide))
    ascent = cavi(model, source, sums, **vars(effort), watch=watch)
    return Run(
        start=beginning.start,
        prior=beginning.prior,
        model=model,
        ascent=ascent,
        score=_score(model, source, ascent),
        n_rows=source.n_rows,
        total_weight=source.total_weight,
        seconds=time.perf_counter() - began,
    )


def _score(model: AbstractModel[Any, Any], source: Source, ascent: Ascent[Any]) -> float:
    """What runs are ranked by."""
    slack = source.map_reduce(partial(model.slack, model.update(ascent.sums)))
    return float(ascent.bound + slack.value)


def _continued(
    run: Run, source: Source, effort: Effort, watch: Callable[[int, float], None] | None
) -> Run:
    """The run with as many further passes as it may have; without any it has not converged."""
    began, before = time.perf_counter(), run.ascent
    passes = effort.max_iter - before.n_iter
    if passes < 1:
        return replace(run, ascent=replace(before, converged=False))
    rest = replace(effort, max_iter=passes)
    more = cavi(run.model, source, before.sums, **vars(rest), watch=watch)
    trace = np.concatenate([before.trace, more.trace[1:]])
    ascent = replace(more, trace=trace, n_iter=before.n_iter + more.n_iter)
    return replace(
        run,
        ascent=ascent,
        score=_score(run.model, source, ascent),
        seconds=run.seconds + time.perf_counter() - began,
    )


def _on_all_rows(
    model: AbstractModel[Any, Any],
    source: Source,
    sums: Any,
    effort: Effort,
    watch: Callable[[int, float], None] | None,
) -> Ascent[Any]:
    """Ascent from the statistics of a sample; after Ctrl-C only as far as its first bound."""
    try:
        return cavi(model, source, enlarged(model, source, sums), **vars(effort), watch=watch)
    except KeyboardInterrupt:
        first = cavi(model, source, enlarged(model, source, sums), max_iter=1)
        return replace(first, interrupted=True)


def enlarged(model: AbstractModel[Any, Any], source: Source, sums: Any) -> Any:
    """Statistics of all rows under the posterior of a sample's statistics."""
    posterior = model.update(sums)
    sweep = source.map_reduce(partial(model.local, posterior))
    return model.advance(posterior, sweep.sums)
