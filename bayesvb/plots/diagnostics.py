"""A fit against its data, drawn: replicated data sets, calibration, residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, check_count, checked
from bayesvb.drawing import marks
from bayesvb.drawing.palette import marker, palette_of
from bayesvb.effects.curve_settings import CURVES
from bayesvb.errors import DataError
from bayesvb.evaluation.calibration import pit_ecdf
from bayesvb.results.calibration import calibration as calibration_of
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import count
from bayesvb.results.pit import check_numeric, fitted, residuals
from bayesvb.results.subsampling import pits_at, pits_seen, replicated, sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesvb.results.base import AbstractFit


@checked
def replicates(
    fit: AbstractFit, n: int = 50, *, response: str | None = None, ax: Axes | None = None
) -> Axes:
    """Posterior predictive check: distribution functions of replicated data and of the data.

    Each replicated data set is drawn with one draw of the parameters, at the covariates of the
    rows used. Where the fit is right, the data are one among them.

    Parameters
    ----------
    fit : Fit
    n : int
        Replicated data sets, at most as many as the fit has draws.
    response : str, optional
        Name of the response, if there are several; by default the first.
    ax : matplotlib.axes.Axes, optional
        Axes of the picture; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If classes are explained, or the response is censored.

    References
    ----------
    Gabry, Simpson, Vehtari, Betancourt, Gelman (2019), Visualization in Bayesian workflow,
    doi:10.1111/rssa.12378, section 5.
    """
    check_count("n", n, most=count(fit.draws), what="draws of the fit")
    if fit.model.response.is_categorical:
        raise DataError(
            "replicated classes have no distribution function",
            hint="fit.calibration() and bvb.plots.calibration(fit) are for classes",
        )
    if fit.model.design.is_censored:
        raise DataError(
            "replicated responses are not censored, but the observed responses are",
            hint="bvb.plots.survival(fit) is for right-censored responses, "
            "bvb.plots.calibration(fit) for all",
        )
    observed = fit.model.observed()
    name = _chosen(response, tuple(observed))
    at = sample(fit, LIMITS.quick_subsample).at
    values = observed[name][at]
    seen = np.isfinite(values)
    sets = replicated(fit, at, n)[:, list(observed).index(name)][:, seen]
    axes = marks.new_axes((6.4, 4.0)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=fit.model.design.label(name), y="share of rows up to it")
    for one in sets:
        _step(axes, one, color=palette.accent, linewidth=0.7, alpha=0.35)
    _step(axes, values[seen], color=palette.ink, linewidth=1.8)
    low, high = np.quantile(sets, [CURVES.outer, 1.0 - CURVES.outer])
    axes.set_xlim(min(low, values[seen].min()), max(high, values[seen].max()))
    marks.note(axes, f"data (dark), {n} replicated data sets", palette)
    return axes


@checked
def calibration(fit: AbstractFit, *, response: str | None = None, ax: Axes | None = None) -> Axes:
    """Calibration of held-out rows: for numbers by PIT values, for classes by reliability.

    For numbers the proportion of PIT values up to each value, less the uniform proportion, with a
    band that calibrated predictions leave nowhere with probability 95%; in-sample, as the plot then
    says, if leave-one-out would take more than some ten seconds. For classes the observed
    proportion of each class against its predicted probability; dots should lie on the diagonal.

    Parameters
    ----------
    fit, response, ax
        As in ``replicates``.

    Returns
    -------
    matplotlib.axes.Axes

    References
    ----------
    Säilynoja, Bürkner, Vehtari (2022), Graphical test for discrete uniformity and its
    applications, doi:10.1007/s11222-022-10090-6. Broecker, Smith (2007), Increasing the
    reliability of reliability diagrams, Weather and Forecasting 22.
    """
    axes = marks.new_axes((6.4, 3.8)) if ax is None else ax
    palette = palette_of(axes)
    if fit.model.response.is_categorical or fit.model.response.is_binary:
        return _reliability(fit, axes)
    check_numeric(fit)
    names = fit.model.design.response_names
    name = _chosen(response, names)
    curve = pit_ecdf(pits_at(fit, sample(fit, LIMITS.quick_subsample).at)[names.index(name)])
    marks.dress(axes, palette, x="PIT value", y="ECDF minus uniform")
    axes.fill_between(curve.points, curve.lower, curve.upper, step="mid", color=palette.accent,
                      alpha=0.16, linewidth=0)  # fmt: skip
    axes.axhline(0.0, color=palette.line, linewidth=1.0)
    axes.step(curve.points, curve.difference, where="mid", color=palette.accent, linewidth=1.8)
    axes.set_xlim(0.0, 1.0)
    if pits_seen(fit):
        marks.note(axes, "of training rows; for held-out rows use fit.pit()", palette)
    return axes


@checked
def residual(fit: AbstractFit, *, response: str | None = None, ax: Axes | None = None) -> Axes:
    """Quantile residuals of held-out rows against fitted values, standard normal for a right model.

    Parameters
    ----------
    fit, response, ax
        As in ``replicates``.

    Returns
    -------
    matplotlib.axes.Axes

    References
    ----------
    Dunn, Smyth (1996), Randomized quantile residuals, Journal of Computational and Graphical
    Statistics 5(3).
    """
    result, means = residuals(fit, "quantile"), fitted(fit)
    names = fit.model.design.response_names
    name = _chosen(response, names)
    if isinstance(result, pd.DataFrame):
        result, means = result[name], means[name]
    at = sample(fit, LIMITS.quick_subsample).at
    axes = marks.new_axes((6.4, 3.8)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=f"fitted {fit.model.design.label(name)}", y="quantile residual")
    x, y = np.asarray(means)[at], np.asarray(result)[at]
    axes.plot(x, y, "o", color=palette.point, markersize=3.5, alpha=0.7, markeredgewidth=0)
    for height, line in ((-2.0, "--"), (0.0, "-"), (2.0, "--")):
        axes.axhline(height, color=palette.mute, linewidth=0.8, linestyle=line)
    return axes


def _chosen(response: str | None, names: tuple[str, ...]) -> str:
    """The response that is named, or the first."""
    name = names[0] if response is None else response
    check_choice("response", name, names)
    return name


def _step(axes: Axes, values: Float[np.ndarray, " rows"], **look: Any) -> None:
    """Empirical distribution function."""
    x = np.sort(values)
    axes.step(x, np.arange(1, len(x) + 1) / len(x), where="post", **look)


def _reliability(fit: AbstractFit, axes: Axes) -> Axes:
    """Observed shares of each class against predicted probabilities."""
    palette, table = palette_of(axes), calibration_of(fit)
    marks.dress(axes, palette, x="predicted probability", y="observed share")
    axes.plot([0.0, 1.0], [0.0, 1.0], color=palette.line, linewidth=1.0)
    for number, (label, curve) in enumerate(table.groupby(level="class", sort=False)):
        x, colour = curve["expected"], palette.colour(number)
        axes.vlines(x, curve["lower"], curve["upper"], color=colour, linewidth=3.0, alpha=0.25)
        axes.plot(x, curve["observed"], marker(number), color=colour, label=str(label))
    marks.legend(axes, palette, ", ".join(fit.model.design.response_names))
    return axes
