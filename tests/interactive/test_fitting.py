"""Quick and full fits of a request, in this process."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.estimators import MODELS
from bayesvb.interactive.fitting import failed, work
from bayesvb.interactive.messages import Along, Failed, Judged, Progress, Shown, WhatIf
from bayesvb.interactive.request import Request
from bayesvb.interactive.tables import open_table
from bayesvb.interactive.tasks import QUICK_ROWS, FitTask

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame({"x": RNG.uniform(size=40), "z": RNG.uniform(size=40)})
FRAME["y"] = 2 * FRAME["x"] + RNG.normal(size=40)


def messages(questions=(), **options):
    told = []
    task = FitTask(request=Request(formula="y ~ x + z"), **options)
    return list(work(task, told.append, iter(questions))), told


def test_a_quick_fit_shows_a_picture_then_checks_of_the_fit_only():
    questions = (Along(along="z"), WhatIf(values={"x": "many"}), WhatIf(values={"x": "0.5"}))
    (shown, judged, *answers), told = messages(questions, frame=FRAME)
    along, refused, predicted = answers
    assert along.along == "z" and along.figure != shown.picture.figure
    assert isinstance(refused, Failed) and "'many' is not a number" in refused.message
    assert predicted.values == {"x": "0.5"}
    assert isinstance(shown, Shown) and isinstance(judged, Judged) and told == []
    assert shown.picture.along == "x"
    assert shown.picture.covariates == ("x", "z")
    assert "y" in shown.picture.sentences[0] and "<svg" in shown.picture.figure
    assert {check.group for check in judged.checks} == {"fit"}


ALL = {
    "BayesianPCA": "~ x + y + z",
    "ConditionalMixtureNetwork": "y ~ x + z",
    "DensityRegression": "y ~ x + z | gating(x)",
    "GaussianMixture": "~ x + y + z",
    "Normal": "y ~ 1",
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas])
@pytest.mark.quick(convert=(pd.DataFrame,))
def test_every_model_has_a_picture_checks_and_lines_that_can_be_read(model, convert):
    request = Request(formula=ALL[model], model=model, order="x")
    task = FitTask(request=request, frame=open_table(convert(FRAME)).frame)
    shown, judged = work(task, print, iter(()))
    assert "<svg" in shown.picture.figure and shown.picture.sentences and judged.checks
    for remedy in [one for offered in judged.remedies.values() for one in offered]:
        assert Request.from_line(remedy.request.python("data = None")) == remedy.request


def test_checks_follow_the_column_that_orders_the_rows():
    rows = FRAME.assign(y=np.cumsum(FRAME["y"] - 1.0), t=np.arange(40)).sample(40, random_state=1)
    grades = {}
    for order in ("", "t"):
        request = Request(formula="y ~ z", options={"n_components": 1}, order=order)
        _, judged = work(FitTask(request=request, frame=rows), print, iter(()))
        grades[order] = {check.name: check.grade for check in judged.checks}["Serial correlation"]
    assert grades == {"": "ok", "t": "problem"}
    with pytest.raises(DataError, match="order='day'"):
        list(work(FitTask(request=replace(request, order="day"), frame=rows), print, iter(())))


def test_a_quick_fit_is_of_a_sample_of_the_rows():
    rows = pd.concat([FRAME] * 60, ignore_index=True)
    task = FitTask(request=Request(formula="y ~ x"), frame=rows)
    assert next(work(task, print, iter(()))).n_rows == QUICK_ROWS


@pytest.mark.heavy
def test_a_full_fit_is_what_the_printed_lines_make(tmp_path):
    path = tmp_path / "fit.nc"
    (shown, record, judged), told = messages(frame=FRAME, path=path)
    assert all(isinstance(one, Progress) for one in told)
    assert shown.n_rows == len(FRAME)
    scope = {"data": FRAME}
    exec(Request(formula="y ~ x + z").python("data = data"), scope)
    assert record.path == path and record.verdict == judged.verdict
    assert bvb.load(path).elbo == scope["fit"].elbo
    assert judged.verdict == scope["fit"].check().attrs["verdict"]


@pytest.mark.heavy
def test_a_saved_fit_is_shown_again_and_a_full_disk_loses_no_picture(tmp_path, monkeypatch):
    (first, record, _), _ = messages(frame=FRAME, path=tmp_path / "fit.nc")
    (again, same, _), told = messages(frame=FRAME, path=tmp_path / "fit.nc")
    assert again.picture == first.picture and told == []
    assert (same.key, same.elpd.elpd) == (record.key, record.elpd.elpd)

    def full(fit, path):
        raise DataError("no space left on device")

    monkeypatch.setattr(bvb.Fit, "save", full)
    (shown, refused, judged), _ = messages(frame=FRAME, path=tmp_path / "other.nc")
    assert shown.picture == first.picture and judged.checks
    assert refused == Failed(message="no space left on device")


def test_errors_are_sentences():
    told = failed(DataError("no rows", hint="give some"))
    assert (told.message, told.hint, told.stopped) == ("no rows", "give some", False)
    assert failed(ZeroDivisionError("by zero")).message == "ZeroDivisionError: by zero"
