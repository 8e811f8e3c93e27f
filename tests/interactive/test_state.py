"""What a page says of the messages of its fits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesvb.evaluation.elpd import Elpd
from bayesvb.interactive.history import Record
from bayesvb.interactive.messages import (
    Control,
    Failed,
    Judged,
    Picture,
    Preview,
    Progress,
    Shown,
    Written,
)
from bayesvb.interactive.request import Request
from bayesvb.interactive.state import State
from bayesvb.interactive.tables import open_table
from bayesvb.interactive.tasks import FitTask

STATE = State(table=open_table(pd.DataFrame({"y": [1.0] * 3000, "x": [2.0] * 3000})))
QUICK = FitTask(
    request=Request(formula="y ~ x", options={"n_components": 2}), frame=STATE.table.frame
)
FULL = FitTask(request=QUICK.request, frame=QUICK.frame, path=Path("fit.nc"))
PICTURE = Picture(figure="", sentences=(), along="", covariates=())
SHOWN = Shown(picture=PICTURE, n_rows=2000, seconds=0.4, cpu=0.3, notes=())
JUDGED = Judged(verdict="ok", checks=(), remedies={}, sentences=(), panels=(), seconds=1.0)


@pytest.mark.parametrize(
    ("task", "messages", "status", "tone"),
    [
        (QUICK, [], "quick fit ...", "busy"),
        (QUICK, [SHOWN], "quick fit of 2,000 of 3,000 rows in 0.40 s; checking ...", "busy"),
        (QUICK, [SHOWN, JUDGED, None],
         "quick fit of 2,000 of 3,000 rows in 0.40 s, checked in 1.0 s", "idle"),
        (FULL, [SHOWN], "full fit of 2,000 of 3,000 rows (1,000 with missing values) in 0.40 s; "
         "checking ...", "busy"),
        (FULL, [Progress(restart=3, iteration=1400)],
         "fitting all rows: initialisation 3 of 8, iteration 1,400", "busy"),
        (FULL, [Failed(message="stopped", stopped=True), None], "stopped", "idle"),
        (FULL, [Failed(message="no rows", hint="give some"), None], "no rows (give some)",
         "failed"),
        (FULL, [None], "stopped", "idle"),
    ],
)  # fmt: skip
def test_the_status_says_what_is_done(task, messages, status, tone):
    state = STATE.begun(task)
    for message in messages:
        state = state.heard(task, message)
    assert (state.status, state.tone) == (status, tone)


@pytest.mark.parametrize("tone", ["failed", "done"])
def test_a_message_during_a_fit_stays_until_the_next_one(tone):
    state = STATE.begun(QUICK).saying("this is no table", tone)
    for message in (SHOWN, JUDGED, None):
        state = state.heard(QUICK, message)
    assert (state.status, state.tone) == ("this is no table", tone) and state.judged is JUDGED
    assert state.begun(QUICK).tone == "busy"


def test_checks_of_an_older_picture_are_called_stale():
    state = STATE.begun(QUICK).heard(QUICK, SHOWN).heard(QUICK, JUDGED)
    assert not state.is_stale and state.request == QUICK.request
    state = state.heard(FULL, SHOWN)
    assert state.is_stale and state.judged_task is QUICK


def control(name, high):
    return Control(name=name, label=name, kind="number", value="1", low="0", high=high, step="0.1")


def test_values_of_a_row_stay_while_their_controls_are_the_same():
    state = STATE.heard(QUICK, replace(SHOWN, controls=(control("x", "2"), control("z", "2"))))
    assert state.row == {"x": "1", "z": "1"}
    state = replace(state, row={"x": "1.5", "z": "1.5"})
    assert state.heard(FULL, replace(SHOWN, controls=state.controls)).controls is state.controls
    state = state.heard(QUICK, replace(SHOWN, controls=(control("x", "2"), control("z", "3"))))
    assert state.row == {"x": "1.5", "z": "1"}


def test_a_report_is_previewed_before_its_files_are_written():
    elpd = Elpd(kind="loo", pointwise=np.zeros(3000), p=1.0)
    record = Record(
        request=FULL.request, key="k", response="y", elpd=elpd, verdict="ok", path=FULL.path
    )
    state = STATE.heard(FULL, record).reported(Preview(path=FULL.path, html="<p>"))
    assert state.preview.html == "<p>" and not state.reports
    other = replace(record, key="other", path=Path("other.nc"))
    assert state.heard(FULL, other).preview is state.preview
    assert state.reported(Written(path=FULL.path)).reports == {FULL.path}
    assert state.reported(Failed(message="no space")).tone == "failed"
    removed = state.with_history(state.history.without("k"))
    assert removed.preview is None and removed.reported(state.preview).preview is None
