"""Units of columns: from the table to prints, plots and files, and never in the way."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.data.column_units import check_known, check_units, declared_units, measured
from bayesvb.errors import DataError
from bayesvb.reports.sections.finding import sentences

UNITS = {"x": "ms", "y": "g"}


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=60), "other": "a"})
    data["y"] = data["x"] + 0.1 * rng.normal(size=60)
    data.loc[3, "x"] = np.nan
    data.attrs["units"] = {**UNITS, "other": "kg", "absent": "m"}
    model = bvb.DensityRegression("y ~ x", data, n_components=1)
    return model.fit(seed=1, restarts=1, draws=50)


@pytest.mark.parametrize("told", [None, "ms", ["ms"], {"x": 3}, {"x": ""}, {"x": "m" * 61}, {1: 2}])
def test_attributes_that_are_no_units_are_passed_over(told):
    frame = pd.DataFrame({"x": [1.0]})
    frame.attrs["units"] = told
    assert declared_units(frame, ["x"]) == {}


def test_units_of_the_columns_that_are_read_stay_with_the_fit_and_its_file(fit, tmp_path):
    assert fit.model.design.units == UNITS
    assert bvb.load(fit.save(tmp_path / "fit.nc")).model.design.units == UNITS


def test_units_can_be_told_afterwards(fit):
    moved = fit.with_units({"x": "s"})
    assert moved.model.design.units == {"x": "s", "y": "g"}
    assert fit.model.design.units == UNITS
    pd.testing.assert_frame_equal(moved.summary(), fit.summary())


@pytest.mark.parametrize("told", [None, "ms", {"z": "ms"}, {"x": 3}, {"x": ""}, {"x": "m" * 61}])
def test_units_of_nothing_are_an_error(fit, told):
    with pytest.raises(DataError, match="units"):
        fit.with_units(told)


def test_units_of_columns_that_there_are_pass():
    check_units("units", UNITS)
    check_known(UNITS, ["x", "y", "z"])


def test_the_sentence_and_the_axes_have_them(fit):
    matplotlib.use("Agg")
    (told,) = sentences(fit)
    assert told.startswith("From x = ") and "\u202fms the mean" in told
    assert "\u202fg (89% interval " in told
    axes = bvb.plots.quantiles(fit, "x")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x (ms)", "y (g)")
    matplotlib.pyplot.close("all")


def test_expressions_have_no_unit(fit):
    label = fit.with_units(UNITS).model.design.label
    assert label("log(y)") == "log(y)" and measured("3", "log(y)", UNITS) == "3"
    assert label("y") == "y (g)" and measured("3", "y", UNITS) == "3\u202fg"


def test_shipped_data_have_those_of_the_catalogue():
    assert bvb.datasets.load("mcycle").attrs["units"] == {"times": "ms", "accel": "g"}
    assert "label" not in bvb.datasets.load("iris").attrs["units"]
