"""Removal of rows from a fit by their sums: the fit without a site, or without a batch.

The inverse of an update. The sums of these rows at the posterior are subtracted from the sums of
the fit, and the parameters follow. The result is exact if sums do not depend on the posterior: for
one component, and for complete rows of a factor model. Otherwise the remaining rows keep their
components.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bayesvb.argument_checks import check_count, check_positive
from bayesvb.data.partly_kept import PartlyKept
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.known_rows import BesideKnownRows, KnownInformation, response_beside
from bayesvb.errors import DataError
from bayesvb.estimators.updating import (
    Run,
    check_updatable,
    known_response,
    new_rows,
    no_row,
    refreshed,
    streamed_core,
)
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.base import AbstractFit
from bayesvb.results.capabilities import SummarisesRows
from bayesvb.sensitivity.covariance import LinearResponse, withheld
from bayesvb.sensitivity.solvers import full_step


def downdated(
    fit: AbstractFit, data: object, *, weights: object, tol: float, max_iter: int
) -> AbstractFit:
    """The fit without these rows; see ``Fit.downdate``."""
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    check_updatable(fit)
    began = time.perf_counter()
    source, every = new_rows(fit.model, data, weights), fitted_rows(fit.model)
    total = every.total_weight - source.total_weight
    n_left = every.n_rows - source.n_rows
    if not (total > 0.0 and n_left > 0):
        raise DataError(
            f"data has {source.n_rows:,} rows and the fit {every.n_rows:,}: none would be left",
            hint="give only the training rows that are to be removed",
        )
    run = _run(fit, source, total, Budget(float(tol), max_iter))
    kept = every.kept if isinstance(every, PartlyKept) else every
    model = run.model.over(PartlyKept(kept, n_left, total, workers=every.workers))
    return refreshed(fit, replace(run, model=model), total, time.perf_counter() - began)


def _run(fit: AbstractFit, source: AbstractSource, total: float, budget: Budget) -> Run:
    """The parameters without the sums of these rows."""
    model, place = fit.model, Streams(fit.seed).branch("downdate")
    if isinstance(model, SummarisesRows):
        summarised = model.with_more_rows(source, 1.0, sign=-1.0)
        if summarised is not None:
            summary, rows = summarised
            core = summary.relabelled(summary.core, fit.order)
            ascent = Cavi().run(core, rows, fit.stats, budget, place)
            return Run(summary, core, fit.order, ascent, known_response(fit, core, ascent, rows))
    step = source.map_reduce(partial(fit.core.e_step, fit.q))
    nobody = InMemorySource((no_row(source),))
    # What is no sum over rows, such as learned scales, is the same in both steps.
    steps = [full_step(fit.core, fit.q, share * step.stats) for share in (1.0, 0.0)]
    gone = fit.stats.with_vector(fit.stats.to_vector() - (steps[0] - steps[1]))
    rest = fit.elbo + model.log_jacobian * (total + source.total_weight) - step.bound
    known = rest + fit.core.kl(fit.q) - streamed_core(fit).expected_sum(gone, fit.q)
    with_known = BesideKnownRows(streamed_core(fit), gone, known)
    try:
        ascent = Cavi().run(with_known, nobody, gone, budget, place)
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"data contain rows that are not rows of this fit: {error}",
            hint="give rows of the fit, with the same case weights",
        ) from error
    share = total / (total + source.total_weight)
    return Run(
        model, fit.core, fit.order, ascent, _response(fit, with_known, nobody, ascent.stats, share)
    )


def _response(
    fit: AbstractFit,
    with_known: BesideKnownRows[Any, Any],
    nobody: InMemorySource,
    stats: object,
    share: float,
) -> LinearResponse:
    """Linear response of the remaining rows, which leave open what their share of all did."""
    if fit.response.failure is not None:
        return withheld(fit.response.failure)
    if fit.core.coordinates(fit.q) is None:
        return withheld(fit.core.without_response)
    try:
        known = KnownInformation.of(streamed_core(fit), fit.stats, fit.response, nobody.whole())
        return response_beside(with_known, nobody, stats, known, share=share, least=-np.inf)
    except np.linalg.LinAlgError as error:
        return withheld(str(error))
