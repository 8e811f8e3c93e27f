"""Rows that are elsewhere: an ascent over them as far as their sums have been told.

An ascent, and a linear response, know rows by sums over them only. Whoever has told sums so far can
begin anew, take them one after the other, and find out which ones to ask for next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast, final

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import LocalStep, SufficientStats
from bayesvb.engines.base import EngineResult
from bayesvb.engines.cavi import cavi
from bayesvb.engines.linear_response import LinearResponse, linear_response, withheld
from bayesvb.variational.model import AbstractVariationalModel

StatsT = TypeVar("StatsT", bound=SufficientStats)

Model = AbstractVariationalModel[Any, Any]


class Unanswered(Exception):
    """Sums over rows elsewhere that nobody has told yet: ``functions`` of a block of rows.

    They are passes under a posterior, their first argument.
    """

    def __init__(self, functions: Sequence[Callable[[Block], Any]]) -> None:
        super().__init__(f"{len(functions)} sums are not known yet")
        self.functions = tuple(cast("partial[LocalStep]", one) for one in functions)


@final
@dataclass(frozen=True)
class RowsElsewhere(AbstractSource):
    """Rows of which there are sums, in the order in which these are asked for.

    Attributes
    ----------
    told : iterator of SufficientStats
    count : int
        Number of rows.
    weight : float
        Sum of their case weights.
    """

    told: Iterator[Any]
    count: int
    weight: float

    def iterate(self) -> Iterator[Block]:
        """None: they are elsewhere."""
        raise NotImplementedError("the rows are elsewhere")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.count

    @property
    def total_weight(self) -> float:
        """Sum of the case weights."""
        return self.weight

    def map_reduce(self, function: Callable[[Block], StatsT]) -> StatsT:
        """The next sum."""
        return self.map_reduce_all([function])[0]

    def map_reduce_all(self, functions: Sequence[Callable[[Block], StatsT]]) -> list[StatsT]:
        """The next sums.

        Raises
        ------
        Unanswered
            If they have not been told.
        """
        found = list(islice(self.told, len(functions)))
        if len(found) < len(functions):
            raise Unanswered(functions[len(found) :])
        return found


@dataclass(frozen=True)
class RemoteFit:
    """What an ascent over rows elsewhere has found.

    Attributes
    ----------
    ascent : EngineResult
    model : AbstractVariationalModel
        With its components in the order of their sizes, the largest first.
    stats : SufficientStats
    order : tuple of int
        Number that each component had.
    response : LinearResponse
    """

    ascent: EngineResult[Any]
    model: Model
    stats: Any
    order: tuple[int, ...]
    response: LinearResponse


def fit_elsewhere(
    model: Any,
    source: AbstractSource,
    starts: Sequence[SufficientStats],
    *,
    tol: float,
    max_iter: int,
    with_response: bool,
) -> RemoteFit:
    """Ascent from the best of several starts, and the linear response at its end.

    Raises
    ------
    Unanswered
        If sums over rows are needed that the source does not know.
    """
    posteriors = [model.update(start) for start in starts]
    steps = source.map_reduce_all([partial(model.e_step, q) for q in posteriors])
    bounds = [step.bound - model.kl(q) for q, step in zip(posteriors, steps, strict=True)]
    best = starts[int(np.nanargmax(bounds))]
    ascent = cavi(model, source, best, tol=tol, max_iter=max_iter)
    order = tuple(np.argsort(-ascent.stats.experts.weight, kind="stable").tolist())
    ordered, stats = model.permuted(order, ascent.stats)
    response = withheld("linear response was not asked for")
    if with_response:
        response = linear_response(ordered, source, stats)
    return RemoteFit(ascent, ordered, stats, order, response)


def as_row(step: LocalStep) -> Float[np.ndarray, " entries"]:
    """The sums of a pass as numbers in one row, its part of the bound first."""
    return np.concatenate([[step.bound], step.stats.to_vector()])


def as_step(row: Float[np.ndarray, " entries"], blank: SufficientStats) -> LocalStep:
    """The sums of a pass from their numbers."""
    return LocalStep(float(row[0]), blank.with_vector(row[1:]))
