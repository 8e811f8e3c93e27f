"""Several runs from different starts, the best one completed on all rows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import (
    AbstractEngine,
    Budget,
    EngineResult,
    ProgressCallback,
    RunProgress,
)
from bayesvb.engines.partitions import (
    FEW_COMPONENTS,
    SAMPLE_ROWS,
    STARTS,
    TWO_COMPONENTS,
    AbstractPartition,
    KnownStart,
    OnePart,
    Starter,
    features,
    one_part_start,
)
from bayesvb.engines.side_by_side import processes, side_by_side
from bayesvb.engines.stratified import draw_samples
from bayesvb.errors import ConvergenceWarning, warn
from bayesvb.numerics.streams import EngineStreams, Streams
from bayesvb.variational.model import AnyModel

ROUGH = 10.0
"""Multiple of ``tol`` at which runs stop first, as only some of them will count."""

ROUGH_PER_ROW = 1e-5
"""Tolerance per row, used if it is larger: optima of more rows are further apart."""

LEAST_PASSES = 40
"""Passes that such runs make at least."""

RIVAL = 2.0
"""Nats below the best ELBO from which a run need not converge: no rival of the best."""

PREVIOUS_FIT = "previous fit"
"""Name of the start from the statistics of another fit."""

FEW_OF = 8
"""Interval of runs whose start has few occupied components, for models that request it."""

SCREEN_ROWS, PER_COEFFICIENT = 4_000, 100
"""Rows, in all and per coefficient of all components, above which starts are compared on a sample
of half this number. Fewer rows rank optima worse: with 2,000 rows for four regressions on 13
covariates the best optimum of the sample is not the best one of all rows."""

MANY_ROWS = 20_000
"""Rows above which the best start first converges on a stratified sample of half this number.
Starts that are combined, or whose groups have few rows each, are compared on that sample."""

FINALISTS, WITHIN, APART = 4, 40.0, 0.1
"""Largest number of optima of the smaller sample that continue, and their largest distance from the
best ELBO in nats: differences between their ELBOs have a sampling error. Runs whose ELBOs differ by
more than the last number ended at different optima."""

COMPILED_PASSES = 16
"""Passes of the compiled core that take as long as one in NumPy. A fit of 1,000 rows and two
components takes 0.05 s of CPU time in one process and 0.09 s in three."""

MEMORY = 10
"""Iterations from which a run over all rows is extrapolated, as it begins near its optimum. Four
designs with 40,000 rows take 39 to 984 passes; with the last two iterations only, 53 to more than
1,500, and end no higher (``bench_all_rows``). Runs that begin far away may take longer."""


@dataclass(frozen=True)
class Restart:
    """Result of one run.

    Attributes
    ----------
    start : str
        Initial partition of the rows: a key of ``STARTS`` or ``FEW_COMPONENTS``, or a name by the
        model.
    prior : str
        Name of the prior, one of the model's ``alternatives``; empty if there is one only.
    model : AbstractVariationalModel
        Fitted model: runs may differ in the prior.
    ascent : EngineResult
    score : float
        Score by which runs are ranked: the ELBO, or a tighter bound of the same posterior.
    n_rows : int
        Number of rows that the run used.
    total_weight : float
        Sum of their case weights.
    seconds : float
    """

    start: str
    prior: str
    model: AnyModel
    ascent: EngineResult[SufficientStats]
    score: float
    n_rows: int
    total_weight: float
    seconds: float


@dataclass(frozen=True)
class RestartSearch:
    """All runs, and the run that the fit keeps.

    Attributes
    ----------
    runs : tuple of Restart
        In the order in which they were made.
    best : int
        Number of the run with the largest score.
    final : EngineResult
        The best run; continued on all rows where the runs went over a sample.
    screened : AbstractSource
        Rows that the runs went over.
    engine : AbstractEngine
        What ran.
    streams : Streams
        Its randomness.
    interrupted : bool
        Ended by Ctrl-C, in whichever run.
    """

    runs: tuple[Restart, ...]
    best: int
    final: EngineResult[SufficientStats]
    screened: AbstractSource
    engine: AbstractEngine
    streams: Streams
    interrupted: bool = False

    def finished(
        self, number: int, source: AbstractSource, budget: Budget
    ) -> EngineResult[SufficientStats]:
        """One of the runs, continued on all rows if it went over a sample.

        After Ctrl-C as far as its first bound.
        """
        run = self.runs[number]
        if number == self.best:
            return self.final
        if run.n_rows == source.n_rows:
            return run.ascent
        spent = replace(budget, max_iter=1) if self.interrupted else budget
        task = _Task(self.engine, source, spent, _branch(self.streams, number))
        return task.on_more_rows(run).ascent

    def advanced(self, number: int, ascent: EngineResult[SufficientStats]) -> RestartSearch:
        """The search after this run continued on all rows, with its result."""
        run = self.runs[number]
        known = self.final if number == self.best else run.ascent
        if ascent.n_iter == known.n_iter:
            return self
        final = ascent if number == self.best else self.final
        if known is not run.ascent:
            return replace(self, final=final)
        score = run.score + ascent.bound - run.ascent.bound
        runs = list(self.runs)
        runs[number] = replace(run, ascent=ascent, score=score)
        return replace(self, runs=tuple(runs), final=final)

    def settled(
        self, numbers: Iterable[int], budget: Budget, progress: ProgressCallback | None = None
    ) -> RestartSearch:
        """The search after these runs continued until they meet this budget.

        Runs over a sample do not: they are finished on all rows.
        """
        if self.interrupted or self.final is not self.runs[self.best].ascent:
            return self
        runs, interrupted, chosen = list(self.runs), False, list(numbers)
        each = _Task(self.engine, self.screened, budget, self.streams.branch())

        def go_on(number: int, progress: ProgressCallback | None) -> Restart:
            place = _branch(self.streams, number).branch("continued")
            task = each.watched(progress, place, number, self.runs[number].ascent.n_iter)
            return task.continued(self.runs[number])

        tasks = [partial(go_on, number) for number in chosen]
        # Approximate number of further iterations of the runs with weight.
        places = each.places(runs[0].model, len(tasks) * 200)
        restarts = side_by_side(tasks, places, progress, last=_ended)
        try:
            for number, run in zip(chosen, restarts, strict=True):
                runs[number] = replace(run, model=self.runs[number].model)
                interrupted = interrupted or run.ascent.interrupted
        except KeyboardInterrupt:
            interrupted = True
        final = runs[self.best].ascent
        return replace(self, runs=tuple(runs), final=final, interrupted=interrupted)


def search(
    model: AnyModel,
    source: AbstractSource,
    engine: AbstractEngine,
    *,
    restarts: int,
    budget: Budget,
    streams: Streams,
    rough: bool = False,
    known: KnownStart | None = None,
    stats: SufficientStats | None = None,
    progress: ProgressCallback | None = None,
) -> RestartSearch:
    """Best of several runs of an engine.

    Starts take turns: k-means++ on response and covariates, slices of least-squares residuals, rows
    at random, each eighth time for some models all rows in one component; and so do priors, if the
    model has alternatives. A model with its own starts is run from these, once each. The largest
    score wins: the ELBO, plus the model's ``bound_gap``; of equal scores the larger ELBO. If the
    engine maximises the ELBO, several runs stop early, at ``ROUGH`` times the tolerance or
    ``ROUGH_PER_ROW``, and the winner continues until it meets the tolerance itself. Ctrl-C ends the
    search and keeps the results so far. Before the first run has an ELBO it is raised, as there is
    nothing to keep.

    Parameters
    ----------
    model : AbstractVariationalModel
        Needs ``n_components``.
    source : AbstractSource
    engine : AbstractEngine
        What runs from every start.
    restarts : int
    budget : Budget
    streams : Streams
        Of as many restarts.
    rough : bool
        Leave it to the caller which runs count and are to be ``settled``.
    known : KnownStart, optional
        A further start. Without a larger score of the first runs others are not tried.
    stats : SufficientStats, optional
        Statistics from which the first run starts.
    progress : callable, optional
    """
    sizes = sample_sizes(model, engine, source, rough=rough)
    sources = _samples(source, sizes, streams.screening())
    # Each start divides rows by others of the larger sample: by the same ones all would be alike.
    screened, origin = sources[0], sources[:2][-1]
    initialisations = _initialisations(model, restarts, known)
    if stats is not None:
        initialisations[0] = _Initialisation(PREVIOUS_FIT, model, one_part_start, stats=stats)
    is_ranked = len(initialisations) > 1 or screened is not source
    coarse = rough or (engine.maximises_bound and is_ranked)
    first = _rough(budget, screened.total_weight) if coarse else budget
    task = _Task(engine, screened, first, streams.branch())
    is_compared = coarse and not rough
    stages = _stages(initialisations, known) if is_compared else [range(len(initialisations))]
    runs, interrupted = _runs(initialisations, task, origin, streams, progress, stages, known)
    best = max(range(len(runs)), key=lambda number: (runs[number].score, runs[number].ascent.bound))
    outcome = RestartSearch(
        tuple(runs), best, runs[best].ascent, screened, engine, streams, interrupted
    )
    # A sample is not worth the tolerance: its best run goes on over all rows.
    if coarse and rough != (screened is source):
        outcome = outcome.settled([best], budget, progress)
    if screened is source:
        return outcome
    finalists = _finalists(runs) if is_compared else [best]
    return _on_all_rows(outcome, sources[1:], finalists, budget, numbered(progress, restarts))


def sample_sizes(
    model: AnyModel, engine: AbstractEngine, source: AbstractSource, *, rough: bool = False
) -> list[int]:
    """Numbers of rows that the best run sees in the end, before that, and at first.

    One number where starts are compared on all rows.
    """
    limits = [MANY_ROWS]
    if engine.maximises_bound and model.draws_complete and not rough:
        n_coefficients = model.n_components * len(features(source.empty()))
        limits.append(max(SCREEN_ROWS, PER_COEFFICIENT * n_coefficients))
    sizes = [source.n_rows]
    for limit in limits:
        if sizes[-1] > limit:
            sizes.append(limit // 2)
    return sizes


def _finalists(runs: Sequence[Restart]) -> list[int]:
    """Numbers of the runs with the largest scores, the best first and each optimum once."""
    order = sorted(range(len(runs)), key=lambda number: (-runs[number].score, number))
    scores = [runs[number].score for number in order]
    ends = [at for at, score in enumerate(scores) if at == 0 or scores[at - 1] - score > APART]
    return [order[at] for at in ends if scores[0] - scores[at] <= WITHIN][:FINALISTS]


def _rough(budget: Budget, total_weight: float) -> Budget:
    """The budget with a tolerance by which runs can be ranked."""
    tol = max(ROUGH * budget.tol, ROUGH_PER_ROW * total_weight)
    if not budget.per_row:
        return replace(budget, tol=tol)
    # Multiple of a tolerance per row, which is for runs that are combined.
    per_row = 30.0 * budget.per_row
    return replace(budget, tol=tol, per_row=per_row, least=LEAST_PASSES).over(total_weight)


def _samples(
    source: AbstractSource, sizes: Sequence[int], rng: np.random.Generator
) -> list[AbstractSource]:
    """Samples of all rows, the smallest first, then the rows themselves; sizes the other way."""
    sources = [source]
    for n_rows in sizes[1:-1]:
        sources[:0] = draw_samples(source, n_rows, rng)
    for n_rows in sizes[1:][-1:]:
        screen = source.sample(n_rows, rng)
        sources.insert(0, InMemorySource.of(screen, workers=source.workers))
    return sources


def _on_all_rows(
    outcome: RestartSearch,
    sources: Sequence[AbstractSource],
    finalists: Sequence[int],
    budget: Budget,
    progress: RunProgress | None,
) -> RestartSearch:
    """The search after finalists continued on a larger sample, if any, and the best on all rows.

    Where the sample is stratified, the best one first converges on samples with the weight of all
    rows, as iterations over all rows take longer.
    """
    ends, interrupted = {number: outcome.runs[number] for number in finalists}, outcome.interrupted
    for source in sources:
        is_sample = source is not sources[-1]
        if interrupted and is_sample:
            continue
        is_ranked = is_sample and source is sources[0]
        spent = _rough(budget, source.total_weight) if is_ranked else budget
        before, ends = ends, {}
        for number, run in before.items():
            floor, passes = _floor(ends.values()), 1 if interrupted else spent.max_iter
            watched = replace(spent, max_iter=passes, floor=floor, progress=progress)
            place = _branch(outcome.streams, number)
            task = _Task(
                outcome.engine, source, watched, place.branch("sample") if is_sample else place
            )
            ends[number] = task.on_more_rows(run)
            interrupted = interrupted or ends[number].ascent.interrupted
            if interrupted:
                break
        best = max(ends, key=lambda number: ends[number].score)
        ends = {best: ends[best]}
    return replace(outcome, best=best, final=ends[best].ascent, interrupted=interrupted)


@dataclass(frozen=True)
class _Initialisation:
    """Initialisation of one run."""

    start: str
    model: AnyModel
    divide: Starter
    prior: str = ""
    stats: SufficientStats | None = None

    def partition(self, source: AbstractSource, streams: Streams, number: int) -> AbstractPartition:
        """Division of the rows, learned of a sample; a known one, behind the others, is not."""
        # k-means takes a tenth of the fit of a mixed model
        if self.model.n_components == 1 or self.stats is not None:
            return OnePart()
        rng = streams.start(min(number, streams.restarts - 1))
        sample = source.sample(SAMPLE_ROWS, rng)
        return self.divide(sample, self.model.n_components, rng)


def _initialisations(
    model: AnyModel, restarts: int, known: KnownStart | None
) -> list[_Initialisation]:
    """Starts of the model's own; else divisions of the rows and priors, in turns; a known one."""
    given = model.starts(restarts)
    if given.models:
        return [_Initialisation(name, one, one_part_start) for name, one in given.models.items()]
    kinds, priors, few = list(STARTS), given.priors, given.few
    starts = STARTS | FEW_COMPONENTS
    names = list(priors) or [""]
    initialisations = []
    for number in range(restarts):
        round_, place = divmod(number, len(kinds))
        kind, prior = kinds[place], names[(place + round_) % len(names)]
        from_end = number % FEW_OF - FEW_OF + len(few)
        if from_end >= 0:
            kind, prior = few[from_end], names[number // FEW_OF % len(names)]
        initialisations.append(_Initialisation(kind, priors.get(prior, model), starts[kind], prior))
    if known is not None:
        initialisations.append(_Initialisation(known.name, model, known.divide))
    return initialisations


def numbered(progress: ProgressCallback | None, number: int, before: int = 0) -> RunProgress | None:
    """The watch of one run that has made some passes already."""
    if progress is None:
        return None
    return lambda n_iter, bound: progress(number, before + n_iter, bound)


def _branch(streams: Streams, number: int) -> EngineStreams:
    """Randomness of the engine in one run, by its number from 0."""
    return streams.branch("restart", number + 1)


def _runs(
    initialisations: Sequence[_Initialisation],
    each: _Task,
    origin: AbstractSource,
    streams: Streams,
    progress: ProgressCallback | None,
    stages: Sequence[Sequence[int]],
    known: KnownStart | None,
) -> tuple[list[Restart], bool]:
    """The runs in their order, and whether Ctrl-C came: then those that have a bound.

    Without any of these it is raised. Runs that cannot come near the best of earlier stages end
    early. The last stage is omitted after a known start that remains the best. Both are
    independent of which runs are simultaneous. Partitions of the rows are estimated from a
    sample of ``origin``.
    """

    def run(number: int, floor: float, progress: ProgressCallback | None) -> Restart:
        start = initialisations[number].partition(origin, streams, number)
        task = each.watched(progress, _branch(streams, number), number)
        task = replace(task, budget=replace(task.budget, floor=floor))
        return task.run(initialisations[number], start)

    runs: dict[int, Restart] = {}
    try:
        for stage in stages:
            if known and runs and stage is stages[-1]:
                # No run has a larger score than the last one, which is the known start.
                best = max(run.score for run in runs.values())
                if best <= runs[max(runs)].score + known.margin:
                    break
            tasks = [partial(run, number, _floor(runs.values())) for number in stage]
            places = each.places(initialisations[0].model, len(tasks) * LEAST_PASSES)
            ended = side_by_side(tasks, places, progress, last=_ended)
            for number, one in zip(stage, ended, strict=True):
                runs[number] = replace(one, model=initialisations[number].model)
    except KeyboardInterrupt:  # after the last of them as well
        if not runs:
            raise
        return [runs[number] for number in sorted(runs)], True
    return [runs[number] for number in sorted(runs)], any(map(_ended, runs.values()))


def _stages(
    initialisations: Sequence[_Initialisation], known: KnownStart | None
) -> list[list[int]]:
    """Numbers of the runs by stage; first that from a fit, or from two components, if there is one.

    It often ends high and soon. The next one, alone, shows if starts of other kinds end higher.
    """
    high = (PREVIOUS_FIT, TWO_COMPONENTS)
    few = [at for at, one in enumerate(initialisations) if one.start in high][:1]
    others = [number for number in range(len(initialisations)) if number not in few]
    if known is None:
        order = [*few, *others]
        return [order[:1], order[1:2], order[2:]]
    return [[*few, others.pop()], others[: known.probes], others[known.probes :]]


def _floor(runs: Iterable[Restart]) -> float:
    """ELBO from which a further run counts, if it is the ELBO that runs are ranked by."""
    ranked = [(run.score, run.ascent.bound) for run in runs]
    if not ranked or any(score != bound for score, bound in ranked):
        return -np.inf
    return max(ranked)[1] - RIVAL


def _ended(run: Restart) -> bool:
    """Whether Ctrl-C ended the run."""
    return run.ascent.interrupted


@dataclass(frozen=True)
class _Task:
    """An engine, its rows, and its budget."""

    engine: AbstractEngine
    source: AbstractSource
    budget: Budget
    streams: EngineStreams

    def watched(
        self,
        progress: ProgressCallback | None,
        streams: EngineStreams,
        number: int,
        before: int = 0,
    ) -> _Task:
        """The task of one run, by its number and the passes that it has made already."""
        budget = replace(self.budget, progress=numbered(progress, number, before))
        return replace(self, budget=budget, streams=streams)

    def places(self, model: AnyModel, passes: int) -> int:
        """Processes for runs with this total of iterations: several for many short runs."""
        if self.budget.log is not None or not self.engine.maximises_bound:
            return 1
        places = processes(model, self.source, passes)
        if places > 1 and not self.budget.per_row and model.compiled(self.source) is not None:
            return processes(model, self.source, passes // COMPILED_PASSES)
        return places

    @property
    def spent(self) -> Budget:
        """The budget, its tolerance that for these rows."""
        return self.budget.over(self.source.total_weight)

    def climb(
        self, model: AnyModel, stats: SufficientStats, budget: Budget
    ) -> EngineResult[SufficientStats]:
        """A run from these statistics, its passes no finer than a tolerance per row asks for."""
        climbing = model.within(budget.per_row)
        return self.engine.run(climbing, self.source, stats, budget, self.streams)

    def run(self, initialisation: _Initialisation, start: AbstractPartition) -> Restart:
        """The run from a division of the rows."""
        began, model = time.perf_counter(), initialisation.model

        def divide(block: Block) -> SufficientStats:
            parted: SufficientStats = model.partition_stats(block, start.responsibilities(block))
            return parted

        if initialisation.stats is None:
            stats = model.first_stats(self.source.map_reduce(divide))
        else:
            stats = enlarged(model, self.source, initialisation.stats)
        ascent = self.climb(model, stats, self.spent)
        return Restart(
            start=initialisation.start,
            prior=initialisation.prior,
            model=model,
            ascent=ascent,
            score=self.score(model, ascent),
            n_rows=self.source.n_rows,
            total_weight=self.source.total_weight,
            seconds=time.perf_counter() - began,
        )

    def continued(self, run: Restart) -> Restart:
        """The run with as many further passes as it may have; without any it has not converged."""
        began, before = time.perf_counter(), run.ascent
        passes = self.budget.max_iter - before.n_iter
        if passes < 1:
            return replace(run, ascent=replace(before, converged=False))
        more = self.climb(run.model, before.stats, replace(self.spent, max_iter=passes))
        trace = np.concatenate([before.trace, more.trace[1:]])
        ascent = replace(more, trace=trace, n_iter=before.n_iter + more.n_iter)
        return replace(
            run,
            ascent=ascent,
            score=self.score(run.model, ascent),
            seconds=run.seconds + time.perf_counter() - began,
        )

    def score(self, model: AnyModel, ascent: EngineResult[SufficientStats]) -> float:
        """Score by which runs are ranked: the ELBO, or a tighter bound."""
        gap = model.bound_gap(model.update(ascent.stats))
        return float(ascent.bound + (0.0 if gap is None else self.source.map_reduce(gap).value))

    def on_more_rows(self, run: Restart) -> Restart:
        """The run from its end on a sample; after Ctrl-C only as far as its first bound."""
        model, stats, source = run.model, run.ascent.stats, self.source
        streams = self.streams.branch("all rows")
        try:
            first = enlarged(model, source, stats)
            budget = replace(self.spent, memory=MEMORY)
            ascent = self.engine.run(model, source, first, budget, streams)
        except KeyboardInterrupt:
            first = enlarged(model, source, stats)
            budget = replace(self.budget, max_iter=1, progress=None)
            ascent = self.engine.run(model, source, first, budget, streams)
            ascent = replace(ascent, interrupted=True)
        return replace(run, ascent=ascent, score=self.score(model, ascent))


def enlarged(model: AnyModel, source: AbstractSource, stats: SufficientStats) -> SufficientStats:
    """Statistics of all rows under the posterior of a sample's statistics."""
    posterior = model.update(stats)
    sweep = source.map_reduce(partial(model.e_step, posterior))
    following: SufficientStats = model.global_step(posterior, sweep.stats)
    return following


def warn_if_unfinished(
    ascents: Sequence[EngineResult[SufficientStats]], max_iter: int, *, interrupted: bool
) -> None:
    """Warn of a search that was interrupted, or of kept runs that ran out of passes."""
    failed = [ascent.failure for ascent in ascents if ascent.failure]
    unfinished = [ascent.trace for ascent in ascents if not ascent.converged]
    if interrupted:
        warn(
            "the fit was interrupted; this is the best state so far, with converged=False",
            ConvergenceWarning,
        )
    elif failed:
        warn(failed[0], ConvergenceWarning)
    elif unfinished:
        # Steps whose gain predicts the remaining gain of a run that was stopped.
        last = max((t[-101:] for t in unfinished), key=lambda t: float(t[-1] - t[-2:][0]))
        gains = [f"by {last[-1] - last[-2]:.2g} nats in the last step"] if len(last) > 1 else []
        gains += [f"{last[-1] - last[0]:.3g} in the last {len(last) - 1}"] if len(last) > 2 else []
        by = f" ({', '.join(gains)})" if gains else ""
        warn(
            f"the ELBO was still increasing{by} after max_iter={max_iter} iterations; "
            "raise max_iter, or use fewer components; fit.check() shows whether it matters",
            ConvergenceWarning,
        )
