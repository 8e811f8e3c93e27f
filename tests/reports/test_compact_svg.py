"""Paths by steps are the same paths, and what is left out of a drawing is not seen."""

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bayesvb.reports.figures.compact_svg import by_steps, compact

NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")


def followed(path):
    """Points at which the commands of a path by steps end."""
    here, first, points = np.zeros(2), np.zeros(2), []
    for letter, numbers in re.findall(r"([mlcqz])([^mlcqz]*)", path):
        if letter == "z":
            here = first
            continue
        values = np.array(NUMBER.findall(numbers), dtype=float)
        for step in values.reshape(-1, {"m": 2, "l": 2, "c": 6, "q": 4}[letter]):
            here = here + step[-2:]
            points.append(here)
        first = here if letter == "m" else first
    return np.array(points)


def nearest(point, corners):
    """Distance of a point from the lines between corners."""
    first, along = corners[:-1], np.diff(corners, axis=0)
    square = (along**2).sum(axis=1)
    share = ((point - first) * along).sum(axis=1) / np.where(square > 0.0, square, 1.0)
    at = first + np.clip(share, 0.0, 1.0)[:, None] * along
    return np.sqrt(((at - point) ** 2).sum(axis=1)).min()


@given(st.lists(st.tuples(*[st.floats(-900.0, 900.0)] * 2), min_size=2, max_size=40))
def test_points_are_rounded_or_on_a_line_between_others(points):
    path = "M " + " L ".join(f"{x:.6f} {y:.6f}" for x, y in points)
    found = followed(by_steps(path))
    apart = [nearest(np.array(point), found) for point in points]
    assert max(apart) < 0.1 + 0.0501 * np.sqrt(2.0)
    away = np.abs(found[:, None] - np.array(points)[None]).max(axis=2).min(axis=1)
    assert away.max() < 0.0501  # nothing is made up
    np.testing.assert_allclose(found[[0, -1]], [points[0], points[-1]], atol=0.0501)


def test_what_goes_to_and_fro_on_a_line_is_kept():
    found = followed(by_steps("M 0 0 L 10 0 L 2 0 L 3 0 L 4 0.05 L 5 0 z"))
    np.testing.assert_allclose(found, [[0, 0], [10, 0], [2, 0], [5, 0]])


def test_curves_and_several_parts_are_followed():
    path = "M 1 2 C 1 2.5 3 4 5 6 L 5 7 z M 10 10 Q 11 12 13 14 L -1 0"
    expected = [[1, 2], [5, 6], [5, 7], [10, 10], [13, 14], [-1, 0]]
    np.testing.assert_allclose(followed(by_steps(path)), expected)


def test_a_command_that_is_not_known_is_an_error():
    with pytest.raises(ValueError, match="'H'"):
        by_steps("M 1 2 H 3")


def test_a_drawing_is_shorter_and_its_groups_are_closed():
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot(np.linspace(0.0, 1.0, 200), np.sin(np.linspace(0.0, 9.0, 200)))
    axes.set_title("<g> & </g>")
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    given = buffer.getvalue()
    found = compact(given, {})
    assert len(found) < 0.55 * len(given)
    assert found.count("<g ") == found.count("</g>") and "<g>" not in found
    ticks = re.findall(r'<path id="(i\d+)" d="m0 0l(?:0 3|-3 0)"', found) or ["none"]
    assert all(f'<use href="#{one}"' in found for one in ticks if one != "none")
    assert "rotate(-0" not in found and "xlink:href" not in found
