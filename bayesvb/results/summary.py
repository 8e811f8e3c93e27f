"""Tables of a fit: parameters, coefficients, priors, components, memberships."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import astuple
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import entr

from bayesvb.data.parts import MEAN
from bayesvb.distributions.draw_summaries import summarised
from bayesvb.distributions.intervals import PROB
from bayesvb.evaluation.mixing import mixing
from bayesvb.results.base import AbstractFit, linear_dof
from bayesvb.results.groups import units_of
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import ModelDraws, NamedDraws
from bayesvb.storage.arviz_objects import in_chains
from bayesvb.variational.descriptions import PriorRow

if TYPE_CHECKING:
    from bayesvb.data.statistics import SufficientStats
    from bayesvb.engines.point_estimates import PointEstimates


def coefficient_table(
    fit: AbstractFit, prob: float = PROB, *, robust: bool | None = False
) -> pd.DataFrame:
    """Mean (or point estimate), standard deviation, interval and P(> 0) of every parameter.

    Rows are indexed by part, component and term; see ``Fit.summary``. A parameter that is fixed or
    a point estimate has a value and no interval: NaN. Draws in several chains add R-hat and the
    effective sample size. ``robust`` as in ``summarised``: left to it (None), ``attrs["robust"]``
    has the labels of rows with median and scaled median absolute deviation.
    """
    named, points = fit.named_draws, _at_the_point(fit)
    tables, replaced = [], []
    for name, part in named.parts.items():
        flat = named.values[name].reshape(len(named.values[name]), -1)
        signed = name in named.signed
        dof = linear_dof(fit) if signed else None
        summary = summarised(flat, prob, robust=robust if points is None else False, dof=dof)
        columns = {
            "mean": summary.centre,
            "sd": summary.spread,
            "lower": summary.lower,
            "upper": summary.upper,
            "p_positive": summary.positive if signed else np.nan,
        }
        if fit.chains > 1:
            columns |= mixing(in_chains(flat, fit.chains))
        if points is not None:
            columns["mean"] = points.values[name].ravel()
        text = named.texts.get(name)
        if text is not None and text.ratio and name not in named.single:
            columns[text.ratio.replace(" ", "_")] = np.exp(columns["mean"])
        if name in named.single or fit.is_point_estimate:
            columns |= dict.fromkeys(("sd", "lower", "upper", "p_positive"), np.nan)
        tables.append(pd.DataFrame(columns, index=labels(named, name, part)))
        if name not in named.single:
            replaced += list(tables[-1].index[summary.robust])
    whole = pd.concat(tables)
    whole.index = in_reading_order(whole.index)
    whole.attrs = intervals(fit) | {"robust": replaced}
    return whole


def _at_the_point(fit: AbstractFit) -> NamedDraws | None:
    """Parameters at the estimates of an engine that finds points."""
    if not fit.engine.finds_points or fit.members:
        return None
    points = cast("PointEstimates[object, SufficientStats]", fit.core)
    return fit.model.named_draws(ModelDraws(fit.core, points.point(fit.q)))


def in_reading_order(index: Any) -> pd.MultiIndex:
    """Index with levels in the order of their appearance.

    pandas then takes the index for sorted, and finds ``("mean", 1)`` at once and silently.
    """
    levels: list[list[Hashable]] = [[], [], []]
    before: Sequence[Hashable] = (None, None, None)
    for labels in index:
        for level, label, last in zip(levels, labels, before, strict=True):
            if label not in level:
                level.insert(level.index(last) + 1 if last in level else 0, label)
        before = labels
    codes = [
        [level.index(label) for label in index.get_level_values(name)]
        for level, name in zip(levels, index.names, strict=True)
    ]
    return pd.MultiIndex(levels, codes, names=index.names)


def intervals(fit: AbstractFit) -> dict[Hashable | None, str]:
    """Label of the intervals of a table: their covariance, and why it is only mean-field."""
    label: dict[Hashable | None, str] = {"covariance": fit.covariance}
    if fit.robust is not None:
        label["clusters"] = fit.robust.words
    failure = fit.response.failure
    return label if failure is None else label | {"failure": failure}


def labels(named: NamedDraws, name: str, part: str) -> pd.MultiIndex:
    """(part, component, term) of every entry; axes other than components join into the term."""
    dims = named.dims[name]
    first = dims[:1] if dims and dims[0].startswith("component") else []
    rows = [
        (
            part,
            labels[0] if first else "",
            ": ".join(str(label) for label in labels[len(first) :]),
        )
        for labels in product(*(named.coords[dim] for dim in dims))
    ]
    return pd.MultiIndex.from_tuples(rows, names=["part", "component", "term"])


def coef(fit: AbstractFit) -> pd.Series:
    """Posterior mean (or point estimate) of every coefficient; see ``Fit.coef``."""
    whole = coefficient_table(fit)[MEAN]
    draws = coefficient_draws(fit)
    return whole[whole.index.isin(draws.columns)].rename("coef")


def vcov(fit: AbstractFit) -> pd.DataFrame:
    """Posterior covariance of the coefficients; see ``Fit.vcov``."""
    draws = coefficient_draws(fit)
    values = (
        np.full((draws.shape[1],) * 2, np.nan) if fit.is_point_estimate else np.cov(draws.T, ddof=1)
    )
    return pd.DataFrame(np.atleast_2d(values), draws.columns, draws.columns)


def coefficient_draws(fit: AbstractFit) -> pd.DataFrame:
    """Draws of parameters that vary and have a sign; without a response, of all parameters.

    A column for each, with the labels and in the order of ``Fit.summary``.
    """
    named = fit.named_draws
    explains = fit.model.design.response is not None
    shown = [name for name in named.parts if not explains or name in named.signed]
    tables = []
    for name in shown:
        flat = named.values[name].reshape(len(named.values[name]), -1)
        table = pd.DataFrame(flat, columns=labels(named, name, named.parts[name]))
        varies = np.ptp(flat, axis=0) > 0.0
        tables.append(table if fit.is_point_estimate else table.loc[:, varies])
    whole: pd.DataFrame = pd.concat(tables, axis=1)
    whole.columns = in_reading_order(whole.columns)
    return whole


def prior_frame(rows: Sequence[PriorRow]) -> pd.DataFrame:
    """Table of the priors: index (part, term); prior in words, its location and its scale."""
    from bayesvb.data.former_columns import FormerColumns

    table = FormerColumns(
        [astuple(row) for row in rows], columns=["part", "term", "prior", "location", "scale"]
    )
    return table.set_index(["part", "term"])


def empty_components(fit: AbstractFit) -> frozenset[object]:
    """Labels of the components with a negligible share of the rows; none without shares."""
    if not fit.model.order_rule:
        return frozenset()
    table = fit.components()
    if "share" not in table:
        return frozenset()
    return frozenset(table.index[table["share"] < LIMITS.negligible_weight])


def empty_words(fit: AbstractFit) -> str:
    """Note that their parameters are omitted; empty if there are none."""
    empty = empty_components(fit)
    result = sorted(empty, key=lambda label: (len(str(label)), str(label)))  # 9 before 10
    if not result:
        return ""
    listed = ", ".join(map(str, result))
    share = f"{LIMITS.negligible_weight:.0%}"
    if len(result) == 1:
        return (
            f"Component {listed} has less than {share} of the rows, so its parameters follow the "
            "prior."
        )
    return (
        f"Components {listed} have less than {share} of the rows each, so their parameters follow "
        "the prior."
    )


def smooth_dof(fit: AbstractFit) -> Mapping[str, Float[np.ndarray, " components"]] | None:
    """Degrees of freedom of each smooth of the mean, in each component; None where unknown.

    Of combined restarts, the one with the largest weight.
    """
    one, design = fit.parts[0].fit, fit.model.design
    known = design.smooths(MEAN) if MEAN in design.terms else {}
    if not known or one.is_sampled or one.engine.finds_points:
        return None
    each = one.core.effective_dof(one.q)
    if each is None:
        return None
    return {name: each[:, list(places)].sum(axis=1) for name, places in known.items()}


def modal_table(fit: AbstractFit) -> pd.DataFrame:
    """Rows or groups by most likely component; see ``Fit.classification_table``."""
    given = fit.responsibilities().to_numpy()
    n_components = given.shape[1]
    likely = given.argmax(axis=1)
    counts = np.bincount(likely, minlength=n_components)
    sums = np.zeros((n_components, n_components))
    np.add.at(sums, likely, given)
    with np.errstate(invalid="ignore"):
        means = sums / counts[:, None]
    index = pd.RangeIndex(1, n_components + 1, name="most likely")
    units = {units_of(fit.model).plural: counts, "percent": 100.0 * counts / len(given)}
    table = pd.DataFrame(units, index=index)
    table[list(range(1, n_components + 1))] = means
    table.attrs["relative_entropy"] = relative_entropy(given)
    return table


def relative_entropy(probabilities: Float[np.ndarray, "rows experts"]) -> float:
    """One less the mean entropy of memberships, relative to equal ones: 1 if all are certain.

    References
    ----------
    Ramaswamy, DeSarbo, Reibstein, Robinson (1993), An empirical pooling approach for estimating
    marketing mix elasticities with PIMS data, Marketing Science 12(1).

    Examples
    --------
    >>> relative_entropy(np.array([[1.0, 0.0], [0.5, 0.5]]))
    0.5
    """
    n_rows, n_experts = probabilities.shape
    if n_experts == 1:
        return 1.0
    entropy = float(entr(probabilities).sum())
    return float(1.0 - entropy / (n_rows * np.log(n_experts)))
