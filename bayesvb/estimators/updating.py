"""Rows that come later: folded into a fit by their sums, without the rows that it has seen."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, cast

import numpy as np

from bayesvb.argument_checks import check_count, check_positive, shown
from bayesvb.data.blocks import Block
from bayesvb.data.partly_kept import PartlyKept
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import Budget, EngineResult
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.known_rows import BesideKnownRows, KnownInformation, response_beside
from bayesvb.errors import DataError
from bayesvb.estimators.new_rows import new_rows
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.base import AbstractFit
from bayesvb.results.groups import grouping_of
from bayesvb.results.importance import of_one_restart
from bayesvb.results.integrated_draws import is_integrated, with_integrated_scales
from bayesvb.results.named_draws import count
from bayesvb.results.posterior_draws import PosteriorDraws
from bayesvb.sensitivity.covariance import LinearResponse, withheld


def updated(
    fit: AbstractFit, data: object, *, weights: object, forgetting: float, tol: float, max_iter: int
) -> AbstractFit:
    """The fit after more rows; see ``Fit.update``."""
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    share = _share(forgetting)
    _check_updatable(fit)
    began = time.perf_counter()
    model = fit.model
    source = new_rows(model, data, weights)
    every = fitted_rows(model)
    seen = every.total_weight
    bound = fit.elbo + model.log_jacobian * seen
    beside = BesideKnownRows.of(fit.core, fit.stats, bound).forgetting(share)
    ascent = _ascent(beside, source, fit, Budget(float(tol), max_iter))
    response = _response(fit, beside, source, ascent, share)
    total = share * seen + source.total_weight
    told = _with_source(model, _together(model.source, every, source, total))
    return _refreshed(fit, told, ascent, response, total, time.perf_counter() - began)


def _share(forgetting: object) -> float:
    """By how much rows of before count for less."""
    check_positive("forgetting", forgetting)
    if not float(cast(float, forgetting)) <= 1.0:
        raise DataError(
            f"forgetting={shown(forgetting)} must not be above 1",
            hint="1 keeps all that was learned, 0.9 forgets a tenth of it at each update",
        )
    return float(cast(float, forgetting))


def _check_updatable(fit: AbstractFit) -> None:
    """Refuse fits whose statistics do not stand for their rows."""
    why = None
    if fit.members:
        why = f"a fit that combines {len(fit.members)} restarts is no one posterior"
    elif fit.is_sampled or not fit.engine.bounds_evidence:
        why = f"fits by {fit.engine.title} are not made of sums over rows"
    elif grouping_of(fit.model) is not None:
        why = "rows of one subject belong together, and its earlier rows are not kept"
    elif fit.model.weights_are == "sampling":
        why = "sampling weights are in proportion to those of all rows"
    else:
        try:
            fit.core.expected_sum(fit.stats, fit.q)
        except NotImplementedError:
            why = "its statistics do not stand for rows"
    if why is not None:
        raise DataError(
            f"this fit cannot be updated: {why}",
            hint="DensityRegression, GaussianMixture and Normal can be, with combine='best' and "
            "coefficients in units of the noise; fit all rows together otherwise",
        )


def _ascent(
    beside: BesideKnownRows, source: AbstractSource, fit: AbstractFit, budget: Budget
) -> EngineResult[Any]:
    """From the posterior of before to the one that has seen the new rows too."""
    nothing = fit.core.e_step(fit.q, _nobody(source)).stats
    start = beside.global_step(fit.q, nothing)
    place = Streams(fit.seed).branch("update")
    return Cavi().run(beside, source, start, budget, place)


def _nobody(source: AbstractSource) -> Block:
    """A row that does not count: its statistics are zeros."""
    return replace(source.sample(1, np.random.default_rng(0)), weight=np.zeros(1))


def _response(
    fit: AbstractFit,
    beside: BesideKnownRows,
    source: AbstractSource,
    ascent: EngineResult[Any],
    share: float,
) -> LinearResponse:
    """Linear response of all rows, as far as the fit had one."""
    if fit.response.failure is not None:
        return withheld(fit.response.failure)
    try:
        known = KnownInformation.of(fit.core, fit.stats, fit.response, _nobody(source))
        return response_beside(beside, source, ascent.stats, known, share=share)
    except np.linalg.LinAlgError as error:
        return withheld(str(error))


def _together(
    rows: AbstractSource, before: AbstractSource, new: AbstractSource, total: float
) -> PartlyKept:
    """The rows that are kept, those in memory at the first fit, and how many there are in all."""
    kept = rows.kept if isinstance(rows, PartlyKept) else rows
    return PartlyKept(kept, before.n_rows + new.n_rows, total, workers=rows.workers)


def _with_source(model: Any, source: AbstractSource) -> Any:
    """The model with these rows, in the units that it has."""
    return model.over(source)


def _refreshed(
    fit: AbstractFit,
    model: Any,
    ascent: EngineResult[Any],
    response: LinearResponse,
    total: float,
    seconds: float,
) -> AbstractFit:
    """The fit with another posterior, its components labelled as before."""
    posterior = fit.core.update(ascent.stats)
    n_restarts = len(fit.restarts)
    draws = fit.core.draws(posterior, count(fit.q_draws), Streams(fit.seed, n_restarts).draws())
    trace = ascent.trace - model.log_jacobian * total
    plain = replace(
        fit,
        model=model,
        core=fit.core.knowing(posterior),
        stats=ascent.stats,
        given_draws=PosteriorDraws.from_posterior(fit.core, posterior, draws),
        q_draws=draws,
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
