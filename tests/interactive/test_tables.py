"""The data of a page, and code that makes the same."""

import pandas as pd
import pytest

from bayesvb.errors import DataError
from bayesvb.interactive.tables import file_table, open_table

FILES = {
    "plain.csv": b"x,y\n1,2\n3,4\n",
    "german.csv": "größe;y\n0,5;2\n1,5;3\n".encode("cp1252"),
    "codes.csv": b"code,y\n007,1\n7,2\n",
}


@pytest.mark.parametrize("name", FILES)
def test_the_lines_of_a_file_make_the_same_table(name, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(FILES[name])
    monkeypatch.chdir(tmp_path)
    table, scope = open_table(name), {}
    exec(table.python, scope)
    pd.testing.assert_frame_equal(scope["data"], table.frame)
    assert ("read_csv" in table.python) == (name == "plain.csv")


def test_a_data_set_comes_with_its_formula_and_a_frame_with_a_simple_one():
    assert open_table("mcycle").formula == "accel ~ s(times)"
    table = open_table(pd.DataFrame({"site": ["a", "b"], "y": [1.0, 2.0]}))
    assert (table.formula, table.source) == ("y ~ site", None)
    assert open_table(pd.DataFrame({"site": ["a", "b"]})).formula == "site ~ 1"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.xlsx", b"PK", "no reader for files of this kind"),
        ("rows.csv", b"\0\0\0", "NUL"),
        ("rows.csv", b"", "cannot be read as CSV"),
        ("rows.parquet", b"PAR", r"Could not open Parquet input source.*: Parquet file size is 3"),
        ("rows.csv", b"<!doctype html>", "no rows"),
        ("rows.csv.gz", b"\x1f\x8b\x08" + b"broken" * 9, "cannot be read as CSV"),
        ("../../etc/passwd.csv", b"a\n1,2\n", "more values"),
    ],
)
def test_a_file_that_is_no_table_is_a_sentence(name, content, said, tmp_path):
    (tmp_path / "0").write_bytes(content)
    with pytest.raises(DataError, match=said):
        file_table(tmp_path / "0", name)


def test_a_name_that_is_nothing_is_an_error():
    with pytest.raises(DataError, match="'nothing"):
        open_table("nothing.csv")
