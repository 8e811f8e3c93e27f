"""Figures whose labels are HTML over a drawing that stretches: one drawing for every width.

The drawing has 1000 x 1000 units and no text. Labels stand over it at places in per cent, so that
their size never changes, and lines keep their width by ``vector-effect``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.effects.covariates import quantiles, value_text

from ..cells.numerals import numeral, significant
from ..cells.plain import Summary
from ..rows.profiles import Covariate, labels
from .label_spacing import apart

if TYPE_CHECKING:
    from bayesvb.formula.design import Design

UNITS = 1000.0
"""Width and height of a drawing."""

TICKS = 6
"""Most ticks of an axis."""

INSIDE = 0.005
"""Share of the rows beyond each end of an axis of a covariate."""

N_SERIES = 8
"""Styles of classes and components: colours, each with dashes of its own."""

MARGIN = 0.05
"""Part of the range of the values by which an axis goes beyond them."""

GAP = 6.0
"""Least distance between labels at the ends of curves, in per cent of the height."""


@dataclass(frozen=True)
class Axis:
    """An axis: its ends, and its ticks with their words.

    Attributes
    ----------
    low, high : float
    ticks : list of (float, str)
    """

    low: float
    high: float
    ticks: list[tuple[float, str]] = field(default_factory=list)

    def share(self, value: float) -> float:
        """Place of a value, 0 at the low end and 1 at the high one."""
        return (value - self.low) / ((self.high - self.low) or 1.0)


def series(number: int) -> str:
    """Style of a class or a component, counted from 0."""
    return f"k{number % N_SERIES + 1}"


def spread_axis(values: Float[np.ndarray, " rows"]) -> Axis:
    """An axis that goes a little beyond all finite values."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = MARGIN * (high - low)
    return number_axis(low - margin, high + margin)


def number_axis(low: float, high: float, words: Callable[[float], str] | None = None) -> Axis:
    """An axis with ticks at round numbers.

    Examples
    --------
    >>> number_axis(0.2, 10.3).ticks
    [(2.0, '2'), (4.0, '4'), (6.0, '6'), (8.0, '8'), (10.0, '10')]
    """
    if low == high:
        return Axis(low, high, [(low, (words or numeral)(low))])
    step = _round_step(high - low)
    first = math.ceil(low / step - 1e-9)
    places = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    decimals = significant([step], 1)
    return Axis(low, high, [(at, (words or (lambda v: numeral(v, decimals)))(at)) for at in places])


def level_axis(labels: Sequence[str]) -> Axis:
    """An axis of levels at 0, 1, 2, ..."""
    return Axis(-0.5, len(labels) - 0.5, [(float(i), text) for i, text in enumerate(labels)])


def covariate_axis(design: Design, one: Covariate) -> tuple[Axis, int]:
    """Axis of a covariate, and how many rows lie outside of it.

    A number goes from its 0.5% to its 99.5% quantile: single remote rows would squeeze all others.
    """
    if one.discrete:
        return level_axis(labels(list(one.values))), 0
    least, low, high, most = quantiles(design, one.name, (0.0, INSIDE, 1.0 - INSIDE, 1.0)).tolist()
    if low == high:
        low, high = least, most
    known = design.frame[one.name].to_numpy(dtype=float)
    outside = int(((known < low) | (known > high)).sum())
    if one.name not in design.dates:
        return number_axis(low, high), outside
    return number_axis(low, high, lambda day: value_text(design.date_of(one.name, day))), outside


def _round_step(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width / TICKS))
    return next(
        size * power for size in (1.0, 2.0, 5.0, 10.0) if size * power * TICKS >= width * 0.999
    )


@dataclass(frozen=True)
class Canvas:
    """What is drawn over the two axes of a figure, and the labels at the ends of its curves."""

    x: Axis
    y: Axis
    paths: list[tuple[str, str]] = field(default_factory=list)
    ends: list[tuple[float, str, str]] = field(default_factory=list)
    inside: list[tuple[float, float, str, str]] = field(default_factory=list)

    def line(self, kind: str, x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> None:
        """Draw a curve in the style of a class."""
        self.paths.append((kind, "M" + "L".join(self._places(x, y))))

    def band(
        self,
        kind: str,
        x: Float[np.ndarray, " n"],
        low: Float[np.ndarray, " n"],
        high: Float[np.ndarray, " n"],
    ) -> None:
        """Fill what is between two curves."""
        there, back = self._places(x, high), self._places(x[::-1], low[::-1])
        self.paths.append((kind, "M" + "L".join([*there, *back]) + "Z"))

    def dots(self, kind: str, x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> None:
        """Draw points as strokes of no length, those outside of the axes left out."""
        inside = (x >= self.x.low) & (x <= self.x.high) & (y >= self.y.low) & (y <= self.y.high)
        places = self._places(x[inside], y[inside])
        if places:
            self.paths.append((kind, "".join(f"M{place}h.1" for place in places)))

    def bars(
        self,
        kind: str,
        x: Float[np.ndarray, " n"],
        low: Float[np.ndarray, " n"],
        high: Float[np.ndarray, " n"],
    ) -> None:
        """Draw vertical strokes."""
        ends = zip(self._places(x, low), self._places(x, high), strict=True)
        self.paths.append((kind, "".join(f"M{one}L{other}" for one, other in ends)))

    def steps(
        self,
        kind: str,
        low: Float[np.ndarray, " n"],
        high: Float[np.ndarray, " n"],
        y: Float[np.ndarray, " n"],
    ) -> None:
        """Draw horizontal strokes."""
        ends = zip(self._places(low, y), self._places(high, y), strict=True)
        self.paths.append((kind, "".join(f"M{one}L{other}" for one, other in ends)))

    def columns(self, kind: str, x: Float[np.ndarray, " n"], where: Bool[np.ndarray, " n"]) -> None:
        """Fill the whole height at places of the horizontal axis."""
        edges = np.concatenate([x[:1], 0.5 * (x[1:] + x[:-1]), x[-1:]])
        changes = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
        top, bottom = np.full(2, self.y.high), np.full(2, self.y.low)
        for start, stop in zip(changes[::2], changes[1::2], strict=True):
            self.band(kind, edges[[start, stop]], bottom, top)

    def end(self, y: float, text: str, kind: str = "") -> None:
        """Write beside the last value of a curve."""
        self.ends.append((100.0 * self.y.share(y), text, kind))

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Write over the drawing, its middle at this place."""
        at = [round(100.0 * axis.share(value), 2) for axis, value in ((self.x, x), (self.y, y))]
        self.inside.append((at[0], at[1], text, kind))

    def _places(self, x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> list[str]:
        across = np.round(UNITS * (x - self.x.low) / ((self.x.high - self.x.low) or 1.0))
        down = np.round(UNITS * (1.0 - (y - self.y.low) / ((self.y.high - self.y.low) or 1.0)))
        pairs = np.clip(np.column_stack([across, down]), -UNITS, 2.0 * UNITS).astype(int)
        return [f"{a} {b}" for a, b in pairs.tolist()]


def plotted(
    canvas: Canvas,
    *,
    x: str,
    y: str,
    alt: str,
    caption: str,
    legend: Sequence[tuple[str, str]] = (),
) -> Summary:
    """A figure of a page: the drawing, and its labels with their places in per cent.

    Parameters
    ----------
    canvas : Canvas
    x, y : str
        Titles of the axes.
    alt : str
        What the figure shows, in words, for those who cannot see it.
    caption : str
        How to read it.
    legend : sequence of (str, str)
        Names of what is drawn, with their styles.
    """
    grid = "".join(
        f"M0 {round(UNITS * (1.0 - canvas.y.share(at)))}H1000" for at, _ in canvas.y.ticks
    )
    paths = [("grid", grid), *canvas.paths, ("axis", "M0 1000H1000")]
    return {
        "drawing": "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths if path),
        "x_labels": [(round(100.0 * canvas.x.share(at), 2), text) for at, text in canvas.x.ticks],
        "y_labels": [(round(100.0 * canvas.y.share(at), 2), text) for at, text in canvas.y.ticks],
        "end_labels": _end_labels(canvas.ends),
        "inner_labels": canvas.inside,
        "legend": list(legend),
        "x_title": x,
        "y_title": y,
        "alt": alt,
        "caption": caption,
    }


def _end_labels(ends: Sequence[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Labels from the lowest one up, moved apart, with their places in per cent of the height."""
    if not ends:
        return []
    wanted, texts, kinds = zip(*sorted(ends), strict=True)
    places = apart(np.array(wanted), GAP, 0.0, 100.0).round(2).tolist()
    return list(zip(places, texts, kinds, strict=True))
