"""Results within seconds: from a subsample of rows or draws where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.case_weights import sum_and_error
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.folds import FOLDS, PASSES
from bayesvb.errors import ignoring_user_warnings
from bayesvb.evaluation.elpd import Elpd
from bayesvb.evaluation.information_criteria import loo, waic
from bayesvb.numerics.arrays import DrawRows, ResponseRows, RowIntegers
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import has_all_rows
from bayesvb.results.criteria import answers, folds_known, leaves_folds_out, left_out
from bayesvb.results.exact_draws import likelihood_draws
from bayesvb.results.groups import places_of_rows, units_at, units_of
from bayesvb.results.importance import pareto_k
from bayesvb.results.leave_one_out import (
    REFITS,
    RowsLeftOut,
    leave_folds_out,
    leave_one_out,
    without_rows,
)
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import chunks, count, log_lik_blocks
from bayesvb.results.pit import pit_values, seen_pits
from bayesvb.results.stacking import combined

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True)
class RowSample:
    """Rows of a fit, or groups of rows, in the order of the data.

    Attributes
    ----------
    at : ndarray, shape (rows,)
        Positions among the rows of the fit.
    n_all : int
        Rows of the fit.
    plural : str
        Plural of their name.
    """

    at: RowIntegers
    n_all: int
    plural: str = "rows"

    @property
    def whole(self) -> bool:
        """Whether all rows are there."""
        return len(self.at) == self.n_all


def sample(fit: AbstractFit, most: int) -> RowSample:
    """Sample of at most this number of rows of a fit, always the same rows."""
    n_all = fit.model.design.n_rows
    return RowSample(Streams(fit.seed).sample(most, n_all), n_all)


def unit_sample(fit: AbstractFit, most: int) -> RowSample:
    """Sample of at most this number of units that are held out together, rows or groups."""
    units = units_of(fit.model)
    n_all = len(units.index)
    return RowSample(Streams(fit.seed).sample(most, n_all), n_all, units.plural)


def source_at(fit: AbstractFit, at: RowIntegers) -> InMemorySource:
    """Rows of the fit on the standardised scale, each counted once."""
    return InMemorySource((units_at(fit, at),))


def log_likelihood(fit: AbstractFit, at: RowIntegers, n_draws: int | None = None) -> DrawRows:
    """Log likelihood of rows of the fit under its ``likelihood_draws``, in the data's units.

    Under every draw, or the first ones if their number is given.
    """
    draws = {name: values[:n_draws] for name, values in likelihood_draws(fit).items()}
    blocks = log_lik_blocks(fit.core, source_at(fit, at), draws, fit.model.log_jacobian)
    return np.concatenate(list(blocks), axis=1)


def _log_likelihoods(fit: AbstractFit, at: RowIntegers) -> list[DrawRows]:
    """Log likelihood of rows in each restart; of a choice of rows under as many draws in all.

    If all rows are requested, every draw is used: the criteria equal the fit's criteria.
    """
    n_draws, parts = None, [member.fit for member in fit.parts]
    if len(at) < len(units_of(fit.model).index):
        n_draws = max(count(likelihood_draws(parts[0])) // len(parts), LIMITS.restart_draws)
    return [log_likelihood(part, at, n_draws) for part in parts]


def criteria_at(fit: AbstractFit, at: RowIntegers) -> tuple[Elpd, Elpd]:
    """LOO and WAIC of rows of the fit, without their warnings."""
    weights = np.array([member.weight for member in fit.parts])
    units = units_of(fit.model).take(at)
    with ignoring_user_warnings():
        each = _log_likelihoods(fit, at)
        widely = [waic([values], labels=units.index, weights=units.weights) for values in each]
    wide = replace(combined(weights, widely), labels=units.index)
    return left_out_at(fit, at, each=each), wide


def left_out_at(
    fit: AbstractFit,
    at: RowIntegers,
    folds: bool | None = None,
    each: Sequence[DrawRows | None] | None = None,
) -> Elpd:
    """LOO of rows of the fit, without its warnings.

    With ``folds``, the default for networks, by five-fold cross-validation. Log likelihoods under
    the draws of every restart are taken from ``each``, if they are at hand.
    """
    if folds is None:
        folds = leaves_folds_out(fit) and not left_out_by_draws(fit)
    given: Sequence[Any] = [None] * len(fit.parts) if each is None else each
    if each is None and not folds and not answers(fit.parts[0].fit):
        given = _log_likelihoods(fit, at)
    if folds and not folds_known(fit):
        leave_folds_out(fit)
    with ignoring_user_warnings():
        without = [
            left_out(member.fit, at) if folds else loo_at(member.fit, at, values)
            for member, values in zip(fit.parts, given, strict=True)
        ]
    whole = combined(np.array([member.weight for member in fit.parts]), without)
    return replace(whole, labels=units_of(fit.model).index[at])


def leave_rows_out(fit: AbstractFit) -> None:
    """Hold out the rows of each restart and store the result, for later use.

    Not if there are too many rows to store, or for cross-validation.
    """
    parts = [member.fit for member in fit.parts]
    for part in filter(answers, parts):
        one = part.one_restart
        _ = part.rows_left_out if one.source.n_rows <= LIMITS.all_rows else one.deletion
    if leaves_folds_out(fit) and not folds_known(fit) and folds_affordable(fit):
        leave_folds_out(fit)


def loo_of_some(fit: AbstractFit, at: RowIntegers) -> Elpd:
    """LOO of a sample of many rows; none is refitted, as no single row changes the fit."""
    weights = np.array([member.weight for member in fit.parts])
    each = [_of_some(member.fit, at) for member in fit.parts]
    return replace(combined(weights, each), labels=units_of(fit.model).index[at])


def _of_some(fit: AbstractFit, at: RowIntegers) -> Elpd:
    """``loo_of_some`` of one restart."""
    if not answers(fit):
        return loo_at(fit, at)
    scores = leave_one_out(fit.one_restart, at, row_passes=0.0)
    return replace(of_rows(fit, scores), warning=False)


def loo_at(fit: AbstractFit, at: RowIntegers, values: DrawRows | None = None) -> Elpd:
    """LOO of rows of one restart by linear response, or by its draws' log likelihoods.

    These are ``values``, if they are at hand.
    """
    if not answers(fit):
        units = units_of(fit.model).take(at)
        values = log_likelihood(fit, at) if values is None else values
        return loo([values], labels=units.index, weights=units.weights)
    return of_rows(fit, without_rows(fit, at))


def of_rows(fit: AbstractFit, held_out: RowsLeftOut) -> Elpd:
    """Criterion of the held-out rows of a fit of one restart."""
    units = units_of(fit.model).take(held_out.at)
    return Elpd(
        kind="loo",
        pointwise=held_out.log_density - fit.model.log_jacobian,
        p=sum_and_error(held_out.seen - held_out.log_density, units.weights)[0],
        warning=bool(held_out.doubtful.any()),
        labels=units.index,
        weights=units.weights,
        method="linear-response",
        n_refitted=int(held_out.refitted.sum()),
    )


def left_out_quickly(fit: AbstractFit) -> bool:
    """Whether leave-one-out takes seconds, or has been computed."""
    each = [member.fit for member in fit.parts]
    if not all(map(answers, each)):
        return True
    return all("leave-one-out predictions" in one.cache or one.one_restart.quick for one in each)


def slow_refits(fit: AbstractFit) -> int:
    """Number of rows that leave-one-out would refit; 0 if that takes less than a second."""
    rows, work = 0, 0.0
    for one in (member.fit for member in fit.parts):
        if "leave-one-out predictions" in one.cache or not answers(one):
            continue
        fitted = one.one_restart
        doubtful = leave_one_out(fitted, np.arange(fitted.source.n_rows), row_passes=0.0).doubtful
        rows += int(doubtful.sum())
        work += doubtful.sum() * (fitted.refit_work + REFITS.most_entries)
    return rows if work > REFITS.printed else 0


def left_out_by_draws(fit: AbstractFit) -> bool:
    """Whether likelihood ratios approximate leave-one-out, as nothing else does within seconds."""
    if leaves_folds_out(fit):
        return not (folds_known(fit) or folds_affordable(fit))
    return not answers(fit.parts[0].fit)


def pits_at(fit: AbstractFit, at: RowIntegers) -> ResponseRows:
    """PIT values of rows of the fit, which have been seen where folds would take too long."""
    return seen_pits(fit, at) if pits_seen(fit) else pit_values(fit, at)


def pits_seen(fit: AbstractFit) -> bool:
    """Whether only in-sample PIT values are available within seconds."""
    return leaves_folds_out(fit) and not folds_affordable(fit)


def folds_affordable(fit: AbstractFit) -> bool:
    """Whether the runs without each fold are within the budget, or have been computed."""
    if all("fold statistics" in member.fit.cache for member in fit.parts):
        return True
    model = fit.model
    one = model.source.n_rows * model.size * FOLDS * len(fit.parts)
    return bool(one * PASSES <= LIMITS.fold_work)


def khat_within(fit: AbstractFit, budget: float) -> tuple[float | None, int]:
    """K-hat of the approximation and the draws it is from; None if there are too many rows.

    There is none of estimates whose spread is not known, without a prior, nor of a sample of rows,
    nor of parameters that mean nothing one by one: their posterior has more shapes than one.

    The budget is in likelihoods, rows x components x draws: three millions take a second.
    """
    n_all = count(fit.draws)
    complete = all(part.fit.core.draws_complete for part in fit.parts)
    if fit.is_point_estimate or not (
        fit.engine.prior_counts and complete and has_all_rows(fit.model)
    ):
        return None, 0
    if not fit.named_draws.identified:
        return None, 0
    likelihoods = len(fit.parts) * fit.model.source.n_rows * fit.core.n_components
    n_draws = min(n_all, int(budget / likelihoods))
    if n_draws < min(LIMITS.draws, n_all):
        return None, 0
    with ignoring_user_warnings():
        return pareto_k(fit, n_draws), n_draws


def replicated(
    fit: AbstractFit, at: RowIntegers, n_sets: int
) -> Float[np.ndarray, "sets responses _"]:
    """One data set per draw, of the first draws, at rows of the fit, in the data's units."""
    draws = {name: values[:n_sets] for name, values in fit.draws.items()}
    rng = Streams(fit.seed).replicated_sets(len(at), n_sets)
    units, place = places_of_rows(fit, at)
    pieces = [
        np.stack(list(fit.model.replicates(fit, draws, block, rng).values()), axis=1)
        for block in chunks(fit.core, source_at(fit, units), n_sets)
    ]
    return np.concatenate(pieces, axis=2)[:, :, place]
