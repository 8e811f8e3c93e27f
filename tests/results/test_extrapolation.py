"""Warnings of predictions beyond the data of the fit."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import ExtrapolationWarning
from bayesvb.results.extrapolation import warn_beyond

ROWS = pd.DataFrame({
    "x": 10.0 * np.linspace(0.0, 1.0, 30) ** 2, "z": np.tile([1.0, 2.0, 4.0], 10),
    "when": pd.date_range("2024-01-01", periods=30), "g": list("ab") * 15,
    "y": np.sin(np.arange(30.0)),
})  # fmt: skip


@pytest.fixture(scope="module")
def fit():
    return bvb.DensityRegression("y ~ x + z + when + g", ROWS, n_components=1).fit(seed=1)


def test_the_warning_has_share_column_and_range(fit):
    new = ROWS.head(4).assign(x=[1.0, 2.0, 12.1, -3.0])
    with pytest.warns(ExtrapolationWarning, match=r"2 of 4 rows \(50%\).*`x` \(0 to 10\)"):
        fit.predict(new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.predict(new, extrapolation="keep")
        fit.predict()
        fit.predict(new.assign(x=[1.0, np.nan, 11.9, -1.9]), missing="keep")
        bvb.effects.predictions(fit, {"x": [50.0]})


def test_dates_are_read_as_the_fit_read_them(fit):
    new = ROWS.head(2).assign(when=["2024-01-02", "2025-01-02"])
    with pytest.warns(ExtrapolationWarning, match=r"`when` \(2024-01-01.* to 2024-01-30"):
        fit.predict(new)


def test_one_warning_for_all_columns(fit):
    with pytest.warns(ExtrapolationWarning) as caught:
        fit.predict(ROWS.head(3).assign(x=99.0, z=99.0))
    assert len(caught) == 1 and "`z` (1 to 4)" in str(caught[0].message)


def test_a_mistaken_policy_is_named(fit):
    with pytest.raises(ValueError, match="extrapolation='no'"):
        fit.predict(ROWS.head(1), extrapolation="no")


def warns(design, data) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_beyond(design, data)
    return bool(caught)


@pytest.mark.parametrize("n_new", [1, 10, 100])
def test_new_rows_like_the_old_ones_seldom_have_a_warning(n_new):
    rng, rate, names = np.random.default_rng(500 + n_new), [], list("yabcde")
    for _ in range(4):
        data = pd.DataFrame(rng.standard_normal((100, 6)), columns=names)
        design = bvb.DensityRegression("y ~ .", data, n_components=1).design
        new = [pd.DataFrame(rng.standard_normal((n_new, 6)), columns=names) for _ in range(50)]
        rate += [warns(design, one) for one in new]
    assert np.mean(rate) <= 0.03
