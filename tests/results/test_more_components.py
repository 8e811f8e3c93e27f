"""One component is split, and the gain is that of a fit with one component more."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.results.checks import more_components
from bayesvb.results.checks.more_components import best_split, more_component_checks, split_gain
from bayesvb.results.limits import LIMITS

NAME = "One more component"


def three_lines(n: int, seed: int) -> pd.DataFrame:
    """Three regressions, two of which cross."""
    rng = np.random.default_rng(seed)
    x, part = rng.uniform(-2.0, 2.0, n), rng.integers(0, 3, n)
    mean = np.stack([2.0 * x, -2.0 * x, 6.0 + 0.0 * x])[part, np.arange(n)]
    return pd.DataFrame({"x": x, "y": mean + 0.5 * rng.normal(size=n)})


def checks_of(fit):
    return more_component_checks(fit, split_gain(fit))


def fitted(data: pd.DataFrame, n_components: int, formula: str = "y ~ x"):
    model = bvb.DensityRegression(formula, data, n_components=n_components)
    return model.fit(seed=1, restarts=4, draws=50)


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.quick(n_components=(1,))
def test_fewer_components_than_true_are_a_problem_with_the_gain_of_a_fit(n_components):
    data = three_lines(250, seed=3)
    fit, larger = (fitted(data, k) for k in (n_components, n_components + 1))
    (found,) = checks_of(fit)
    assert (found.name, found.grade) == (NAME, "problem")
    assert f"`n_components={n_components + 1}`" in found.remedy
    gain = (larger.rows_left_out.log_density - fit.rows_left_out.log_density).sum()
    assert found.number == pytest.approx(gain, rel=0.15)
    assert best_split(fit).run.bound == pytest.approx(
        larger.elbo + larger.model.log_jacobian * 250, abs=1.0
    )


@pytest.mark.heavy
def test_as_many_components_as_true_gain_nothing():
    (found,) = checks_of(fitted(three_lines(250, seed=3), 3))
    assert found.grade == "ok" and found.remedy == "" and found.number < 4.0


@pytest.mark.heavy
def test_a_gain_is_the_same_in_other_units_and_for_every_other_order_of_rows():
    data = three_lines(250, seed=5)
    (plain,) = checks_of(fitted(data, 2))
    moved = data.assign(y=100.0 - 7.0 * data["y"], x=3.0 * data["x"] + 5.0)
    for other in (moved, data.iloc[::-1]):
        (found,) = checks_of(fitted(other, 2))
        assert found.number == pytest.approx(plain.number, abs=0.5)


def test_a_mixture_of_variables_is_split_too():
    rng = np.random.default_rng(2)
    centres = np.array([[0.0, 0.0], [4.0, 4.0], [4.0, -4.0]])[rng.integers(0, 3, 240)]
    data = pd.DataFrame(centres + rng.normal(size=(240, 2)), columns=["a", "b"])
    fit = bvb.GaussianMixture("~ a + b", data, n_components=2).fit(seed=1, restarts=4, draws=50)
    table = fit.check()
    assert table.loc[NAME, "grade"] == "problem"


@pytest.mark.heavy
def test_case_weights_count_as_rows():
    data = three_lines(120, seed=4)
    twice = pd.concat([data, data], ignore_index=True)
    model = bvb.DensityRegression("y ~ x", data, n_components=2, weights=np.full(120, 2.0))
    (weighted,) = checks_of(model.fit(seed=1, restarts=4, draws=50))
    (plain,) = checks_of(fitted(twice, 2))
    assert weighted.number == pytest.approx(plain.number, rel=0.05)


def test_rows_that_the_first_order_may_flatter_gain_nothing():
    data = three_lines(100, seed=3)
    one, other = (fitted(data, k).rows_left_out for k in (1, 2))
    doubtful = np.zeros(100, dtype=bool)
    doubtful[:50] = True
    gain = more_components._gains(one, replace(other, doubtful=doubtful))
    assert (gain[:50] <= 0.0).all() and gain[50:].max() > 0.0


def test_what_would_take_long_is_left_out(monkeypatch):
    fit = fitted(three_lines(100, seed=3), 1)
    for name in ("subsample", "work", "split_statistics"):
        with monkeypatch.context() as patched:
            patched.setitem(vars(LIMITS), name, 1)
            assert checks_of(fit) == []
    assert NAME in fit.check().index
