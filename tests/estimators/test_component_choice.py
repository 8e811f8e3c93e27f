"""Models whose fit chooses the number of components."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.estimators import component_choice
from bayesvb.estimators.identification import MOST_COMPONENTS, most_tried
from bayesvb.evaluation.elpd import Elpd
from bayesvb.results import leave_one_out

FAITHFUL = bvb.datasets.load("faithful")


@pytest.fixture(scope="module")
def model():
    return bvb.DensityRegression("waiting ~ 1", FAITHFUL, n_components=None)


@pytest.mark.heavy
def test_the_choice_is_that_of_select(model):
    fit = model.fit(seed=1, restarts=2)
    selection = bvb.select(model, range(1, 5), seed=1, restarts=2)
    assert fit.model.n_components == selection.chosen == 2
    assert fit.elbo == selection.best.elbo
    assert not fit.model.chooses_size and "n_components=2" in fit.code()


def test_the_model_says_what_it_will_try(model):
    assert str(model).startswith("Mixture of Gaussian linear regressions, fit chooses 1 to 5 comp")
    assert model.options()["n_components"] is None


def test_few_rows_limit_the_number():
    few = bvb.DensityRegression("waiting ~ 1", FAITHFUL[:3], n_components=None)
    assert few.n_components == 3 < MOST_COMPONENTS


def test_no_number_is_tried_that_has_more_terms_than_rows():
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(rng.normal(size=(11, 7)), columns=list("abcdefy"))
    model = bvb.DensityRegression("y ~ .", wide, n_components=None)
    assert most_tried(model.design, 5) == 1
    assert most_tried(bvb.DensityRegression("y ~ a", wide).design, 9) == 5
    curve = bvb.DensityRegression("y ~ s(a, k=6)", wide)
    assert most_tried(curve.design, 9) == 5
    assert model.fit(seed=1, restarts=1, draws=25).model.n_components == 1


@pytest.mark.parametrize(
    ("formula", "family"), [("n ~ x", "poisson"), ("y ~ x + (1 | g)", "gaussian")]
)
def test_other_families_and_groups_have_one(formula, family):
    data = {
        "n": [0, 2, 1, 4],
        "x": [1.0, 2.0, 3.0, 5.0],
        "y": [1.0, 2.0, 1.5, 3.0],
        "g": list("aabb"),
    }
    model = bvb.DensityRegression(formula, data, n_components=None, family=family)
    assert model.n_components == 1 and not model.chooses_size


def test_what_needs_a_number_says_so(model):
    with pytest.raises(DataError, match="n_components=None"):
        model.over(model.source)
    with pytest.raises(
        DataError, match="n_components=None, the automatic choice, needs a variational method"
    ):
        model.fit(
            seed=1, start=bvb.DensityRegression("waiting ~ 1", FAITHFUL).fit(seed=1, restarts=1)
        )


def test_numbers_are_tried_until_two_do_not_gain(monkeypatch):
    tried, no_gain = [], component_choice._no_gain
    monkeypatch.setattr(
        component_choice, "_no_gain", lambda fits: tried.append(max(fits)) or no_gain(fits)
    )
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    data = {"x": x, "y": x + rng.normal(size=60)}
    fit = bvb.DensityRegression("y ~ x", data, n_components=None).fit(seed=1, restarts=1)
    assert fit.model.n_components == 1 and max(tried) == 3


def test_an_interrupted_choice_warns_and_is_of_the_finished_fits(model, monkeypatch):
    fit_one = bvb.DensityRegression._fitted

    def interrupt(model, *args):
        if not model.chooses_size and model.n_components > 1:
            raise KeyboardInterrupt
        return fit_one(model, *args)

    monkeypatch.setattr(bvb.DensityRegression, "_fitted", interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted; it contains n_components = 1"):
        assert model.fit(seed=1, restarts=2).model.n_components == 1


def test_slow_refits_are_made_where_they_may_change_the_choice(monkeypatch):
    monkeypatch.setitem(vars(leave_one_out.REFITS), "most_entries", 10)
    limits, refit = [], leave_one_out._refits
    monkeypatch.setattr(
        leave_one_out, "_refits", lambda *args: limits.append(args[5]) or refit(*args)
    )
    rng = np.random.default_rng(3)
    x = rng.uniform(-2.0, 2.0, size=120)
    y = x + 3.0 * np.sign(rng.normal(size=120)) + 0.5 * rng.normal(size=120)
    model = bvb.DensityRegression("y ~ x", {"x": x, "y": y}, n_components=None)
    assert model.fit(seed=1, restarts=1).model.n_components == 2 and max(limits) == 0.0
    monkeypatch.setattr(component_choice, "_close_fits", dict)
    assert model.fit(seed=1, restarts=1).model.n_components == 2 and max(limits) > 0.0


def test_only_numbers_that_may_be_chosen_are_refitted(monkeypatch):
    """Of numbers far below the best, refits change nothing."""
    rng = np.random.default_rng(1)
    best = rng.normal(size=400)
    pointwise = {1: best - 1.0 + 0.1 * rng.normal(size=400), 3: best, 4: best - 0.01}
    pointwise[2] = best - 0.02 + 0.2 * rng.normal(size=400)  # two standard errors
    results = {k: Elpd(kind="loo", pointwise=pointwise[k], p=1.0) for k in (1, 2, 3, 4)}
    monkeypatch.setattr(component_choice, "criteria", lambda fits, *_, **__: (results, {}))
    monkeypatch.setattr(component_choice, "hopeful", lambda *_: [])
    assert list(component_choice._close_fits(dict.fromkeys(results))) == [2, 3, 4]
    assert component_choice._rivals(results) == [3]
    pointwise = {k: one for k, one in results.items() if k != 2}
    monkeypatch.setattr(component_choice, "criteria", lambda fits, *_, **__: (pointwise, {}))
    assert component_choice._close_fits(dict.fromkeys(pointwise)) == {}
