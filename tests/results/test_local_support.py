"""Predictions that lean on components without rows nearby are marked, others are not."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.plots import quantiles
from bayesvb.reports.sections import SECTIONS
from bayesvb.results import local_support as module
from bayesvb.results.limits import LIMITS
from bayesvb.results.local_support import SUPPORT, local_support, support_of


def lines(n_rows, seed=0, low=-2.0, high=2.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, n_rows)
    y = np.where(x > 0.0, 1.0 + x, -1.0 - x) + 0.3 * rng.normal(size=n_rows)
    return pd.DataFrame({"x": x, "y": y})


def fitted(data, formula="y ~ x", **options):
    model = bvb.DensityRegression(formula, data, **{"n_components": 2, **options})
    return model.fit(seed=1, restarts=2, covariance="mean-field")


@pytest.fixture(scope="module")
def fit():
    return fitted(lines(300))


@pytest.mark.heavy
def test_remoteness_is_that_of_leverages_and_weights(fit):
    """By loops, with the rows of a component that has many scaled to ten for each term."""
    block = fit.model.source.take(np.arange(300))
    r, x = fit.core.responsibilities(fit.q, block), block.designs["mean"]
    new = np.array([[1.0], [2.5]])
    weights = np.array([[0.3], [0.7]])
    expected = 0.0
    for k in range(2):
        rows = max(1.0, r[k].sum() / (2 * SUPPORT.rows_per_term))
        moments = sum(r[k, n] * np.outer(x[:, n], x[:, n]) for n in range(300)) + 0.1 * np.eye(2)
        leverage = rows * new[:, 0] @ np.linalg.solve(moments, new[:, 0])
        expected += weights[k, 0] * leverage / (1.0 + leverage)
    found = support_of(fit).remoteness(weights, new)
    assert found[0] == pytest.approx(expected, rel=1e-6)


def test_rows_far_away_are_marked_and_rows_of_the_fit_are_not(fit):
    new = pd.DataFrame({"x": [-1.0, 0.0, 1.0, 8.0, -8.0, np.nan]})
    found = fit.predict(new, supported=True, missing="keep")
    assert found["supported"].tolist() == [True, True, True, False, False, False]
    assert list(found.columns) == ["mean", "supported"]
    table = fit.predict(lines(5), "interval", supported=True)
    assert list(table.columns) == ["lower", "upper", "supported"]
    assert support_of(fit) is support_of(fit)


@pytest.mark.heavy
def test_a_gap_between_the_rows_is_marked():
    data = lines(400, low=-3.0, high=3.0)
    gap = fitted(data[data["x"].abs() > 1.5], "y ~ bs(x, df=8) | gating(x)")
    found = gap.predict({"x": [-2.0, 0.0, 2.0]}, supported=True)
    assert found["supported"].tolist() == [True, False, True]


@pytest.mark.heavy
@pytest.mark.parametrize("n_rows", [40, 200])
def test_new_rows_like_those_of_the_fit_are_seldom_marked(n_rows):
    marked = [
        1.0
        - fitted(lines(n_rows, seed)).predict(lines(500, 100 + seed), supported=True)["supported"]
        for seed in range(4)
    ]
    assert np.mean(marked) < 2.0 * SUPPORT.alarms


@pytest.mark.heavy
def test_of_many_rows_a_choice_is_left_out(monkeypatch):
    fit = fitted(lines(1200, 7))
    monkeypatch.setitem(vars(SUPPORT), "floor", 0.0)  # the rows decide, however near they are
    whole, rows, left_out = local_support(fit), fit.model.source.whole(), []
    monkeypatch.setitem(vars(LIMITS), "all_rows", 300)
    quantile = module._quantile
    monkeypatch.setattr(module, "_quantile", lambda v: left_out.append(len(v)) or quantile(v))
    some = local_support(fit)
    assert left_out == [300]
    assert_array_equal(some.inverse, whole.inverse)
    assert local_support(fit).threshold == some.threshold != whole.threshold
    weights, x = fit.core.mean_weights(fit.q, rows), fit.model.regressors(rows)
    marked = 1.0 - some.supported(weights, x).mean()
    assert abs(marked - SUPPORT.alarms) < 4.0 * np.sqrt(
        SUPPORT.alarms * (1.0 - SUPPORT.alarms) / 300.0
    )


@pytest.mark.heavy
def test_levels_that_a_component_lacks_are_marked():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"g": ["a"] * 100 + ["b"] * 100 + ["c"], "y": rng.normal(size=201)})
    found = fitted(data, "y ~ g | gating(1)", n_components=1)
    assert local_support(found).threshold == SUPPORT.floor
    assert found.predict({"g": ["a", "c"]}, supported=True)["supported"].tolist() == [True, False]


@pytest.mark.heavy
def test_groups_weights_and_combined_restarts_have_support(fit):
    data = lines(90).assign(i=np.arange(90) // 3, w=1.0)
    grouped = fitted(data, "y ~ x | gating(1)", group="i")
    weighted = fitted(data, weights="w")
    model = bvb.DensityRegression("y ~ x", data, n_components=2)
    stacked = model.fit(seed=1, restarts=2, combine="average", covariance="mean-field")
    for one in (grouped, weighted, stacked):
        assert one.predict({"x": [0.5, 40.0]}, supported=True)["supported"].tolist() == [
            True,
            False,
        ]


@pytest.mark.heavy
def test_effects_of_groups_need_no_rows_of_their_own():
    data = lines(120).assign(c=[f"c{k % 30}" for k in range(120)])
    found = fitted(data, "y ~ x + (1 | c) | gating(x)")
    assert support_of(found).inverse.shape == (2, 2, 2)


def test_other_models_say_that_they_have_none():
    variables = bvb.GaussianMixture("~ x + y", lines(50), n_components=1).fit(seed=1, restarts=1)
    with pytest.raises(DataError, match="not regressions"):
        variables.predict(response="x", supported=True)


@pytest.mark.heavy
def test_figures_are_hatched_where_there_is_no_support():
    data = lines(300, low=-3.0, high=3.0)
    gap = fitted(data[data["x"].abs() > 1.5], "y ~ bs(x, df=8) | gating(x)")
    axes = quantiles(gap, "x")
    assert any(patch.get_hatch() for patch in axes.patches)
    assert " Pale (" in str(SECTIONS["conditional"].summary(gap))
    assert not any(patch.get_hatch() for patch in quantiles(fitted(lines(300)), "x").patches)
