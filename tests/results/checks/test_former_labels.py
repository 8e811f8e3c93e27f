"""Checks by former names: the present row, with a warning."""

import pytest

from bayesvb.results.checks.table import RENAMED, CheckTable

NAMES = ["Convergence", "Compared with least squares", "Correlation within g", "Tails"]


@pytest.fixture
def table():
    return CheckTable({"grade": ["ok", "note", "problem", "ok"]}, index=NAMES)


@pytest.mark.parametrize("former, grade", [("Ascent ended", "ok"), ("Rows by g", "problem")])
def test_a_former_name_finds_its_check_and_warns(table, former, grade):
    with pytest.warns(DeprecationWarning, match=f"check '{former}'"):
        assert table.loc[former, "grade"] == grade
    with pytest.warns(DeprecationWarning, match="least squares"):
        assert table.loc["Beside least squares"]["grade"] == "note"


def test_present_names_and_other_keys_are_those_of_pandas(table):
    assert table.loc["Tails", "grade"] == "ok"
    assert list(table.loc[["Tails", "Convergence"]].index) == ["Tails", "Convergence"]
    assert len(table.loc[table["grade"] == "ok"]) == 2
    table.loc["Tails", "grade"] = "note"
    assert table.loc["Tails"].grade == "note"
    with pytest.raises(KeyError):
        table.loc["Width"]
    assert not set(RENAMED) & set(NAMES)
