"""A long fit is announced after its first passes, and a short one is not."""

import warnings

import numpy as np
import pytest

import bayesvb as bvb
from bayesvb.errors import LongFitWarning
from bayesvb.estimators import time_estimate
from bayesvb.estimators.time_estimate import FirstPasses


def watched(each, *, share=1.0, told=None, reports=((0, 1), (0, 2), (0, 3), (1, 1))):
    """Reports of a fit whose passes take so many seconds."""
    times = iter(np.arange(len(reports)) * each)
    watch = FirstPasses(8, share, told, clock=lambda: float(next(times)))
    for run, passes in reports:
        watch(run, passes, -1.0)


def test_a_long_fit_is_announced_once():
    with pytest.warns(LongFitWarning, match="takes 1 s: this fit .* 13 minutes") as said:
        watched(1.0)
    assert len(said) == 1


def test_all_rows_count_where_restarts_see_a_sample():
    reports = [(0, passes) for passes in range(1, 200)]
    with pytest.warns(LongFitWarning, match="about 28 s"):
        watched(0.01, share=20.0, reports=reports)


def test_restarts_that_are_done_tell_how_many_passes_there_are():
    reports = [*((0, 1 + k) for k in range(50)), *((1, 1 + k) for k in range(60))]
    with pytest.warns(LongFitWarning, match="8 restarts of about 50 iterations"):
        watched(1.0 / 99.5, share=200.0, reports=reports)


def test_restarts_side_by_side_tell_nothing_of_their_number_of_passes():
    """Of each a few passes are made when the first is looked at."""
    reports = [(run, 1 + k) for k in range(6) for run in (0, 1)]
    with pytest.warns(LongFitWarning, match="about 2 minutes .8 restarts of about 100 iterations"):
        watched(0.15, reports=reports)


def test_passes_that_weigh_restarts_count(monkeypatch):
    monkeypatch.setattr(time_estimate, "LONG", 0.0)
    monkeypatch.setattr(time_estimate, "WATCHED", 0.0)
    x = np.linspace(-1, 1, 60)
    data = {"x": x, "label": np.where(np.sin(5 * x) > 0, "a", "b")}
    model = bvb.ConditionalMixtureNetwork("label ~ x", data, n_experts=2)
    with pytest.warns(
        LongFitWarning, match="2 restarts of about .* iterations, 600 for their weights"
    ):
        model.fit(seed=1, restarts=2, draws=50)


def test_a_short_fit_is_not():
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watched(0.01, told=lambda *report: seen.append(report))
        watched(0.01, reports=[(0, 1 + k) for k in range(300)])
    assert seen[:2] == [(0, 1, -1.0), (0, 2, -1.0)]


def test_fits_are_watched(monkeypatch):
    monkeypatch.setattr(time_estimate, "LONG", 0.0)
    monkeypatch.setattr(time_estimate, "WATCHED", 0.0)
    model = bvb.DensityRegression(
        "waiting ~ eruptions", bvb.datasets.load("faithful"), n_components=2
    )
    with pytest.warns(LongFitWarning) as said:
        model.fit(seed=1, restarts=1, covariance="mean-field")
    assert any("Ctrl-C" in str(one.message) for one in said)
