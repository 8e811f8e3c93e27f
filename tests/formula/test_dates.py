"""Dates in formulas are days since the first one, of the same day for new data."""

import datetime

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula

DAYS = pd.Series(pd.date_range("2024-03-01", periods=30, freq="36h"))
Y = np.sin(np.arange(30.0))


def design_of(column, formula="y ~ when"):
    return build_design(parse_formula(formula), pd.DataFrame({"y": Y, "when": column}))


@pytest.mark.parametrize(
    "column",
    [
        DAYS,
        DAYS.dt.tz_localize("Europe/Vienna"),
        DAYS.astype("datetime64[s]"),
        DAYS.astype(object),
        pd.Series([one.to_pydatetime() for one in DAYS], dtype=object),
    ],
)
def test_dates_are_days_since_the_first(column):
    design = design_of(column)
    assert np.allclose(design.matrices["mean"][:, 1], 1.5 * np.arange(30), atol=0.05)  # summer time
    assert design.dates["when"].startswith("days since 2024-0")


def test_durations_and_months_have_units_too():
    spans = design_of(pd.Series(pd.to_timedelta(np.arange(30) * 12, unit="h")))
    assert spans.dates == {"when": "days"}
    assert np.allclose(spans.matrices["mean"][:, 1], 0.5 * np.arange(30))
    months = design_of(pd.Series(pd.period_range("2024-01", periods=30, freq="M")))
    assert months.matrices["mean"][1, 1] == 31.0
    dates = design_of(pd.Series([datetime.date(2024, 1, 1 + k) for k in range(30)]))
    assert dates.dates == {"when": "days since 2024-01-01"}


def test_new_dates_are_counted_from_the_same_day():
    design = design_of(DAYS)
    later = pd.DataFrame({"when": [pd.Timestamp("2024-03-11")]})
    assert design.new(later).matrices["mean"][0, 1] == 10.0
    assert design.new({"when": [10.0]}).matrices["mean"][0, 1] == 10.0


def test_the_origin_is_that_of_the_rows_used():
    data = pd.DataFrame({"y": [np.nan, *Y[1:]], "when": DAYS})
    design = build_design(parse_formula("y ~ when"), data)
    assert design.matrices["mean"][0, 1] == 0.0
    assert design.dates == {"when": "days since 2024-03-02 12:00:00"}


def test_what_was_given_makes_the_same_design_again():
    design = design_of(DAYS + pd.Timedelta("1us"), "y ~ bs(when, df=4)")
    again = build_design(parse_formula("y ~ bs(when, df=4)"), design.given)
    assert (again.matrices["mean"] == design.matrices["mean"]).all()
    assert (design.given["when"] == DAYS + pd.Timedelta("1us")).all()


def test_a_fit_says_the_unit_and_comes_back(tmp_path):
    model = bvb.DensityRegression("y ~ when", {"y": Y, "when": DAYS}, n_components=1)
    fit = model.fit(seed=1, restarts=1)
    assert "Dates:     when in days since 2024-03-01" in str(fit)
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    new = pd.DataFrame({"when": pd.to_datetime(["2024-04-01"])})
    assert again.predict(new)[0] == fit.predict(new)[0]
    assert again.elbo == fit.elbo


def test_times_of_day_are_no_dates():
    with pytest.raises(DataError, match="`when`"):
        design_of(pd.Series([datetime.time(k % 24) for k in range(30)]))


def test_text_of_iso_8601_stands_for_the_dates_of_the_fit():
    found = design_of(DAYS).new({"when": ["2024-03-11", "2024-03-01 12:00"]})
    assert found.matrices["mean"][:, 1].tolist() == [10.0, 0.5]
