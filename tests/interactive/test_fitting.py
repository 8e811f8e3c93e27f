"""Quick and full fits of a request, in this process."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.interactive.fitting import QUICK_ROWS, FitTask, Judged, Progress, Shown, failed
from bayesvb.interactive.request import Request

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame({"x": RNG.uniform(size=40), "z": RNG.uniform(size=40)})
FRAME["y"] = 2 * FRAME["x"] + RNG.normal(size=40)


def messages(**options):
    told = []
    task = FitTask(request=Request(formula="y ~ x + z"), **options)
    return list(task.messages(told.append)), told


def test_a_quick_fit_shows_a_picture_then_checks_of_the_fit_only():
    (shown, judged), told = messages(frame=FRAME)
    assert isinstance(shown, Shown) and isinstance(judged, Judged) and told == []
    assert shown.picture.along == "x"
    assert shown.picture.covariates == ("x", "z")
    assert "y" in shown.picture.sentences[0] and shown.picture.figure["drawing"]
    assert {check.group for check in judged.checks} == {"fit"}


def test_a_quick_fit_is_of_a_sample_of_the_rows():
    rows = pd.concat([FRAME] * 60, ignore_index=True)
    task = FitTask(request=Request(formula="y ~ x"), frame=rows)
    assert next(task.messages(print)).n_rows == QUICK_ROWS


@pytest.mark.heavy
def test_a_full_fit_is_what_the_printed_lines_make(tmp_path):
    (shown, judged), told = messages(frame=FRAME, path=tmp_path / "fit.nc")
    assert all(isinstance(one, Progress) for one in told)
    assert shown.n_rows == len(FRAME)
    scope = {"data": FRAME}
    exec(Request(formula="y ~ x + z").python("data = data"), scope)
    saved = bvb.load(tmp_path / "fit.nc")
    assert saved.elbo == scope["fit"].elbo
    assert judged.verdict == scope["fit"].check().attrs["verdict"]


def test_errors_are_sentences():
    told = failed(DataError("no rows", hint="give some"))
    assert (told.message, told.hint, told.stopped) == ("no rows", "give some", False)
    assert failed(ZeroDivisionError("by zero")).message == "ZeroDivisionError: by zero"
