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


@pytest.mark.parametrize("line", [0, 1])
def test_grades_stand_in_one_line_per_fit(line):
    grades = side_by_side(page({}, {}))["comparison"]["grades"]
    row = grades["rows"][line]
    assert row["heads"] == ["ab"[line]]
    assert row["cells"] == ["problem", "ok", "Spread by x; Serial correlation"]
