"""Six diagnostic pictures of a fit in one figure, each with a good result in its title."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import betaincinv, ndtri

from bayesvb.argument_checks import check_choice, checked
from bayesvb.drawing import marks
from bayesvb.drawing.notebooks import shown_once
from bayesvb.drawing.palette import Palette, palette_of
from bayesvb.errors import DataError
from bayesvb.plots.diagnostics import calibration, replicates
from bayesvb.plots.influence import influence
from bayesvb.plots.survival import survival
from bayesvb.results.limits import LIMITS
from bayesvb.results.pit import fitted, residuals
from bayesvb.results.subsampling import sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesvb.results.base import AbstractFit

MOST_PANELS = 6
"""Pictures of one figure."""

Panel = tuple[str, Callable[..., object]]
"""Title with a good result, and the picture."""


@checked
def checks(fit: AbstractFit, *, response: str | None = None) -> Figure:
    """Up to six diagnostic pictures in one figure.

    Quantile residuals are of held-out rows, standard normal for a right model whatever its
    distribution; bars are means of ten classes of rows with two standard errors.

    - *Replicated data*: distribution functions of replicated data sets and of the data, or survival
      curves if rows are censored. Good: the dark line is among the light ones. Bad: the shape of
      the distribution is wrong.
    - *Calibration*: PIT values of held-out rows, or observed against predicted probabilities of
      classes. Good: within the band, or on the diagonal. Bad: intervals are too narrow, too wide or
      shifted.
    - *Mean*: quantile residuals against fitted values. Good: bars at zero. Bad: a curve or
      interaction is missing.
    - *Spread*: their absolute values. Good: bars on the line. Bad: the spread depends on covariates
      (``sigma(...)``, ``gating(...)``).
    - *Tails*: their quantiles against normal ones. Good: points within the band. Bad: outliers,
      heavy tails (``family="student"``) or skewness.
    - *Influence*: Cook's distance against leverage. Good: no row far above all others.
    - *Order of rows*: quantile residuals in the order of the data, where influence is not
      available. Good: bars at zero.
    - *Confidence*, of classes: predicted probability of the observed class. Good: the mass is on
      the right.

    Without response: replicated data of up to six variables.

    Parameters
    ----------
    fit : Fit
    response : str, optional
        Name of the response, if there are several; by default the first.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If the response is unknown.

    References
    ----------
    Lüdecke, Ben-Shachar, Patil, Waggoner, Makowski (2021), performance, Journal of Open Source
    Software 6(60), 3139. Dunn, Smyth (1996), Randomized quantile residuals, Journal of
    Computational and Graphical Statistics 5(3).

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful"))
    >>> len(bvb.plots.checks(model.fit(seed=1)).axes)
    6
    """
    import matplotlib.pyplot as plt

    if response is not None:
        check_choice("response", response, fit.model.design.response_names)
    figure, grid = plt.subplots(3, 2, figsize=(12.0, 11.4), layout="constrained")
    shown_once(figure)
    free = list(grid.ravel())
    for title, panel in _panels(fit, response):
        if free and _is_drawn(panel, free[0]):
            axes = free.pop(0)
            axes.set_title(title, loc="left", fontsize="medium", color=palette_of(axes).ink)
    for axes in free:
        figure.delaxes(axes)
    return figure


def _is_drawn(panel: Callable[..., object], axes: Axes) -> bool:
    """Draw a picture if the model has it."""
    try:
        panel(ax=axes)
    except DataError:
        axes.clear()
        return False
    return True


def _panels(fit: AbstractFit, response: str | None) -> list[Panel]:
    """Pictures in their order; those that the model does not have are skipped later."""
    names = fit.model.design.response_names
    if not names:
        observed = list(fit.model.observed())
        return [
            (
                "Replicated data: the dark line resembles the light lines",
                partial(replicates, fit, response=name),
            )
            for name in observed
        ]
    name = response or names[0]
    bars = partial(_residual_bars, fit, name)
    return [
        (
            "Replicated data: the dark line resembles the light lines",
            partial(replicates, fit, response=name),
        ),
        ("Survival: the observed curve is within the band", partial(survival, fit)),
        (
            "Calibration: within the band, or on the diagonal",
            partial(calibration, fit, response=name),
        ),
        ("Confidence: the mass is on the right", partial(_confidence, fit)),
        ("Mean: bars at zero", bars),
        ("Spread: bars on the line", partial(bars, absolute=True)),
        ("Tails: points within the band", partial(_quantiles, fit, name)),
        ("Influence: no row far above all others", partial(influence, fit)),
        ("Order of rows: bars at zero", partial(bars, ordered=True)),
    ]


def _residuals_of(fit: AbstractFit, name: str) -> tuple[pd.Series, pd.Series]:
    """Quantile residuals and fitted values of one response, of at most some thousand rows.

    Raises
    ------
    DataError
        Of classes.
    """
    if fit.model.response.is_binary:
        raise DataError(
            "residuals of a binary response are not drawn, because they are mostly random",
            hint="bvb.plots.calibration(fit) compares probabilities with the data",
        )
    result, means = residuals(fit, "quantile"), fitted(fit)
    if isinstance(result, pd.DataFrame):
        result = result[name]
    if isinstance(means, pd.DataFrame):
        means = means[name]
    at = sample(fit, LIMITS.quick_subsample).at
    return result.iloc[at], means.iloc[at]


def _residual_bars(
    fit: AbstractFit,
    name: str,
    *,
    ax: Axes,
    absolute: bool = False,
    ordered: bool = False,
) -> None:
    """Quantile residuals, or their sizes, against fitted values or the order of the rows."""
    bars, means = _residuals_of(fit, name)
    y = np.abs(bars.to_numpy()) if absolute else bars.to_numpy()
    x = np.arange(len(y), dtype=float) if ordered else means.to_numpy(dtype=float)
    palette = palette_of(ax)
    label = "row" if ordered else f"fitted {fit.model.design.label(name)}"
    marks.dress(ax, palette, x=label, y="|quantile residual|" if absolute else "quantile residual")
    ax.plot(x, y, "o", color=palette.point, markersize=3.0, alpha=0.5, markeredgewidth=0)
    # The mean size of a standard normal value is the root of 2 / pi.
    ax.axhline(np.sqrt(2.0 / np.pi) if absolute else 0.0, color=palette.mute, linewidth=1.0)
    _mean_bars(ax, x, y, palette)


def _mean_bars(
    axes: Axes, x: Float[np.ndarray, " rows"], y: Float[np.ndarray, " rows"], palette: Palette
) -> None:
    """Means of classes of rows with two standard errors, where both are finite."""
    known = np.isfinite(x) & np.isfinite(y)
    order = np.argsort(x[known], kind="stable")
    # Classes of rows with equally many, of which means are drawn.
    classes = [part for part in np.array_split(order, 10) if len(part) > 1]
    x, y = x[known], y[known]
    places = np.array([x[part].mean() for part in classes])
    means = np.array([y[part].mean() for part in classes])
    errors = np.array([y[part].std(ddof=1) / np.sqrt(len(part)) for part in classes])
    lines = [means, means - 2.0 * errors, means + 2.0 * errors]
    marks.barred_points(axes, places, lines, 0, colour=palette.accent, label="")


def _quantiles(fit: AbstractFit, name: str, *, ax: Axes) -> None:
    """Quantile residuals less the normal quantiles, with a pointwise band of 95%."""
    values = np.sort(_residuals_of(fit, name)[0].dropna().to_numpy())
    n = len(values)
    ranks = np.arange(1, n + 1)
    expected = ndtri((ranks - 0.375) / (n + 0.25))
    # An order statistic of uniform values has a beta distribution.
    low, high = (ndtri(betaincinv(ranks, n + 1 - ranks, p)) for p in (0.025, 0.975))
    palette = palette_of(ax)
    marks.dress(ax, palette, x="normal quantile", y="quantile residual minus normal quantile")
    ax.fill_between(expected, low - expected, high - expected, color=palette.accent, alpha=0.16,
                    linewidth=0)  # fmt: skip
    ax.axhline(0.0, color=palette.line, linewidth=1.0)
    ax.plot(expected, values - expected, "o", color=palette.accent, markersize=3.0)


def _confidence(fit: AbstractFit, *, ax: Axes) -> None:
    """Histogram of the predicted probability of the observed class.

    Raises
    ------
    DataError
        If no classes are predicted.
    """
    if not (fit.model.response.is_categorical or fit.model.response.is_binary):
        raise DataError(
            "the response of this fit has no classes",
            hint="bvb.plots.calibration(fit) is for all responses",
        )
    palette = palette_of(ax)
    marks.dress(ax, palette, x="predicted probability of the observed class", y="rows")
    ax.hist(
        np.exp(fit.log_density()),
        bins=np.linspace(0.0, 1.0, 21).tolist(),
        color=palette.accent,
        alpha=0.7,
    )
