"""Sections on influential rows and on the prior say what the tables of the fit say."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.sections import influence, limits, sensitivity
from bayesvb.sensitivity import solvers


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    frame = pd.DataFrame({"x": x, "y": 1.0 + x + 0.3 * rng.standard_normal(60)})
    frame.loc[7] = [3.5, -6.0]
    return frame


@pytest.fixture(scope="module")
def fit(data):
    priors = bvb.Priors(scales="fixed")
    model = bvb.DensityRegression("y ~ x", data, n_components=1, priors=priors)
    return model.fit(seed=1, restarts=1, draws=50)


def test_the_rows_named_are_those_of_the_table(fit):
    found, table = influence.summary(fit), fit.influence()
    assert found["first"] == "7"
    assert found["n_much"] >= 1
    assert found["n_rows"] == 60
    assert [row["heads"][0] for row in found["table"]["rows"]] == [
        str(row) for row in table["cooks_distance"].nlargest(influence.SHOWN).index
    ]
    assert found["change"] == pytest.approx(table.loc[7, found["parameter"]])
    assert found["spent"] == pytest.approx(2.0, abs=0.01)


def test_rows_that_move_nothing_are_left_in_peace(data):
    model = bvb.DensityRegression("y ~ x", data.drop(index=7), n_components=1)
    assert influence.summary(model.fit(seed=1, restarts=1, draws=50))["n_much"] == 0


def test_the_largest_change_is_that_of_the_table(data):
    priors = bvb.Priors(coefficient_sd=0.3, scales="fixed")
    model = bvb.DensityRegression("y ~ x", data, n_components=1, priors=priors)
    held = model.fit(seed=1, restarts=1, draws=50)
    found, table = sensitivity.summary(held), held.prior_sensitivity()
    assert (found["first"], found["side"]) == ("coefficient_sd", "halved")
    assert abs(found["change"]) == pytest.approx(table[["halved", "doubled"]].abs().max().max())
    assert found["n_much"] == 1
    assert len(found["table"]["rows"]) == 3  # one component has no gate


@pytest.fixture(scope="module")
def visits():
    """Subjects on two lines, the second of them between both."""
    rng = np.random.default_rng(3)
    group, t = np.repeat(np.arange(30), 4), np.tile(np.arange(4.0), 30)
    slope = np.where(np.arange(30) % 2, -1.0, 1.0)
    slope[1] = -0.3
    y = slope[group] * t + 0.3 * rng.standard_normal(120)
    return pd.DataFrame({"id": [f"s{g}" for g in group], "t": t, "y": y})


def grouped(visits):
    model = bvb.DensityRegression("y ~ t | gating(1)", visits, n_components=2, group="id")
    return model.fit(seed=1, restarts=2, draws=50, tol=1e-11)


def test_groups_stand_for_rows_where_rows_come_in_groups(visits):
    fit = grouped(visits)
    found, table = influence.summary(fit), fit.influence()
    assert (found["unit"], found["n_rows"], found["first"]) == ("group", 30, "s1")
    assert found["spent"] is None  # a group has no leverage
    heads = [row["heads"][0] for row in found["table"]["rows"]]
    assert heads == list(table["cooks_distance"].nlargest(influence.SHOWN).index)
    before, after = (one.summary()["mean"] for one in (fit, grouped(visits[visits["id"] != "s1"])))
    lines = [("mean", k, term) for k in (1, 2) for term in ("Intercept", "t")]
    moved = ((after - before) / fit.summary()["sd"]).loc[lines]
    told = table.loc["s1", [f"mean {k}, {term}" for _, k, term in lines]]
    np.testing.assert_allclose(told, moved, atol=0.2 * np.abs(moved).max())


@pytest.mark.heavy
def test_the_section_speaks_of_groups(visits, tmp_path):
    page = grouped(visits).report(tmp_path / "page.html").read_text()
    assert "each of its 30 groups" in page
    assert "most influential is group s1" in page
    assert "Leverages add up" not in page


def test_models_without_linear_response_have_neither_section(data, fit):
    other = bvb.GaussianMixture("~ x + y", data, n_components=1).fit(seed=1, draws=50)
    assert influence.summary(other) is None
    assert sensitivity.summary(other) is None
    named = [{one["what"] for one in limits.summary(each)["not_done"]} for each in (fit, other)]
    assert "Sensitivity to the priors" not in named[0]
    assert "Sensitivity to the priors" in named[1]


def test_a_page_is_written_of_fits_whose_answers_memory_does_not_hold(data, monkeypatch, tmp_path):
    monkeypatch.setattr(solvers, "MOST_NUMBERS", 10)
    priors = bvb.Priors(scales="fixed")
    model = bvb.DensityRegression("y ~ x", data, n_components=1, priors=priors)
    fit = model.fit(seed=1, restarts=1, draws=50)
    assert influence.summary(fit) is None
    assert sensitivity.summary(fit) is None
    names = [one["what"] for one in limits.summary(fit)["not_done"]]
    assert {"Influence of single rows", "Sensitivity to the priors"} <= set(names)
    assert fit.report(tmp_path / "page.html").exists()
