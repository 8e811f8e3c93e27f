"""Figures as the value of a cell of a notebook."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shown_once(figure: Figure) -> Figure:
    """Figure of pyplot that a notebook shows once, also as the value of a cell.

    Notebooks show the value of a cell, and all open figures of pyplot at its end: this method
    closes the figure when it is shown first.
    """
    shown: Any = figure
    shown._ipython_display_ = partial(_show, figure)
    return figure


def _show(figure: Figure) -> None:
    """Show a figure, and close it where pyplot would show it again."""
    import matplotlib
    import matplotlib.pyplot as plt
    from IPython.display import Image, display

    written = io.BytesIO()
    figure.savefig(written, format="png")
    display(Image(written.getvalue()))
    if "inline" in matplotlib.get_backend():
        plt.close(figure)
