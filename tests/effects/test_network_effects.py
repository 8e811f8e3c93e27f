"""Effects of covariates on probabilities of classes, and on the numbers that networks predict."""

import numpy as np
import pandas as pd
import pytest

from bayesvb import ConditionalMixtureNetwork, effects
from bayesvb.errors import DataError
from bayesvb.results.limits import LIMITS

pytestmark = pytest.mark.heavy

N = 90


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    x, g = rng.normal(size=N), rng.choice(["u", "v"], N)
    score = 1.5 * x + (g == "v") + rng.logistic(size=N)
    label = np.array(["low", "mid", "high"])[np.digitize(score, [-0.5, 1.0])]
    y = np.where(x > 0, 2.0 * x, -x) + 0.3 * rng.normal(size=N)
    return pd.DataFrame({"label": label, "y": y, "v": x - y, "x": x, "g": g})


def fitted(formula, data, **options):
    model = ConditionalMixtureNetwork(formula, data, n_experts=3, **options)
    return model.fit(seed=1, restarts=3, draws=40, tol=0.1, combine="average")


@pytest.fixture(scope="module")
def classes(data):
    return fitted("label ~ x + g | gating(x)", data)


@pytest.fixture(scope="module")
def numbers(data):
    """Two responses of one latent vector each."""
    return fitted("y + v ~ x + g", data)


@pytest.fixture(scope="module")
def number(data):
    return fitted("y ~ x + g", data)


# -- classes -------------------------------------------------------------------------------------


def test_predictions_are_the_drawn_probabilities_of_all_levels(classes):
    found = effects.predictions(classes)
    own = classes.model.probability_draws(classes, few_points=True)
    assert len(classes.members) > 1
    np.testing.assert_allclose(found.draws.values.reshape(own.shape), own, rtol=1e-12)
    assert found.summary["level"].tolist() == ["high", "low", "mid"] * N
    assert found.words == "probability of each level of label" and found.target == "probability"


def test_probabilities_sum_to_one_and_their_comparisons_to_zero(classes):
    whole = effects.predictions(classes, average_by=True).draws.values
    np.testing.assert_allclose(whole.sum(axis=1), 1.0, rtol=1e-12)
    change = effects.comparisons(classes, "g", average_by=True).draws.values
    np.testing.assert_allclose(change.sum(axis=1), 0.0, atol=1e-12)
    slope = effects.slopes(classes, "x", average_by=True).draws.values
    np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=1e-8)


def test_a_comparison_of_probabilities_is_that_of_predictions(classes):
    where = {"x": [-1.0, 0.5]}
    a, b = (effects.predictions(classes, where | {"g": [g]}).draws.values for g in ("u", "v"))
    found = effects.comparisons(classes, {"g": ["u", "v"]}, where)
    np.testing.assert_allclose(found.draws.values, b - a, atol=1e-14)
    assert found.summary["contrast"].unique().tolist() == ["v - u"]
    ratio = effects.comparisons(classes, {"g": ["u", "v"]}, where, comparison="ratio")
    np.testing.assert_allclose(ratio.draws.values, b / a, rtol=1e-12)


def test_a_slope_of_probabilities_is_their_derivative(classes):
    step = 0.01
    low, high = (
        effects.predictions(classes, {"x": [0.3 + d], "g": ["u"]}).draws.values
        for d in (-step, step)
    )
    found = effects.slopes(classes, "x", {"x": [0.3], "g": ["u"]}).draws.values
    np.testing.assert_allclose(found, (high - low) / (2.0 * step), atol=2e-3)
    assert np.abs(found).max() > 0.1


def test_a_number_raises_the_class_that_it_raises(classes):
    """More of x makes high likelier and low less likely in the simulation."""
    table = effects.slopes(classes, "x", average_by=True).summary.set_index("level")
    assert table.loc["high", "lower"] > 0.0 > table.loc["low", "upper"]


@pytest.mark.parametrize("kind", ["classes", "number"])
def test_weights_are_those_of_the_fit(kind, request):
    fit = request.getfixturevalue(kind)
    draws = effects.predictions(fit, target="weights").draws.values.reshape(40, N, 3)
    np.testing.assert_allclose(draws, fit.weights_at(), rtol=1e-10)


def test_blocks_of_rows_do_not_change_probabilities(classes, monkeypatch):
    whole = effects.predictions(classes, average_by="g").draws.values
    monkeypatch.setitem(vars(LIMITS), "entries_in_memory", 40 * 3 * 3 * 7)
    found = effects.predictions(classes, average_by="g").draws.values
    np.testing.assert_allclose(found, whole, rtol=1e-12)


def test_levels_are_curves_of_the_picture(classes):
    axes = effects.predictions(classes, "x").plot()
    assert axes.get_ylabel() == "probability of each level of label"
    assert {"level high", "level low", "level mid"} <= {text.get_text() for text in axes.texts}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"target": "mean"}, "target='mean' needs a numeric response"),
        ({"target": "quantile", "q": 0.5}, "target='quantile' needs a numeric response"),
        ({"target": "median"}, "target='median'"),
        ({"above": 1.0}, "does not use above"),
        ({"target": "weights", "q": 0.5}, "does not use q"),
    ],
)
def test_what_classes_do_not_have_is_refused(classes, ask, message):
    with pytest.raises(DataError, match=message):
        effects.predictions(classes, **ask)


# -- numbers -------------------------------------------------------------------------------------


def test_the_drawn_mixture_has_the_density_of_the_likelihood(number):
    block = number.model.block(number.model.rows(number.model.design.frame, response=True))
    mixture = number.model.drawn_mixture(number, block, 0)
    y = number.model.design.frame["y"].to_numpy()
    density = np.array([mixture.density(value)[:, n] for n, value in enumerate(y)]).T
    expected = number.core.log_lik(number.draws, block) - number.model.log_jacobian
    np.testing.assert_allclose(np.log(density), expected, rtol=1e-8)


def test_each_response_has_the_mean_of_its_predictive(numbers):
    found = effects.predictions(numbers).summary.set_index("response")
    for name in ("y", "v"):
        mine = found.loc[name]
        apart = mine["estimate"].to_numpy() - numbers.predict(response=name).to_numpy()
        assert np.abs(apart).max() < (4.0 / np.sqrt(40) + 0.2) * mine["sd"].max()


def test_the_mean_of_a_number_is_left_out_for_short(number):
    short, long = (effects.predictions(number, "x", **ask) for ask in ({}, {"target": "mean"}))
    np.testing.assert_array_equal(short.draws.values, long.draws.values)
    quantile = effects.predictions(number, {"x": [1.0]}, target="quantile", q=[0.1, 0.9]).summary
    assert quantile["estimate"].is_monotonic_increasing
