"""Rows that come later: folded into a fit by their sums, without the rows that it has seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from bayesvb.argument_checks import check_count, check_positive, shown
from bayesvb.data.blocks import Block
from bayesvb.data.case_weights import weights_and_frame
from bayesvb.data.frame_kinds import frames_of
from bayesvb.data.frame_streams import AbstractFrames
from bayesvb.data.partly_kept import PartlyKept, all_in_memory
from bayesvb.data.response_columns import RESPONSE_COLUMNS
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.data.streamed_rows import EncodedRows
from bayesvb.engines.base import Budget, EngineResult
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.known_rows import BesideKnownRows, KnownInformation, response_beside
from bayesvb.errors import ConvergenceWarning, DataError, warn
from bayesvb.formula.design import Rows
from bayesvb.models.network.model import Network
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.base import AbstractFit, AbstractPublicModel
from bayesvb.results.capabilities import HasComponents, SummarisesRows
from bayesvb.results.exact_draws import is_integrated, with_integrated_scales
from bayesvb.results.importance import of_one_restart
from bayesvb.results.named_draws import PosteriorDraws, count
from bayesvb.sensitivity.covariance import LinearResponse, linear_response, resolved, withheld
from bayesvb.variational.model import AnyModel
from bayesvb.variational.streamed_model import AnyStreamed

FAR = float(np.finfo(float).eps ** -0.5)
"""Standardised value whose square holds no digit of a sum of one: 6.7e7."""


NEW_STARTS = 4
"""New starts where they cost little: over few rows that are all in memory, or over sums that stand
for all rows. Components that the first rows did not need stay empty without them: 13 variables of
178 wines in 4 blocks end 0.76 nats per row lower, pinwheels of 20,000 rows in blocks of 2,000 by
a network 0.03."""

FEW_ROWS = 4_000
"""Rows up to which new starts are made without being asked for: they take a second, of networks
two to four times as long as the first fit. Networks need that many at first: fits to 2,000 rows of
three streams end 0.006 to 0.04 nats per row lower than fits to all rows."""

KEPT_ROWS = 10_000
"""Rows of networks up to which all are kept and read again at each update, so that latent vectors
of earlier rows follow: together these updates take about as long as one fit. As many rows represent
all where only the pattern of their missing values counts."""


def updated(
    fit: AbstractFit,
    data: object,
    *,
    weights: object,
    forgetting: float,
    new_starts: int | None,
    tol: float,
    max_iter: int,
) -> AbstractFit:
    """The fit after more rows; see ``Fit.update``."""
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    if new_starts is not None:
        check_count("new_starts", new_starts, least=0)
    share = _share(forgetting)
    check_updatable(fit)
    began = time.perf_counter()
    model = fit.model
    new = _More(new_rows(model, data, weights), fitted_rows(model), share, new_starts)
    run, new = _run(fit, new, Budget(float(tol), max_iter))
    rows = _together(model.source, new, isinstance(fit.core, Network))
    run = replace(run, model=run.model.over(rows))
    return refreshed(fit, run, new.total, time.perf_counter() - began)


@dataclass(frozen=True)
class _More:
    """New rows, rows before, the share for which these count from now on, and new starts."""

    source: AbstractSource
    every: AbstractSource
    share: float
    new_starts: int | None

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return self.every.n_rows + self.source.n_rows

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return self.share * self.every.total_weight + self.source.total_weight


@dataclass(frozen=True)
class Run:
    """A run to the posterior that has seen all rows, and its linear response."""

    model: AbstractPublicModel
    core: AnyModel
    order: tuple[int, ...]
    ascent: EngineResult[SufficientStats]
    response: LinearResponse = field(default_factory=lambda: withheld("not computed yet"))


def _run(fit: AbstractFit, new: _More, budget: Budget) -> tuple[Run, _More]:
    """Return the run over all rows, and the rows that count: without those that are forgotten."""
    model = fit.model
    if isinstance(model, SummarisesRows):
        summarised = model.with_more_rows(new.source, new.share)
        if summarised is not None:
            summary, rows = summarised
            run = _best_run(fit, summary, rows, budget, new.new_starts or NEW_STARTS)
            response = known_response(fit, run.core, run.ascent, rows)
            return replace(run, response=response), new
    starts = _default_starts(fit, new) if new.new_starts is None else new.new_starts or None
    if starts is None:
        if new.new_starts is None:
            _warn_of_few_rows(fit, new.every.n_rows)
        return _continue_run(fit, new, budget), new
    return _run_new_starts(fit, new, budget, starts)


def _run_new_starts(
    fit: AbstractFit, new: _More, budget: Budget, new_starts: int
) -> tuple[Run, _More]:
    """Run new starts on the rows at hand, and return the better of the best one and the fit.

    Where earlier rows are gone, the ELBO of a new start includes the divergence from the prior, and
    the fit's part of the ELBO does not: new starts win only if their gain exceeds the information
    that is lost with the other rows.
    """
    earlier, rows = _rows_at_hand(fit, new)
    run = _best_run(fit, fit.model, rows, budget, new_starts)
    is_complete = rows.n_rows == new.n_rows
    if not is_complete:
        streamed = _continue_run(fit, new, budget)
        posterior = fit.core.update(streamed.ascent.stats)
        if rows.map_reduce(partial(fit.core.e_step, posterior)).bound >= run.ascent.bound:
            return streamed, new
    if fit.response.failure is None:
        run = replace(run, response=linear_response(run.core, rows, run.ascent.stats))
    else:
        run = replace(run, response=withheld(fit.response.failure))
    return run, new if is_complete else replace(new, every=earlier, share=1.0)


def _continue_run(fit: AbstractFit, new: _More, budget: Budget) -> Run:
    """Run from the sums over earlier rows, over the new rows."""
    bound = fit.elbo + fit.model.log_jacobian * new.every.total_weight
    with_known = BesideKnownRows.of(streamed_core(fit), fit.stats, bound).forgetting(new.share)
    ascent = _ascent(with_known, new.source, fit, budget)
    response = _response(fit, with_known, new.source, ascent, new.every, new.share)
    return Run(fit.model, fit.core, fit.order, ascent, response)


def _default_starts(fit: AbstractFit, new: _More) -> int | None:
    """Number of new starts, or None if the fit continues from sums.

    Mixtures and networks with few rows, all in memory, have some at the first update. Without new
    starts, a network continues over all rows as long as these are kept.
    """
    several = isinstance(fit.model, HasComponents) and fit.core.n_components > 1
    if not several or all_in_memory(new.every) is None or all_in_memory(new.source) is None:
        return None
    if new.n_rows <= FEW_ROWS and isinstance(new.every, InMemorySource):
        return NEW_STARTS
    return 0 if isinstance(fit.core, Network) and new.n_rows <= KEPT_ROWS else None


def _warn_of_few_rows(fit: AbstractFit, n_rows: int) -> None:
    """Warn of a network that continues from few rows: it keeps their optimum."""
    if isinstance(fit.core, Network) and n_rows < FEW_ROWS:
        warn(
            f"a network of {n_rows:,} rows is updated: latent vectors of its rows stay as they "
            "are, and log densities can be lower than after a fit to all rows. Fit the first "
            f"{FEW_ROWS:,} rows together; new_starts=0 continues without this warning",
            ConvergenceWarning,
        )


def _rows_at_hand(fit: AbstractFit, new: _More) -> tuple[InMemorySource, InMemorySource]:
    """Return the earlier rows in memory, all or a sample; then these and the new ones.

    The latter are not representative of a process that drifts: none where earlier rows fade.

    Raises
    ------
    DataError
        If new rows are read in blocks.
    """
    if not isinstance(new.source, InMemorySource):
        raise DataError(
            f"new_starts={new.new_starts} needs new rows in memory",
            hint="omit it: the fit then continues from its statistics",
        )
    earlier: AbstractSource
    every = all_in_memory(new.every)
    if every is not None:
        earlier = every.each(partial(_scaled, new.share)) if new.share < 1.0 else every
    else:
        kept = fit.model.source
        kept = kept.kept if isinstance(kept, PartlyKept) else kept
        earlier = kept if new.share == 1.0 else InMemorySource((kept.empty(),))
    assert isinstance(earlier, InMemorySource)
    return earlier, earlier.with_rows(new.source)


def _scaled(share: float, block: Block) -> Block:
    """Rows that count for this share."""
    return replace(block, weight=share * block.weighted(np.ones((1, block.n_rows)))[0])


def _best_run(
    fit: AbstractFit,
    model: Any,
    rows: AbstractSource,
    budget: Budget,
    new_starts: int,
) -> Run:
    """The run with the larger ELBO, from the fit or from the best of new starts."""
    starts = [(model.relabelled(model.core, fit.order), fit.order, fit.stats)]
    if new_starts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Draws of the fits among which a new start is chosen, which has no use of them.
            scratch = model.over(rows).fit(
                restarts=new_starts, combine="best", covariance="mean-field", draws=25,
                tol=budget.tol, max_iter=budget.max_iter, seed=fit.seed,
            )  # fmt: skip
        starts.append((scratch.core, scratch.order, scratch.stats))
    place = Streams(fit.seed).branch("update")
    runs = [
        Run(model, core, order, Cavi().run(core, rows, stats, budget, place))
        for core, order, stats in starts
    ]
    return max(runs, key=lambda run: run.ascent.bound)


def _share(forgetting: object) -> float:
    """Weight of earlier rows at an update."""
    check_positive("forgetting", forgetting)
    if not float(cast(float, forgetting)) <= 1.0:
        raise DataError(
            f"forgetting={shown(forgetting)} must not be above 1",
            hint="1 keeps the full weight of earlier rows, 0.9 reduces it by a tenth at each "
            "update",
        )
    return float(cast(float, forgetting))


def check_updatable(fit: AbstractFit) -> None:
    """Refuse fits whose statistics do not stand for their rows."""
    why = None
    if fit.members:
        why = f"a fit that {fit.combination} does not have a single posterior"
    elif fit.is_sampled or not fit.engine.bounds_evidence:
        why = f"fits by {fit.engine.title} are not made of sums over rows"
    elif fit.model.grouping is not None:
        why = "rows of one subject belong together, and its earlier rows are not kept"
    elif fit.model.weight_type == "sampling":
        why = "sampling weights are relative to the weights of all rows"
    else:
        try:
            streamed_core(fit).expected_sum(fit.stats, fit.q)
        except NotImplementedError:
            why = "its statistics are not sums over rows"
    if why is not None:
        raise DataError(
            f"this fit cannot be updated: {why}",
            hint="fit with combine='best'"
            if fit.members
            else "fit the earlier and the new rows together",
        )


def streamed_core(fit: AbstractFit) -> AnyStreamed:
    """Model of a fit whose statistics are sums over rows."""
    return cast(AnyStreamed, fit.core)


def _ascent(
    beside: BesideKnownRows[object, SufficientStats],
    source: AbstractSource,
    fit: AbstractFit,
    budget: Budget,
) -> EngineResult[SufficientStats]:
    """From the posterior of before to the one that has seen the new rows too."""
    nothing = fit.core.e_step(fit.q, no_row(source)).stats
    start = beside.global_step(fit.q, nothing)
    place = Streams(fit.seed).branch("update")
    return Cavi().run(beside, source, start, budget, place)


def no_row(source: AbstractSource) -> Block:
    """A row that does not count: its statistics are zeros."""
    return replace(source.sample(1, np.random.default_rng(0)), weight=np.zeros(1))


def _response(
    fit: AbstractFit,
    beside: BesideKnownRows[object, SufficientStats],
    source: AbstractSource,
    ascent: EngineResult[SufficientStats],
    every: AbstractSource,
    share: float,
) -> LinearResponse:
    """Linear response of all rows, as far as the fit had one."""
    if fit.response.failure is not None:
        return withheld(fit.response.failure)
    if fit.core.coordinates(fit.q) is None:
        return known_response(fit, fit.core, ascent, _standing_for_all(every, source, share))
    try:
        known = KnownInformation.of(streamed_core(fit), fit.stats, fit.response, no_row(source))
        return response_beside(beside, source, ascent.stats, known, share=share)
    except np.linalg.LinAlgError as error:
        return withheld(str(error))


def known_response(
    fit: AbstractFit,
    core: AnyModel,
    ascent: EngineResult[SufficientStats],
    rows: AbstractSource,
) -> LinearResponse:
    """Linear response in closed form, as far as the fit had one."""
    if fit.response.failure is not None:
        return withheld(fit.response.failure)
    known = core.known_response(core.update(ascent.stats), rows)
    return withheld(core.without_response) if known is None else resolved(known)


def _standing_for_all(
    every: AbstractSource, source: AbstractSource, share: float
) -> InMemorySource:
    """Earlier rows, of which those at hand stand for all, and new ones."""
    rng, kept = np.random.default_rng(0), every.kept if isinstance(every, PartlyKept) else every
    earlier = kept.standing_for_all(KEPT_ROWS, rng).whole()
    scale = share * every.total_weight / kept.total_weight
    earlier = replace(earlier, weight=scale * earlier.weighted(np.ones((1, earlier.n_rows)))[0])
    return InMemorySource((earlier, source.standing_for_all(KEPT_ROWS, rng).whole()))


def _together(rows: AbstractSource, new: _More, is_read_again: bool) -> PartlyKept:
    """The rows that are kept, those in memory at the first fit, and how many there are in all.

    Few rows of networks are kept as well, as later updates read them again.
    """
    kept, later = (rows.kept, rows.later) if isinstance(rows, PartlyKept) else (rows, None)
    every, source = all_in_memory(new.every), new.source
    few = new.share == 1.0 and new.n_rows <= KEPT_ROWS and new.new_starts != 0
    if is_read_again and few and every is not None and isinstance(source, InMemorySource):
        later = source if later is None else later.with_rows(source)
    else:
        later = None
    return PartlyKept(kept, new.n_rows, new.total, later, workers=rows.workers)


def refreshed(fit: AbstractFit, run: Run, total: float, seconds: float) -> AbstractFit:
    """The fit with another posterior."""
    model, core, ascent, response = run.model, run.core, run.ascent, run.response
    posterior = core.update(ascent.stats)
    n_restarts = len(fit.restarts)
    draws = core.draws(
        posterior, count(fit.variational_draws), Streams(fit.seed, n_restarts).draws()
    )
    trace = ascent.trace - model.log_jacobian * total
    plain = replace(
        fit,
        model=model,
        core=core.knowing(posterior),
        order=run.order,
        stats=ascent.stats,
        given_draws=PosteriorDraws.from_posterior(core, posterior, draws),
        variational_draws=draws,
        response=response,
        traces={**fit.traces, "final": trace},
        converged=ascent.converged,
        n_iter=ascent.n_iter,
        seconds=seconds,
        robust=None,
        held_out=None,
        sbc=None,
    )
    integrated = with_integrated_scales(plain) if is_integrated(fit) else None
    return of_one_restart(plain, response.label) if integrated is None else integrated


def new_rows(model: AbstractPublicModel, data: object, weights: object) -> AbstractSource:
    """Complete new rows in the units of a model.

    Parameters
    ----------
    model : AbstractPublicModel
    data : table
        In memory, or one that is read in blocks.
    weights : str or sequence of float or None
        Case weights; a column's name where rows are read in blocks.

    Raises
    ------
    DataError
        If no row is complete, or the rows of the model have case weights and these have none.
    """
    if weights is None and model.weights is not None:
        raise DataError(
            "weights=None, but the rows of the fit have case weights",
            hint="give weights=, the name of a column or one number per row (1 for equal weights)",
        )
    frames = frames_of(data)
    if frames is not None:
        return _read_in_blocks(model, frames, weights)
    case_weights, frame = weights_and_frame(weights, data)
    rows = _rows(model, frame)
    if not rows.complete.any():
        raise _none_complete()
    block = model.block(rows)
    _check_sizes(model, block, rows.index[rows.complete])
    if case_weights is not None:
        block = replace(block, weight=case_weights[rows.complete])
    return InMemorySource.of(block)


def _rows(model: AbstractPublicModel, frame: pd.DataFrame) -> Rows:
    """Rows by the formula, none of them of a group whose effect is not among the parameters."""
    design = model.design.with_unseen(replace(model.design.unseen, groups="error"))
    return design.new(frame, response=model.formula.response is not None)


def _check_sizes(model: AbstractPublicModel, block: Block, index: pd.Index) -> None:
    """Raise if a value is so large that earlier rows are lost by rounding next to its square."""
    design = model.design
    terms = {part: own for part, own in design.terms.items() if part not in RESPONSE_COLUMNS}
    arrays = [(names, block.designs.get(part)) for part, names in terms.items()]
    arrays.append((design.response_names, block.response))
    for names, values in arrays:
        if values is None or len(values) != len(names) or np.max(np.abs(values), initial=0.0) < FAR:
            continue
        j, i = np.argwhere(np.abs(values) >= FAR)[0]
        raise DataError(
            f"`{names[j]}` in row {index[i]} is {abs(values[j, i]):.1g} standard deviations from "
            "its mean in the fit: next to its square, the sums of earlier rows are lost by "
            "rounding",
            hint="correct it, or remove the row",
        )


def _none_complete() -> DataError:
    """Error if all rows have missing values."""
    return DataError("data have no complete row: each lacks a value that the formula needs")


def _read_in_blocks(
    model: AbstractPublicModel, frames: AbstractFrames, weights: object
) -> AbstractSource:
    """Rows that are read for each iteration; a first pass counts them."""
    if weights is not None and not isinstance(weights, str):
        raise DataError(
            "weights= is a list of numbers, but must name a column where rows are read in blocks",
            hint="name their column: weights='w'",
        )
    names = list(map(str, model.design.frame.columns))
    read = [*names, *([] if weights is None or weights in names else [weights])]
    encode = partial(_encoded, model, weights)
    n_rows, total = 0, 0.0
    for n_complete, weight in frames.map(partial(_counted, encode), read):
        n_rows, total = n_rows + n_complete, total + weight
    if not n_rows:
        raise _none_complete()
    return frames.source(encode, read, partial(_block, model), (n_rows, total))


def _encoded(
    model: AbstractPublicModel, weights: str | None, number: int, frame: pd.DataFrame
) -> EncodedRows:
    """Matrices of the complete rows of a frame."""
    case_weights, rest = weights_and_frame(weights, frame)
    given = _rows(model, rest)
    response = None
    if given.response is not None:
        response = np.asarray(given.response, dtype=float)
        response = response[:, None] if response.ndim == 1 else response
    weight = None if case_weights is None else case_weights[given.complete]
    return EncodedRows(given.matrices, response, weight, given.offset)


def _counted(
    encode: Callable[[int, pd.DataFrame], EncodedRows], number: int, frame: pd.DataFrame
) -> tuple[int, float]:
    """Complete rows of a frame, and the sum of their weights."""
    rows = encode(number, frame)
    return len(rows), float(len(rows) if rows.weight is None else rows.weight.sum())


def _block(model: AbstractPublicModel, rows: EncodedRows) -> Block:
    """Rows in the units of the model."""
    index, complete = pd.RangeIndex(len(rows)), np.ones(len(rows), dtype=bool)
    block: Block = model.block(Rows(index, complete, rows.matrices, rows.response, rows.offset))
    _check_sizes(model, block, index)
    return replace(block, weight=rows.weight)
