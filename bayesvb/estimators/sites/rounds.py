"""One fit to the rows of several sites, each of which reports sums over its rows and no row."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, checked
from bayesvb.data.blocks import Block
from bayesvb.data.case_weights import weights_and_frame
from bayesvb.data.frame_kinds import frames_of
from bayesvb.data.partly_kept import PartlyKept
from bayesvb.data.parts import GATING
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.remote_rows import (
    RemoteFit,
    RemoteRun,
    RowsElsewhere,
    Unanswered,
    fit_elsewhere,
)
from bayesvb.errors import DataError
from bayesvb.estimators.base import INTERVALS, AbstractEstimator, empty_stats
from bayesvb.estimators.density_regression import DensityRegression
from bayesvb.estimators.fit import Fit
from bayesvb.estimators.mixture import AbstractGatedMixture
from bayesvb.estimators.sites.columns import check_levels
from bayesvb.estimators.sites.contents import column_name, keyed
from bayesvb.estimators.sites.design import (
    PooledColumns,
    PooledRowSummary,
    SiteFrames,
    columns_told,
    moments_told,
    responses_told,
)
from bayesvb.estimators.sites.record import (
    SiteStatistics,
    merged,
    moments_of,
    read,
    told_moments,
)
from bayesvb.estimators.sites.runs import arrays_of, check_starts, runs_of
from bayesvb.factors.loadings import Loadings
from bayesvb.formula.passes.streamed_design import learned_of
from bayesvb.models.mixture import Mixture
from bayesvb.numerics.arrays import EntryVector, Floats
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.importance import of_one_restart
from bayesvb.variational.model import AnyModel

WEIGHTS = "case weights"
"""Column of the case weights of a site that passes them separately."""

Arrays = dict[str, Floats]


@checked
def site_statistics(
    model: AbstractEstimator,
    data: object,
    agreed: object = None,
    *,
    weights: object = None,
    restarts: int = 3,
    seed: int = 0,
    tol: float = 1e-3,
    max_iter: int = 2000,
    covariance: str = "linear-response",
) -> SiteStatistics:
    """Statistics of the rows of one site, for the next round of a fit to several sites.

    First the levels of columns, and quantiles of those under a curve, then means and standard
    deviations, starts from fits to the site's own rows, and then the sums of one pass after the
    other.

    Parameters
    ----------
    model : DensityRegression, GaussianMixture, Normal, BayesianPCA or ConditionalMixtureNetwork
        Formula and options, the same at all sites; of whatever rows.
    data : table
        Rows of this site.
    agreed : SiteStatistics or path, optional
        Result of ``merge`` for the previous round; omitted in the first round.
    weights : str or sequence of float, optional
        Case weights of the rows.
    restarts, seed : int
        Fits to the site's own rows, from each of which a run over all rows starts; the run with the
        highest ELBO after a few iterations continues.
    tol, max_iter, covariance
        As in ``model.fit``; the values of the first round are used, and must be the same at all
        sites.

    Returns
    -------
    SiteStatistics
        ``save(path)`` writes it to a file; ``round`` names its round.

    Raises
    ------
    DataError
        If the model cannot be fitted by sums, or sites differ.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> model = bvb.DensityRegression("waiting ~ eruptions", data[:50], n_components=1)
    >>> parts = [bvb.site_statistics(model, rows) for rows in (data[:100], data[100:])]
    >>> bvb.merge_site_statistics(parts).n_rows
    272
    """
    check_choice("covariance", covariance, INTERVALS)
    settings = {"tol": float(tol), "max_iter": int(max_iter), "covariance": covariance}
    if agreed is None:
        return _first(model, data, weights, settings)
    sums = read(agreed, "agreed")
    if _described(model, sums.model["settings"]) != sums.model:
        raise DataError(
            "model differs from the model of agreed=",
            hint=f"give the model with the formula {sums.model['formula']} and its options",
        )
    if sums.finished:
        raise DataError(
            "agreed= is finished, and needs no more statistics",
            hint="fit_from_sites(model, data, agreed) returns the fit",
        )
    at_site = model_at_site(model, data, weights, sums)
    part = partial(replace, sums, n_sites=1, n_rows=at_site.design.n_rows)
    if sums.round == "columns":
        return part(round="scales", own=_scales(at_site, data, weights, sums))
    if sums.round == "scales":
        starts = [_own_start(at_site, seed + number) for number in range(restarts)]
        return part(round="starts", own={"starts": np.stack(starts)})
    answers = _answers(at_site, sums)
    return part(round="sums" if answers else "finished", own=answers)


@checked
def merge_site_statistics(parts: object) -> SiteStatistics:
    """Merged statistics of several sites, which each site needs for the next round.

    Whoever merges needs neither rows nor a model.

    Parameters
    ----------
    parts : sequence of SiteStatistics or path
        What ``site_statistics`` returned at each site, or the files that it saved.

    Returns
    -------
    SiteStatistics
        ``finished`` once there is a fit.

    Raises
    ------
    DataError
        If they are not of one model and one round.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> model = bvb.DensityRegression("waiting ~ eruptions", data[:50], n_components=1)
    >>> bvb.merge_site_statistics([bvb.site_statistics(model, data)]).round
    'columns'
    """
    if isinstance(parts, str | bytes) or not isinstance(parts, Sequence) or not len(parts):
        raise DataError(
            "parts must be a list of results of site_statistics(), or of paths of saved ones",
            hint="merge_site_statistics([part_of_one_site, part_of_another])",
        )
    return merged([read(part, f"parts[{number}]") for number, part in enumerate(parts)])


@checked
def fit_from_sites(
    model: AbstractEstimator,
    data: object,
    agreed: object,
    *,
    weights: object = None,
    draws: int = 1000,
    seed: int = 0,
) -> Fit:
    """Fit to the rows of all sites, at one site.

    Parameters
    ----------
    model : AbstractEstimator
        As in ``site_statistics``.
    data : table
        Rows of this site, which are those that the fit keeps.
    agreed : SiteStatistics or path
        What ``merge`` made of the last round.
    weights : str or sequence of float, optional
        Case weights of the rows.
    draws, seed : int
        As of ``model.fit``.

    Raises
    ------
    DataError
        If the rounds have not come to their end.
    """
    began = time.perf_counter()
    sums = read(agreed, "agreed")
    if not sums.finished:
        raise DataError(
            f"agreed= is not finished: its round is {sums.round!r}",
            hint="agreed = merge_site_statistics([site_statistics(model, rows, agreed) "
            "for rows of every site])",
        )
    at_site = model_at_site(model, data, weights, sums)
    remote = _found(at_site, sums, runs_of(sums.known))
    whole = at_site.over(PartlyKept(at_site.source, sums.n_rows, _weight(sums)))
    return _fit(whole, remote, draws, seed, time.perf_counter() - began)


def _first(
    model: AbstractEstimator, data: object, weights: object, settings: object
) -> SiteStatistics:
    """Report on the columns of this site."""
    design = model_at_site(model, data, weights).design
    columns = columns_told(design)
    check_levels(columns.levels)
    levels = {name: list(values) for name, values in columns.levels.items()}
    described, quantiles = _described(model, settings), _quantiles(columns)
    return SiteStatistics("columns", described, 1, design.n_rows, own=quantiles, levels=levels)


def model_at_site(
    model: AbstractEstimator, data: object, weights: object, sums: SiteStatistics | None = None
) -> AbstractEstimator:
    """Model of the rows of this site, with the settings on which sites have agreed so far.

    Warnings of a design are not given for a part of the rows.
    """
    _check_sums(model)
    frame, name = _rows(data, weights)
    frames = (
        SiteFrames(frame)
        if sums is None
        else SiteFrames(frame, _columns(sums), _told_rows(model, sums))
    )
    options: dict[str, Any] = {**model.options(), "context": model.design.context}
    options["priors"] = type(model.priors)(**options["priors"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = cast("type[Any]", type(model))
        made: AbstractEstimator = kind(model.formula.text, frames, weights=name, **options)
    return made


def _check_sums(model: AbstractEstimator) -> None:
    """Refuse models whose sums need more than the rows of one site."""
    if not isinstance(model, AbstractEstimator):
        raise DataError(
            f"model is a {type(model).__name__}, but must be a model of bayesvb",
            hint="give bayesvb.DensityRegression(...), for example",
        )
    why = None
    if getattr(model, "grouping", None) is not None:
        why = "with group=, a subject may have rows at several sites"
    elif model.weight_type != "frequency":
        why = "sampling weights are relative to the weights of all rows"
    if why is not None:
        raise DataError(
            f"sites cannot exchange sums for this model: {why}",
            hint="omit the option, or fit all rows together",
        )


def _rows(data: object, weights: object) -> tuple[pd.DataFrame, str | None]:
    """Rows of this site, with their case weights as a column, and its name."""
    if frames_of(data) is not None:
        raise DataError(
            "bvb.site_statistics() needs all rows in memory: a site reads them in every round",
            hint="read the table first: data=pandas.read_parquet(path)",
        )
    values, frame = weights_and_frame(weights, data)
    return (frame, None) if values is None else (frame.assign(**{WEIGHTS: values}), WEIGHTS)


def _described(model: AbstractEstimator, settings: object) -> dict[str, object]:
    return {
        "model": type(model).__name__,
        "formula": model.formula.canonical(),
        "options": model.options(),
        "settings": settings,
    }


def _quantiles(columns: PooledColumns) -> Arrays:
    """Quantiles of columns, and which ones they are, among all of them in alphabetical order."""
    names = sorted(columns.levels)
    curved = sorted(columns.quantiles)
    values = [columns.quantiles[name] for name in curved]
    return {
        "curved": np.array([names.index(name) for name in curved], dtype=float),
        "quantiles": np.stack(values) if values else np.empty((0, 1)),
    }


def _columns(sums: SiteStatistics) -> PooledColumns:
    """Levels and quantiles of the columns of all sites."""
    names = sorted(sums.levels)
    curved = [names[int(place)] for place in sums.known["curved"]]
    return PooledColumns(sums.levels, dict(zip(curved, sums.known["quantiles"], strict=True)))


def _scales(
    model: AbstractEstimator, data: object, weights: object, sums: SiteStatistics
) -> Arrays:
    """Counts and moments of the rows of this site, and the formula's state for its columns."""
    (frame, name), design = _rows(data, weights), model.design
    known = design.all_rows
    assert known is not None
    moments = moments_told(design, frame, name)
    missing = [int(frame[column].isna().sum()) for column in sums.levels]
    counts = [float(len(frame)), fitted_rows(model).total_weight, *missing]
    state = {keyed(part): told_moments(one) for part, one in moments.items()}
    if _has_medians(model):
        state["responses"] = responses_told(design)
    return {"counts": np.array(counts), "learned": learned_of(design), **state}


def _has_medians(model: AbstractEstimator) -> bool:
    """Whether the unit of the response is reported by quantiles."""
    return isinstance(model, DensityRegression) and model.experts.scaled_by_medians


def _told_rows(model: AbstractEstimator, sums: SiteStatistics) -> PooledRowSummary | None:
    """Counts and moments of the rows of all sites, once they have been reported.

    Raises
    ------
    DataError
        If the quantiles of the response are absent.
    """
    if "counts" not in sums.known:
        return None
    if _has_medians(model) != ("responses" in sums.known):
        raise DataError(
            "agreed= was reported by sites whose model has another family=",
            hint="begin again, with the same model at all sites",
        )
    n_given, weight, *missing = sums.known["counts"].tolist()
    named = [(column_name(key), values) for key, values in sums.known.items()]
    moments = {name: moments_of(values) for name, values in named if name is not None}
    counts = dict(zip(sums.levels, map(int, missing), strict=True))
    sizes = sums.n_sites, sums.n_rows, int(n_given), weight
    return PooledRowSummary(*sizes, counts, moments, sums.known.get("responses"))


def _own_start(model: AbstractEstimator, seed: int) -> EntryVector:
    """Statistics of a fit to the rows of this site alone."""
    alone = model.over(fitted_rows(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = alone.fit(
            restarts=1, seed=seed, draws=25, tol=0.1, covariance="mean-field", combine="best"
        )
    stats = fit.stats
    if isinstance(model, AbstractGatedMixture):
        _, stats = cast(Mixture, fit.core).permuted(np.argsort(fit.order).tolist(), stats)
    return np.asarray(stats.to_vector())


def _weight(sums: SiteStatistics) -> float:
    """Sum of the case weights of all rows."""
    return float(sums.known["counts"][1])


def _found(model: AbstractEstimator, sums: SiteStatistics, runs: Sequence[RemoteRun]) -> RemoteFit:
    """Fit that the sums reported so far lead to.

    Raises
    ------
    Unanswered
        If there are not enough of them.
    DataError
        If they belong to no rows, or to another model.
    """
    core, source = model.core, fitted_rows(model)
    blank, nobody = core.first_stats(empty_stats(core, source)), _nobody(source)
    check_starts(sums.known["starts"], runs, blank)
    settings = sums.model["settings"]
    try:
        return fit_elsewhere(
            core,
            [RowsElsewhere(run, nobody, sums.n_rows, _weight(sums)) for run in runs],
            [blank.with_vector(row) for row in sums.known["starts"]],
            ordered=partial(_ordered, model),
            tol=settings["tol"],
            max_iter=settings["max_iter"],
            with_response=settings["covariance"] != "mean-field",
        )
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"agreed= has sums that no rows can have: {error}",
            hint="begin the rounds again; one site reported wrong numbers, or a file was changed",
        ) from error


def _ordered(
    model: AbstractEstimator, core: AnyModel, stats: Any
) -> tuple[AnyModel, SufficientStats, tuple[int, ...]]:
    """Components in the order of their labels, determined by sums over rows."""
    if not isinstance(model, AbstractGatedMixture):
        return model.ordered(core, stats)
    sizes = getattr(stats.experts, "weight", None)
    if sizes is None:  # sums of linear predictors hold no responsibilities
        sizes = _weights_of_average_row(model, core, stats)
    order = tuple(np.argsort(-sizes, kind="stable").tolist())
    return *cast(Mixture, core).permuted(order, stats), order


def _weights_of_average_row(
    model: AbstractGatedMixture, core: AnyModel, stats: SufficientStats
) -> Float[np.ndarray, " components"]:
    """Expected weights at the average of the standardised covariates, the same at every site."""
    if core.n_components == 1:
        return np.ones(1)
    scaling, nobody = model.scales.parts[GATING], _nobody(model.source)
    average = np.zeros_like(nobody.designs[GATING])
    if scaling.intercept is not None:
        average[scaling.intercept] = 1.0
    row = replace(nobody, designs={**nobody.designs, GATING: average})
    return np.asarray(cast(Mixture, core).mean_weights(core.update(stats), row)[:, 0])


def _nobody(source: AbstractSource) -> Block:
    """A row that does not count."""
    return replace(source.take(np.arange(1)), weight=np.zeros(1))


def _answers(model: AbstractEstimator, sums: SiteStatistics) -> Arrays:
    """The sums over the rows of this site that are requested next; empty if none are.

    They include the states of the runs, the run of each sum, and a checksum of its posterior, which
    reveals sites whose runs diverged.
    """
    runs = runs_of(sums.known)
    try:
        _found(model, sums, runs)
    except Unanswered as asked:
        steps = fitted_rows(model).map_reduce_all(asked.functions)
        at = [_mark(model, function.args[0]) for function in asked.functions]
        vectors = np.stack([step.to_vector() for step in steps])
        owners = np.array(asked.owners, dtype=float)
        return {"sums": vectors, "at": np.array(at), "owners": owners, **arrays_of(runs)}
    return {}


def _mark(model: AbstractEstimator, posterior: object) -> float:
    """Divergence from the prior; of loadings alone, which have none, the size of their means."""
    if isinstance(posterior, Loadings):
        return float(np.linalg.norm(posterior.mean))
    return float(model.core.kl(posterior))


def _fit(model: AbstractEstimator, remote: RemoteFit, draws: int, seed: int, seconds: float) -> Fit:
    """The fit, with draws of the posterior that all sites share."""
    units = model.log_jacobian * model.source.total_weight
    q = remote.model.update(remote.stats)
    plain = Fit.from_draws(
        model=model,
        core=remote.model,
        stats=remote.stats,
        order=remote.order,
        variational_draws=remote.model.draws(q, draws, Streams(seed, 1).draws()),
        response=remote.response,
        restarts=_table(model, remote, units, seconds),
        traces={1: remote.ascent.trace - units},
        converged=remote.ascent.converged,
        n_iter=remote.ascent.n_iter,
        seconds=seconds,
        seed=seed,
    )
    return cast(Fit, of_one_restart(plain, remote.response.label))


def _table(
    model: AbstractEstimator, remote: RemoteFit, units: float, seconds: float
) -> pd.DataFrame:
    """The run as a table of restarts."""
    row = {
        "start": "sites",
        "elbo": remote.ascent.bound - units,
        "n_iter": remote.ascent.n_iter,
        "converged": remote.ascent.converged,
        "rows": model.source.n_rows,
        "seconds": seconds,
        "best": True,
    }
    return pd.DataFrame([row], index=pd.RangeIndex(1, 2, name="restart"))
