"""Values of covariates in tables of effects are as the data have them: dates, whole numbers."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb import effects
from bayesvb.errors import DataError


@pytest.fixture(scope="module")
def dated():
    rng = np.random.default_rng(1)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60), unit="D")
    rows = pd.DataFrame({"day": day, "wait": day - day[0], "shop": np.arange(60) // 6 + 123_456})
    rows["y"] = np.arange(60.0) % 7 + np.arange(60) + rng.normal(size=60)
    model = bvb.DensityRegression("y ~ day + (1 | shop) | 1", rows, n_components=1)
    return model.fit(seed=1, restarts=1, draws=50)


def test_dates_come_back_as_dates(dated):
    asked = effects.predictions(dated, {"day": ["2020-01-11", "2020-02-10"]})
    assert asked.summary["day"].tolist() == [pd.Timestamp("2020-01-11"), pd.Timestamp("2020-02-10")]
    assert "2020-02-10" in str(asked)
    curve = effects.predictions(dated, "day").summary["day"]
    assert (curve.iloc[0], curve.iloc[-1]) == (
        pd.Timestamp("2020-01-01"),
        pd.Timestamp("2020-02-29"),
    )
    held = effects.predictions(dated, "shop")
    assert held.held["day"] == pd.Timestamp("2020-01-30 12:00")
    assert "day = 2020-01-30 12:00" in str(held)
    assert effects.slopes(dated, "day").summary["day"].iloc[3] == pd.Timestamp("2020-01-04")


def test_contrasts_of_dates_are_told_as_dates(dated):
    found = effects.comparisons(dated, {"day": ["2020-01-11", "2020-02-10"]}, {})
    assert found.summary["contrast"].tolist() == ["2020-02-10 - 2020-01-11"]
    usual = effects.comparisons(dated, "day", {})
    assert usual.summary["contrast"].tolist() == ["2020-01-31 - 2020-01-30"]
    with pytest.raises(DataError, match="'spring' is not a value of `day`, which holds dates"):
        effects.predictions(dated, {"day": "spring"})


def test_dates_along_an_axis_are_dates(dated):
    axes = effects.predictions(dated, "day").plot()
    axes.figure.canvas.draw()
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert "Feb" in ticks


def test_durations_come_back_as_durations(dated):
    fit = bvb.DensityRegression(
        "y ~ wait",
        dated.model.design.frame.assign(wait=pd.to_timedelta(np.arange(60), unit="D")),
        n_components=1,
    ).fit(seed=1, restarts=1)
    curve = effects.predictions(fit, "wait")
    assert curve.summary["wait"].iloc[-1] == pd.Timedelta(days=59)
    curve.plot()


def test_whole_numbers_stay_whole(dated):
    table = effects.predictions(dated, "shop")
    assert table.summary["shop"].tolist() == list(range(123_456, 123_466))
    assert "123456" in str(table)
    asked = effects.comparisons(dated, {"shop": [123_456, 123_460]}, {})
    assert asked.summary["contrast"].tolist() == ["123460 - 123456"]
    half = bvb.DensityRegression("y ~ shop", dated.model.design.frame, n_components=1)
    fit = half.fit(seed=1, restarts=1, draws=50)
    between = effects.predictions(fit, {"shop": [123_456, 123_456.5]}).summary["shop"]
    assert between.tolist() == [123_456.0, 123_456.5]
    assert "e+05" not in str(effects.predictions(fit, {"shop": [123_456, 123_456.5]}))
