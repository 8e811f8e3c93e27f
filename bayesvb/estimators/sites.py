"""One fit to the rows of several sites, each of which tells sums over its rows and no row."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, checked
from bayesvb.data.blocks import Block
from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.partly_kept import PartlyKept
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import AbstractSource
from bayesvb.data.standardised_blocks import without_offset
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.remote_rows import (
    RemoteFit,
    Unanswered,
    as_row,
    as_step,
    fit_elsewhere,
)
from bayesvb.errors import DataError
from bayesvb.estimators.base import INTERVALS, empty_stats
from bayesvb.estimators.density_regression import DensityRegression
from bayesvb.estimators.fit import Fit
from bayesvb.estimators.site_levels import levels_of, with_every_level
from bayesvb.estimators.site_record import SiteStatistics, merged, moments_of, read, told_moments
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.importance import of_one_restart

if TYPE_CHECKING:
    import pandas as pd

LEARNED = re.compile(r"\b(bs|cc|cr|cs|poly|center|scale|standardize|s)\(")
"""Transforms whose state is learned from all rows, beyond means and standard deviations."""


@checked
def site_statistics(
    model: DensityRegression,
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
    """What a site tells of its rows in the next round of a fit to the rows of several sites.

    First the levels of columns, then means and standard deviations, starts from fits to the
    site's own rows, and then the sums of one pass after the other.

    Parameters
    ----------
    model : DensityRegression
        Formula and options, the same at all sites; of whatever rows.
    data : table
        Rows of this site.
    agreed : SiteStatistics or path, optional
        What ``merge`` made of the round before; left out in the first round.
    weights : str or sequence of float, optional
        Case weights of the rows.
    restarts, seed : int
        Fits to the site's own rows, from each of which an ascent over all rows sets out; the one
        that is highest after a few passes goes on.
    tol, max_iter, covariance
        As of ``model.fit``; what is given in the first round holds, and is to be the same at all
        sites.

    Returns
    -------
    SiteStatistics
        ``save(path)`` writes it to a file; ``round`` says what it is of.

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
    >>> bvb.merge(parts).n_rows
    272
    """
    check_choice("covariance", covariance, INTERVALS)
    settings = {"tol": float(tol), "max_iter": int(max_iter), "covariance": covariance}
    own = _at_site(model, data, weights)
    if agreed is None:
        return SiteStatistics(
            "levels", _described(own, settings), 1, own.design.n_rows, levels=levels_of(own.design)
        )
    told = read(agreed, "agreed")
    n_rows = own.design.n_rows
    if _described(own, told.model["settings"]) != told.model:
        raise DataError(
            "model is another one than that of agreed=",
            hint=f"its formula is {told.model['formula']}",
        )
    part = partial(SiteStatistics, model=told.model, n_sites=1, n_rows=n_rows, levels=told.levels)
    own = _with_levels(own, told)
    if told.round == "levels":
        return part("scales", own=_moments(own))
    own = own.in_given_scales(_scales(own, told))
    if told.round == "scales":
        starts = np.stack([_own_start(own, seed + number) for number in range(restarts)])
        return part("starts", own={"starts": starts}, known=told.known)
    if told.finished:
        raise DataError("agreed is finished", hint="fit_of_sites(model, data, agreed) is the fit")
    answers = _answers(own, told)
    return part("sums" if answers else "finished", own=answers, known=told.known)


@checked
def merge(parts: object) -> SiteStatistics:
    """Statistics of several sites together, to be given to each of them for the next round.

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
    >>> bvb.merge([bvb.site_statistics(model, data)]).round
    'levels'
    """
    if isinstance(parts, str | bytes) or not isinstance(parts, Sequence) or not len(parts):
        raise DataError(
            "parts must be a list of what site_statistics() returned, or of files of it",
            hint="merge([part_of_one_site, part_of_another])",
        )
    return merged([read(part, f"parts[{number}]") for number, part in enumerate(parts)])


@checked
def fit_of_sites(
    model: DensityRegression,
    data: object,
    agreed: object,
    *,
    weights: object = None,
    draws: int = 1000,
    seed: int = 0,
) -> Fit:
    """The fit to the rows of all sites, at a site.

    Parameters
    ----------
    model : DensityRegression
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
    told = read(agreed, "agreed")
    if not told.finished:
        raise DataError(
            f"agreed is of the round {told.round!r}, and not finished",
            hint="agreed = merge([site_statistics(model, rows, agreed) for rows of every site])",
        )
    own = _with_levels(_at_site(model, data, weights), told)
    own = own.in_given_scales(_scales(own, told))
    found = _found(own, told)
    count, weight = _sizes(told)
    whole = cast(DensityRegression, own.over(PartlyKept(own.source, count, weight)))
    return _fit(whole, found, draws, seed, time.perf_counter() - began)


def _at_site(model: DensityRegression, data: object, weights: object) -> DensityRegression:
    """The same model of the rows of this site."""
    if not isinstance(model, DensityRegression):
        raise DataError(
            f"model is a {type(model).__name__}, and sites agree on scales and starts of density "
            "regressions only",
            hint="give a DensityRegression",
        )
    why = None
    if model.grouping is not None:
        why = "group= has rows that belong together"
    elif model.family != "gaussian":
        why = f"family={model.family!r} has scales by medians, which are no sums"
    elif model.weights_are != "frequency":
        why = "sampling weights are in proportion to those of all rows"
    elif LEARNED.search(model.formula.canonical()) or model.design.dates:
        why = "the formula has a curve, a scaled column or a date, learned from all rows"
    elif any(one.kind == "group" for part in model.design.term_blocks.values() for one in part):
        why = "the formula has groups"
    if why is not None:
        raise DataError(
            f"sites cannot exchange sums for this model: {why}",
            hint="columns as they are, products, functions of single values and factors can be",
        )
    own = _again(model, data, weights)
    check_all_rows(own, "bvb.site_statistics()", "a site goes over its rows in every round")
    return own


def _again(model: DensityRegression, data: object, weights: object) -> DensityRegression:
    """The model over other rows; what a design warns of is not said of a part of them."""
    options: dict[str, Any] = {**model.options(), "context": model.design.context}
    options["priors"] = type(model.priors)(**options["priors"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DensityRegression(model.formula.text, data, weights=weights, **options)


def _described(model: DensityRegression, settings: object) -> dict[str, Any]:
    return {
        "model": type(model).__name__,
        "formula": model.formula.canonical(),
        "options": model.options(),
        "settings": settings,
    }


def _with_levels(model: DensityRegression, told: SiteStatistics) -> DensityRegression:
    """The model with columns for the levels of all sites."""
    present = levels_of(model.design)
    strange = {
        name for name, values in present.items() if set(values) - set(told.levels.get(name, ()))
    }
    if strange:
        raise DataError(
            f"`{min(strange)}` has levels here that were not told in the first round",
            hint="begin again with all rows of this site",
        )
    if all(present[name] == list(values) for name, values in told.levels.items()):
        return model
    frame, weights = with_every_level(model.design.given, model.weights, present, told.levels)
    return _again(model, frame, weights)


def _columns(model: DensityRegression) -> dict[str, Float[np.ndarray, "rows _"]]:
    """All that is standardised, by part."""
    response = without_offset(np.asarray(model.design.response, dtype=float), model.design.offset)
    return {**model.design.matrices, "response": response}


def _moments(model: DensityRegression) -> dict[str, Float[np.ndarray, "4 _"]]:
    """What is told of every column, by part."""
    return {
        name: told_moments(ColumnMoments.of(matrix, model.weights))
        for name, matrix in _columns(model).items()
    }


def _scales(model: DensityRegression, told: SiteStatistics) -> dict[str, Float[np.ndarray, "2 _"]]:
    """Centre and scale of every column over all sites."""
    found, active = {}, model.priors.standardize
    for name in _columns(model):
        moments = moments_of(told.known[name])
        if name == "response":
            centred = model.scales.parts["mean"].intercept is not None
            one = Scaling.of_response_moments(moments, centred=centred, active=active)
        else:
            one = Scaling.of_moments(moments, model.design.terms[name], active=active)
        found[name] = np.stack([one.centre, one.scale])
    return found


def _own_start(model: DensityRegression, seed: int) -> Float[np.ndarray, " entries"]:
    """Statistics of a fit to the rows of this site alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model.fit(restarts=1, seed=seed, draws=25, tol=0.1, covariance="mean-field")
    _, stats = fit.core.permuted(np.argsort(fit.order).tolist(), fit.stats)
    return np.asarray(stats.to_vector())


def _blank(model: DensityRegression) -> Any:
    """Statistics of a posterior, all zero."""
    return 0.0 * model.core.first_stats(empty_stats(model.core, model.source))


def _sizes(told: SiteStatistics) -> tuple[int, float]:
    """Number of rows of all sites, and their weight."""
    return told.n_rows, float(told.known["response"][0, 0])


def _found(model: DensityRegression, told: SiteStatistics) -> RemoteFit:
    """What the sums told so far lead to.

    Raises
    ------
    Unanswered
        If there are not enough of them.
    """
    core, blank = model.core, _blank(model)
    starts = [blank.with_vector(row) for row in told.known["starts"]]
    nobody = _nobody(model.source)
    of_a_pass: SufficientStats = core.e_step(core.update(starts[0]), nobody).stats
    rows = told.known.get("sums", np.empty((0, 0)))
    owners = told.known.get("owners", np.empty(0))
    steps = [
        [as_step(row, of_a_pass) for row in rows[owners == number]]
        for number in range(len(starts) + 1)
    ]
    settings = told.model["settings"]
    return fit_elsewhere(
        core,
        steps,
        starts,
        size=_sizes(told),
        tol=settings["tol"],
        max_iter=settings["max_iter"],
        with_response=settings["covariance"] != "mean-field",
    )


def _nobody(source: AbstractSource) -> Block:
    """A row that does not count."""
    return replace(source.take(np.arange(1)), weight=np.zeros(1))


def _answers(model: DensityRegression, told: SiteStatistics) -> dict[str, Float[np.ndarray, "..."]]:
    """The sums over the rows of this site that are asked for next; none if none are.

    With them go the ascents that they are for, and where they are taken: the divergence from the
    prior, by which sites that went different ways are found out.
    """
    try:
        _found(model, told)
    except Unanswered as asked:
        steps = model.source.map_reduce_all(asked.functions)
        at = [model.core.kl(function.args[0]) for function in asked.functions]
        sums = np.stack([as_row(step) for step in steps])
        return {"sums": sums, "at": np.array(at), "owners": np.array(asked.owners, dtype=float)}
    return {}


def _fit(model: DensityRegression, found: RemoteFit, draws: int, seed: int, seconds: float) -> Fit:
    """The fit, with draws of the posterior that all sites share."""
    units = model.log_jacobian * model.source.total_weight
    q = found.model.update(found.stats)
    drawn = found.model.draws(q, draws, Streams(seed, 1).draws())
    plain = Fit(
        model=model,
        core=found.model,
        stats=found.stats,
        order=found.order,
        draws=drawn,
        log_q=found.model.log_posterior(q, drawn),
        covariance="mean-field",
        q_draws=drawn,
        response=found.response,
        restarts=_table(model, found, units, seconds),
        traces={1: found.ascent.trace - units},
        converged=found.ascent.converged,
        n_iter=found.ascent.n_iter,
        seconds=seconds,
        seed=seed,
    )
    return cast(Fit, of_one_restart(plain, found.response.label))


def _table(
    model: DensityRegression, found: RemoteFit, units: float, seconds: float
) -> pd.DataFrame:
    """The one ascent, as a table of restarts."""
    import pandas as pd

    row = {
        "start": "sites",
        "elbo": found.ascent.bound - units,
        "n_iter": found.ascent.n_iter,
        "converged": found.ascent.converged,
        "rows": model.source.n_rows,
        "seconds": seconds,
        "best": True,
    }
    return pd.DataFrame([row], index=pd.RangeIndex(1, 2, name="restart"))
