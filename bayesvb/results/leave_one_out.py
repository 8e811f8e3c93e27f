"""Predictions of a fit for each of its rows without that row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import AbstractEngine
from bayesvb.engines.folds import DENSITY, Ascended, by_fold, without_folds
from bayesvb.engines.refits import refitted, without_one
from bayesvb.engines.side_by_side import side_by_side
from bayesvb.numerics.arrays import EntryVector, Indices, RowIntegers, RowVector
from bayesvb.numerics.pieces import pieces
from bayesvb.numerics.runtime import processors, single_threaded_blas
from bayesvb.numerics.streams import EngineStreams, Streams
from bayesvb.results.all_rows import is_sample
from bayesvb.results.fit_cache import FitCache
from bayesvb.results.limits import LIMITS
from bayesvb.sensitivity.covariance import LinearResponse
from bayesvb.sensitivity.deletion import ROWS_AT_ONCE, Deletion
from bayesvb.sensitivity.jackknife import Jackknife
from bayesvb.sensitivity.row_sensitivity import RowSensitivity
from bayesvb.sensitivity.solvers import is_affordable, n_answering
from bayesvb.variational.model import AnyModel


@dataclass(frozen=True, kw_only=True)
class RefitLimits:
    """When rows are refitted without, and how long that may take."""

    indirect: float = 0.03
    """Nats by which the change of the other rows may move a row's density to be of first order."""

    linear: float = 0.02
    """Nats up to which the indirect effect on a row is linear, if the direct effect is to 0.01 nats
    and the effect of second moments is as small. With 2,930 house prices and three to five
    components, log densities were within 0.007 nats, and 0.0003 in the root mean square."""

    share: float = 0.25
    """Part of the iterations of the fit that refits may take; one takes a few from its optimum."""

    least_rows: int = 500
    """Rows that take as long as the overhead of an iteration."""

    overhead: int = 5_000
    """Rows x components that do so where iterations are differenced."""

    most_entries: int = 3_000
    """Coupled statistics of which the Jacobian takes some two seconds."""

    printed: float = 5e5
    """Refits x (their work + ``most_entries``) that a printed summary makes: about a second."""

    most_products: float = 5e7
    """Coupled statistics x all of them, up to which an iteration of a refit takes milliseconds."""


REFITS = RefitLimits()

GroupChanges = tuple[Float[np.ndarray, "groups entries"], Float[np.ndarray, "groups entries"]]
"""Minus each group's contribution, and the resulting change of the statistics without it."""

Predicted = tuple[
    Float[np.ndarray, "values rows"], Float[np.ndarray, "1 rows"], Float[np.ndarray, "1 rows"]
]
"""Log densities and distribution functions without rows, densities without their own part, with."""


@dataclass(frozen=True)
class RowsLeftOut:
    """Predictions of rows without them, in units of the standardised response.

    Attributes
    ----------
    at : ndarray, shape (chosen,)
        Positions of the rows; all of them where there are not very many.
    log_density : ndarray, shape (chosen,)
        Log predictive density of each row, all responses together.
    seen : ndarray, shape (chosen,)
        The same from the posterior with all rows.
    cdf : ndarray, shape (responses, chosen)
        Predictive distribution function at each response: leave-one-out PIT values. Empty for a
        model without numeric response.
    refitted : ndarray, shape (chosen,)
        Rows that were refitted without, as the first-order answer might have been off.
    doubtful : ndarray, shape (chosen,)
        Rows that one would have been made without, had that not taken too many passes.
    """

    at: Indices
    log_density: Float[np.ndarray, " chosen"]
    seen: Float[np.ndarray, " chosen"]
    cdf: Float[np.ndarray, "responses chosen"]
    refitted: Bool[np.ndarray, " chosen"]
    doubtful: Bool[np.ndarray, " chosen"]


@runtime_checkable
class OneRestart(Protocol):
    """A fit of one restart, as leave-one-out needs it."""

    @property
    def model(self) -> Any:
        """Fitted model."""

    @property
    def core(self) -> AnyModel:
        """The model on the standardised scale."""

    @property
    def stats(self) -> SufficientStats:
        """Statistics at the end."""

    @property
    def restarts(self) -> pd.DataFrame:
        """One row per restart, with its passes and rows."""

    @property
    def seed(self) -> int:
        """Makes the same fit again."""

    @property
    def engine(self) -> AbstractEngine:
        """Engine that made the fit."""

    @property
    def response(self) -> LinearResponse:
        """Linear response, or why there is none."""

    @property
    def best_restart(self) -> int:
        """Number of the best restart."""


@dataclass(frozen=True)
class Fitted:
    """Input of leave-one-out, for one restart.

    Attributes
    ----------
    core : AbstractVariationalModel
        With a closed predictive density.
    source : AbstractSource
    stats : SufficientStats
    engine : AbstractEngine
        Engine that continues without rows.
    streams : EngineStreams
        Its randomness.
    row_passes : float
        Limit of rows x iterations of refits: ``REFITS.share`` of the fit's, or
        ``LIMITS.little_work`` if that is more; none of a sample of the rows that were fitted.
    whole : bool
        Whether a row of weight w is one row, as of a survey, and not w rows.
    response : LinearResponse, optional
        Linear response, where the fit has one.
    """

    core: AnyModel
    source: AbstractSource
    stats: SufficientStats
    engine: AbstractEngine
    streams: EngineStreams
    row_passes: float
    whole: bool = False
    response: LinearResponse | None = None
    cache: FitCache = field(default_factory=FitCache, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, fit: OneRestart) -> Fitted:
        """``Fitted`` of a fit of one restart."""
        streams = Streams(fit.seed).branch("restart", fit.best_restart, "left out")
        passes = float((fit.restarts["n_iter"] * fit.restarts["rows"]).sum())
        whole = fit.model.weight_type == "sampling"
        limit = 0.0 if is_sample(fit.model) else max(REFITS.share * passes, LIMITS.little_work)
        response = None if fit.response.failure else fit.response
        return cls(
            fit.core,
            fit.model.source,
            fit.stats,
            fit.engine,
            streams,
            limit,
            whole,
            response=response,
        )

    @property
    def deletion(self) -> Deletion:
        """Statistics without some rows, to first order."""
        rng = self.streams.rng("rows")
        return self.cache.once(
            "deletion", lambda: Deletion.of(self.core, self.source, self.stats, rng)
        )

    def first_order(self, at: Indices, groups: RowIntegers | None) -> Predicted:
        """Predictions of rows before refits, computed once for all rows."""
        if groups is not None or len(at) < self.source.n_rows:
            return _first_order(self.deletion, at, groups)
        first_order = self.cache.once("first order", lambda: _first_order(self.deletion, at, None))
        return first_order[0].copy(), first_order[1], first_order[2]

    @cached_property
    def has_slow_refits(self) -> bool:
        """Whether each refit takes about a tenth of a second: of many statistics, or rows."""
        return self.refit_work > REFITS.most_entries and not self.needs_no_derivative

    @property
    def refit_work(self) -> float:
        """Statistics, times rows as multiples of the number that takes as long as the overhead."""
        return self.stats.to_vector().size * max(self.source.n_rows / REFITS.least_rows, 1.0)

    @cached_property
    def needs_no_derivative(self) -> bool:
        """Whether the model predicts a row without its own contribution, memberships held fixed.

        If statistics are by group, this holds only for many of them: memberships of the other
        rows follow otherwise, as they do with columns.
        """
        one, posterior = self.source.take(np.arange(1)), self.core.update(self.stats)
        if not self.core.draws_complete and self.core.n_components > 1:
            few = self.stats.to_vector().size <= REFITS.most_entries
            few = few and self.source.n_rows <= LIMITS.all_rows
            if few and self.core.row_derivatives(posterior, one) is not None:
                return False
        predictions = self.core.row_predictions_without(posterior, one, np.zeros(one.n_rows))
        return predictions is not None

    @cached_property
    def quick(self) -> bool:
        """Whether leave-one-out takes no more than a few seconds, or has been prepared."""
        if self.needs_no_derivative or "deletion" in self.cache:
            return True
        every = self.stats.to_vector().size
        size = n_answering(self.core, self.source, self.stats)
        if size is None:  # two passes for each statistic
            rows = min(self.source.n_rows, LIMITS.all_rows)
            a_pass = rows * self.core.n_components + REFITS.overhead
            return bool(2 * every * a_pass <= LIMITS.work)
        return size <= REFITS.most_entries and size * every <= REFITS.most_products

    @cached_property
    def affordable(self) -> bool:
        """Whether memory holds what leave-one-out predictions need."""
        return self.needs_no_derivative or self.has_deletion

    @cached_property
    def has_deletion(self) -> bool:
        """Whether memory holds the derivative of an iteration that ``deletion`` needs."""
        return is_affordable(self.core, self.source, self.stats)

    @cached_property
    def jackknife(self) -> Jackknife:
        """Changes of the posterior centre without some rows."""
        return Jackknife(self.deletion, self.response)


def leave_one_out(
    fitted: Fitted,
    at: Indices,
    *,
    groups: RowIntegers | None = None,
    exact: bool = False,
    row_passes: float | None = None,
) -> RowsLeftOut:
    """Predictions of rows of one restart without them, by linear response.

    The indirect effect, of the change of the other rows, is a first-order approximation. Rows of
    whose log density it makes more than ``REFITS.indirect`` nats are refitted, those with the
    largest effect first, as many as take no more than ``REFITS.share`` of the iterations of the
    fit. The result does not depend on random numbers.

    In the space of rows, indirect effects of up to ``REFITS.linear`` nats are derivatives of the
    log density, as ``RowSensitivity.own_changes`` has them without solving for each row.

    Parameters
    ----------
    fitted : Fitted
    at : ndarray, shape (chosen,)
        Positions of the rows.
    groups : ndarray, shape (rows,), optional
        Number of each row's group; a row is predicted without its whole group.
    exact : bool
        Refit without every row, or group.
    row_passes : float, optional
        Limit of rows times iterations of refits, if it differs from the limit of ``fitted``.

    Models that predict a row without its own contribution (``row_predictions_without``) are used
    for that: memberships of other rows, if there are any, are then held, and nothing is refitted.

    References
    ----------
    See ``Deletion``.
    """
    if groups is None and not exact and fitted.needs_no_derivative:
        return _memberships_held(fitted, at)
    if groups is None and fitted.whole and fitted.source.n_rows <= LIMITS.all_rows:
        groups = np.arange(fitted.source.n_rows)
    deletion = fitted.deletion
    with single_threaded_blas(), np.errstate(all="ignore"):
        values, alone, seen = fitted.first_order(at, groups)
        doubt = np.where(np.isfinite(values[0]), np.abs(values[0] - alone[0]), np.inf)
        doubtful = np.ones(len(at), dtype=bool) if exact else doubt > REFITS.indirect
        order = np.argsort(-doubt, kind="stable")[: int(doubtful.sum())]
        limit = fitted.row_passes if row_passes is None else row_passes
        limit = np.inf if exact else limit
        done = _refits(fitted, deletion, at, order, groups, limit, values)
    return RowsLeftOut(at, values[0], seen[0], values[1:], done, doubtful & ~done)


def _memberships_held(fitted: Fitted, at: Indices) -> RowsLeftOut:
    """Predictions of rows without their own part in the posterior, the other rows as they are."""
    posterior, parts = fitted.core.update(fitted.stats), []
    core = _responding(fitted)
    for some in pieces(len(at), 1, ROWS_AT_ONCE):
        block = fitted.source.take(at[some])
        share = copies(block)
        if fitted.whole and block.weight is not None:
            share = block.weight
        values = core.row_predictions_without(posterior, block, share)
        seen = core.row_predictions_without(posterior, block, np.zeros_like(share))
        assert values is not None and seen is not None
        parts.append((values, seen[0]))
    values, seen = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
    none = np.zeros(len(at), dtype=bool)
    return RowsLeftOut(at, values[0], seen, values[1:], none, none)


def _responding(fitted: Fitted) -> AnyModel:
    """The model whose weights of very many groups answer as linear response has it.

    Itself where the fit is at no maximum, or not all of its rows are here.
    """
    core = fitted.core
    if core.draws_complete or core.n_components == 1 or not holds_all_rows(fitted.source):
        return core
    try:
        with single_threaded_blas(), np.errstate(all="ignore"):
            return core.knowing(core.update(fitted.stats), fitted.stats, fitted.source)
    except np.linalg.LinAlgError:
        return core


def every_row_without(fit: Any, *, refits: bool = True) -> RowsLeftOut:
    """Predictions of every row of a fit of one restart; without slow refits if so requested."""
    if refits or not fit.one_restart.has_slow_refits:
        return cast(RowsLeftOut, fit.rows_left_out)
    every = every_row(fit.model.source.n_rows, fit.seed)
    return leave_one_out(fit.one_restart, every, row_passes=0.0)


def without_rows(fit: Any, at: Indices) -> RowsLeftOut:
    """Predictions of some rows of a fit of one restart, those it has made already if it has all.

    With very many rows none is refitted: no single row changes the fit.
    """
    if fit.model.source.n_rows > LIMITS.all_rows:
        scores = leave_one_out(fit.one_restart, at, row_passes=0.0)
        return replace(scores, doubtful=np.zeros_like(scores.doubtful))
    every: RowsLeftOut = fit.rows_left_out
    return RowsLeftOut(
        at,
        every.log_density[at],
        every.seen[at],
        every.cdf[:, at],
        every.refitted[at],
        every.doubtful[at],
    )


def has_log_predictive(core: AnyModel, source: AbstractSource, stats: SufficientStats) -> bool:
    """Whether a model has a closed predictive density."""
    return core.log_predictive(core.update(stats), source.take(np.arange(1))) is not None


def every_row(n_rows: int, seed: int) -> Indices:
    """Positions of all rows, or of a random choice where there are very many."""
    if n_rows <= LIMITS.all_rows:
        return np.arange(n_rows)
    rng = Streams(seed).rows(LIMITS.subsample, n_rows)
    return np.sort(rng.choice(n_rows, size=LIMITS.subsample, replace=False))


def _first_order(deletion: Deletion, at: Indices, groups: RowIntegers | None) -> Predicted:
    """Predictions of rows; in the space of rows solved for where indirect effects are large."""
    whole = None if groups is None else _by_group(deletion, groups)
    solve = partial(_predicted, deletion, groups, whole)
    if deletion.by_rows is None or groups is not None:
        return _in_parts(deletion, at, solve)
    values, alone, seen = _in_parts(deletion, at, partial(_linear, deletion, deletion.by_rows))
    large = np.flatnonzero(np.isnan(values[0]))
    if large.size:
        values[:, large] = _in_parts(deletion, at[large], solve)[0]
    return values, alone, seen


def _in_parts(
    deletion: Deletion, at: Indices, predict: Callable[[Int[np.ndarray, " _"]], Predicted]
) -> Predicted:
    """Predictions of rows, a few at a time; where it is much work, side by side.

    The first rows are predicted here: every process then has the quantities that all rows share.
    """
    first, *rest = list(deletion.parts(at)) or [at]
    parts = [predict(first)]
    places = processors() if len(at) * deletion.derivative.n_entries >= LIMITS.little_work else 1
    shares = [rest[place::places] for place in range(places)]
    tasks = [partial(_each_predicted, predict, share) for share in shares]
    result = list(side_by_side(tasks, places))
    parts += [result[number % places][number // places] for number in range(len(rest))]
    values, alone, seen = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
    return values, alone, seen


def _each_predicted(
    predict: Callable[[Int[np.ndarray, " _"]], Predicted],
    parts: Sequence[Int[np.ndarray, " _"]],
    told: object,
) -> list[Predicted]:
    """Predictions of the rows of each part, without progress reports."""
    return [predict(rows) for rows in parts]


def _linear(
    deletion: Deletion, solver: RowSensitivity, rows: Int[np.ndarray, " some"]
) -> Predicted:
    """``_predicted`` with indirect effects linear in the log density; NaN where they are large.

    Distribution functions are without the row's own part alone.
    """
    block, share = deletion.source.take(rows), copies(deletion.source.take(rows))
    direct = -deletion.of_rows(block) * share[:, None]
    alone = deletion.under(direct, direct, block, deletion.model.row_predictions)
    seen = _log_predictive(deletion.model, deletion.posterior, block)
    first, second, indirect = solver.own_changes(rows, -share)
    curved = np.maximum(np.abs(alone[0] - seen[0] - first), np.abs(second))
    small = np.maximum(np.abs(indirect), 2.0 * curved) <= REFITS.linear
    values = alone.copy()
    values[0] = np.where(small, alone[0] + indirect, np.nan)
    return values, alone[:1], seen


def _predicted(
    deletion: Deletion,
    groups: RowIntegers | None,
    whole: GroupChanges | None,
    rows: Int[np.ndarray, " some"],
) -> Predicted:
    """Predictions without each row, without its own part alone, and with it."""
    model, log_predictive = deletion.model, partial(_log_predictive, deletion.model)
    block = deletion.source.take(rows)
    if whole is None or groups is None:
        direct, change = deletion.without(rows, block, copies(block))
    else:
        direct, change = whole[0][groups[rows]], whole[1][groups[rows]]
    return (
        deletion.under(direct, change, block, model.row_predictions),
        deletion.under(direct, direct, block, log_predictive),
        log_predictive(deletion.posterior, block),
    )


def _log_predictive(core: AnyModel, posterior: object, block: Block) -> Float[np.ndarray, "1 rows"]:
    """Log predictive density of each row."""
    return np.asarray(core.log_predictive(posterior, block))[None]


def copies(block: Block) -> RowVector:
    """Weight that is held out of a row: one copy of it, or its case weight if that is less."""
    return np.ones(block.n_rows) if block.weight is None else np.minimum(block.weight, 1.0)


def _by_group(deletion: Deletion, groups: RowIntegers) -> GroupChanges:
    """Minus each group's contribution, and the resulting change of the statistics without it."""
    direct = group_sums(deletion, groups)
    return -direct, -deletion.solve(direct)


def group_sums(deletion: Deletion, groups: RowIntegers) -> Float[np.ndarray, "groups entries"]:
    """Contribution of each group's rows to the statistics, by case weight."""
    sums = np.zeros((int(groups.max()) + 1, deletion.derivative.n_entries))
    alone = bool((np.diff(groups) > 0).all())
    for rows in deletion.parts(np.arange(len(groups))):
        block = deletion.source.take(rows)
        weight = np.ones(len(rows)) if block.weight is None else block.weight
        row_sums = deletion.of_rows(block) * weight[:, None]
        if alone:
            sums[groups[rows]] = row_sums
        else:
            np.add.at(sums, groups[rows], row_sums)
    return sums


def _refits(
    fitted: Fitted,
    deletion: Deletion,
    at: Indices,
    order: Int[np.ndarray, " doubtful"],
    groups: RowIntegers | None,
    limit: float,
    values: Float[np.ndarray, "values chosen"],
) -> Bool[np.ndarray, " chosen"]:
    """Replace the values of unreliable rows by refits without them, in this order."""
    evaluate, source = deletion.model.row_predictions, deletion.source
    done, spent = np.zeros(len(at), dtype=bool), 0.0
    for place in order:
        if spent >= limit:
            break
        if done[place]:
            continue
        left, together = at[[place]], np.array([place])
        if groups is not None:
            left = np.flatnonzero(groups == groups[at[place]])
            together = np.flatnonzero(np.isin(at, left))
        rest = without_one(source, int(left[0])) if groups is None else source.without(left)
        block, branch = source.take(at[together]), fitted.streams.branch(int(left[0]))
        change = -deletion.solve(_together(deletion, source.take(left), groups)[None])[0]
        refits, passes = refitted(
            deletion, change, rest, block, evaluate, fitted.engine, branch,
            most=(limit - spent) / max(rest.n_rows, REFITS.least_rows),
        )  # fmt: skip
        spent += passes * max(rest.n_rows, REFITS.least_rows)
        if refits is not None:
            values[:, together], done[together] = refits, True
    return done


def _together(deletion: Deletion, block: Block, groups: RowIntegers | None) -> EntryVector:
    """Contribution of all held-out rows together to the statistics."""
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    share = copies(block) if groups is None else weight
    return np.asarray(share @ deletion.of_rows(block))


def leave_folds_out(fit: Any) -> None:
    """Continue each restart without each fold, and store it; available results stay."""
    each = [one.fit for one in fit.parts if "fold statistics" not in one.fit.cache]
    for one, stats in zip(each, stats_without_folds(each), strict=True):
        one.cache["fold statistics"] = stats


def fold_probabilities(fit: Any) -> Float[np.ndarray, "classes rows"]:
    """Class probabilities of every row of one restart, from its statistics without the fold."""
    core, source = fit.core, fit.model.source

    def evaluate(
        stats: SufficientStats, rows: Int[np.ndarray, " fold"]
    ) -> Float[np.ndarray, "classes fold"]:
        return np.asarray(core.probabilities(core.update(stats), source.take(rows)))

    return np.asarray(
        fit.cache.once(
            "held-out probabilities", lambda: by_fold(source, fit.without_folds, evaluate)
        )
    )


def stats_without_folds(fits: Sequence[OneRestart]) -> list[tuple[SufficientStats, ...]]:
    """Statistics of the runs of fits of one restart for each fold, without it."""
    if not fits:
        return []
    return without_folds([_ascended(one) for one in fits], fits[0].model.source, fits[0].engine)


def _ascended(fit: OneRestart) -> Ascended:
    """End of a run of a fit, from which others continue, as coarsely as densities allow."""
    streams = Streams(fit.seed).branch("restart", fit.best_restart)
    return Ascended(fit.core.within(DENSITY), fit.stats, streams)
