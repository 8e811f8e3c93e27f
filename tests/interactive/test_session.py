"""A session is read as it was saved, and only of the same rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import Elpd
from bayesvb.interactive import session as module
from bayesvb.interactive.history import History, Record
from bayesvb.interactive.request import Request
from bayesvb.interactive.session import FILE, Session, open_session, save_session
from bayesvb.interactive.tables import file_table, open_table

REQUEST = Request(formula="y ~ x", options={"n_components": 2}, seed=4)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"y": range(5), "x": list("ababa")}).to_csv(path, index=False)
    return path


def made(table, folder, key="a"):
    path = folder / f"{key}.nc"
    path.write_bytes(key.encode())
    elpd = Elpd(kind="loo", pointwise=np.array([0.1, -1.0 / 3.0]), p=1.5, labels=pd.RangeIndex(2),
                weights=np.array([1.0, 2.0]), method="linear-response")  # fmt: skip
    record = Record(request=REQUEST, key=key, response="y", elpd=elpd, verdict="note", path=path)
    return Session(table=table, request=REQUEST, history=History((record,)))


def test_a_session_is_restored_with_fits_that_can_be_compared(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = made(file_table(Path("rows.csv"), "rows.csv"), tmp_path)
    folder = save_session(session, "saved")
    (tmp_path / "into").mkdir()
    monkeypatch.chdir("/")
    again = open_session(folder, None, tmp_path / "into")
    assert again.request == REQUEST and again.table.frame.equals(session.table.frame)
    (record,) = again.history.records
    assert record.path.read_bytes() == b"a" and record.path.parent == tmp_path / "into"
    assert (record.request, record.key, record.verdict) == (REQUEST, "a", "note")
    (before,) = session.history.records
    np.testing.assert_array_equal(record.elpd.pointwise, before.elpd.pointwise)
    assert record.elpd.labels.equals(before.elpd.labels)
    assert record.elpd.elpd == before.elpd.elpd
    save_session(made(session.table, tmp_path, "b"), folder)
    assert len(list(folder.iterdir())) == 2  # the fit of the older session went


def test_data_that_changed_are_a_sentence(rows, tmp_path):
    folder = save_session(made(file_table(rows, str(rows)), tmp_path), tmp_path / "saved")
    rows.write_text(rows.read_text().replace("4", "5"))
    with pytest.raises(DataError, match=r"rows.csv have changed since the session was saved"):
        open_session(folder, None, tmp_path)


def test_a_frame_is_given_again(rows, tmp_path):
    frame = pd.read_csv(rows)
    folder = save_session(made(open_table(frame), tmp_path), tmp_path / "saved")
    with pytest.raises(DataError, match="came from an upload, or from Python"):
        open_session(folder, None, tmp_path)
    assert open_session(folder, frame, tmp_path).request == REQUEST


def test_a_full_disk_is_a_sentence_and_the_older_session_stays(rows, tmp_path, monkeypatch):
    session = made(file_table(rows, str(rows)), tmp_path)
    folder = save_session(session, tmp_path / "saved")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(content, path):
        raise DataError(f"path={path} could not be written")

    monkeypatch.setattr(module, "write_whole", full)
    with pytest.raises(DataError, match="could not be written"):
        save_session(made(session.table, tmp_path, "b"), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_with_other_files_is_left_alone(rows, tmp_path):
    session = made(file_table(rows, str(rows)), tmp_path)
    for folder in (tmp_path, rows, rows / "below"):
        with pytest.raises(DataError, match=r"do not belong|cannot be made"):
            save_session(session, folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("data"),
        lambda content: content.update(request={"formula": "y ~ x", "exec": 1}),
        lambda content: content.update(fits=[{"file": "../../etc/passwd"}]),
        lambda content: content.update(format=99),
        lambda content: content.update(fits=3),
    ],
)
def test_a_file_that_is_no_session_is_an_error(rows, tmp_path, change):
    folder = save_session(made(file_table(rows, str(rows)), tmp_path), tmp_path / "saved")
    content = json.loads((folder / FILE).read_text())
    change(content)
    (folder / FILE).write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"session|request|another version"):
        open_session(folder, None, tmp_path)
