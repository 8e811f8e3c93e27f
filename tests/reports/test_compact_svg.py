"""Paths by steps are the same paths, and what is left out of a drawing is not seen."""

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bayesvb.reports.figures.compact_svg import by_steps, compact
from bayesvb.reports.figures.shared_styles import rules, shared_styles, with_classes

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


def test_a_long_line_of_which_every_point_is_a_corner_is_kept():
    swings = [f"L {i / 5} {(-1) ** i * i / 5:g}" for i in range(1, 3000)]
    assert len(followed(by_steps(" ".join(["M 0 0", *swings])))) == 3000


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
    assert not re.search("<use [^<>]* x=[^<>]* y=", found)  # ticks are one path for each axis
    assert "rotate(-0" not in found and "xlink:href" not in found


def test_ticks_of_an_axis_are_one_path_and_where_they_were():
    figure = Figure()
    figure.add_subplot().set_xlim(0.0, 7.0)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    place = r'<use [^<>]*?x="([^"]*)" y="([^"]*)"[^<>]*>'
    given = np.array(re.findall(place, buffer.getvalue()), dtype=float)
    paths = re.findall(r'<path d="((?:m[^a-z"]*l(?:0 3|0 3.5|-3 0|-3.5 0))+)"', compact(
        buffer.getvalue(), {}))  # fmt: skip
    found = np.concatenate([followed(one)[::2] for one in paths])
    assert len(paths) == 2 and len(given) > 10
    np.testing.assert_allclose(found, given, atol=0.0501)


def marks(text: str = "") -> str:
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot(np.arange(30.0), np.sin(np.arange(30.0)), ".", color="#123456")
    axes.set_title(text)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def test_marks_of_one_style_tell_it_once_and_are_where_they_were():
    given, found = marks(), compact(marks(), {})
    (group,) = re.findall(r'<g style="[^"]*#123456[^"]*">.*?</g>', found, flags=re.DOTALL)
    places = [
        np.array(re.findall(r'<use [^<>]*?x="([^"]*)" y="([^"]*)"[^<>]*>', one), dtype=float)
        for one in ("".join(re.findall(r"<use[^<>]*#123456[^<>]*>", given)), group)
    ]
    assert places[0].shape == (30, 2) and group.count("style") == 1
    np.testing.assert_allclose(places[1], places[0], atol=0.0501)


def test_shared_styles_say_what_each_element_said():
    drawings = [compact(marks(' style="fill:none" '), {}) for _ in range(3)]
    classes = shared_styles(drawings)
    shorter = [with_classes(one, classes) for one in drawings]
    given = dict(re.findall(r"\.(s\d+)\{([^}]*)\}", rules(classes)))
    for before, after in zip(drawings, shorter, strict=True):
        assert len(after) < len(before)
        assert re.sub(r'class="(s\d+)"', lambda at: f'style="{given[at[1]]}"', after) == before
    assert "font-size" not in rules(classes)  # rules of the page for text would overrule it
