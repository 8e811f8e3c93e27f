"""What stands in the controls is a row of data."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.interactive.covariate_controls import covariate_controls, row_of

RNG = np.random.default_rng(1)
ROWS = pd.DataFrame(
    {
        "y": RNG.normal(size=40),
        "x": RNG.uniform(-3.0, 5.0, size=40),
        "n": RNG.integers(0, 400, size=40),
        "cylinders": RNG.choice([4, 6, 8], size=40),
        "site": RNG.choice(["a", "b"], size=40),
        "g": RNG.choice(list("uvw"), size=40),
        "day": pd.date_range("2020-01-01", periods=40),
    }
)
FORMULA = "y ~ x + n + cylinders + site + day + (1 | g)"


@pytest.fixture(scope="module")
def fit():
    model = bvb.DensityRegression(FORMULA, ROWS, n_components=1)
    return model.fit(seed=1, draws=25)


def test_kinds_and_ranges_of_controls(fit):
    controls = {control.name: control for control in covariate_controls(fit)}
    assert {name: one.kind for name, one in controls.items()} == {
        "x": "number", "n": "number", "cylinders": "level", "site": "level", "day": "date",
        "g": "level",
    }  # fmt: skip
    assert controls["cylinders"].levels == ("4", "6", "8")
    assert controls["g"].levels == ("w", "u", "v", "new group")
    assert (controls["day"].low, controls["day"].high) == ("2020-01-01", "2020-02-09")
    assert (controls["x"].step, controls["n"].step) == ("0.01", "1")
    low, high = float(controls["x"].low), float(controls["x"].high)
    assert low <= ROWS["x"].min() < low + 0.01 and high - 0.01 < ROWS["x"].max() <= high


def test_every_control_makes_a_row_that_is_predicted(fit):
    values = {control.name: control.value for control in covariate_controls(fit)}
    row = row_of(fit, values | {"cylinders": "8", "day": "2020-01-11"})
    assert row["cylinders"].tolist() == [8] and row["day"].tolist() == [10.0]
    given = pd.DataFrame({**row.to_dict("list"), "day": pd.Timestamp("2020-01-11")})
    np.testing.assert_allclose(fit.predict(row), fit.predict(given))
    assert row_of(fit, {})["site"].tolist() == [values["site"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [("x", "many"), ("x", "inf"), ("x", ""), ("site", "c"), ("day", "tomorrow"), ("g", "U")],
)
def test_what_is_no_value_is_an_error(fit, name, text):
    with pytest.raises(DataError, match=text or "x=''"):
        row_of(fit, {name: text})
