"""Figures whose labels are HTML over a drawing that stretches: one drawing for every width.

The drawing has 1000 x 1000 units and no text. Labels stand over it at positions in per cent, so
that their size never changes, and lines keep their width by ``vector-effect``. Elements have the
class of a shape (``curve``, ``shade``, ``thin``, ``dot``, ...) and of a colour (``k1`` to ``k8``
for components and classes, ``ink``, ``grey``, ``dash``, ``bad``; without one, the model's).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from bayesvb.effects.covariates import quantiles, value_text

from ..cells.names import cut
from ..cells.numerals import Decimals, covariate_numeral, numeral, powers_written_out, significant
from ..cells.plain import Summary
from ..rows.profiles import Covariate, labels

if TYPE_CHECKING:
    from bayesvb.formula.design import Design

UNITS = 1000.0
"""Width and height of a drawing."""

TICKS, FEW_TICKS = 6, 4
"""Most ticks of an axis, and of one of several drawings in a row."""

INSIDE = 0.005
"""Share of the rows beyond each end of an axis of a covariate."""

N_SERIES = 8
"""Styles of classes and components: colours, each with dashes of its own."""

MARGIN = 0.05
"""Part of the range of the values by which an axis goes beyond them."""

LONGEST_NAME = 26
"""Characters of a name next to a row of a figure."""

ROW = 1.5
"""Height in rem of a row with a name."""

DENSE = 400
"""Number of points from which overlapping ones are omitted."""

CELL = 4
"""Units of the drawing within which they would be: a point has 3.4 pixels."""

GAP = 6.0
"""Least distance between labels at the ends of curves, in per cent of the height."""


@dataclass(frozen=True)
class Axis:
    """An axis: its ends, and its ticks with their words.

    Attributes
    ----------
    low, high : float
    ticks : list of (float, str)
    row_height : float
        Height in rem of each row of the figure, where ticks are names of rows; 0 elsewhere.
    """

    low: float
    high: float
    ticks: list[tuple[float, str]] = field(default_factory=list)
    row_height: float = 0.0

    def share(self, value: float) -> float:
        """Place of a value, 0 at the low end and 1 at the high one."""
        return (value - self.low) / ((self.high - self.low) or 1.0)


def series(number: int) -> str:
    """Style of a class or a component, counted from 0."""
    return f"k{number % N_SERIES + 1}"


def spread_axis(values: Float[np.ndarray, " rows"], most: int = TICKS) -> Axis:
    """An axis that goes a little beyond all finite values."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = MARGIN * (high - low)
    return number_axis(low - margin, high + margin, most=most)


def number_axis(
    low: float,
    high: float,
    write: Callable[[float, Decimals], str] = numeral,
    *,
    most: int = TICKS,
) -> Axis:
    """An axis with at most ``most`` ticks at round numbers, or one more.

    Examples
    --------
    >>> number_axis(0.2, 10.3).ticks
    [(2.0, '2'), (4.0, '4'), (6.0, '6'), (8.0, '8'), (10.0, '10')]
    """
    if low == high:
        return Axis(low, high, [(low, write(low, None))])
    step = _round_step(high - low, most)
    first = math.ceil(low / step - 1e-9)
    places = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    decimals = significant([step], 1)
    return Axis(low, high, [(at, write(at, decimals)) for at in places])


def level_axis(labels: Sequence[str]) -> Axis:
    """An axis of levels at 0, 1, 2, ..."""
    return Axis(-0.5, len(labels) - 0.5, [(float(i), text) for i, text in enumerate(labels)])


def row_axis(names: Sequence[str]) -> Axis:
    """A vertical axis of names at 0, -1, -2, ...: the first one is at the top."""
    ticks = [(-float(i), cut(name, LONGEST_NAME)) for i, name in enumerate(names)]
    return Axis(0.5 - len(names), 0.5, ticks, ROW)


def scaled_axis(axis: Axis, scale: Callable[[float], float]) -> Axis:
    """An axis on another scale, on which ticks keep their words.

    Examples
    --------
    >>> scaled_axis(Axis(1.0, 100.0, [(10.0, "10")]), math.log10)
    Axis(low=0.0, high=2.0, ticks=[(1.0, '10')], row_height=0.0)
    """
    ticks = [(scale(at), text) for at, text in axis.ticks]
    return Axis(scale(axis.low), scale(axis.high), ticks, axis.row_height)


def log_axis(low: float, high: float) -> Axis:
    """An axis on a logarithmic scale, with ticks at powers of 10.

    Examples
    --------
    >>> log_axis(0.2, 30.0).ticks
    [(0.0, '1'), (1.0, '10')]
    """
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    powers = range(first, last + 1, max(1, -(-(last - first) // TICKS)))
    ticks = [(10.0**power, powers_written_out(f"{10.0**power:g}")) for power in powers]
    return scaled_axis(Axis(low, high, ticks or [(low, numeral(low))]), math.log10)


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
        return number_axis(low, high, covariate_numeral(known)), outside
    axis = number_axis(low, high, lambda day, _: value_text(design.date_of(one.name, day)))
    return axis, outside


def _round_step(width: float, most: int) -> float:
    power = 10.0 ** math.floor(math.log10(width / most))
    sizes = (1.0, 2.0, 5.0, 10.0)
    return next(size * power for size in sizes if size * power * most >= width * 0.999)


@dataclass(frozen=True)
class Canvas:
    """Elements over the two axes of a figure, and the labels at the ends of its curves."""

    x: Axis
    y: Axis
    paths: list[tuple[str, str]] = field(default_factory=list)
    ends: list[tuple[float, str, str]] = field(default_factory=list)
    inside: list[tuple[float, float, str, str]] = field(default_factory=list)

    def line(self, kind: str, x: Real[np.ndarray, " n"], y: Real[np.ndarray, " n"]) -> None:
        """Draw a curve in the style of a class."""
        self.paths.append((kind, "M" + "L".join(_corners(self._units(x, y)))))

    def band(
        self,
        kind: str,
        x: Real[np.ndarray, " n"],
        low: Real[np.ndarray, " n"],
        high: Real[np.ndarray, " n"],
    ) -> None:
        """Fill the area between two curves."""
        there = _corners(self._units(x, high))
        back = _corners(self._units(x[::-1], low[::-1]))
        self.paths.append((kind, "M" + "L".join([*there, *back]) + "Z"))

    def dots(self, kind: str, x: Real[np.ndarray, " n"], y: Real[np.ndarray, " n"]) -> None:
        """Draw points as strokes of no length, omitting those outside of the axes."""
        inside = (x >= self.x.low) & (x <= self.x.high) & (y >= self.y.low) & (y <= self.y.high)
        units = self._units(x[inside], y[inside])
        if len(units) > DENSE:
            units = np.unique(units // CELL, axis=0) * CELL
        places = [f"{a} {b}" for a, b in units.tolist()]
        if places:
            self.paths.append((kind, "".join(f"M{place}h.1" for place in places)))

    def bars(
        self,
        kind: str,
        x: Real[np.ndarray, " n"],
        low: Real[np.ndarray, " n"],
        high: Real[np.ndarray, " n"],
    ) -> None:
        """Draw vertical strokes."""
        ends = zip(self._places(x, low), self._places(x, high), strict=True)
        self.paths.append((kind, "".join(f"M{one}L{other}" for one, other in ends)))

    def steps(
        self,
        kind: str,
        low: Real[np.ndarray, " n"],
        high: Real[np.ndarray, " n"],
        y: Real[np.ndarray, " n"],
    ) -> None:
        """Draw horizontal strokes."""
        ends = zip(self._places(low, y), self._places(high, y), strict=True)
        self.paths.append((kind, "".join(f"M{one}L{other}" for one, other in ends)))

    def across(self, kind: str, height: float) -> None:
        """Draw a horizontal line from end to end."""
        self.line(kind, np.array([self.x.low, self.x.high]), np.full(2, height))

    def upright(self, kind: str, place: float) -> None:
        """Draw a vertical line from end to end, if it is within the axis."""
        if self.x.low <= place <= self.x.high:
            self.line(kind, np.full(2, place), np.array([self.y.low, self.y.high]))

    def boxes(
        self,
        kind: str,
        left: Real[np.ndarray, " n"],
        right: Real[np.ndarray, " n"],
        low: Real[np.ndarray, " n"],
        high: Real[np.ndarray, " n"],
    ) -> None:
        """Fill rectangles."""
        first, other = self._units(left, low).tolist(), self._units(right, high).tolist()
        corners = zip(first, other, strict=True)
        path = "".join(f"M{a} {b}V{d}H{c}V{b}Z" for (a, b), (c, d) in corners)
        self.paths.append((kind, path))

    def columns(self, kind: str, x: Real[np.ndarray, " n"], where: Bool[np.ndarray, " n"]) -> None:
        """Fill the whole height at places of the horizontal axis."""
        edges = np.concatenate([x[:1], 0.5 * (x[1:] + x[:-1]), x[-1:]])
        changes = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
        top, bottom = np.full(2, self.y.high), np.full(2, self.y.low)
        for start, stop in zip(changes[::2], changes[1::2], strict=True):
            self.band(kind, edges[[start, stop]], bottom, top)

    def end(self, y: float, text: str, kind: str = "") -> None:
        """Write next to the last value of a curve."""
        self.ends.append((100.0 * self.y.share(y), text, kind))

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Write over the drawing, its middle at this place."""
        at = [round(100.0 * axis.share(value), 2) for axis, value in ((self.x, x), (self.y, y))]
        self.inside.append((at[0], at[1], text, kind))

    def _places(self, x: Real[np.ndarray, " n"], y: Real[np.ndarray, " n"]) -> list[str]:
        return [f"{a} {b}" for a, b in self._units(x, y).tolist()]

    def _units(
        self, x: Real[np.ndarray, " n"], y: Real[np.ndarray, " n"]
    ) -> Int[np.ndarray, "n 2"]:
        across = np.round(UNITS * (x - self.x.low) / ((self.x.high - self.x.low) or 1.0))
        down = np.round(UNITS * (1.0 - (y - self.y.low) / ((self.y.high - self.y.low) or 1.0)))
        return np.clip(np.column_stack([across, down]), -UNITS, 2.0 * UNITS).astype(int)


def _corners(units: Int[np.ndarray, "n 2"]) -> list[str]:
    """Places of a curve without those on a straight line between their neighbours."""
    steps = np.diff(units, axis=0)
    turns = steps[:-1, 0] * steps[1:, 1] != steps[:-1, 1] * steps[1:, 0]
    kept = np.pad(turns, 1, constant_values=True)[: len(units)]
    return [f"{a} {b}" for a, b in units[kept].tolist()]


def staircase(
    x: Real[np.ndarray, " n"], y: Real[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Corners of a curve that is constant from each place to the next.

    Examples
    --------
    >>> [one.tolist() for one in staircase(np.array([0.0, 1.0, 3.0]), np.array([5.0, 4.0, 2.0]))]
    [[0.0, 1.0, 1.0, 3.0, 3.0], [5.0, 5.0, 4.0, 4.0, 2.0]]
    """
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


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
        Content of the figure, in words, for those who cannot see it.
    caption : str
        How to read it.
    legend : sequence of (str, str)
        Names of the elements, with their styles.
    """
    titles = {"x_title": x, "y_title": y, "legend": list(legend)}
    return {**_drawing(canvas), **titles, "alt": alt, "caption": caption}


def panelled(
    panels: Sequence[tuple[str, Canvas]],
    *,
    x: str,
    y: str,
    alt: str,
    caption: str,
    legend: Sequence[tuple[str, str]] = (),
) -> Summary:
    """A figure of several drawings side by side, each under its title.

    Parameters
    ----------
    panels : sequence of (str, Canvas)
        Titles, which may be empty, and drawings.
    x, y, alt, caption, legend
        As of ``plotted``, for all drawings together.
    """
    drawings = [{"title": title, **_drawing(canvas)} for title, canvas in panels]
    titles = {"x_title": x, "y_title": y, "legend": list(legend)}
    return {"drawings": drawings, **titles, "alt": alt, "caption": caption}


def _drawing(canvas: Canvas) -> Summary:
    """The paths and labels of a canvas."""
    y_ticks, row = canvas.y.ticks, canvas.y.row_height
    grid = "".join(f"M0 {round(UNITS * (1.0 - canvas.y.share(at)))}H1000" for at, _ in y_ticks)
    paths = [("grid", grid), *canvas.paths, ("axis", "M0 1000H1000")]
    return {
        "drawing": "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths if path),
        "x_labels": [(round(100.0 * canvas.x.share(at), 2), text) for at, text in canvas.x.ticks],
        "y_labels": [(round(100.0 * canvas.y.share(at), 2), text) for at, text in y_ticks],
        "end_labels": _end_labels(canvas.ends),
        "inner_labels": canvas.inside,
        "named": max(1, *(len(text) for _, text in y_ticks)) if row else 0,
        "height": round(row * (canvas.y.high - canvas.y.low), 2),
    }


def _end_labels(ends: Sequence[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Labels from the lowest one up, moved apart, with their places in per cent of the height."""
    if not ends:
        return []
    wanted, texts, kinds = zip(*sorted(ends, key=itemgetter(0)), strict=True)
    places = apart(np.array(wanted), GAP, 0.0, 100.0).round(2).tolist()
    return list(zip(places, texts, kinds, strict=True))


def apart(
    wanted: Float[np.ndarray, " labels"], gap: float, low: float, high: float
) -> Float[np.ndarray, " labels"]:
    """Places as near as possible to those wanted that are at least ``gap`` apart.

    Examples
    --------
    >>> apart(np.array([0.5, 0.5, 0.1]), 0.2, 0.0, 1.0).round(2).tolist()
    [0.4, 0.6, 0.1]
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    # least squares under the order of what remains once every label has moved down by its steps
    rising = _isotonic(wanted[order] - steps)
    rising = np.clip(rising, low, max(high - float(steps[-1]), low))
    found = np.empty(len(wanted))
    found[order] = rising + steps
    return found


def _isotonic(values: Float[np.ndarray, " labels"]) -> Float[np.ndarray, " labels"]:
    """Rising values nearest in least squares, by the minimax formula; see Robertson et al. (1988).

    Written out for the few labels of a picture, because importing SciPy's takes 0.1 s.
    """
    total, n = np.concatenate([[0.0], np.cumsum(values)]), len(values)
    first, last = np.ogrid[:n, :n]
    means = (total[None, 1:] - total[:-1, None]) / np.maximum(last - first + 1, 1)
    means = np.where(last >= first, means, np.inf)
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.where(last >= first, least, -np.inf).max(axis=0))
