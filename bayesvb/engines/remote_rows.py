"""Remote rows: a run over them with the sums that are available so far.

A run, and a linear response, use rows by sums over them only. The state of a run is stored as in
its checkpoints; with this state and the sums reported since, a site continues and determines which
ones to request next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast, final

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import LocalStep, SufficientStats
from bayesvb.engines.base import EngineResult
from bayesvb.engines.cavi import cavi
from bayesvb.engines.run_log import AbstractRunPage, Arrays
from bayesvb.engines.run_state import result_of
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import EntryVector
from bayesvb.sensitivity.covariance import LinearResponse, linear_response, withheld
from bayesvb.variational.model import AnyModel

StatsT = TypeVar("StatsT", bound=SufficientStats)


class Unanswered(Exception):
    """Sums over remote rows that are not available yet: ``functions`` of a block of rows.

    They are iterations under a posterior, their first argument. ``owners`` are the numbers of the
    runs that request them.
    """

    def __init__(
        self, functions: Sequence[Callable[[Block], object]], owners: Sequence[int] = ()
    ) -> None:
        super().__init__(f"{len(functions)} sums are not known yet")
        self.functions = tuple(cast("partial[SufficientStats]", one) for one in functions)
        self.owners = tuple(owners)


@final
class RemoteRun(AbstractRunPage):
    """A run over remote rows: its state, and the sums reported since.

    Parameters
    ----------
    state : mapping of str to ndarray
        Empty at the start.
    sums : ndarray, shape (parts, entries)

    Attributes
    ----------
    reached : mapping of str to ndarray
        The state that was kept last.
    seen : int
        Number of reported sums that it has used.
    """

    def __init__(self, state: Arrays, sums: Float[np.ndarray, "sum entries"]) -> None:
        self.reached, self.seen = state, 0
        self._begun, self._sums, self._taken = state, sums, 0

    @property
    def known(self) -> Arrays:
        """The initial state."""
        return self._begun

    def keep(self, state: Arrays) -> None:
        """Keep a state, which has seen all sums so far."""
        self.reached, self.seen = state, self._taken

    def write(self) -> None:
        """Nothing: the caller that requests sums has the state."""

    def following(self, count: int) -> Float[np.ndarray, "found entries"]:
        """The next ``count`` sums, or as many of them as have been reported."""
        sums = self._sums[self._taken : self._taken + count]
        self._taken += len(sums)
        return sums


@final
@dataclass(frozen=True)
class RowsElsewhere(AbstractSource):
    """Rows of which there are sums, in the order of the requests.

    Attributes
    ----------
    run : RemoteRun
    nobody : Block
        A row that does not count, whose sums have the shapes of all.
    count : int
        Number of rows.
    weight : float
        Sum of their case weights.
    """

    run: RemoteRun
    nobody: Block
    count: int
    weight: float

    def iterate(self) -> Iterator[Block]:
        """None: they are elsewhere."""
        raise NotImplementedError("the rows are elsewhere")

    @property
    def rows_at_hand(self) -> bool:
        """False: the rows are at the sites."""
        return False

    @property
    def n_rows(self) -> int:
        return self.count

    @property
    def total_weight(self) -> float:
        return self.weight

    def map_reduce(self, function: Callable[[Block], StatsT]) -> StatsT:
        """The next sum."""
        return self.map_reduce_all([function])[0]

    def map_reduce_all(self, functions: Sequence[Callable[[Block], StatsT]]) -> list[StatsT]:
        """The next sums.

        Raises
        ------
        Unanswered
            If they have not been reported.
        """
        sums = self.run.following(len(functions))
        if len(sums) < len(functions):
            raise Unanswered(functions[len(sums) :])
        return [of_row(row, one(self.nobody)) for row, one in zip(sums, functions, strict=True)]


@dataclass(frozen=True)
class RemoteFit:
    """Result of a run over remote rows.

    Attributes
    ----------
    ascent : EngineResult
    model : AbstractVariationalModel
        Model with its components in the order of their sizes, the largest first.
    stats : SufficientStats
    order : tuple of int
        Number that each component had.
    response : LinearResponse
    """

    ascent: EngineResult[SufficientStats]
    model: AnyModel
    stats: SufficientStats
    order: tuple[int, ...]
    response: LinearResponse


Ordered = Callable[[AnyModel, SufficientStats], tuple[AnyModel, SufficientStats, tuple[int, ...]]]
"""Puts the components of a model and its statistics in the order of their labels."""

SCREENED = 10
"""Iterations of the runs from all starts, of which the best one then continues."""


def fit_elsewhere(
    model: AnyModel,
    sources: Sequence[RowsElsewhere],
    starts: Sequence[SufficientStats],
    *,
    ordered: Ordered,
    tol: float,
    max_iter: int,
    with_response: bool,
) -> RemoteFit:
    """Result of the best of several runs over remote rows, with its linear response.

    Parameters
    ----------
    model : AbstractVariationalModel
    sources : sequence of RowsElsewhere
        Remote rows of the first iterations of each run, and then of the best run.
    starts : sequence of SufficientStats
    ordered : callable
    tol, max_iter
        As of ``cavi``.
    with_response : bool

    Raises
    ------
    Unanswered
        If sums over rows are needed that have not been reported.
    """
    first = _screened(model, sources[:-1], starts, tol=tol, max_iter=min(SCREENED, max_iter))
    try:
        ascent = first
        if not first.converged and max_iter > first.n_iter:
            rest = max_iter - first.n_iter
            more = _ascent(model, sources[-1], first.stats, tol=tol, max_iter=rest)
            trace = np.concatenate([first.trace, more.trace[1:]])
            ascent = replace(more, trace=trace, n_iter=first.n_iter + more.n_iter)
        labelled, stats, order = ordered(model, ascent.stats)
        response = withheld("linear response was not asked for")
        if with_response:
            response = linear_response(labelled, sources[-1], stats)
    except Unanswered as asked:
        raise Unanswered(asked.functions, [len(starts)] * len(asked.functions)) from None
    return RemoteFit(ascent, labelled, stats, order, response)


def _ascent(
    model: AnyModel, source: RowsElsewhere, start: SufficientStats, *, tol: float, max_iter: int
) -> EngineResult[SufficientStats]:
    """The run, continued."""
    done = result_of(model, start, source.run.known)
    if done is not None:
        return done
    return cavi(model, source, start, tol=tol, max_iter=max_iter, page=source.run)


def _screened(
    model: AnyModel,
    sources: Sequence[RowsElsewhere],
    starts: Sequence[SufficientStats],
    *,
    tol: float,
    max_iter: int,
) -> EngineResult[SufficientStats]:
    """The best of short runs from all starts, which request their sums in parallel."""
    screened: list[EngineResult[SufficientStats]] = []
    functions: list[partial[SufficientStats]] = []
    owners: list[int] = []
    for number, (source, start) in enumerate(zip(sources, starts, strict=True)):
        try:
            screened.append(_ascent(model, source, start, tol=tol, max_iter=max_iter))
        except Unanswered as asked:
            functions += asked.functions
            owners += [number] * len(asked.functions)
    if functions:
        raise Unanswered(functions, owners)
    return max(screened, key=lambda one: one.bound)


def of_row(row: EntryVector, blank: SufficientStats) -> Any:
    """Sums of these numbers, in the shapes of others; further entries are ignored.

    Raises
    ------
    DataError
        If there are too few of them.
    """
    needed = blank.to_vector().size
    if row.size < needed:
        raise DataError(f"a sum over rows elsewhere has {row.size} entries, and needs {needed}")
    if isinstance(blank, LocalStep):
        return LocalStep(float(row[0]), blank.stats.with_vector(row[1:]))
    return blank.with_vector(row)
