"""What is said of a fit within seconds: rows left out, or a stated choice of rows or draws."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.errors import ConvergenceWarning
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.reports.sections import calibration
from bayesvb.results import leave_one_out as folds_left_out
from bayesvb.results import subsampling
from bayesvb.results.checks.table import checks
from bayesvb.results.limits import LIMITS
from bayesvb.results.stacking import stacked
from bayesvb.results.subsampling import criteria_at, left_out_by_draws, pits_at


@pytest.fixture(scope="module")
def two_restarts(regimes):
    model = bvb.ConditionalMixtureNetwork("y ~ x + z | gating(x)", regimes, n_experts=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(seed=1, draws=500, restarts=2, combine="average", max_iter=100)


@pytest.fixture
def beyond_budget(two_restarts, monkeypatch):
    """A fit whose folds would take too long, and that must not make them."""
    monkeypatch.setitem(vars(LIMITS), "fold_work", 10.0)
    monkeypatch.setattr("bayesvb.results.leave_one_out.without_folds", None)
    fresh = [replace(m, fit=replace(m.fit, held_out=None)) for m in two_restarts.members]
    return stacked(fresh)


@pytest.mark.heavy
def test_rows_that_would_be_left_out_for_long_are_judged_as_seen_and_said_so(
    two_restarts, beyond_budget
):
    at = np.arange(0, 150, 7)
    law = two_restarts.predictive(two_restarts.model.design.data_at(at))
    seen = law.cdf(two_restarts.model.design.response[at, 0])
    assert_allclose(pits_at(beyond_budget, at)[0], seen)
    page = calibration.summary(beyond_budget)
    assert page is not None and page["left_out"] == ""
    assert len(checks(beyond_budget)) > 3


def test_rows_are_left_out_where_that_is_affordable_or_has_been_done(two_restarts, monkeypatch):
    fresh = stacked([replace(m, fit=replace(m.fit, held_out=None)) for m in two_restarts.members])
    at = np.arange(0, 150, 7)
    assert not left_out_by_draws(fresh)
    assert_allclose(pits_at(fresh, at)[0], fresh.pit().to_numpy()[at])
    monkeypatch.setitem(vars(LIMITS), "fold_work", 10.0)
    assert not left_out_by_draws(fresh)
    assert_allclose(pits_at(fresh, at)[0], fresh.pit().to_numpy()[at])


@pytest.mark.heavy
def test_folds_of_all_restarts_are_left_out_together(two_restarts, monkeypatch):
    """As each restart alone would leave them out, and once."""
    fresh = stacked([replace(m, fit=replace(m.fit, held_out=None)) for m in two_restarts.members])
    asked, plain = [], folds_left_out.without_folds

    def noted(runs, *rest):
        asked.append(len(runs))
        return plain(runs, *rest)

    monkeypatch.setattr(folds_left_out, "without_folds", noted)
    values = fresh.pit()
    read_elpd(fresh.loo())
    assert asked == [2]
    alone = sum(m.weight * replace(m.fit, held_out=None).pit() for m in two_restarts.members)
    assert_allclose(values, alone)


def test_a_choice_of_rows_is_judged_by_as_many_draws_of_all_restarts(beyond_budget, monkeypatch):
    """Of all rows every draw counts, so that WAIC is that of the fit."""
    every, half = np.arange(150), np.arange(75)
    _, waic = criteria_at(beyond_budget, every)
    assert_allclose(waic.elpd, read_elpd(beyond_budget.waic()).elpd, rtol=1e-9)
    asked = []
    plain = subsampling.log_likelihood

    def noted(fit, at, n_draws=None):
        asked.append(n_draws)
        return plain(fit, at, n_draws)

    monkeypatch.setattr(subsampling, "log_likelihood", noted)
    found = criteria_at(beyond_budget, half)
    assert asked == [250, 250]
    for one in found:
        assert_allclose(one.pointwise, waic.pointwise[half], atol=0.05)


def test_the_same_rows_are_chosen_each_time(two_restarts):
    first, second = (subsampling.sample(two_restarts, 20) for _ in range(2))
    assert_array_equal(first.at, second.at)
    assert not first.whole and (np.diff(first.at) > 0).all()
