"""Ascents that ran out of passes are graded by what their predictions still change."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.checks import computation
from bayesvb.results.checks import computation as unfinished
from bayesvb.results.limits import LIMITS


def first_check(fit):
    found = computation.computation_checks(fit)[0]
    assert found.name == "Convergence"
    return found


def cut_short(model, passes, **options):
    with pytest.warns(ConvergenceWarning, match="fit.check"):
        return model.fit(seed=1, max_iter=passes, draws=100, **options)


def test_an_ascent_that_has_hardly_begun_is_a_problem(regimes_fit):
    fit = cut_short(regimes_fit.model, 3, restarts=1)
    found = first_check(fit)
    assert (found.grade, found.weighs) == ("problem", True)
    assert found.number > 0.3 and "before using the numbers" in found.remedy


def test_an_ascent_whose_predictions_stay_is_a_note_that_does_not_count(regimes_fit):
    """As an optimum that was reached, but for the last digits of the bound."""
    found = first_check(replace(regimes_fit, converged=False))
    assert (found.grade, found.weighs) == ("note", False)
    assert found.number < 0.01 and "have stabilised" in found.remedy


def test_the_change_is_that_of_a_fit_with_so_many_passes_more(regimes_fit):
    fit = cut_short(regimes_fit.model, 7, restarts=1)
    rows = regimes_fit.model.design.frame
    on = fit.model.fit(seed=1, restarts=1, draws=100)
    change = fit.log_density(rows) - on.log_density(rows)
    draws = np.array([fit.model.core.log_lik(fit.draws, fit.model.source.whole())])
    expected = np.sqrt((change**2).mean() / draws.var(axis=1).mean())
    assert unfinished.still_changing(fit) == pytest.approx(expected, rel=0.1)


@pytest.mark.heavy
def test_combined_restarts_count_by_their_weights():
    """One of little weight may run out of passes: predictions stay."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, 80)
    data = {"x": x, "label": np.where(x + 0.3 * rng.normal(size=80) > 0, "a", "b")}
    model = bvb.ConditionalMixtureNetwork("label ~ x", data, n_experts=2)
    fit = model.fit(seed=1, restarts=3, draws=100, combine="average")
    first, *others = fit.members
    short = replace(first, fit=replace(first.fit, converged=False))
    even, light = (
        replace(fit, converged=False, members=(replace(short, weight=weight), *others))
        for weight in (1 / 3, 0.01)
    )
    assert first_check(even).number > 10 * first_check(light).number > 0.0
    assert not first_check(light).weighs


def test_what_would_take_long_is_a_problem_unseen(regimes_fit, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "work", 1.0)
    found = first_check(replace(regimes_fit, converged=False))
    assert (found.grade, found.measure) == ("problem", "passes")


def test_of_many_rows_a_choice_tells_about_the_same_and_the_check_says_so(regimes_fit, monkeypatch):
    fit = cut_short(regimes_fit.model, 3, restarts=1)
    whole, most = first_check(fit), regimes_fit.model.source.n_rows // 2
    monkeypatch.setitem(vars(LIMITS), "quick_subsample", most)
    some = first_check(fit)
    assert some.number != whole.number
    assert some.number == pytest.approx(whole.number, rel=0.2)
    assert some.measure == f"{whole.measure}, of {most} rows"


def test_an_unfinished_fit_has_no_first_order_leave_one_out_unless_asked(regimes_fit):
    fit = replace(regimes_fit, converged=False)
    words = f"the fit stopped after {fit.n_iter} iterations, before it converged"
    with pytest.raises(DataError, match=words):
        fit.loo()
    found, expected = (
        read_elpd(one).pointwise for one in (fit.loo("linear-response"), regimes_fit.loo())
    )
    assert_array_equal(found, expected)
