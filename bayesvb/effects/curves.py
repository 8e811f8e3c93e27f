"""Smooth curves and effects of groups, component by component, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, check_count, checked
from bayesvb.data.line_width import PrintedTable
from bayesvb.data.parts import MEAN, PARTS
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.effects.curve_settings import CURVES
from bayesvb.effects.many_groups import many_groups
from bayesvb.errors import DataError
from bayesvb.results.summary import smooth_dof

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@checked
def curves(
    fit: AbstractFit, part: str = MEAN, *, points: int = CURVES.points, prob: float = PROB
) -> pd.DataFrame:
    """Contribution of each smooth to the linear predictor of each component, along its covariate.

    A curve of ``s(x)`` is zero on average over the distinct values of the data, as the intercept is
    a term of its own; one of ``s(x, by=z)`` with a number is the coefficient of ``z``.

    Parameters
    ----------
    fit : Fit
    part : {"mean", "gating"}
        Curves of the components' means, or of the gate's coefficients in the sense of
        ``fit.summary()``.
    points : int
        Evenly spaced values of the covariate, from its smallest to its largest.
    prob : float
        Probability of the equal-tailed intervals, point by point.

    Returns
    -------
    pandas.DataFrame
        Columns curve, component, response (if there are several), x, estimate, lower and upper.

    Raises
    ------
    DataError
        If the part has no smooth, or the fit no coefficients.

    References
    ----------
    Wood (2017), Generalized Additive Models, 2nd edition, section 6.10, on such intervals.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("mcycle")
    >>> fit = bvb.DensityRegression("accel ~ s(times)", data, n_components=1).fit(seed=1)
    >>> curve = bvb.effects.curves(fit)
    >>> bool(15 < curve.loc[curve["estimate"].idxmin(), "x"] < 25)
    True
    """
    check_count(
        "points", points, least=2, most=CURVES.most_points, what="points that a curve may have"
    )
    design = fit.model.design
    known = design.curves(part) if _checked(fit, part) else ()
    if not known:
        raise DataError(
            f"the {part} has no smooth curve",
            hint="write s(x) in the formula; for a surface use predictions(fit, ['x', 'z'])",
        )
    tables = []
    for curve in known:
        x = np.linspace(*curve.ends, points)
        functions = curve.functions(x)
        for labels, draws in _by_component(fit, part):
            values = draws[:, list(curve.places)] @ functions.T
            tables.append(
                pd.DataFrame({"curve": curve.name, **labels, "x": x, **_interval(values, prob)})
            )
    return pd.concat(tables, ignore_index=True)


@checked
def smoothness(fit: AbstractFit) -> pd.DataFrame:
    r"""Effective degrees of freedom of each smooth of the mean in each component.

    The trace of ``(X'WX + P)^-1 X'WX`` over its coefficients, weights ``W`` the responsibilities
    and ``P`` the expected precision of the prior: from one, a straight line, to the number of its
    coefficients. If restarts are combined, the one with the largest weight is used.

    Parameters
    ----------
    fit : Fit

    Returns
    -------
    pandas.DataFrame
        Columns curve, component, edf and coefficients, their number. A surface has three rows: what
        bends along one covariate, along the other, and along both.

    Raises
    ------
    DataError
        If the mean has no smooth, or the fit no posterior covariance of this kind.

    References
    ----------
    Wood (2017), Generalized Additive Models, 2nd edition, section 5.4.2.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("mcycle")
    >>> fit = bvb.DensityRegression("accel ~ s(times)", data, n_components=1).fit(seed=1)
    >>> bool(5 < bvb.effects.smoothness(fit)["edf"].iloc[0] < 9)
    True
    """
    known = fit.model.design.smooths(MEAN) if _checked(fit, MEAN) else {}
    if not known:
        raise DataError("the mean has no smooth term", hint="a smooth curve is written s(x)")
    dof = smooth_dof(fit)
    if dof is None:
        raise DataError(
            "effective degrees of freedom are not available for this fit, only for a "
            "DensityRegression with family='gaussian' and the default coefficient_units, fitted "
            "by 'cavi' or 'svi'",
            hint="use effects.curves()",
        )
    rows = [
        {
            "curve": name,
            "component": label,
            "edf": float(value),
            "coefficients": len(places),
        }
        for name, places in known.items()
        for label, value in enumerate(dof[name], start=1)
    ]
    return pd.DataFrame(rows)


@checked
def groups(fit: AbstractFit, part: str = MEAN, *, prob: float = PROB) -> pd.DataFrame:
    """Effects of every group of ``(x | g)`` in each component, and of one that was not there.

    Parameters
    ----------
    fit, part, prob
        As in ``curves``.

    Returns
    -------
    pandas.DataFrame
        Columns term, group, component, response (if there are several), estimate, lower and upper.
        The last group of a term is a new group. If groups are too many for columns,
        intervals are from the posterior itself (Student t, for the weights normal); if restarts are
        combined, from the one with the largest weight.

    Raises
    ------
    DataError
        If the part has no groups, or the fit no coefficients.

    References
    ----------
    Gelman and Hill (2007), Data Analysis Using Regression and Multilevel/Hierarchical Models,
    section 12.4.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("cps1985")
    >>> model = bvb.DensityRegression("wage ~ education + (1 | sector) | 1", data, n_components=1)
    >>> table = bvb.effects.groups(model.fit(seed=1))
    >>> set(table["group"]) - set(data["sector"])
    {'new group'}
    """
    design, tables = fit.model.design, []
    if part in design.groupings:
        raise DataError(
            f"part={part!r} is a column of groups, and not a part of the formula",
            hint="effects.groups(fit) has the effects of all groups, by their term",
        )
    known = (
        [one for one in design.term_blocks[part] if one.kind == "group"]
        if _checked(fit, part)
        else []
    )
    if not known:
        raise DataError(f"the {part} has no groups", hint="effects of groups are written (1 | g)")
    for block in known:
        if block.size > 1:
            tables.append(many_groups(fit, part, block.columns[0] - len(design.terms[part]), prob))
            continue
        names = [design.terms[part][place] for place in block.columns]
        labels = [name[len(block.name) + 1 : -1] for name in names]
        for component, draws in _by_component(fit, part):
            interval = _interval(draws[:, list(block.columns)], prob)
            tables.append(
                pd.DataFrame({"term": block.name, "group": labels, **component, **interval})
            )
    return PrintedTable(pd.concat(tables, ignore_index=True))


def _checked(fit: AbstractFit, part: str) -> bool:
    """Whether the part has coefficients of its terms."""
    check_choice("part", part, tuple(PARTS))
    if part not in fit.model.design.terms or PARTS[part].coefficients not in fit.named_draws.values:
        raise DataError(
            f"the part {part} of this {type(fit.model).__name__} has no coefficients of terms",
            hint="fit a DensityRegression; its gating has coefficients with two or more components",
        )
    return True


def _by_component(
    fit: AbstractFit, part: str
) -> list[tuple[dict[str, object], Float[np.ndarray, "draws terms"]]]:
    """Draws of the coefficients of each component, and of each response."""
    name, named = PARTS[part].coefficients, fit.named_draws
    draws, axes = named.values[name], named.dims[name][:-1]
    keys = [axis.partition("_")[0] for axis in axes]
    places = np.ndindex(*draws.shape[1:-1])
    return [
        (
            {key: named.coords[axis][at] for key, axis, at in zip(keys, axes, place, strict=True)},
            draws[(slice(None), *place)],
        )
        for place in places
    ]


def _interval(
    values: Float[np.ndarray, "draws points"], prob: float
) -> dict[str, Float[np.ndarray, " points"]]:
    """Mean and equal-tailed interval."""
    lower, upper = np.quantile(values, tails(prob), axis=0)
    return {"estimate": values.mean(axis=0), "lower": lower, "upper": upper}
