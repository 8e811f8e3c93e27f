"""Recalibration where rows come in groups: by groups left out whole, judged on new groups."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.results import calibration
from bayesvb.results.limits import LIMITS
from bayesvb.results.pit import without_groups

SURE = bvb.Priors(noise_shape=2000.0, noise_rate=60.0)
"""Makes intervals far too narrow: noise of 0.17 sd of the response, believed more than data."""


def visits(n_groups, seed):
    """Subjects on two lines with three to seven visits each, rows in no order."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), rng.integers(3, 8, n_groups))
    t, first = rng.uniform(0.0, 4.0, len(group)), rng.random(n_groups) < 0.5
    y = np.where(first[group], 1.0 + 0.3 * t, 2.5 - 0.6 * t) + 0.5 * rng.normal(size=len(t))
    frame = pd.DataFrame({"id": [f"s{g}" for g in group], "t": t, "y": y, "w": 1.0 + group % 2})
    return frame.sample(frac=1.0, random_state=1).reset_index(drop=True)


def fit_of(data, **options):
    given = {"n_components": 2, "group": "id", **options}
    model = bvb.DensityRegression("y ~ t | gating(1)", data, **given)
    return model.fit(seed=1, restarts=2, draws=50, tol=1e-10)


DATA, NEW = visits(60, seed=1), visits(600, seed=2)


@pytest.fixture(scope="module")
def right():
    return fit_of(DATA)


def coverage(fit, **options):
    ends = fit.predict(NEW, "interval", prob=0.8, **options)
    return NEW["y"].between(ends["lower"], ends["upper"]).mean()


def test_values_are_those_of_fits_without_the_group(right):
    groups = np.array([3, 17])
    found, start = without_groups(right, groups)[0][0], 0
    for number in groups:
        own = DATA["id"] == right.model.grouping.labels[number]
        rows = DATA[own]
        told = fit_of(DATA[~own]).predict(rows, "cdf", at=rows["y"]).to_numpy().ravel()
        seen = right.predict(rows, "cdf", at=rows["y"]).to_numpy().ravel()
        assert_allclose(found[start : start + len(rows)], told, atol=1e-3)
        assert np.abs(seen - told).max() > 2e-3  # it does make a difference
        start += len(rows)


@pytest.mark.heavy
def test_right_predictions_of_new_subjects_stay(right):
    even = np.linspace(0.02, 0.98, 49)
    assert_allclose(right.recalibrations[0].cdf(even), even, atol=0.07)
    assert coverage(right) == pytest.approx(0.8, abs=0.03)
    assert coverage(right, recalibrate=True) == pytest.approx(0.8, abs=0.03)


def test_intervals_that_are_too_narrow_cover_new_subjects_afterwards():
    narrow = fit_of(DATA, priors=SURE)
    assert coverage(narrow) < 0.65
    assert coverage(narrow, recalibrate=True) == pytest.approx(0.8, abs=0.04)


@pytest.mark.heavy
def test_groups_of_one_row_are_rows_left_out():
    alone = DATA.drop_duplicates("id")
    options = {"n_components": 1, "priors": bvb.Priors(coefficient_units="noise")}
    grouped, rows = (fit_of(alone, group=group, **options) for group in ("id", None))
    found = without_groups(grouped, np.arange(60))[0][0]
    assert_allclose(found, rows.pit(), atol=2e-3)


@pytest.mark.heavy
def test_rows_have_the_weight_of_their_group():
    weighted = fit_of(DATA, weights=DATA["w"].to_numpy(), n_components=1)
    order = weighted.model.grouping.order
    assert_allclose(without_groups(weighted, np.arange(60))[1], DATA["w"].to_numpy()[order])


def test_of_very_many_groups_a_choice_is_left_out(right, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "quick_subsample", 10)
    chosen = []

    def noted(fit, groups):
        chosen.append(groups)
        return without_groups(fit, groups)

    monkeypatch.setattr(calibration, "without_groups", noted)
    for _ in range(2):
        calibration.recalibrations(right)
    assert len(np.unique(chosen[0])) == 10 and (np.diff(chosen[0]) > 0).all()
    assert (chosen[0] == chosen[1]).all()


@pytest.mark.heavy
def test_what_has_no_posterior_without_a_group_is_refused(right):
    model = bvb.DensityRegression("y ~ t | gating(1)", DATA, n_components=2, group="id")
    other = model.fit("svi", seed=1, restarts=1, max_iter=20)
    with pytest.raises(DataError, match="recalibrate=True needs the posterior without each group"):
        other.predict(kind="interval", recalibrate=True)
    with pytest.raises(DataError, match="not available for kind='mean'"):
        right.predict(recalibrate=True)
    with pytest.raises(DataError, match="group='id'"):
        right.predict(kind="interval", recalibrate="jackknife+")
