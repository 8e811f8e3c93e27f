"""Predictions, comparisons and slopes: what changes in the distribution when covariates change."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.argument_checks import check_choice, checked
from bayesvb.distributions.intervals import PROB
from bayesvb.effects.contrasts import COMPARISONS, SLOPES, compared, contrasted, steps
from bayesvb.effects.covariates import is_number, value_text
from bayesvb.effects.effect_draws import Combined, Plan, drawn_distributions_of, effect_draws
from bayesvb.effects.estimands import Estimand, Values, estimand
from bayesvb.effects.grid import Conditional, EvaluationGrid, Groups, setting
from bayesvb.effects.result import EffectRequest, Effects, chosen_responses, effects_of, joined
from bayesvb.errors import DataError
from bayesvb.results.back_transformation import transformation_of

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

    Numbers = float | Sequence[float] | None


@checked
def predictions(
    fit: AbstractFit,
    conditional: Conditional = None,
    *,
    data: object = None,
    average_by: str | Sequence[str] | bool | None = None,
    target: str | None = None,
    q: Numbers = None,
    above: Numbers = None,
    below: Numbers = None,
    at: Numbers = None,
    response: str | None = None,
    transform: str | None = None,
    prob: float = PROB,
) -> Effects:
    """A property of the conditional distribution at a grid of covariates, or at rows.

    Every draw of the parameters gives a mixture over the components at every row, or probabilities
    of classes; the property is computed of each, and the draws are summarised. ``fit.predict``
    integrates over the parameters instead: its mean is the average of these draws up to their
    Monte Carlo error and, as gate and experts are independent there, up to their covariance; its
    quantiles are wider, as they hold the uncertainty of the parameters, which is the interval
    here.

    Parameters
    ----------
    fit : Fit
        Of a ``DensityRegression`` or a ``ConditionalMixtureNetwork``.
    conditional : str, list of str or mapping, optional
        Covariates of a grid, all combinations. A list: 50 even steps of a number that comes first
        and three quantiles (0.1, 0.5, 0.9) of one that comes later, all levels of anything else,
        a number with at most five values included. A mapping gives the values; None in it asks
        for the same as a list. Other covariates are held at their mean, or most frequent value,
        groups of ``(1 | g)`` at the typical one.
    data : table, optional
        Rows of your own, instead of a grid. By default, without both, the rows of the fit.
    average_by : str, list of str or True, optional
        Average over all rows that are alike in these columns; over all rows for True. The rows of
        a fit count by their case weights.
    target : {"mean", "sd", "link", "odds", "quantile", "probability", "density", "weights"}
        The property; by default the mean of a number and the probabilities of classes.
        ``"weights"``, the mixing weights of the components, has one row per component; a
        ``"probability"`` of classes has one row per level. In the units of the formula's response,
        such as ``log(y)``, unless ``transform`` is given.
    q : float or list of float, optional
        Probabilities of the ``"quantile"``.
    above, below : float or list of float, optional
        Limits of the ``"probability"`` of a number: of more, or of less.
    at : float or list of float, optional
        Values of the response for the ``"density"``.
    response : str, optional
        Name of the response, if there are several; by default all of them.
    transform : {"inverse", "exp", "expm1", "exp2", "exp10", "expit"}, optional
        Ask of this function of the response: ``"inverse"`` is the one that undoes the formula,
        ``exp`` of ``log(y)``. The estimate of a mean is then the median of the draws.
    prob : float
        Probability of the equal-tailed intervals.

    Raises
    ------
    DataError
        For a name, level or option that is not known, or a model without effects.

    References
    ----------
    Arel-Bundock, Greifer, Heiss (2024), How to Interpret Statistical Models Using
    marginaleffects, doi:10.18637/jss.v111.i09.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    >>> fit = model.fit(seed=1, restarts=2)
    >>> found = predictions(fit, {"eruptions": [2, 4]}, target="probability", above=70)
    >>> found.summary["estimate"].round(1).tolist()
    [0.0, 0.9]
    """
    drawn_distributions_of(fit)
    request = _quantity(fit, (target, transform), q=q, above=above, below=below, at=at)
    rows = setting(fit, conditional, data)
    plan = Plan((rows.frame,), lambda values, where: values[0][None])
    return _answer(
        fit, ("predictions", None, None), rows, plan, request, (average_by, response, prob)
    )


@checked
def comparisons(
    fit: AbstractFit,
    contrast: str | Mapping[str, object] | None = None,
    conditional: Conditional = None,
    *,
    data: object = None,
    average_by: str | Sequence[str] | bool | None = None,
    comparison: str = "difference",
    ratio: bool = False,
    target: str | None = None,
    q: Numbers = None,
    above: Numbers = None,
    below: Numbers = None,
    at: Numbers = None,
    response: str | None = None,
    transform: str | None = None,
    prob: float = PROB,
) -> Effects:
    """Comparisons of predictions with one covariate at two values, all else equal.

    Computed for each draw, so that the interval accounts for the correlation of the two
    predictions. Averages are over the rows' comparisons, also for ratios. The estimate is the mean
    of the draws: if the denominator may be zero use the interval only.

    Parameters
    ----------
    fit : Fit
        Of a ``DensityRegression`` or a ``ConditionalMixtureNetwork``.
    contrast : str or mapping, optional
        The covariate; all of them but exposures, which only an offset reads, averaged over the
        rows, if omitted. ``{name: values}``: every
        later value is compared with every earlier one.
        Without values: one unit about the mean of a number (half a unit to either side), all
        levels of anything else, the most frequent one first; a number with at most five values
        ascends. ``variables=`` is another name of this argument.
    conditional, data, average_by, target, q, above, below, at, response, transform, prob
        As in ``predictions``.
    comparison : {"difference", "ratio", "lift"}
        ``b - a``, ``b / a`` or ``(b - a) / a``, for predictions ``a`` at the earlier and ``b`` at
        the later value.
    ratio : bool
        Whether to return ``b / a``, on the scale that the response asks for: of the mean a risk
        ratio (0 and 1, trials) or a rate ratio (counts), of ``target="odds"`` an odds ratio. Of
        ``target="link"`` it is the exponential of the difference of links: an odds ratio where
        these are log odds, a ratio of means where they are log means. Otherwise the same as
        ``comparison="ratio"``.

    Raises
    ------
    DataError
        For a name, level or option that is not known, fewer than two values, or ``ratio=True``
        with another comparison.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    >>> fit = model.fit(seed=1, restarts=2)
    >>> found = comparisons(fit, {"eruptions": [2, 4]}, {}, target="probability", above=70)
    >>> found.summary["contrast"].tolist(), found.summary["estimate"].round(1).tolist()
    (['4 - 2'], [0.9])
    """
    drawn_distributions_of(fit)
    if contrast is None:
        return _of_each(comparisons, "contrast", locals())
    check_choice("comparison", comparison, tuple(COMPARISONS))
    if ratio:
        comparison, target = _as_ratio(fit, comparison, target)
    request = _quantity(fit, (target, transform), q=q, above=above, below=below, at=at)
    rows = setting(fit, conditional, data)
    name, plan = _contrasts(fit, contrast, rows, comparison)
    others = rows.without(name)
    return _answer(
        fit, ("comparisons", name, comparison), others, plan, request, (average_by, response, prob)
    )


def _of_each(effects: Callable[..., Effects], argument: str, given: Mapping[str, Any]) -> Effects:
    """Average effects of all covariates, or of numeric ones, each given as this argument."""
    design = given["fit"].model.design
    numeric = argument == "wrt"
    names = [
        name
        for name in design.covariates
        if name not in design.exposures
        and (is_number(design, name) if numeric else name not in design.groupings)
    ]
    accepted = inspect.signature(effects).parameters
    given = {name: value for name, value in given.items() if name in accepted}
    given["average_by"] = given["average_by"] or True
    return joined([effects(**{**given, argument: name}) for name in names])


def _as_ratio(fit: AbstractFit, comparison: str, target: str | None) -> tuple[str, str | None]:
    """The comparison, and the target whose ratio is the exponential of a difference of links."""
    if comparison == "lift":
        raise DataError(
            "ratio=True returns b / a, and comparison='lift' is (b - a) / a",
            hint="omit one of them",
        )
    if target != "link":
        return "ratio", target
    link = fit.model.response.link
    if link == "probit":
        raise DataError("ratio=True: ratios of probits have no meaning", hint="omit ratio=True")
    return "ratio", {"logit": "odds", "log": "mean"}.get(link, target)


def _contrasts(
    fit: AbstractFit,
    contrast: str | Mapping[str, object],
    rows: EvaluationGrid,
    comparison: str,
) -> tuple[str, Plan]:
    """The covariate, and rows with its values and how later ones are compared with earlier."""
    name, values = contrasted(fit, contrast, rows)
    pairs = list(combinations(range(len(values)), 2))

    def combine(values: Sequence[Values], where: slice) -> Combined:
        return np.stack([compared(values[a], values[b], comparison) for a, b in pairs])

    words = [value_text(fit.model.design.date_of(name, value)) for value in values]
    words = [f"({word})" if is_number(fit.model.design, name) and word[0] == "-" else word
             for word in words]  # fmt: skip
    labels = tuple(COMPARISONS[comparison].format(a=words[a], b=words[b]) for a, b in pairs)
    return name, Plan(tuple(rows.with_column(name, value) for value in values), combine, labels)


@checked
def slopes(
    fit: AbstractFit,
    wrt: str | None = None,
    conditional: Conditional = None,
    *,
    data: object = None,
    average_by: str | Sequence[str] | bool | None = None,
    slope: str = "dydx",
    eps: float | None = None,
    target: str | None = None,
    q: Numbers = None,
    above: Numbers = None,
    below: Numbers = None,
    at: Numbers = None,
    response: str | None = None,
    transform: str | None = None,
    prob: float = PROB,
) -> Effects:
    """Derivatives of a prediction with respect to one covariate, all else equal.

    A central difference: the prediction at ``x + eps`` less that at ``x - eps``, divided by the
    distance. Inside the range of the rows of the fit neither point leaves it, so at its very ends
    the difference is one-sided; splines are not defined beyond.

    Parameters
    ----------
    fit : Fit
        Of a ``DensityRegression`` or a ``ConditionalMixtureNetwork``.
    wrt : str, optional
        A numeric covariate; all of them but exposures, averaged over the rows, if omitted.
        ``variables=`` is another name of this argument.
    conditional, data, average_by, target, q, above, below, at, response, transform, prob
        As in ``predictions``. An average over rows of slopes is an average marginal effect.
    slope : {"dydx", "eyex", "eydx", "dyex"}
        ``dy/dx``; the elasticity ``dy/dx x/y``; ``dy/dx / y`` and ``dy/dx x``.
    eps : float, optional
        Half the width of the difference in units of the covariate; by default 1e-4 of its range in
        the rows of the fit.

    Raises
    ------
    DataError
        If the covariate has levels; compare them with ``comparisons``.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    >>> fit = model.fit(seed=1, restarts=2)
    >>> slopes(fit, "eruptions", average_by=True).summary["estimate"].round(-1).tolist()
    [10.0]
    """
    drawn_distributions_of(fit)
    if wrt is None:
        return _of_each(slopes, "wrt", locals())
    check_choice("slope", slope, SLOPES)
    request = _quantity(fit, (target, transform), q=q, above=above, below=below, at=at)
    rows = setting(fit, conditional, data)
    x, low, high = steps(fit, wrt, rows, eps)
    variants = [rows.with_column(wrt, low), rows.with_column(wrt, high)]
    if slope.startswith("ey"):
        variants.append(rows.frame)

    def combine(values: Sequence[Values], where: slice) -> Combined:
        slopes_here = (values[1] - values[0]) / (high - low)[where]
        if slope.endswith("ex"):
            slopes_here = slopes_here * x[where]
        if slope.startswith("ey"):
            with np.errstate(divide="ignore", invalid="ignore"):
                slopes_here = slopes_here / values[2]
        return np.asarray(slopes_here[None])

    plan, rest = Plan(tuple(variants), combine), (average_by, response, prob)
    return _answer(fit, ("slopes", wrt, slope), rows, plan, request, rest)


def _quantity(
    fit: AbstractFit, what: tuple[str | None, str | None], **options: Numbers
) -> Estimand:
    """Requested target of the fit's response; ``what`` are ``target`` and ``transform``."""
    target, transform = what
    asked = estimand(target, options, fit.model.response)
    if transform is None:
        return asked
    names = fit.model.design.response_names
    return replace(
        asked, scales={name: transformation_of(fit.model, transform, name) for name in names}
    )


def _answer(
    fit: AbstractFit,
    what: tuple[str, str | None, str | None],
    rows: EvaluationGrid,
    plan: Plan,
    estimand: Estimand,
    rest: tuple[str | Sequence[str] | bool | None, str | None, float],
) -> Effects:
    """The effects of a plan; ``rest`` are ``average_by``, ``response`` and ``prob``."""
    groups = Groups.of(rows, rest[0])
    responses = chosen_responses(fit, rest[1], estimand)
    (draws,) = effect_draws(fit, plan, [estimand], responses, groups)
    request = EffectRequest(*what, rows, groups, estimand, responses, rest[2])
    return effects_of(fit, request, plan, draws)
