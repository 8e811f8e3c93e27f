"""Rows behind curves: others held, or averages over rows where coefficients mean nothing."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula
from bayesvb.reports.rows.profiles import compared, most_moving, profile, quantiles_moved
from bayesvb.reports.rows.sampling import component_weights
from bayesvb.reports.rows.unseen import unseen, unseen_words
from bayesvb.reports.sections.classes import drawn_probabilities, probabilities
from bayesvb.reports.sections.finding import sentences

FEW = {"seed": 1, "restarts": 1, "draws": 40, "tol": 1e-2}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(30, 2)), columns=["x", "z"])
    frame["g"] = np.where(rng.random(30) < 0.5, "a", "b")
    frame["y"] = 2.0 * frame["x"] + frame["z"] + 0.3 * rng.normal(size=30)
    return frame.assign(k=np.where(frame["y"] > 0.0, "up", "down"))


@pytest.fixture(scope="module")
def numbers(data):
    return bvb.ConditionalMixtureNetwork("y ~ x + z + g", data, n_experts=2).fit(**FEW)


@pytest.fixture(scope="module")
def classes(data):
    return bvb.ConditionalMixtureNetwork("k ~ x + z", data, n_experts=2).fit(**FEW)


def with_x(data, x, names):
    return data[names].assign(x=x)


def test_a_network_is_averaged_over_the_rows_as_they_were_observed(numbers, data):
    rows = profile(numbers, "x", [-0.5, 0.5])
    assert rows.n_each == len(data) and "all 30 rows" in rows.fixed
    found, points = rows.predictive(numbers), np.linspace(-2.0, 2.0, 5)
    for place, x in enumerate((-0.5, 0.5)):
        each = numbers.predictive(with_x(data, x, ["x", "z", "g"]))
        expected = each.density_at(points).mean(axis=1)
        np.testing.assert_allclose(found.density_at(points)[:, place], expected)
    weights = rows.averaged(component_weights(numbers, rows.frame))
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)


def test_rows_of_an_average_count_by_their_case_weights(data):
    weights = np.arange(30.0) % 4
    model = bvb.ConditionalMixtureNetwork("k ~ x + z", data, n_experts=2, weights=weights)
    fit = model.fit(**FEW)
    rows = profile(fit, "x", [-0.5, 0.5])
    assert "all 30 rows, by case weight" in rows.fixed
    each = fit.predict(with_x(data, 0.5, ["x", "z"]), kind="probability").to_numpy()
    np.testing.assert_allclose(probabilities(fit, rows)[1], weights @ each / weights.sum())


def test_probabilities_and_their_draws_are_averaged_too(classes, data):
    rows = profile(classes, "x", [-0.5, 0.5])
    found = probabilities(classes, rows)
    each = classes.predict(with_x(data, 0.5, ["x", "z"]), kind="probability").to_numpy()
    np.testing.assert_allclose(found[1], each.mean(axis=0))
    drawn = drawn_probabilities(classes, rows, 40)
    assert drawn.shape == (40, 2, 2)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    np.testing.assert_allclose(drawn.mean(axis=0).T, found, atol=0.05)


def test_the_sentence_says_so(numbers, classes):
    for fit in (numbers, classes):
        assert " on average (89% " in sentences(fit, [])[0]
    assert most_moving(numbers, quantiles_moved) == "x"


def test_levels_are_averaged_at_each_level(numbers):
    rows = profile(numbers, "g")
    assert rows.frame["g"].tolist() == ["b"] * 30 + ["a"] * 30


def test_lines_and_single_covariates_are_not_averaged(data):
    line = bvb.DensityRegression("y ~ x + z", data, n_components=1).fit(**FEW)
    assert profile(line, "x").n_each == 1 and profile(line, "x").fixed.startswith("at z = ")
    alone = bvb.ConditionalMixtureNetwork("y ~ x", data, n_experts=2).fit(**FEW)
    assert profile(alone, "x").n_each == 1 and profile(alone, "x").fixed == ""


def test_averages_are_unseen_where_most_of_their_rows_are(numbers):
    rows = profile(numbers, "x", [0.0, 50.0])
    found = unseen(numbers, rows)
    assert found.tolist() == [False, True]
    assert "for most rows of the average no row is near" in unseen_words(found, rows)


def test_an_extreme_value_does_not_make_its_covariate_the_one_that_moves_most():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=60), "g": np.tile(["a", "b"], 30)})
    data.loc[0, "x"] = 30.0
    data["y"] = 0.3 * data["x"] + 2.0 * (data["g"] == "b") + 0.3 * rng.normal(size=60)
    model = bvb.DensityRegression("y ~ x + g", data, n_components=1)
    assert most_moving(model.fit(seed=1, restarts=1, draws=50), quantiles_moved) == "g"


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ("x + offset(log(n))", ("x",)),
        ("x + n + offset(log(n))", ("x", "n")),
        ("x + (1 | g) + offset(log(n))", ("x",)),
        ("1 + offset(log(n))", ("n",)),
    ],
)
def test_exposures_are_not_compared_unless_there_is_nothing_else(terms, names):
    data = pd.DataFrame({"x": np.arange(20.0), "n": np.arange(1.0, 21.0), "g": list("abcd") * 5})
    formula = parse_formula(f"y ~ {terms}", offset=True)
    design = build_design(formula, data.assign(y=data["x"]), warn=False)
    assert compared(design) == names


def test_a_picture_says_on_what_an_effect_depends():
    data = bvb.datasets.load("cps1985")
    plain, product = (
        bvb.DensityRegression(f"wage ~ education {sign} gender + age", data, n_components=1)
        for sign in "+*"
    )
    fixed = [profile(model.fit(seed=1, draws=50), "education").fixed for model in (plain, product)]
    assert "depends" not in fixed[0]
    assert fixed[1].endswith("; the effect of education depends on gender")
