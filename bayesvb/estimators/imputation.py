r"""Multiple imputation of covariates, congenial with the model that is fitted.

A Gibbs sampler alternates between the parameters and the missing values ``x_j`` of each covariate,

.. math:: p(x_j \mid x_{-j}, y, \theta) \propto p(y \mid x, \theta)\, p(x_j \mid x_{-j}),

as the substantive model compatible imputation of Bartlett, Seaman, White and Carpenter (2015),
Statistical Methods in Medical Research 24(4), with draws of a variational fit as ``theta``. The
value is chosen among proposals from ``p(x_j | x_{-j})`` and the present one, by the density of the
response, which leaves the distribution above unchanged (Tjelmeland 2004, Preprint Statistics
4/2004, NTNU). The fits to the completed tables are pooled with equal weights: the mixture of their
posteriors has their mean variance and the variance between them, as the rules of Rubin (1987).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from bayesvb.data.covariate_model import CovariateModel, put_in
from bayesvb.data.frame_kinds import frames_of
from bayesvb.data.frames import as_frame
from bayesvb.errors import DataError, DesignWarning
from bayesvb.estimators.model_rows import ModelRows, RowKind, RowOptions, ScalesT, model_rows
from bayesvb.formula.design import Design, build_design
from bayesvb.formula.parser import Formula
from bayesvb.numerics.streams import Streams
from bayesvb.results.base import AbstractFit, Member, with_fields
from bayesvb.results.named_draws import count
from bayesvb.results.robust import with_complete_draws
from bayesvb.results.stacking import stacked

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit
    from bayesvb.estimators.fit_request import FitRequest
    from bayesvb.estimators.mixture import AbstractGatedMixture

IMPUTATIONS = 20
"""Completed tables that are pooled: quantiles of 1,000 draws then hardly depend on the seed."""

FIRST, APART = 10, 3
"""Iterations before the first table that is kept, and from one to the next."""


def imputed_rows(
    formula: Formula, data: object, options: RowOptions, kind: RowKind[ScalesT]
) -> ModelRows[ScalesT]:
    """Rows of a model, with observed values at random where covariates lack one.

    The draw is the same for the same table, so that a model of it has the same units. Rows without
    response, group or date are dropped.

    Raises
    ------
    DataError
        If the rows are not in memory or share components, or no row is complete.
    """
    if options.group is not None or frames_of(data) is not None:
        raise DataError(
            "missing='impute' is not available with group=, and for rows that are read in blocks",
            hint="omit group=, and read the table first: data=pandas.read_parquet(path)",
        )
    frame, options = as_frame(data), replace(options, missing="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DesignWarning)
        known = build_design(
            formula, frame, response=kind.response, context=options.context, warn=False
        )
    names = imputable(known)
    model = CovariateModel.from_frame(frame[names])
    rows = model_rows(formula, model.fill_in(frame, np.random.default_rng(0)), options, kind)
    complete = rows.design.complete
    imputed = {name: absent[complete] for name, absent in model.missing.items()}
    imputed = {name: absent for name, absent in imputed.items() if absent.any()}
    return replace(rows, design=replace(rows.design, imputed=imputed))


def imputable(design: Design) -> list[str]:
    """Covariates whose missing values can be drawn: all but dates, and groups of ``(1 | g)``."""
    left = {*design.groupings, *design.dates}
    return [name for name in design.covariates if name not in left]


def pool_imputations(
    model: AbstractGatedMixture, request: FitRequest, streams: Streams, workers: int
) -> Fit:
    """Fit completed tables, and pool the fits.

    Parameters
    ----------
    model : AbstractGatedMixture
        Of the rows of ``imputed_rows``.
    request : FitRequest
    streams : Streams
        Of the fit to the first table.
    workers : int

    Raises
    ------
    DataError
        If the engine has no posterior from which parameters can be drawn.
    """
    if request.rough or request.engine.finds_points or not request.engine.maximises_bound:
        raise DataError(
            f"missing='impute' with method={request.method!r}, combine={request.combine!r} is not "
            "available: imputations are drawn from the posterior of one variational fit",
            hint="method='cavi' with combine='best' has one",
        )
    if request.covariance != "mean-field":
        request = replace(request, covariance="linear-response")
    rng = Streams(request.seed).branch("imputation").rng("values")
    covariates = CovariateModel.from_frame(model.design.given[imputable(model.design)])
    frame = model.design.complete_frame
    current = with_completed_rows(model, frame)._fitted(request, streams, workers)
    restarts, traces = current.restarts, current.traces
    later = replace(request, budget=replace(request.budget, log=None))
    members: list[Member] = []
    for iteration in range(FIRST + APART * (IMPUTATIONS - 1) + 1):
        if current.is_interrupted:
            break
        frame = _redraw(current, covariates, frame, rng)
        own = replace(later, seed=int(rng.integers(2**31)), start=current.stats)
        current = with_completed_rows(model, frame)._fitted(own, Streams(own.seed, 1), workers)
        if iteration >= FIRST and not (iteration - FIRST) % APART:
            kept = replace(current, restarts=restarts, traces=traces)
            members.append(Member(number=len(members) + 1, weight=1.0 / IMPUTATIONS, fit=kept))
    if current.is_interrupted or not members:
        first = replace(current, restarts=restarts, traces=traces, seed=request.seed)
        return replace(first, model=model)
    pooled = replace(pool_members(members, model), seed=request.seed)
    return cast("Fit", replace(pooled, seconds=time.perf_counter() - request.began))


def pool_members(members: Sequence[Member], model: AbstractGatedMixture) -> AbstractFit:
    """Return the fit that the fits of completed tables make together, in a model of the first.

    Parameters
    ----------
    members : sequence of Member
    model : AbstractGatedMixture
        Model that was given, with the places of its missing values.
    """
    first = members[0].fit.model
    design = replace(first.design, imputed=model.design.imputed)
    own = with_fields(first, design=design, completed=False)
    return replace(stacked(members), model=own)


def with_completed_rows(model: AbstractGatedMixture, frame: pd.DataFrame) -> AbstractGatedMixture:
    """Return the model of a completed table, in the same units; runs keep their components."""
    design = model.design
    rows = design.new(frame, response=True)
    columns = {name: frame[name] for name in design.imputed}
    design = replace(
        design, frame=design.frame.assign(**columns), matrices=rows.matrices, offset=rows.offset,
        imputed={},
    )  # fmt: skip
    changed = with_fields(model, design=design, completed=True)
    return with_fields(changed, source=changed.source_in(model.scales))


def _redraw(
    fit: AbstractFit, covariates: CovariateModel, frame: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the table with other values where covariates lack one, given a draw of parameters."""
    fit = with_complete_draws(fit)
    chosen = rng.integers(count(fit.draws), size=1)
    draw = {name: values[chosen] for name, values in fit.draws.items()}
    for name, absent in covariates.missing.items():
        # Values from which each missing value is chosen, besides its present one.
        proposed = covariates.propose(frame, name, 20, rng)
        present = frame[name][absent].to_numpy()[None]
        values = np.concatenate([present.astype(proposed.dtype), proposed])
        places = np.tile(np.flatnonzero(absent), len(values))
        every = np.ones(len(places), dtype=bool)
        rows = fit.model.rows(
            put_in(frame.iloc[places], name, every, values.ravel()), response=True
        )
        density = fit.core.log_lik(draw, fit.model.block(rows))[0].reshape(values.shape)
        # The largest after Gumbel noise is a draw by density; NaN is no density.
        noisy = np.nan_to_num(density, nan=-np.inf) + rng.gumbel(size=density.shape)
        best = values[noisy.argmax(axis=0), np.arange(values.shape[1])]
        frame = put_in(frame, name, absent, best)
    return frame
