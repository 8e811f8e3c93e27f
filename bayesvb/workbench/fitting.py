"""From a search to a fit: the best run, or several that are combined."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Source
from bayesvb.engines.cavi import Ascent
from bayesvb.engines.held_out import held_out_density
from bayesvb.engines.restarts import Effort, Run, Search, Watch
from bayesvb.fit import Fit
from bayesvb.linear_response import sampled_response, withheld
from bayesvb.models.base import AbstractModel
from bayesvb.options import warn_if_unfinished
from bayesvb.run_tables import restart_table, traces
from bayesvb.stacking import Member, distinct, held_out, kept, stacked
from bayesvb.weighted_ranks import stacking_weights

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.workbench.base import AbstractWorkbench

INTERRUPTED = "the fit was interrupted"

COMBINATIONS = ("best", "stack", "average")
"""What is made of the restarts."""

WEIGHING_DRAWS = 250
"""Draws behind the held-out densities by which restarts are weighed."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of a fit.

    Attributes
    ----------
    combine : {"best", "stack", "average"}
    n_draws : int
    covariance : {"linear-response", "mean-field"}
    effort : Effort
    seed : int
    began : float
        When the work began, by ``time.perf_counter``.
    watch : callable, optional
        Called as ``search`` does.
    """

    combine: str
    n_draws: int
    covariance: str
    effort: Effort
    seed: int
    began: float
    watch: Watch | None = None

    @property
    def rough(self) -> bool:
        """Whether only some of the restarts will count, and need to converge."""
        return self.combine == "stack"


@dataclass(frozen=True)
class Seeds:
    """Randomness of draws, and of the rows of which a linear response is made."""

    draws: np.random.SeedSequence
    rows: np.random.SeedSequence


def fitted(
    model: AbstractWorkbench, found: Search, source: Source, wanted: Wanted, seeds: Seeds
) -> Fit:
    """The fit of a search, its components in the order of their labels."""
    try:
        weights, columns = weighed(found, wanted, seeds.draws)
    except KeyboardInterrupt:
        weights, columns, found = {found.best: 1.0}, {}, replace(found, interrupted=True)
    if "elpd_per_row" in columns:
        columns["elpd_per_row"] -= model.log_unit
    if wanted.rough:
        found = found.settled(weights, wanted.effort, wanted.watch)
    numbers = sorted(weights, key=lambda number: -weights[number])
    members: list[Member] = []
    ascents: list[Ascent[Any]] = []
    for number in numbers:
        labelled = _labelled(model, found, number, source, wanted.effort, members)
        ascents.append(labelled.ascent)
        one = _one(model, found, labelled, wanted, np.random.default_rng(seeds.draws))
        members.append(Member(number + 1, weights[number], one))
    warn_if_unfinished(ascents, wanted.effort.max_iter, interrupted=found.interrupted)
    table = members[0].fit.restarts.assign(**columns)
    finished = [
        replace(member, fit=_responding(member.fit, source, wanted, seeds.rows, table))
        for member in members
    ]
    if len(finished) == 1:
        return finished[0].fit
    fit = stacked(finished)
    return replace(fit, seconds=time.perf_counter() - wanted.began)


def weighed(
    found: Search, wanted: Wanted, seed: np.random.SeedSequence
) -> tuple[dict[int, float], dict[str, Float[np.ndarray, " runs"]]]:
    """Weight of every run that counts, by its number from 0, and columns for the table.

    Held-out densities are those of the standardised scale.
    """
    n_runs = len(found.runs)
    if wanted.combine == "best":
        return {found.best: 1.0}, {}
    log_density = np.stack([_held_out(run, found.screened, wanted, seed) for run in found.runs])
    row_weights = case_weights(found.screened)
    whole = np.full(n_runs, 1.0 / n_runs)
    if wanted.combine == "stack":
        numbers = distinct([run.score for run in found.runs], log_density)
        whole = np.zeros(n_runs)
        whole[numbers] = kept(stacking_weights(log_density[numbers], row_weights))
    return (
        {number: float(weight) for number, weight in enumerate(whole) if weight > 0.0},
        {"elpd_per_row": np.average(log_density, axis=1, weights=row_weights), "weight": whole},
    )


def _held_out(
    run: Run, source: Source, wanted: Wanted, seed: np.random.SeedSequence
) -> Float[np.ndarray, " rows"]:
    """Held-out density of every row under one run: from folds, or from draws."""
    own = held_out_density(run.model, source, run.ascent.sums)
    if own is not None:
        return own
    posterior = run.model.update(run.ascent.sums)
    n_draws = min(wanted.n_draws, WEIGHING_DRAWS)
    draws = run.model.draws(posterior, n_draws, np.random.default_rng(seed))
    return held_out(run.model, source, draws)


def case_weights(source: Source) -> Float[np.ndarray, " rows"] | None:
    """Case weights of all rows; None if every row counts once."""
    if all(block.weight is None for block in source.blocks):
        return None
    return np.concatenate(
        [np.ones(b.n_rows) if b.weight is None else b.weight for b in source.blocks]
    )


@dataclass(frozen=True)
class _Labelled:
    """One run with its components in the order of their labels."""

    number: int
    ascent: Ascent[Any]
    core: AbstractModel[Any, Any]
    sums: Any
    order: tuple[int, ...]


def _labelled(
    model: AbstractWorkbench,
    found: Search,
    number: int,
    source: Source,
    effort: Effort,
    others: list[Member],
) -> _Labelled:
    """Components of the first member by the model's rule, of others by their likeness to it."""
    ascent = found.finished(number, source, effort)
    core, sums, order = model.ordered(found.runs[number].model, ascent.sums)
    if others:
        first = others[0].fit
        core, sums, again = model.aligned(first, core, sums)
        order = tuple(order[k] for k in again)
    return _Labelled(number, ascent, core, sums, order)


def _one(
    model: AbstractWorkbench,
    found: Search,
    run: _Labelled,
    wanted: Wanted,
    rng: np.random.Generator,
) -> Fit:
    """The fit of one run, by its own posterior."""
    q = run.core.update(run.sums)
    draws = run.core.draws(q, wanted.n_draws, rng)
    why = INTERRUPTED if found.interrupted else "linear response was not asked for"
    weight = model.source.total_weight
    return Fit(
        model=model,
        core=run.core,
        sums=run.sums,
        order=run.order,
        draws=draws,
        log_q=run.core.log_posterior(q, draws),
        covariance="mean-field",
        q_draws=draws,
        response=withheld(why),
        restarts=restart_table(found, model.log_unit, best=run.number),
        traces=traces(found, model.log_unit, weight, best=run.number, final=run.ascent),
        converged=run.ascent.converged and not found.interrupted,
        n_iter=run.ascent.n_iter,
        seconds=time.perf_counter() - wanted.began,
        seed=wanted.seed,
    )


def _responding(
    fit: Fit,
    source: Source,
    wanted: Wanted,
    seed: np.random.SeedSequence,
    table: pd.DataFrame,
) -> Fit:
    """The fit with its linear response, unless the user does not want to wait for it."""
    fit = replace(fit, restarts=table.assign(best=fit.restarts["best"]))
    if wanted.covariance == "mean-field" or fit.response.failure == INTERRUPTED:
        return fit
    began = time.perf_counter()
    try:
        response = sampled_response(fit.core, source, fit.sums, np.random.default_rng(seed))
    except KeyboardInterrupt:
        response = withheld(INTERRUPTED)
    seconds = fit.seconds + time.perf_counter() - began
    return replace(fit, response=response, seconds=seconds).with_covariance(response.label)
