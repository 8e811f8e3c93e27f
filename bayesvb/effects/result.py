"""The result of a request: a table of effects with their intervals, and the draws behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.argument_checks import checked
from bayesvb.distributions.draw_summaries import DrawSummary, summarised
from bayesvb.effects import plotting
from bayesvb.effects.effect_draws import Plan
from bayesvb.effects.estimands import Estimand
from bayesvb.effects.grid import EvaluationGrid, Groups, rows_without_data
from bayesvb.effects.simultaneous import compare_pairs, with_joint_intervals
from bayesvb.effects.table import NUMBERS, EffectsTable
from bayesvb.errors import DataError
from bayesvb.results.base import AbstractFit, linear_dof

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesvb.formula.design import Design


@dataclass(frozen=True, eq=False, repr=False)
class Effects(EffectsTable):
    """Predictions, comparisons or slopes with their intervals; printable.

    The fields are documented in ``EffectsTable``.
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Effects against the first covariate that distinguishes them; see ``plots.effects``."""
        return plotting.effects(self, ax=ax)

    @checked
    def pairs(self, comparison: str = "difference", *, simultaneous: bool = True) -> Effects:
        """All pairwise comparisons of the rows, as ``pairs(emmeans(fit, ~ g))`` in R.

        Rows are compared within a response, class, component or value of an option. Predictions
        give differences of means, slopes differences of slopes, and comparisons interactions.

        Parameters
        ----------
        comparison : {"difference", "ratio"}
        simultaneous : bool
            Whether intervals are adjusted for the number of comparisons, as by ``adjusted``.

        Raises
        ------
        DataError
            If no covariate distinguishes the rows, there are too many pairs, or the effects are of
            many single rows of the data.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("iris")
        >>> model = bvb.DensityRegression("sepal_width ~ label", data, n_components=1)
        >>> found = bvb.effects.predictions(model.fit(seed=1), "label").pairs()
        >>> found.summary["contrast"].tolist()
        ['versicolor - setosa', 'virginica - setosa', 'virginica - versicolor']
        """
        pairs = compare_pairs(self, comparison)
        return with_joint_intervals(pairs) if simultaneous else pairs

    def adjusted(self) -> Effects:
        """The effects with simultaneous intervals, which contain all of them with ``prob``.

        The interval of each is centre plus or minus ``c`` times spread; ``c`` is the ``prob``
        quantile, over the posterior draws, of the largest standardised deviation of any effect.
        Ratios are taken on the log scale. Of effects with heavy tails, and of those without a
        mean, ranks are compared, and the interval has quantiles as ends.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("iris")
        >>> model = bvb.DensityRegression("sepal_width ~ label", data, n_components=1)
        >>> found = bvb.effects.comparisons(model.fit(seed=1), "label", {})
        >>> bool((found.adjusted().summary["upper"] > found.summary["upper"]).all())
        True
        """
        return with_joint_intervals(self)


@dataclass(frozen=True, eq=False)
class EffectRequest:
    """Checked request.

    Attributes
    ----------
    kind : str
    term : str or None
        The covariate that is changed.
    measure : str or None
        How: the comparison, or the slope.
    rows : EvaluationGrid
    groups : Groups or None
    quantity : Estimand
    responses : tuple of int
    prob : float
    """

    kind: str
    term: str | None
    measure: str | None
    rows: EvaluationGrid
    groups: Groups | None
    estimand: Estimand
    responses: tuple[int, ...]
    prob: float

    def dof(self, fit: AbstractFit) -> float | None:
        """Degrees of freedom of effects that are linear in the mean of the response."""
        estimand, measures = self.estimand, (None, "difference", "dydx", "dyex")
        is_linear = not estimand.scales and self.measure in measures
        return linear_dof(fit, estimand.target) if is_linear else None


def chosen_responses(fit: AbstractFit, response: str | None, estimand: Estimand) -> tuple[int, ...]:
    """Numbers of the responses: the one that is named, or all."""
    names = fit.model.design.response_names
    if response is not None and response not in names:
        raise DataError(f"response={response!r} is not one of {', '.join(names)}")
    if response is not None:
        return (names.index(response),)
    return tuple(range(len(names))) if estimand.of_response else (0,)


def effects_of(
    fit: AbstractFit,
    request: EffectRequest,
    plan: Plan,
    draws: Float[np.ndarray, "draws contrasts rows responses entries"],
) -> Effects:
    """The table of the draws, and all that is to be known of it."""
    import xarray as xr

    design = fit.model.design
    labels = design.in_dates(_labels(fit, request, plan))
    dof = request.dof(fit)
    flat, result = _summarised(fit.model.design, request, plan, draws, dof)
    # Without a mean there is no sd: that of the draws is whatever the largest of them is.
    spread = result.spread if request.estimand.has_mean else np.full(flat.shape[1], np.nan)
    numbers = dict(zip(NUMBERS, (result.centre, spread, result.lower, result.upper), strict=True))
    names = (design.response_names[i] for i in request.responses)
    said = (request.estimand.words(name, design.label) for name in names)
    ratio = request.estimand.described.ratio_name(request.estimand.target)
    note = f" ({ratio})" if ratio and request.measure == "ratio" else ""
    coords = {
        str(name): ("row", np.asarray(labels[name]))
        for name in labels
        if name not in ("draw", "row")
    }
    return Effects(
        kind=request.kind,
        measure=request.measure,
        words=" and ".join(dict.fromkeys(said)) + note,
        summary=labels.assign(**numbers),
        draws=xr.DataArray(flat, dims=("draw", "row"), coords=coords, name=request.estimand.target),
        by=request.rows.by if request.groups is None else tuple(map(str, request.groups.table)),
        held={name: design.date_of(name, value) for name, value in request.rows.held.items()},
        prob=float(request.prob),
        target=request.estimand.target,
        covariance=fit.covariance,
        robust=int(result.robust.sum()) if request.estimand.has_mean else 0,
        of_rows=not request.rows.gridded and request.groups is None,
        dof=dof,
    )


def joined(each: Sequence[Effects]) -> Effects:
    """Return the effects of several covariates as one table, with the draws of all.

    Raises
    ------
    DataError
        If there are none.
    """
    import xarray as xr

    if not each:
        raise DataError(
            "the formula has no covariate of the kind that this function needs",
            hint="slopes() needs numeric covariates; comparisons() also takes factors",
        )
    return replace(
        each[0],
        summary=pd.concat([effects.summary for effects in each], ignore_index=True),
        draws=xr.concat([effects.draws for effects in each], "row", coords="minimal"),
        robust=sum(effects.robust for effects in each),
    )


def _summarised(
    design: Design,
    request: EffectRequest,
    plan: Plan,
    draws: Float[np.ndarray, "draws contrasts rows responses entries"],
    dof: float | None,
) -> tuple[Float[np.ndarray, "draws effects"], DrawSummary]:
    """Draws of each effect and their summary; NaN where levels without data leave it to the prior.

    A prior that says more than that, and with it lighter tails, gives these effects an estimate.
    """
    flat = draws.reshape(len(draws), -1)
    robust = None if request.estimand.has_mean else True
    summary = summarised(flat, request.prob, robust=robust, dof=dof)
    if robust or not summary.robust.any():
        return flat, summary
    contrasts, rows = np.indices(draws.shape[1:]).reshape(4, -1)[:2]
    undetermined = _without_data(design, request, plan)[contrasts, rows] & summary.robust
    flat = np.where(undetermined, np.nan, flat)
    return flat, summarised(flat, request.prob, dof=dof)


def _without_data(
    design: Design, request: EffectRequest, plan: Plan
) -> Bool[np.ndarray, "contrasts rows"]:
    """Whether a contrast at a row, or in a group of rows, needs levels without any row."""
    lacking = rows_without_data(design, plan.variants)
    groups = request.groups
    if groups is not None:
        n_groups = len(groups.table)
        lacking = [np.bincount(groups.codes, rows, n_groups) > 0.0 for rows in lacking]
    pairs = combinations(lacking, 2) if len(plan.contrasts) > 1 else [lacking]
    return np.array([np.any(rows, axis=0) for rows in pairs])


def _labels(fit: AbstractFit, request: EffectRequest, plan: Plan) -> pd.DataFrame:
    """Columns that identify each effect: contrast slowest, then row, response and entry."""
    rows, groups, numbers = request.rows, request.groups, request.responses
    labelled = rows.frame[list(rows.by)] if groups is None else groups.table
    column, entries = request.estimand.entries(fit.core.n_components)
    shape = (len(plan.contrasts), len(labelled), len(numbers), len(entries))
    at = [place.ravel() for place in np.indices(shape)]
    table = labelled.iloc[at[1]]
    if rows.gridded or groups is not None:
        table = table.set_axis(pd.RangeIndex(len(table)))
    names = fit.model.design.response_names
    front: dict[str, Sequence[object]] = {}
    if request.term is not None:
        front["term"] = [request.term] * len(table)
    if plan.contrasts != (None,):
        front["contrast"] = [plan.contrasts[place] for place in at[0]]
    back: dict[str, Sequence[object]] = {}
    if len(numbers) > 1:
        back["response"] = [names[numbers[place]] for place in at[2]]
    if column is not None:
        back[column] = [entries[place] for place in at[3]]
    _check_names([*front, *back, *NUMBERS], list(table))
    for place, (name, values) in enumerate(front.items()):
        table.insert(place, name, values)
    whole: pd.DataFrame = table.assign(**back)
    return whole


def _check_names(ours: Sequence[str], covariates: Sequence[str]) -> None:
    for name in covariates:
        if name in ours:
            raise DataError(
                f"the covariate {name!r} has the name of a column of the result",
                hint="rename it in the data and in the formula",
            )
