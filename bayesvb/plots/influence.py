"""Influence of rows, drawn: Cook's distance against leverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesvb.argument_checks import check_count, checked
from bayesvb.drawing import marks
from bayesvb.drawing.palette import palette_of
from bayesvb.results.influence import influence as influence_of
from bayesvb.results.influence import placed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesvb.results.base import AbstractFit


@checked
def influence(fit: AbstractFit, *, n: int = 5, ax: Axes | None = None) -> Axes:
    """Cook's distance of every row against its leverage, the most influential ones named.

    In a model with ``group``, of every group, in the order of the data.

    Parameters
    ----------
    fit : Fit
    n : int
        Rows to name, by their labels in the data.
    ax : matplotlib.axes.Axes, optional
        Axes of the picture; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If the model has no linear response; see ``Fit.influence``.
    """
    check_count("n", n)
    table = influence_of(fit)
    distance = table["cooks_distance"].to_numpy()
    across, label = placed(table)
    words = {int(place): str(table.index[place]) for place in (-distance).argsort()[:n]}
    axes = marks.new_axes((6.4, 4.0)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=label, y="Cook's distance")
    marks.labelled_points(axes, across, distance, words, colour=palette.accent, ink=palette.ink)
    return axes
