"""Choice of the number of components by leave-one-out density, from one component on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesvb.errors import ConvergenceWarning, DataError, warn
from bayesvb.estimators.identification import most_tried
from bayesvb.estimators.near_start import near_start
from bayesvb.estimators.rebuilding import rebuilt
from bayesvb.numerics.streams import Streams
from bayesvb.results.comparison import doubtful_nats, ranked
from bayesvb.results.criteria import elpd, own_method
from bayesvb.results.limits import LIMITS
from bayesvb.sensitivity.covariance import INTERRUPTED

if TYPE_CHECKING:
    from bayesvb.estimators.base import AbstractEstimator
    from bayesvb.estimators.fit import Fit
    from bayesvb.estimators.fit_request import FitRequest
    from bayesvb.evaluation.elpd import Elpd

REFITS_CHANGE = 2.0
"""Nats by which slow refits may change a difference of elpd, or half its standard error if larger.

With 2,930 house prices and two to five components they change elpds by 1 to 13 nats, up to 0.3
standard errors of the difference from the best.
"""


def choose_components(
    model: AbstractEstimator, request: FitRequest, streams: Streams, workers: int
) -> Fit:
    """Return the fit with the fewest components whose LOO density is near the largest.

    Numbers are tried in order, until two in a row do not gain 4 nats. Where refits without single
    rows are slow, they are made only if they may change the choice.

    Parameters
    ----------
    model : AbstractEstimator
        Its number of components is the largest that is tried.
    request : FitRequest
    streams : Streams
        Of a fit with several components.
    workers : int

    Raises
    ------
    DataError
        If the fits are not variational, are checkpointed, or continue from another fit.
    """
    if not request.engine.maximises_bound or request.budget.log or request.start is not None:
        raise DataError(
            "n_components=None, the automatic choice, needs a variational method, and neither "
            "checkpoint= nor start=",
            hint="choose the number first: n_components=bayesvb.select(model).chosen",
        )

    def fit_one(candidate: AbstractEstimator) -> Fit:
        restarts = 1 if candidate.single_start else streams.restarts
        return candidate._fitted(request, Streams(request.seed, restarts), workers)

    most = most_tried(model.design, model.size)
    models = {k: rebuilt(model, **{model.size_name: k}) for k in range(1, most + 1)}
    first = fit_one(models.pop(1).starting_near(model.known_start))
    if first.is_interrupted:
        return first
    fits = fits_in_order(models, fit_one, {1: first}, enough=_no_gain)
    if max(fits) < most and not _no_gain(fits):
        warn_of_interruption(fits)
    close = _close_fits(fits)
    results, doubts = criteria(close or fits, "loo", refits=bool(close))
    warn_of_doubts(doubts)
    chosen = ranked(results, hopeful(close or fits, "loo"))["chosen"]
    return fits[int(chosen.index[chosen][0])]


def fits_in_order(
    models: Mapping[int, AbstractEstimator],
    fit_one: Callable[[Any], Fit],
    fits: Mapping[int, Fit],
    *,
    enough: Callable[[Mapping[int, Fit]], bool] = lambda fits: False,
) -> dict[int, Fit]:
    """Return these fits and further ones; all of them unless Ctrl-C came or they are enough.

    Each starts from the previous one as well. An interrupted fit is excluded without a warning.
    """
    fits = dict(fits)
    for number, model in models.items():
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", f"{INTERRUPTED}; ", ConvergenceWarning)
                near = near_start(fits[max(fits)], number) if fits else model.known_start
                fit = fit_one(model.starting_near(near))
        except KeyboardInterrupt:
            break
        if fit.response.failure == INTERRUPTED:
            break
        fits[number] = fit
        if enough(fits):
            break
    return fits


def _no_gain(fits: Mapping[int, Fit]) -> bool:
    """Whether the two largest fits do not have a larger elpd than the best of the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the doubts report it
        rough = [(k, elpd(fit, refits=False)) for k, fit in fits.items()]
        gain = _gain_of_last([one.elpd for _, one in rough])
        if abs(gain - LIMITS.equal_elpd) < REFITS_CHANGE:
            last, others = (
                max(elpd(fits[k]).elpd for k in _rivals(dict(some)))
                for some in (rough[-2:], rough[:-2])
            )
            gain = last - others
    return gain <= LIMITS.equal_elpd


def _gain_of_last(densities: Sequence[float]) -> float:
    """Nats by which the last two are larger than the others; infinite without others."""
    return max(densities[-2:]) - max(densities[:-2]) if len(densities) > 2 else math.inf


def _rivals(results: Mapping[int, Elpd]) -> list[int]:
    """Numbers whose elpd may be the largest of these with refits."""
    table = ranked(results)
    return list(table.index[-table["elpd_diff"] < margin_of_refits(table["dse"])])


def _close_fits(fits: Mapping[int, Fit]) -> dict[int, Fit]:
    """Fits that may be chosen, or the best, with refits; none if these cannot change the choice.

    Of differences of elpd that change by half a standard error.
    """
    results, _ = criteria(fits, "loo", refits=False)
    table = ranked(results, hopeful(fits, "loo"))
    limit = (LIMITS.standard_errors * table["dse"]).clip(lower=LIMITS.equal_elpd)
    beyond, margin = -table["elpd_diff"] - limit, margin_of_refits(table["dse"])
    smaller = ~table["best"] & (table.index <= table.index[table["chosen"]][0])
    if not (beyond.abs() < margin)[smaller].any():
        return {}
    return {k: fits[k] for k in table.index[beyond < margin]}


def margin_of_refits(dse: pd.Series) -> pd.Series:
    """Nats by which refits may change differences of elpd with these standard errors."""
    return (0.5 * dse).clip(lower=REFITS_CHANGE)


def criteria(
    fits: Mapping[int, Fit], criterion: str, *, refits: bool = True
) -> tuple[dict[int, Elpd], dict[int, str]]:
    """Return the criterion of each fit, and how much it may be off where that makes a difference.

    Only criteria that may be off have a warning. ``refits`` is as in ``elpd``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what follows says it
        results = {k: elpd(fit, criterion, refits=refits) for k, fit in fits.items()}
    doubts = _doubts(fits, results, refits=refits)
    settled = {k: replace(one, warning=False) for k, one in results.items() if _by_response(one)}
    marked = {k: replace(settled[k], warning=True) for k in doubts}
    return results | settled | marked, doubts


def warn_of_doubts(doubts: Mapping[int, str]) -> None:
    """Warn of numbers whose criterion may be off."""
    for number, why in doubts.items():
        warn(f"n_components = {number} is unreliable: {why}")


def warn_of_interruption(fits: Mapping[int, Fit]) -> None:
    """Warn that Ctrl-C ended the selection after these numbers."""
    warn(
        f"the selection was interrupted; it contains n_components = {', '.join(map(str, fits))}",
        ConvergenceWarning,
    )


def _by_response(result: Elpd) -> bool:
    """Whether rows were held out by linear response, so that its errors can be measured."""
    return result.method == "linear-response"


def _doubts(
    fits: Mapping[int, Fit], results: Mapping[int, Elpd], *, refits: bool
) -> dict[int, str]:
    """Reasons why elpds are uncertain, by number of components, where the uncertainty matters."""
    doubts = {}
    for number, result in results.items():
        known = _by_response(result)
        rows, nats = doubtful_nats(fits[number], refits=refits) if known else (0, 0.0)
        if nats > LIMITS.equal_elpd:
            doubts[number] = (
                f"{rows} rows change the fit by more than first order and would take long to be "
                f"refitted; their part of its elpd, {nats:.1f} nats, is rough"
            )
    return doubts


def hopeful(fits: Mapping[int, Fit], criterion: str) -> list[int]:
    """Numbers whose criterion is of draws narrower than others': without linear response."""
    narrow = [
        number
        for number, fit in fits.items()
        if (criterion == "waic" or own_method(fit) == "psis")
        and any(part.fit.response.failure is not None for part in fit.parts)
    ]
    return narrow if len(narrow) < len(fits) else []
