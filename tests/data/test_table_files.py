"""The ending of a name decides how a file is read."""

import pandas as pd
import pytest

from bayesvb.data.table_files import read_table_file
from bayesvb.errors import DataError

FRAME = pd.DataFrame({"x": [1.0, 2.0], "name": ["a", "b"]})


def test_files_are_read_by_the_name_that_the_user_gives_them(tmp_path):
    FRAME.to_csv(tmp_path / "0", index=False)
    frame, notes = read_table_file(tmp_path / "0", "Rows.CSV")
    assert frame.equals(FRAME) and notes == []
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(tmp_path / "1")
    assert read_table_file(tmp_path / "1", "rows.parquet")[0].equals(FRAME)


@pytest.mark.parametrize(
    ("name", "said"),
    [("rows.xlsx", "no reader"), ("rows.csv", "cannot be read as CSV"), ("rows.parquet", "Parq")],
)
def test_what_cannot_be_read_is_an_error_with_the_name_of_the_user(name, said, tmp_path):
    with pytest.raises(DataError, match=f"{name}.*{said}"):
        read_table_file(tmp_path / "none", name)
