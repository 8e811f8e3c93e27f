"""Sessions that save themselves: the newest of the same data is offered."""

from dataclasses import replace

import pandas as pd
import pytest

from bayesvb.errors import DataError
from bayesvb.interactive import autosave as module
from bayesvb.interactive.autosave import autosave, new_folder, newest_session, sessions_folder
from bayesvb.interactive.request import Request
from bayesvb.interactive.session import new_session
from bayesvb.interactive.tables import python_table

TABLE = python_table(pd.DataFrame({"y": [1.0, 2.0, 4.0], "x": [0.0, 1.0, 2.0]}))
SESSION = new_session(TABLE)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def saved(formula, time="20260101T000000", table=TABLE):
    name = new_folder(table).name.split("-")
    folder = sessions_folder() / f"{name[0]}-{time}-{name[2]}"
    autosave(replace(SESSION, table=table, request=Request(formula=formula)), folder)
    return folder


def test_the_newest_session_of_the_same_rows_is_offered():
    assert newest_session(TABLE) is None
    saved("y ~ 1", "20260101T000000")
    newest = saved("y ~ s(", "20260102T120000")
    other = python_table(TABLE.frame.assign(x=[0.0, 1.0, 3.0]))
    saved("y ~ 0", "20260103T000000", other)
    offer = newest_session(TABLE)
    assert (offer.folder, offer.formula, offer.n_fits) == (newest, "y ~ s(", 0)
    assert f"{offer.time:%d %H:%M}" == "02 12:00"
    assert newest_session(python_table(TABLE.frame.iloc[:2])) is None


def test_a_session_without_a_change_and_a_damaged_one_are_not_offered():
    autosave(SESSION, new_folder(TABLE))
    assert newest_session(TABLE) is None
    earlier = saved("y ~ 1", "20260101T000000")
    damaged = saved("y ~ s(x)", "20270101T000000")
    (damaged / "session.json").write_text("{")
    assert newest_session(TABLE).folder == earlier


def test_only_the_newest_sessions_are_kept_and_other_folders_stay(monkeypatch):
    monkeypatch.setattr(module, "MOST", 2)
    (sessions_folder() / "mine").mkdir(parents=True)
    oldest, *kept = [saved("y ~ 1", f"2026010{day}T000000") for day in (1, 2, 3)]
    assert not oldest.exists() and all(folder.exists() for folder in kept)
    assert (sessions_folder() / "mine").exists()
    assert sessions_folder().stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(DataError, match="cannot be made"):
        autosave(SESSION, new_folder(TABLE))
