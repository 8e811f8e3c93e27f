"""What stands on top of a page of several fits."""

import pytest

from bayesvb.reports.sections.side_by_side import side_by_side


def page(*data):
    graded = {"group": "fit", "grade": "problem"}
    checks = [
        {"name": name, **graded} for name in ("Spread by x", "Spread by x", "Serial correlation")
    ]
    groups = [{"name": "fit", "grade": "problem"}, {"name": "computation", "grade": "ok"}]
    verdict = {"groups": groups, "checks": checks}
    fits = [
        {"name": name, "verdict": verdict, "sections": {"data": one, "model": 1}}
        for name, one in zip("ab", data, strict=True)
    ]
    return {"title": "two", "comparison": {"best": "a", "reading": "a is ahead."}, "fits": fits}


def test_the_same_data_are_described_once():
    found = side_by_side(page({"n_rows": 3}, {"n_rows": 3}))
    assert found["comparison"]["data"] == {"n_rows": 3} and found["comparison"]["best"] == "a"
    assert [fit["sections"] for fit in found["fits"]] == [{"model": 1}, {"model": 1}]


def test_other_data_stay_with_their_fits():
    given = page({"n_rows": 3}, {"n_rows": 4})
    found = side_by_side(given)
    assert found["comparison"]["data"] is None
    assert found["fits"] == given["fits"]


def coverage_by(*inside, rows=20):
    """Coverage in two bins of x."""
    bins = zip("lm", inside, strict=True)
    lines = [{"heads": [name], "cells": [rows, one, 4.8]} for name, one in bins]
    response = {"coverage_by": {"heads": ["x"], "rows": lines}}
    return {"calibration": {"responses": [response]}}


def test_coverage_stands_in_one_table_of_all_fits_with_the_same_bins():
    found = side_by_side(page(1, 1) | {"fits": [
        {**fit, "sections": coverage_by(*inside)}
        for fit, inside in zip(page(1, 1)["fits"], [(90.0, 80.0), (95.0, 100.0)], strict=True)
    ]})  # fmt: skip
    assert [row["cells"] for row in found["comparison"]["coverage"]["rows"]] == [
        [20, 90.0, 95.0, 4.8], [20, 80.0, 100.0, 4.8]
    ]  # fmt: skip
    other = page(1, 1)
    for fit, n in zip(other["fits"], [20, 21], strict=True):
        fit["sections"] = coverage_by(90.0, 90.0, rows=n)
    assert side_by_side(other)["comparison"]["coverage"] is None


@pytest.mark.parametrize("line", [0, 1])
def test_grades_stand_in_one_line_per_fit(line):
    grades = side_by_side(page({}, {}))["comparison"]["grades"]
    row = grades["rows"][line]
    assert row["heads"] == ["ab"[line]]
    assert row["cells"] == ["problem", "ok", "Spread by x; Serial correlation"]
