"""Intervals from the fits without each row."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.results.leave_one_out import Fitted
from bayesvb.results.limits import LIMITS
from bayesvb.sensitivity.deletion import Deletion

FIXED = bvb.Priors(scales="fixed")
"""Without learned scales one component loses its rows exactly, not to first order."""


def lines(n, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": 50.0 + 20.0 * x + 30.0 * rng.gamma(1.0, 1.0, n)})


def fit_of(data, formula="y ~ x", **options):
    model = bvb.DensityRegression(formula, data, **{"n_components": 1, **options})
    return model.fit(seed=1, restarts=1, draws=50)


def interval(fit, new, prob=0.8, **options):
    return fit.predict(new, "interval", prob=prob, recalibrate="jackknife+", **options).to_numpy()


@pytest.fixture(scope="module")
def fit():
    return fit_of(lines(29), priors=FIXED)


def test_its_ends_are_order_statistics_of_what_the_fits_without_each_row_say(fit):
    """One component: the statistics without a row are those of the others, exactly."""
    model, core, new = fit.model, fit.core, lines(3, seed=5)
    unit, centre = model.scales.response.scale[0], model.scales.response.centre[0]
    deletion = Deletion.of(core, model.source, fit.stats, Fitted.of(fit).streams.rng("rows"))
    points = np.empty((29, 3))
    for n in range(29):
        row = model.source.take(np.array([n]))
        q = core.update(fit.stats.with_vector(fit.stats.to_vector() - deletion.of_rows(row)[0]))
        share = core.predictive(q, row).cdf(row.response[0])[0]
        there = core.predictive(q, model.block(model.rows(new)))
        for m in range(3):
            points[n, m] = brentq(lambda y, m=m: there.cdf(np.full(3, y))[m] - share, -20, 20)  # noqa: B023
    points = np.sort(points, axis=0) * unit + centre  # 30 times 0.1 is 3
    assert_allclose(interval(fit, new), np.stack([points[2], points[-3]], axis=1), rtol=1e-6)


def test_too_few_rows_give_no_end(fit):
    ends = interval(fit, lines(2, seed=5), prob=0.95)
    assert_array_equal(ends, [[-np.inf, np.inf]] * 2)


def test_units_change_nothing(fit):
    data, new = lines(29), lines(4, seed=5)
    other = fit_of(data.assign(y=3.0 - 0.01 * data["y"]), priors=FIXED)
    assert_allclose(3.0 - 0.01 * interval(fit, new), interval(other, new)[:, ::-1], rtol=1e-6)


def test_a_weight_of_two_is_a_row_twice():
    data, new = lines(30), lines(4, seed=5)
    data["w"] = np.tile([1.0, 2.0], 15)
    twice = data.loc[data.index.repeat(data["w"].astype(int))]
    weighted, repeated = fit_of(data, weights="w", priors=FIXED), fit_of(twice, priors=FIXED)
    assert_allclose(interval(weighted, new), interval(repeated, new), rtol=1e-6)


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.quick(components=(1,))
def test_it_covers_new_rows_whatever_the_noise(components):
    new = lines(250, seed=2)
    ends = interval(fit_of(lines(100), n_components=components), new)
    inside = (ends[:, 0] <= new["y"]) & (new["y"] <= ends[:, 1])
    assert 0.7 < inside.mean() < 0.9


def test_a_choice_of_many_rows_will_do(fit, monkeypatch):
    whole = interval(fit, lines(4, seed=5), prob=0.7)
    monkeypatch.setitem(vars(LIMITS), "refitted_rows", 20)
    some = interval(fit, lines(4, seed=5), prob=0.7)
    assert np.isfinite(some).all() and not np.allclose(some, whole)
    assert_array_equal(some, interval(fit, lines(4, seed=5), prob=0.7))


@pytest.mark.filterwarnings("ignore:1 of 2 rows lack a value")
def test_a_missing_value_stays_missing_and_no_rows_are_none(fit):
    ends = interval(fit, pd.DataFrame({"x": [0.0, np.nan]}))
    assert np.isnan(ends).all(axis=1).tolist() == [False, True]
    assert interval(fit, pd.DataFrame({"x": []}, dtype=float)).shape == (0, 2)


def test_what_is_not_to_be_had_is_said(fit, class_fit):
    with pytest.raises(DataError, match=r"is for kind='interval', not for kind='quantile'"):
        fit.predict(kind="quantile", recalibrate="jackknife+")
    with pytest.raises(DataError, match="does not use q"):
        fit.predict(kind="interval", q=0.5, recalibrate="jackknife+")
    with pytest.raises(DataError, match="has classes"):
        class_fit.predict(kind="interval", recalibrate="jackknife+")
    with pytest.raises(DataError, match=r"response='z' is not"):
        fit.predict(kind="interval", response="z", recalibrate="jackknife+")
    normal = bvb.Normal("y ~ 1", lines(20)).fit(seed=1)
    with pytest.raises(
        DataError, match=r"needs the posterior without each row.*\nhint: choose recalib"
    ):
        normal.predict(kind="interval", recalibrate="jackknife+")
