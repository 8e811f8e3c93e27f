"""Networks side by side, and beside a density regression: all by rows left out in folds."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.engines.folds import folds
from bayesvb.errors import ConvergenceWarning
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.reports.page import page_summary
from bayesvb.reports.sections.comparison import comparison
from bayesvb.results.criteria import left_out, loo
from bayesvb.results.limits import LIMITS
from bayesvb.results.subsampling import criteria_at


def network(formula, data, n_experts, **options):
    """A fit that may stop early."""
    model = bvb.ConditionalMixtureNetwork(formula, data, n_experts=n_experts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(seed=1, draws=50, **options)


@pytest.fixture(scope="module")
def one_expert(class_fit):
    return network("label ~ .", class_fit.model.design.frame, 1, restarts=1)


@pytest.fixture(scope="module")
def of_numbers(regimes):
    return network("y ~ x + z | gating(x)", regimes, 2, restarts=1, max_iter=100)


@pytest.fixture(scope="module")
def table(class_fit, one_expert):
    return bvb.compare({"one": one_expert, "two": class_fit})


def test_networks_are_ranked_by_what_fit_loo_says(table, class_fit, one_expert):
    each = {"one": read_elpd(one_expert.loo()), "two": read_elpd(class_fit.loo())}
    assert all(one.by_folds for one in each.values())
    best, other = sorted(each, key=lambda name: -each[name].elpd)
    assert table.index.tolist() == [best, other]
    for name, one in each.items():
        assert table.loc[name, ["elpd", "se", "p"]].tolist() == pytest.approx(
            [one.elpd, one.se, one.p], rel=1e-9
        )
    gap = each[other].pointwise - each[best].pointwise
    assert table.loc[other, "elpd_diff"] == pytest.approx(gap.sum())
    assert table.loc[other, "dse"] == pytest.approx(np.sqrt(len(gap)) * gap.std())
    assert table["weight"].sum() == pytest.approx(1.0)
    assert table["weight"].min() >= -1e-9
    assert table.attrs["left out"] == "a fifth at a time"


def test_a_density_regression_beside_a_network_is_judged_by_the_same_folds(
    regimes, regimes_fit, of_numbers
):
    found = bvb.compare({"network": of_numbers, "density": regimes_fit})
    expected = np.empty(150)
    for number, (rows, _) in enumerate(folds(regimes_fit.model.source)):
        without = replace(regimes_fit, stats=regimes_fit.without_folds[number])
        expected[rows] = without.log_density(regimes.iloc[rows])
    assert found.loc["density", "elpd"] == pytest.approx(expected.sum())
    assert found.loc["network", "elpd"] == pytest.approx(read_elpd(of_numbers.loo()).elpd)
    both = [loo(fit, method="folds").pointwise for fit in (of_numbers, regimes_fit)]
    assert abs(found["elpd_diff"].iloc[1]) == pytest.approx(abs(np.sum(both[0] - both[1])))


@pytest.mark.filterwarnings("ignore:Pareto k of")
def test_without_a_network_rows_are_left_out_one_at_a_time(regimes_fit):
    found = bvb.compare({"a": regimes_fit, "b": regimes_fit})
    alone = read_elpd(regimes_fit.loo())
    assert found.attrs["left out"] == "one at a time" and not alone.by_folds
    assert found.loc["a", "elpd"] == pytest.approx(alone.elpd)


def test_the_ascents_of_a_fit_are_continued_once(class_fit, monkeypatch):
    fresh = replace(class_fit, members=tuple(
        replace(member, fit=replace(member.fit, held_out=None)) for member in class_fit.members
    ))  # fmt: skip
    first = read_elpd(fresh.loo()).pointwise
    monkeypatch.setattr("bayesvb.results.leave_one_out.without_folds", None)
    assert_array_equal(read_elpd(fresh.loo()).pointwise, first)
    criteria_at(fresh, np.arange(10))
    moved = replace(fresh.members[0].fit)
    with pytest.raises(TypeError):
        left_out(moved)


def test_rows_that_were_left_out_to_weigh_restarts_are_not_left_out_again(class_fit, monkeypatch):
    fresh = replace(class_fit)
    monkeypatch.setattr("bayesvb.results.leave_one_out.without_folds", None)
    weights = np.array([member.weight for member in fresh.members])
    held = np.stack([member.fit.held_out for member in fresh.members])
    assert_allclose(read_elpd(fresh.loo()).pointwise, np.log(weights @ np.exp(held)))
    assert "by five folds" in str(fresh)


def test_a_report_compares_networks_as_compare_does(table, class_fit, one_expert):
    fits = {"one": one_expert, "two": class_fit}
    found = comparison(fits)
    assert "Five folds, the same for every fit" in found["left_out"]
    assert "Pareto" not in found["table"]["caption"]
    shown = {row["heads"][0]: row["cells"][0] for row in found["table"]["rows"]}
    assert shown == pytest.approx(table["elpd"].to_dict())


def test_too_many_rows_to_leave_out_are_said(class_fit, one_expert, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "fold_work", 10.0)
    found = comparison({"one": one_expert, "two": class_fit})
    assert "optimistic for networks" in found["left_out"]


@pytest.mark.heavy
def test_the_page_of_numbers_says_that_rows_were_left_out(of_numbers):
    summary = page_summary({"": of_numbers})["fits"][0]["sections"]["accuracy"]
    assert summary["by_folds"] and summary["k"] is None
    shown = {row["heads"][0]: row["cells"][0] for row in summary["table"]["rows"]}
    assert shown["this fit, LOO"] == pytest.approx(read_elpd(of_numbers.loo()).elpd)
