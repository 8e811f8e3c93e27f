"""Calibration of predictions: coverage of held-out rows, recalibrated predictions, jackknife+."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.distributions.intervals import PROB
from bayesvb.distributions.prediction import PredictionOptions, interval_probability
from bayesvb.distributions.recalibration import (
    RECALIBRATED_KINDS,
    Recalibration,
    not_recalibrated,
)
from bayesvb.errors import DataError
from bayesvb.evaluation.calibration import coverage, uniformity_p_value
from bayesvb.evaluation.classification import calibration_error, reliability
from bayesvb.numerics.streams import Streams
from bayesvb.results.class_evaluation import HeldOutClasses, held_out_classes, held_out_events
from bayesvb.results.criteria import answers
from bayesvb.results.leave_one_out import Fitted, copies, every_row
from bayesvb.results.limits import LIMITS
from bayesvb.results.pit import (
    check_answers,
    check_continuous,
    check_numeric,
    check_rows_alone,
    pit_values,
    without_groups,
)
from bayesvb.results.subsampling import sample
from bayesvb.sensitivity.deletion import Deletion

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

PROBS = (0.5, 0.8, 0.9, 0.95)
"""Probabilities of the central intervals whose coverage is counted."""


def calibration(fit: AbstractFit) -> pd.DataFrame:
    """Expected and observed shares; see ``Fit.calibration``."""
    labels = fit.model.design.class_labels
    if labels:
        return _of_classes(fit, held_out_classes(fit), labels)
    if fit.model.response.is_binary:
        return _of_classes(fit, held_out_events(fit, sample(fit, LIMITS.subsample).at), ("0", "1"))
    return _of_numbers(fit)


def _of_numbers(fit: AbstractFit) -> pd.DataFrame:
    """Share of rows inside central intervals, by their leave-one-out PIT values."""
    check_numeric(fit)
    at = sample(fit, LIMITS.subsample).at
    tables, p_values = {}, {}
    for name, pit in zip(fit.model.design.response_names, pit_values(fit, at), strict=True):
        result = coverage(np.clip(pit, 0.0, 1.0), PROBS)
        columns = {"observed": result.observed, "se": result.standard_error}
        tables[name] = pd.DataFrame(columns, index=pd.Index(result.prob, name="expected"))
        p_values[name] = uniformity_p_value(pit)
    if len(tables) > 1:
        whole = pd.concat(tables, names=["response"])
        whole.attrs["p_value"] = p_values
        return whole
    ((name, whole),) = tables.items()
    whole.attrs["p_value"] = p_values[name]
    return whole


def _of_classes(
    fit: AbstractFit, held_out: HeldOutClasses, labels: tuple[str, ...]
) -> pd.DataFrame:
    """Share of each class among rows with about the same probability of it; of 1 if binary."""
    if not len(held_out.codes):
        raise DataError("the fit has no rows")
    rng = Streams(fit.seed).reliability(len(held_out.codes))
    tables = {}
    for code, label in enumerate(labels):
        if fit.model.response.is_binary and not code:
            continue
        one = reliability(held_out.probabilities[:, code], held_out.codes == code, rng=rng)
        used = one.count > 0
        columns = {
            "expected": one.confidence[used],
            "observed": one.frequency[used],
            "lower": one.band_lower[used],
            "upper": one.band_upper[used],
            "rows": one.count[used],
        }
        tables[label] = pd.DataFrame(columns)
    whole = pd.concat(tables, names=["class", "bin"])
    whole.attrs["ece"] = calibration_error(held_out.probabilities, held_out.codes).error
    how = "each row" if fit.model.response.is_binary else "a fifth at a time"
    whole.attrs["left_out"] = how if held_out.folds is not None else "none"
    return whole


def recalibrations(fit: AbstractFit) -> tuple[Recalibration, ...]:
    """Calibration map of each response, from PIT values of held-out rows (at most a sample).

    In grouped data, whole groups are held out.
    """
    check_continuous(fit)
    if fit.model.grouping is not None:
        groups = Streams(fit.seed).sample(LIMITS.quick_subsample, fit.model.source.n_rows)
        values, weight = without_groups(fit, groups)
        return tuple(Recalibration.of(each, weight) for each in values)
    at = every_row(fit.model.source.n_rows, fit.seed)
    weights = fit.model.weights
    chosen = None if weights is None else weights[at]
    return tuple(Recalibration.of(each, chosen) for each in pit_values(fit, at))


def check_recalibrated(fit: AbstractFit, recalibrate: object, kind: str) -> None:
    """Raise unless this kind of prediction can be recalibrated.

    Raises
    ------
    DataError
        If ``recalibrate`` is not known, no response is numeric, the kind is another one, or
        rows are grouped and no posterior without each group is available.
    """
    if recalibrate is not True:
        raise DataError(
            f"recalibrate={recalibrate!r} is not known",
            hint="recalibrate=True, or recalibrate='jackknife+' with kind='interval'",
        )
    check_continuous(fit)
    if kind not in RECALIBRATED_KINDS:
        raise not_recalibrated(kind)
    if fit.model.grouping is not None:
        check_answers(fit)


JACKKNIFE = "jackknife+"
"""Value of ``recalibrate`` for these intervals."""


def jackknife_plus(
    fit: AbstractFit, data: object, kind: str, options: PredictionOptions
) -> pd.DataFrame:
    r"""Jackknife+ interval of a new response for every row of the data.

    Without row ``n`` the fit puts ``u_n = F_{-n}(y_n | x_n)`` below that row's response. At new
    covariates ``x`` the same proportion is below ``F_{-n}^{-1}(u_n | x)``, one value per held-out
    row. The limits are the ``floor((N + 1) a / 2)``-th smallest and largest of these, ``a`` one
    minus ``prob``: infinite with too few rows. A new row exchangeable with the rows of the
    fit falls beyond either end with probability at most ``a``, so that the interval covers with at
    least ``2 prob - 1``, and in practice close to ``prob``. That is a theorem for fits that were
    refitted without each row; here they are first-order approximations by linear response.

    Raises
    ------
    DataError
        If the fit is of several restarts or by an engine without linear response, the posterior
        without a row is not available for all rows at once, or ``prob`` is not between 0 and 1.

    References
    ----------
    Barber, Candes, Ramdas, Tibshirani (2021), Predictive inference with the jackknife+, Ann.
    Statist. 49, Theorem 1, of which both ends use the one-sided form, with the residual replaced
    by the predictive distribution function.
    """
    check_continuous(fit)
    check_rows_alone(fit, JACKKNIFE)
    _check(fit, kind, options)
    number = _number(fit.model.design.response_names, options.response)
    prob = PROB if options.prob is None else interval_probability(options.prob)
    share = 0.5 * (1.0 - prob)
    rows = fit.model.rows(data)
    points, weight = _counterparts(fit, fit.model.block(rows), number)
    intervals = np.full((len(rows.index), 2), np.nan)
    lower, upper = _smallest(points, weight, share), -_smallest(-points, weight, share)
    scaling = fit.model.scales.response  # type: ignore[attr-defined]
    ends = np.stack([lower, upper], axis=1) * scaling.scale[number] + scaling.centre[number]
    if rows.offset is not None:
        ends += rows.offset[:, None]
    change = options.transformation
    intervals[rows.complete] = ends if change is None else change.apply(ends)
    return pd.DataFrame(intervals, rows.index, ["lower", "upper"])


def _check(fit: AbstractFit, kind: str, options: PredictionOptions) -> None:
    """Raise unless an interval is requested and a posterior without each row is available."""
    if kind != "interval":
        raise DataError(
            f"recalibrate={JACKKNIFE!r} is for kind='interval', not for kind={kind!r}",
            hint="predict kind='interval', or choose recalibrate=True",
        )
    for name in replace(options, prob=None, response=None, transformation=None).given():
        raise DataError(f"kind='interval' does not use {name}", hint=f"omit {name}")
    if len(fit.parts) > 1 or not answers(fit) or not fit.core.posterior_by_row:
        raise DataError(
            f"recalibrate={JACKKNIFE!r} needs the posterior without each row, available for a "
            "density regression with Gaussian or Student experts and a single restart",
            hint="choose recalibrate=True, or omit it",
        )


def _number(names: Sequence[str], response: str | None) -> int:
    """Index of the requested response."""
    if response is None and len(names) == 1:
        return 0
    if response is not None and response in names:
        return list(names).index(response)
    raise DataError(
        f"response={response!r} is not a response of the fit", hint=f"name one of {names}"
    )


def _counterparts(
    fit: AbstractFit, new: Block, number: int
) -> tuple[Float[np.ndarray, "left new"], Float[np.ndarray, " left"]]:
    """Counterpart of each held-out row at each new row, and weights, standardised."""
    one = Fitted.of(fit)
    rng = one.streams.rng("jackknife")
    n_rows = one.source.n_rows
    chosen = np.arange(n_rows)
    if n_rows > LIMITS.refitted_rows:
        chosen = np.sort(rng.choice(n_rows, size=LIMITS.refitted_rows, replace=False))
    deletion = Deletion.of(one.core, one.source, one.stats, rng)
    block = one.source.take(chosen)
    with np.errstate(all="ignore"):
        direct = -deletion.of_rows(block) * copies(block)[:, None]
        evaluate = partial(_at_new, one.core, new, number)
        pieces = deletion.under(direct, deletion.solve(direct), block, evaluate)
    weight = np.ones(len(chosen)) if block.weight is None else block.weight
    kept = np.isfinite(pieces).all(axis=0) & (weight > 0.0)
    return pieces.T[kept], weight[kept]


def _at_new(
    core: Any, new: Block, number: int, posterior: object, block: Block
) -> Float[np.ndarray, "new rows"]:
    """Values at new rows that have the shares of these rows below them, by row's posterior."""
    share = core.predictive(posterior, block, number).cdf(block.response[number])
    each = (new.take(np.full(block.n_rows, m)) for m in range(new.n_rows))
    quantiles = [core.predictive(posterior, one, number).quantile_by_row(share) for one in each]
    return np.reshape(quantiles, (new.n_rows, block.n_rows))


def _smallest(
    points: Float[np.ndarray, "left new"], weight: Float[np.ndarray, " left"], share: float
) -> Float[np.ndarray, " new"]:
    """The largest point that has at most this share of all rows and a new one up to it."""
    order = np.argsort(points, axis=0)
    below = weight[order].cumsum(axis=0) <= share * (weight.sum() + 1.0) + 1e-9
    count = below.sum(axis=0)
    place = order[(count - 1).clip(0), np.arange(points.shape[1])]
    return np.where(count > 0, points[place, np.arange(points.shape[1])], -np.inf)
