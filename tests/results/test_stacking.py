"""Restarts that are combined: weights, mixture of predictions, draws, criteria, saved files."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb import DensityRegression, GaussianMixture, Priors, load
from bayesvb.engines import ENGINES
from bayesvb.engines.base import Budget
from bayesvb.engines.restarts import search
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.estimators import weighing
from bayesvb.evaluation.elpd import Elpd, compare, elpd_data, read_elpd
from bayesvb.evaluation.stacking_weights import stacking_weights
from bayesvb.models.component_model import ClassModel, ComponentModel
from bayesvb.models.ensemble import MEMBER, joined, matching
from bayesvb.numerics.streams import Streams
from bayesvb.reports.sections.model import _gate
from bayesvb.results.named_draws import count
from bayesvb.results.stacking import combined, distinct, kept, stacked, whole_shares
from bayesvb.storage.arviz_objects import group
from bayesvb.variational.model import AbstractVariationalModel

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*unreliable"),
    pytest.mark.quick(gate=("softmax",)),
]

FORMULA = "y ~ x | gating(x)"
OPTIONS = {"seed": 4, "restarts": 4, "draws": 200}


@pytest.fixture(scope="module")
def wave():
    """A curve that two straight lines fit in several ways."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-3.0, 3.0, 100)
    return pd.DataFrame({"y": np.sin(2.0 * x) + 0.2 * rng.normal(size=100), "x": x})


@pytest.fixture(scope="module", params=["softmax", "stick-breaking"])
def gate(request):
    return request.param


@pytest.fixture(scope="module")
def fits(wave, gate):
    """The same restarts, stacked and averaged."""
    priors = Priors(scale_rate=0.005)
    model = DensityRegression(FORMULA, wave, n_components=3, gate=gate, priors=priors)
    return {way: model.fit(combine=way, **OPTIONS) for way in ("stack", "average")}


# weights


def log_densities(rng, n_members=4, n_rows=200):
    return rng.normal(-1.0, 0.7, (n_members, n_rows)) + rng.normal(0.0, 0.2, (n_members, 1))


def test_no_other_weights_make_the_held_out_density_larger(rng):
    log_density = log_densities(rng)
    weights = stacking_weights(log_density)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    density = np.exp(log_density)
    ratios = (density / (weights @ density)).mean(axis=1)
    # Karush, Kuhn and Tucker: the mean ratio is one where a weight is positive, else at most one
    assert_allclose(ratios[weights > 1e-4], 1.0, atol=1e-4)
    assert (ratios <= 1.0 + 1e-4).all()


def test_weights_are_those_of_arviz(rng):
    log_density = log_densities(rng, 3)
    results = {
        str(k): elpd_data(
            Elpd(kind="loo", pointwise=row, p=1.0, n_draws=500, pareto_k=np.zeros(len(row)))
        )
        for k, row in enumerate(log_density)
    }
    weight = compare(results)["weight"]
    assert_allclose(stacking_weights(log_density), weight.loc[["0", "1", "2"]], atol=2e-3)


def test_case_weights_count_as_repeated_rows(rng):
    log_density = log_densities(rng, 3, 60)
    repeats = rng.integers(0, 4, 60)
    repeated = np.repeat(log_density, repeats, axis=1)
    weighted = stacking_weights(log_density, repeats.astype(float))
    assert_allclose(weighted, stacking_weights(repeated), atol=1e-4)


def test_densities_far_below_the_range_of_exp_are_weighed():
    assert stacking_weights(np.array([[-2000.0, -2000.0], [-2100.0, -2100.0]]))[0] > 0.999


def test_equal_optima_count_once():
    log_density = np.array([[-1.0, -2.0], [-1.001, -2.0], [-1.5, -1.0]])
    assert distinct([10.0, 10.05, 9.99], log_density) == [1, 2]


def test_small_weights_are_left_out():
    assert_array_equal(kept(np.array([0.5, 0.495, 0.005])), [0.5 / 0.995, 0.495 / 0.995, 0.0])


@pytest.mark.parametrize("total", [25, 100, 1000])
def test_draws_are_shared_by_weight(total):
    weights = np.array([0.7, 0.27, 0.02, 0.01])
    counts = whole_shares(weights, total)
    assert sum(counts) == total
    assert min(counts) >= 1
    assert_allclose(counts, weights * total, atol=1.5)


def test_components_are_matched_by_the_rows_they_share():
    reference = np.array([[0.9, 0.1, 0.0], [0.8, 0.1, 0.1], [0.0, 0.9, 0.1], [0.1, 0.2, 0.7]])
    order = (2, 0, 1)
    other = reference[:, [order.index(k) for k in range(3)]]
    assert matching(reference, other) == order
    assert_array_equal(other[:, matching(reference, other)], reference)


def test_draws_of_all_members_are_there_once(rng):
    draws = [{"a": np.arange(4.0)}, {"a": 10.0 + np.arange(4.0)}]
    whole, order = joined(draws, [3, 2], rng)
    assert sorted(whole["a"]) == [0.0, 1.0, 2.0, 10.0, 11.0]
    assert_array_equal(whole[MEMBER], whole["a"] >= 10.0)
    assert_array_equal(np.array([0.0, 1.0, 2.0, 10.0, 11.0])[order], whole["a"])


# fits


def test_mixtures_and_their_members_have_what_results_ask_of_components(wave):
    model = DensityRegression(FORMULA, wave[:50], n_components=2)
    fit = model.fit(combine="stack", restarts=2, seed=1, draws=25, tol=0.1)
    for one in (fit, fit.parts[0].fit):
        assert isinstance(one.core, AbstractVariationalModel)
        assert isinstance(one.mixture, ComponentModel)
        assert not isinstance(one.core, ClassModel)


@pytest.mark.heavy
def test_weights_of_the_table_are_those_of_the_members(fits):
    for way, fit in fits.items():
        weights = {member.number: member.weight for member in fit.parts}
        table = fit.restarts["weight"]
        assert sum(weights.values()) == pytest.approx(1.0)
        assert {k: w for k, w in table.items() if w > 0.0} == pytest.approx(weights)
        assert fit.best_restart == fit.parts[0].number == table.idxmax()
        if way == "average":
            assert_allclose(table, 1.0 / 4.0)


def test_stacking_is_at_least_as_good_as_the_best_bound_left_out(fits, wave):
    fit = fits["stack"]
    best = fit.model.fit(combine="best", **OPTIONS)
    assert read_elpd(fit.loo()).elpd > read_elpd(best.loo()).elpd - 1.0
    assert fit.restarts["elbo"].max() == pytest.approx(best.elbo, abs=0.01)  # stops elsewhere


def test_predictive_density_is_the_mixture_of_the_members(fits, wave):
    fit = fits["average"]
    each = np.stack([member.fit.log_density() for member in fit.members])
    weights = np.array([member.weight for member in fit.members])
    assert_allclose(np.exp(fit.log_density()), weights @ np.exp(each), rtol=1e-10)
    mean = sum(member.weight * member.fit.predict() for member in fit.members)
    assert_allclose(fit.predict(), mean, rtol=1e-10)


def test_component_weights_sum_to_one(fits):
    fit = fits["average"]
    weights = fit.predict(kind="component")
    assert list(weights) == [1, 2, 3]
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(fit.responsibilities().sum(axis=1), 1.0, rtol=1e-12)
    drawn = fit.weights_at(draws=40)
    assert drawn.shape == (40, 100, 3)
    assert_allclose(drawn.sum(axis=2), 1.0, rtol=1e-12)


def test_draws_carry_their_restart(fits):
    fit = fits["average"]
    restart = group(fit.idata, "sample_stats")["restart"].to_numpy()[0]
    numbers, counts = np.unique(restart, return_counts=True)
    assert numbers.tolist() == sorted(member.number for member in fit.members)
    assert_allclose(counts, 50, atol=1)
    sigma = fit.posterior["sigma"].to_numpy()[0]
    for member in fit.members:
        own = member.fit.posterior["sigma"].to_numpy()[0, : (restart == member.number).sum()]
        assert_array_equal(np.sort(sigma[restart == member.number], axis=0), np.sort(own, axis=0))


def test_likelihood_and_weights_of_a_draw_are_those_of_its_member(fits):
    fit = fits["average"]
    block = fit.model.source.blocks[0]
    whole = fit.core.log_lik(fit.draws, block)
    for number, member in enumerate(fit.members):
        at = fit.draws[MEMBER] == number
        own = {name: values[at] for name, values in fit.draws.items() if name != MEMBER}
        assert_array_equal(whole[at], member.fit.core.log_lik(own, block))


def test_labels_follow_the_heaviest_restart(fits):
    first, *others = [member.fit for member in fits["average"].members]
    reference = first.responsibilities().to_numpy()
    for other in others:
        table = other.responsibilities().to_numpy()
        assert matching(reference, table) == (0, 1, 2)


def test_criteria_are_those_of_the_mixture(fits):
    fit = fits["average"]
    weights = np.array([member.weight for member in fit.members])
    for criterion in ("loo", "waic"):
        each = [read_elpd(getattr(member.fit, criterion)()) for member in fit.members]
        whole = read_elpd(getattr(fit, criterion)())
        assert_allclose(whole.pointwise, combined(weights, each).pointwise, rtol=1e-12)
        density = weights @ np.exp([one.pointwise for one in each])
        assert_allclose(np.exp(whole.pointwise), density, rtol=1e-10)
    assert fit.khat == max(member.fit.khat for member in fit.members)


def test_the_criterion_of_a_mixture_is_as_doubtful_as_its_most_doubtful_member(rng):
    weights = np.array([0.6, 0.3, 0.1])
    known = [[0.2, np.nan, 0.9], [0.5, 0.1, np.nan], [0.3, 0.4, np.nan]]
    each = [
        Elpd(
            kind="loo",
            pointwise=rng.normal(size=3),
            p=p,
            n_draws=100,
            warning=warning,
            pareto_k=np.array(k),
        )
        for k, p, warning in zip(known, (1.0, 2.0, 5.0), (False, True, False), strict=True)
    ]
    whole = combined(weights, each)
    assert_array_equal(whole.pareto_k, [0.5, 0.4, 0.9])  # NaN: that member has nothing to fear
    assert whole.p == pytest.approx(0.6 * 1.0 + 0.3 * 2.0 + 0.1 * 5.0)
    assert whole.warning and not combined(weights[[0, 2]] / 0.7, [each[0], each[2]]).warning
    assert combined(weights, [replace(one, pareto_k=None) for one in each]).pareto_k is None


@pytest.mark.heavy
def test_a_stack_comes_back_from_its_file(fits, tmp_path):
    for way, fit in fits.items():
        again = load(fit.save(tmp_path / f"{way}.nc"))
        assert [m.number for m in again.members] == [m.number for m in fit.members]
        assert again.covariance == fit.covariance
        for name, values in fit.draws.items():
            assert_array_equal(again.draws[name], values)
        pd.testing.assert_series_equal(again.log_density(), fit.log_density())
        pd.testing.assert_frame_equal(again.restarts, fit.restarts)
        assert read_elpd(again.loo()).elpd == read_elpd(fit.loo()).elpd


def test_other_covariances_are_those_of_the_members(fits):
    fit = fits["stack"]
    plain = fit.with_covariance("mean-field")
    assert plain.covariance == "mean-field"
    assert {member.fit.covariance for member in plain.parts} == {"mean-field"}
    again = plain.with_covariance(fit.covariance)
    for name, values in fit.draws.items():
        assert_array_equal(again.draws[name], values)


@pytest.mark.heavy
def test_importance_draws_of_a_combination_are_those_of_its_members(regimes, tmp_path):
    model = DensityRegression("y ~ x", regimes, n_components=2)
    fit = model.fit(combine="average", restarts=2, seed=1, draws=200)
    corrected = fit.with_covariance("importance")
    assert corrected.covariance == "importance"
    assert {member.fit.covariance for member in corrected.members} == {"importance"}
    drawn, possible = (
        {value.tobytes() for one in fits for value in one.draws["coefficients"]}
        for fits in ([corrected], [m.fit for m in corrected.members])
    )
    assert drawn <= possible
    assert load(corrected.save(tmp_path / "fit.nc")).covariance == "importance"
    back = corrected.with_covariance("linear-response")
    assert_array_equal(back.draws["coefficients"], fit.draws["coefficients"])


def test_a_prior_draws_weights_together():
    rng = np.random.default_rng(3)
    log_density = rng.normal(size=(4, 30)) + np.array([[0.0], [0.5], [0.4], [-3.0]])
    density = np.exp(log_density)
    for prior_rows in (0.1, 1.0, 5.0):
        found = stacking_weights(log_density, prior_rows=prior_rows)
        own = found[:, None] * density / (found @ density)
        expected = (own.sum(axis=1) + prior_rows) / (30 + 4 * prior_rows)
        assert_allclose(found, expected, atol=1e-4)  # the fixed point of EM for the mode
    nearly_even = stacking_weights(log_density, prior_rows=1e5)
    assert_allclose(nearly_even, 0.25, atol=1e-3)


def test_rows_of_the_prior_count_as_rows_do():
    log_density = np.random.default_rng(4).normal(size=(3, 20))
    twice = stacking_weights(np.tile(log_density, 2), prior_rows=2.0)
    assert_allclose(stacking_weights(log_density, prior_rows=1.0), twice, atol=1e-5)
    weighted = stacking_weights(log_density, np.full(20, 2.0), prior_rows=2.0)
    assert_allclose(weighted, twice, atol=1e-5)


def test_ctrl_c_while_restarts_are_weighed_keeps_the_best_bound(regimes, monkeypatch):
    def pressed(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(weighing, "stacking_weights", pressed)
    model = DensityRegression("y ~ x", regimes, n_components=3)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = model.fit(combine="stack", restarts=3, seed=1, draws=30)
    assert not fit.members and not fit.converged
    assert fit.elbo == fit.restarts["elbo"].max()


@pytest.mark.heavy
def test_the_print_and_the_report_say_what_was_combined(fits, tmp_path):
    fit = fits["stack"]
    assert f"{len(fit.members)} of 4 restarts with weights" in str(fit) or not fit.members
    page = Path(fit.report(tmp_path / "page.html")).read_text(encoding="utf-8")
    assert "weight" in page
    assert json.dumps(fit.idata.attrs["formula"])


def test_all_draws_are_there(fits):
    assert count(fits["stack"].draws) == count(fits["average"].draws) == 200


def test_one_optimum_is_not_stacked(regimes):
    fit = DensityRegression("y ~ x", regimes, n_components=1).fit(
        combine="stack", seed=1, restarts=3, draws=100
    )
    assert fit.members == ()
    assert fit.restarts["weight"].tolist().count(1.0) == 1


def test_a_model_that_cannot_be_stacked_says_so(regimes):
    with pytest.raises(DataError, match="combine='stack'"):
        GaussianMixture("~ y + x", regimes, n_components=2).fit(combine="stack")


def test_runs_on_a_sample_are_finished_on_all_rows(monkeypatch, wave):
    monkeypatch.setattr("bayesvb.engines.restarts.MANY_ROWS", 60)
    model = DensityRegression(FORMULA, wave, n_components=3)
    fit = model.fit(combine="average", restarts=3, draws=100, seed=1, covariance="mean-field")
    assert (fit.restarts["rows"] == 30).all()
    for member in fit.members:
        stats = member.fit.stats
        assert stats.experts.weight.sum() == pytest.approx(100.0)
    assert_allclose(np.isfinite(fit.log_density()), 1.0)


def test_every_run_keeps_the_model_that_it_fitted(wave):
    model = DensityRegression(FORMULA, wave, n_components=2)
    found = search(
        model.core,
        model.source,
        ENGINES["cavi"],
        restarts=2,
        budget=Budget(),
        streams=Streams(1, 2),
    )
    assert [type(run.model) for run in found.runs] == [type(model.core)] * 2


# coefficients of the gates


@pytest.mark.heavy
def test_sticks_in_different_orders_have_no_common_table(wave):
    model = DensityRegression(FORMULA, wave, n_components=3, gate="stick-breaking")
    fit = model.fit(combine="average", seed=4, restarts=2, draws=50, covariance="mean-field")
    first, second = fit.members
    same = stacked([first, replace(second, fit=first.fit)])
    order = (1, 0, 2)
    core, stats = first.fit.core.permuted(order, first.fit.stats)
    permuted = replace(first.fit, core=core, stats=stats)
    apart = stacked([first, replace(second, fit=permuted)])
    meaning = "no common table, because each restart orders its stick-breaking"
    for combination, has_table in ((same, True), (apart, False)):
        assert bool(combination.core.gate_coefficients(combination.draws)) == has_table
        assert ("gating" in combination.summary().index.get_level_values("part")) == has_table
        assert (meaning in str(combination)) == (not has_table)
    assert _gate(apart)["gate_coefficients"] and meaning in _gate(apart)["gate_meaning"]
