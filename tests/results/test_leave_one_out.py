"""What a fit predicts of rows without them: against refits, and what public calls make of it."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.engines import refits, side_by_side
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results import leave_one_out as module
from bayesvb.results.leave_one_out import Fitted, every_row, leave_one_out
from bayesvb.results.limits import LIMITS
from bayesvb.results.pit import pit_values
from bayesvb.sensitivity import deletion, solvers


@pytest.fixture(scope="module")
def fit(regimes):
    return bvb.DensityRegression("y ~ x + z", regimes, n_components=2).fit(
        seed=1, restarts=3, tol=1e-9
    )


@pytest.fixture(scope="module")
def line(regimes):
    priors = bvb.Priors(scales="fixed")
    return bvb.DensityRegression("y ~ x + z", regimes, n_components=1, priors=priors).fit(seed=1)


@pytest.mark.heavy
def test_the_criterion_is_near_refits_of_every_row(fit):
    near, exact = (read_elpd(fit.loo(method)) for method in ("linear-response", "exact"))
    assert np.sqrt(np.mean((near.pointwise - exact.pointwise) ** 2)) < 0.005
    assert near.elpd == pytest.approx(exact.elpd, abs=0.3)
    assert near.p == pytest.approx(exact.p, abs=0.3)
    assert (near.method, exact.method) == ("linear-response", "exact")
    assert exact.n_refitted == len(exact.pointwise) > near.n_refitted


def test_one_component_is_left_out_exactly(line):
    near, exact = (read_elpd(line.loo(method)) for method in ("linear-response", "exact"))
    assert_allclose(near.pointwise, exact.pointwise, atol=1e-4)
    conjugate = line.refit(priors=bvb.Priors(coefficient_units="noise"))
    near, exact = (read_elpd(conjugate.loo(method)) for method in ("linear-response", "exact"))
    assert_allclose(near.pointwise, exact.pointwise, atol=1e-6)


@pytest.mark.heavy
def test_learned_scales_answer_to_first_order(regimes):
    learned = bvb.DensityRegression("y ~ x + z", regimes, n_components=1).fit(seed=1, tol=1e-9)
    near, exact = (read_elpd(learned.loo(method)) for method in ("linear-response", "exact"))
    assert_allclose(near.pointwise, exact.pointwise, atol=5e-3)  # measured 0.002


def test_superfluous_components_do_not_change_the_criterion(regimes, fit):
    more = bvb.DensityRegression("y ~ x + z", regimes, n_components=6).fit(
        seed=1, restarts=3, tol=1e-9
    )
    assert read_elpd(more.loo()).elpd == pytest.approx(read_elpd(fit.loo()).elpd, abs=3.0)


def test_the_density_with_the_row_is_that_of_the_fit(fit):
    found = fit.rows_left_out
    unit = fit.model.log_jacobian
    assert_allclose(found.seen - unit, fit.log_density(), rtol=1e-9)
    assert (found.seen - found.log_density > -0.02).all()  # a row hardly hurts itself
    p = read_elpd(fit.loo()).p
    assert p == pytest.approx((found.seen - found.log_density).sum())


@pytest.mark.heavy
def test_doubtful_rows_are_refitted_and_others_are_not(fit, monkeypatch):
    every = np.arange(fit.model.source.n_rows)
    monkeypatch.setitem(vars(module.REFITS), "indirect", 0.0)
    all_again = leave_one_out(Fitted.of(fit), every)
    assert all_again.refitted.all() and not all_again.doubtful.any()
    exact = leave_one_out(Fitted.of(fit), every, exact=True)
    assert_allclose(all_again.log_density, exact.log_density, atol=1e-12)


def test_rows_that_are_not_doubtful_are_near_their_refits(fit):
    """Rows that lose most among them; measured at most 0.0006 nats, of doubtful rows 0.03."""
    near = leave_one_out(replace(Fitted.of(fit), row_passes=0.0), np.arange(150))
    lost = np.where(near.doubtful, 0.0, near.seen - near.log_density)
    most = np.argsort(-lost)[:8]
    exact = leave_one_out(Fitted.of(fit), most, exact=True)
    assert_allclose(near.log_density[most], exact.log_density, atol=1e-3)


def test_refits_stop_when_they_have_taken_longer_than_the_fit(fit, monkeypatch):
    monkeypatch.setitem(vars(module.REFITS), "indirect", 0.0)
    every = np.arange(fit.model.source.n_rows)
    some = leave_one_out(replace(Fitted.of(fit), row_passes=1.0), every)
    assert some.refitted.sum() == 1
    assert some.doubtful.sum() == len(every) - 1


def test_a_row_whose_ascent_would_take_too_long_stays_doubtful(fit, monkeypatch):
    monkeypatch.setitem(vars(module.REFITS), "indirect", 0.0)
    monkeypatch.setattr(refits, "settled_by_newton", lambda *_: (None, 2))
    few = np.arange(4)
    short = leave_one_out(replace(Fitted.of(fit), row_passes=3.0 * fit.model.source.n_rows), few)
    assert not short.refitted.any()
    assert short.doubtful.all()
    assert np.isfinite(short.log_density).all()


def test_groups_are_left_out_together(line, regimes):
    groups = np.arange(len(regimes)) // 10
    found = read_elpd(line.loo(groups=groups))
    exact = read_elpd(line.loo("exact", groups=groups))
    assert_allclose(found.pointwise, exact.pointwise, atol=1e-4)
    alone = read_elpd(line.loo(groups=np.arange(len(regimes))))
    assert_allclose(alone.pointwise, read_elpd(line.loo()).pointwise, atol=1e-4)
    assert not np.allclose(found.pointwise, alone.pointwise)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "linear"}, "is not known; it is one of"),
        ({"groups": "site"}, "not a column that the formula reads"),
        ({"groups": [1, 2]}, "has 2 labels"),
        ({"groups": np.zeros(150)}, "a single level"),
        ({"groups": np.full(150, np.nan)}, "150 missing labels"),
        ({"groups": np.arange(150), "method": "psis"}, "does not hold out groups"),
        ({"corrected": True, "method": "exact"}, "which has no draws"),
    ],
)
def test_what_cannot_be_left_out_is_refused(fit, arguments, message):
    with pytest.raises(DataError, match=message):
        fit.loo(**arguments)


def test_a_row_of_a_survey_is_left_out_whole(regimes):
    weights = np.where(np.arange(150) < 20, 4.0, 1.0)
    priors, weighted = bvb.Priors(scales="fixed"), {"weights": weights, "weight_type": "sampling"}
    model = bvb.DensityRegression("y ~ x", regimes, n_components=1, priors=priors, **weighted)
    fit = model.fit(seed=1)
    found = read_elpd(fit.loo()).pointwise
    rest = fit.model.source.without(np.array([3]))
    sums = rest.map_reduce(lambda block: fit.core.e_step(fit.q, block)).stats
    alone = fit.core.update(fit.core.global_step(fit.q, sums))
    expected = fit.core.log_predictive(alone, fit.model.source.take(np.array([3])))
    assert found[3] == pytest.approx(expected[0] - fit.model.log_jacobian, abs=1e-6)


def test_labels_of_rows_that_were_dropped_are_dropped(regimes):
    gaps = regimes.copy()
    gaps.loc[gaps.index[:5], "x"] = np.nan
    fit = bvb.DensityRegression("y ~ x", gaps, n_components=1).fit(seed=1)
    groups = np.arange(len(gaps)) // 7
    whole = read_elpd(fit.loo(groups=groups)).pointwise
    assert_array_equal(whole, read_elpd(fit.loo(groups=groups[5:])).pointwise)


def test_many_rows_are_judged_by_some(regimes, fit, monkeypatch):
    whole = read_elpd(fit.loo())
    monkeypatch.setitem(vars(LIMITS), "all_rows", 100)
    monkeypatch.setitem(vars(LIMITS), "subsample", 60)
    again = bvb.DensityRegression("y ~ x + z", regimes, n_components=2).fit(
        seed=1, restarts=3, tol=1e-9
    )
    assert len(every_row(150, 1)) == 60
    some = read_elpd(again.loo())
    assert len(some.pointwise) == 150
    assert some.elpd == pytest.approx(whole.elpd, abs=2.0)
    at = again.rows_left_out.at
    assert_allclose(some.pointwise[at], whole.pointwise[at], atol=0.01)


def test_pit_values_are_those_without_the_row(fit, line):
    pit = fit.pit()
    assert pit.index.equals(fit.model.design.index)
    assert ((pit > 0.0) & (pit < 1.0)).all()
    seen = fit.predictive().cdf(fit.model.design.response[:, 0])
    assert np.mean(np.abs(pit - 0.5)) > np.mean(np.abs(seen - 0.5))  # further out without it
    exact = leave_one_out(Fitted.of(line), np.arange(150), exact=True)
    assert_allclose(line.pit(), exact.cdf[0], atol=1e-6)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:`:bayesvb.errors.DesignWarning")  # of the response
def test_pit_values_of_several_responses_and_of_a_stack(regimes):
    data = regimes.assign(v=regimes["y"] ** 2)
    both = bvb.DensityRegression("y + v ~ x", data, n_components=2).fit(seed=1, restarts=3)
    assert list(both.pit().columns) == ["y", "v"]
    stack = bvb.DensityRegression("y ~ x", data, n_components=2).fit(
        seed=1, restarts=3, combine="average"
    )
    parts = [part.weight * part.fit.rows_left_out.cdf for part in stack.parts]
    assert_allclose(stack.pit(), sum(parts)[0])
    assert_allclose(pit_values(stack, np.arange(4)), sum(parts)[:, :4])


def test_classes_have_no_pit(iris_fit):
    with pytest.raises(DataError, match="has classes"):
        iris_fit.pit()


@pytest.fixture(scope="module")
def iris_fit():
    data = bvb.datasets.load("iris")
    model = bvb.ConditionalMixtureNetwork("label ~ petal_width", data, n_experts=1)
    return model.fit(seed=1, restarts=1, draws=50)


def test_a_gaussian_mixture_is_left_out_by_linear_response():
    data = bvb.datasets.load("faithful").iloc[:90]
    fit = bvb.GaussianMixture("~ eruptions + waiting", data, n_components=2).fit(
        seed=1, restarts=3, tol=1e-9
    )
    near, exact = (read_elpd(fit.loo(method)) for method in (None, "exact"))
    assert near.method == "linear-response"
    assert_allclose(near.pointwise, exact.pointwise, atol=0.02)


def test_a_normal_sample_is_left_out_exactly():
    data = pd.DataFrame({"y": np.random.default_rng(3).normal(2.0, 3.0, size=25)})
    fit = bvb.Normal("y ~ 1", data).fit(seed=1)
    near, exact = (read_elpd(fit.loo(method)) for method in (None, "exact"))
    assert_allclose(near.pointwise, exact.pointwise, atol=1e-8)


def test_the_derivative_of_a_pass_is_made_once_for_all_that_leaves_rows_out(line, monkeypatch):
    fit, made = replace(line), []
    plain = deletion.choose_solver
    monkeypatch.setattr(deletion, "choose_solver", lambda *args: made.append(1) or plain(*args))
    fit.loo()
    fit.influence()
    fit.prior_sensitivity()
    assert len(made) == 1


def test_of_very_many_rows_none_is_refitted(fit, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "all_rows", 100)
    monkeypatch.setitem(vars(module.REFITS), "indirect", 1e-6)  # every row would be doubtful
    monkeypatch.setattr(module, "refitted", lambda *_: pytest.fail("a row was refitted"))
    found = module.without_rows(replace(fit), np.arange(0, 150, 10))
    assert not found.doubtful.any()
    assert not found.refitted.any()
    assert (found.log_density < found.seen).all()


@pytest.mark.heavy
def test_rows_whose_answer_memory_does_not_hold_are_left_out_by_draws(regimes, monkeypatch):
    monkeypatch.setattr(solvers, "MOST_NUMBERS", 10)
    fit = bvb.DensityRegression("y ~ x", regimes, n_components=2).fit(seed=1, restarts=1)
    assert read_elpd(fit.loo()).method == "psis"
    assert (fit.check()["grade"] != "problem").all()
    for verb in (fit.influence, fit.prior_sensitivity):
        with pytest.raises(DataError, match=" GB of memory"):
            verb()


def test_a_wide_table_with_groups_has_a_derivative_of_what_rows_add_to(regimes, monkeypatch):
    """Products of the indicators of two groups, of which there are most, take no memory."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=300), "g": rng.integers(0, 40, 300).astype(str)})
    data["y"] = data.x + rng.normal(size=40)[data.g.astype(int)] + rng.normal(size=300)
    priors = bvb.Priors(scales="learned")
    model = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=2, priors=priors)
    fit = model.fit(seed=1, restarts=1)
    held, n_entries = fit.one_restart, fit.stats.to_vector().size
    derivative = held.deletion.derivative
    kept = int(derivative.answering.sum())
    shape = held.core.prior_curvature(held.deletion.posterior, derivative.answering).shape
    assert shape == (kept, kept)
    assert 2 * kept < n_entries


def test_rows_are_left_out_side_by_side_to_the_same_bits(monkeypatch):
    rng = np.random.default_rng(4)
    x = rng.normal(size=1500)
    data = {"x": x, "y": x + rng.normal(size=1500)}
    fit = bvb.DensityRegression("y ~ x | x", data, n_components=2).fit(seed=1, restarts=1, draws=50)
    here, found = os.getpid(), []
    monkeypatch.setitem(vars(LIMITS), "little_work", 0.0)
    monkeypatch.setattr(module, "processors", lambda: 3)
    for forks in (True, False):
        monkeypatch.setattr(side_by_side, "can_fork", lambda f=forks: f and os.getpid() == here)
        one = leave_one_out(Fitted.of(fit), np.arange(1500))
        found.append(one)
    assert_array_equal(found[0].log_density, found[1].log_density)
    assert_array_equal(found[0].cdf, found[1].cdf)
