"""The table of average effects on a page."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.effects.average_predictions import average_predictions
from bayesvb.effects.observed_rows import observed_rows
from bayesvb.reports.rows import average_effects
from bayesvb.reports.rows.average_effects import average_draws
from bayesvb.reports.sections import SECTIONS


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=150), "g": rng.choice(list("abc"), 150)})
    data["y"] = 3.0 * data["x"] + 2.0 * (data["g"] == "b") + rng.normal(size=150)
    return bvb.DensityRegression("y ~ x + g", data, n_components=1).fit(seed=1, draws=300)


def rows(found):
    return {tuple(row["heads"]): row["cells"] for row in found["table"]["rows"]}


def test_numbers_go_between_quantiles_and_levels_from_the_most_frequent(fit):
    found = SECTIONS["effects"].summary(fit)
    table = rows(found)
    low, high = average_effects.compared_values(fit, "x")
    heads = list(table)
    assert [head[0] for head in heads] == ["x", "g", "g"]
    assert [head[1:3] for head in heads[1:]] == [("c", "a"), ("c", "b")]
    difference, interval = table[heads[0]]
    expected = bvb.effects.comparisons(fit, {"x": [low, high]}, average_by=True).summary.iloc[0]
    assert difference == pytest.approx(expected["estimate"])
    assert interval == pytest.approx([expected["lower"], expected["upper"]])
    levels = bvb.effects.comparisons(fit, "g", average_by=True).summary.set_index("contrast")
    for head in heads[1:]:
        pair = f"{head[2]} - {head[1]}"
        assert table[head][0] == pytest.approx(levels.loc[pair, "estimate"])
    assert table[heads[2]][0] == pytest.approx(2.0, abs=0.6)


def test_a_standard_deviation_that_cannot_change_is_no_effect(fit):
    assert {head[3] for head in rows(SECTIONS["effects"].summary(fit))} == {"mean"}
    found = SECTIONS["effects"].summary(fit)
    assert "standard deviation" not in found["summaries"]


@pytest.mark.parametrize(("gap", "targets"), [(0.0, {"mean"}), (6.0, {"mean", "sd"})])
def test_the_spread_changes_only_with_two_components_that_hold_rows(gap, targets):
    rng = np.random.default_rng(5)
    x = rng.normal(size=200)
    above = gap * (rng.random(200) < 1.0 / (1.0 + np.exp(-2.0 * x)))
    data = pd.DataFrame({"x": x, "y": x + above + rng.normal(size=200)})
    fit = bvb.DensityRegression("y ~ x", data, n_components=2).fit(seed=1, restarts=2, draws=50)
    assert set(average_draws(fit, "x", [-1.0, 1.0], ("mean", "sd"))) == targets
    assert SECTIONS["model"].summary(fit)["scales"]["parts"] == ["between", "gating"]


def test_probabilities_of_classes_have_differences(class_fit):
    found = SECTIONS["effects"].summary(class_fit)
    levels = class_fit.model.design.class_labels
    by = pd.DataFrame(
        [(*heads, cells[0]) for heads, cells in rows(found).items()],
        columns=["name", "from", "to", "level", "difference"],
    )
    assert set(by["level"]) == set(map(str, levels))
    assert np.allclose(by.groupby(["name", "from", "to"])["difference"].sum(), 0.0, atol=1e-9)


def test_many_levels_have_the_two_at_the_ends():
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"g": rng.choice(list("abcdefghij"), 300, p=[0.19, *[0.09] * 9])})
    data["y"] = data["g"].map(dict(zip("abcdefghij", range(10), strict=True))) - 4.0
    data["y"] += 0.1 * rng.normal(size=300)
    fit = bvb.DensityRegression("y ~ g", data, n_components=1).fit(seed=1, draws=50)
    found = SECTIONS["effects"].summary(fit)
    assert [head[1:3] for head in rows(found)] == [("a", "b"), ("a", "j")]
    assert "of more than 8 levels" in found["table"]["caption"] and found["left_out"] == 0


def test_models_without_covariates_have_no_line(fit):
    data = fit.model.design.frame
    assert SECTIONS["effects"].summary(bvb.Normal("y ~ 1", data).fit(seed=1)) is None
    constant = bvb.DensityRegression("y ~ 1", data, n_components=1).fit(seed=1)
    assert SECTIONS["effects"].summary(constant) is None


def test_averages_of_a_sample_say_so(fit, monkeypatch):
    monkeypatch.setattr(average_effects, "ROWS", 40)
    monkeypatch.setattr(average_effects, "FEWEST_ROWS", 40)
    caption = SECTIONS["effects"].summary(fit)["table"]["caption"]
    assert "averages over 40 of 150 rows, chosen at random, with the other" in caption


@pytest.mark.parametrize(("formula", "curves"), [
    ("y ~ bs(x, df=4)", True), ("y ~ s(x, k=5)", True), ("y ~ x + g", False),
    ("y ~ s(x, k=6) + (1 | g)", True),
])  # fmt: skip
def test_coefficients_of_curves_are_folded(fit, formula, curves):
    data = fit.model.design.frame
    found = bvb.DensityRegression(formula, data, n_components=1).fit(seed=1, draws=50)
    parts = SECTIONS["posterior"].summary(found)["parts"]
    assert parts[0]["curves"] is curves
    assert not parts[-1]["curves"]
    alone = formula != "y ~ bs(x, df=4)"  # the line of a smooth stands apart from its bends
    assert (parts[0]["forest"] is not None) is alone


def test_the_model_tells_of_scales_that_are_learned_and_of_curves(fit):
    data = fit.model.design.frame
    assert SECTIONS["model"].summary(fit)["scales"] is None  # one component, no curve
    assert SECTIONS["components"].summary(fit) is None
    curved = bvb.DensityRegression("y ~ s(x, k=5)", data, n_components=1).fit(seed=1, draws=50)
    found = SECTIONS["model"].summary(curved)
    assert found["scales"] == {
        "parts": ["mean"], "half_t": True, "with_noise": True
    }  # fmt: skip
    assert SECTIONS["model"].summary(fit)["curves"] is None
    fixed = bvb.Priors(scales="fixed")
    plain = bvb.DensityRegression("y ~ s(x, k=5)", data, n_components=1, priors=fixed)
    told = SECTIONS["model"].summary(plain.fit(seed=1, draws=50))
    assert told["scales"] is None and told["curves"].startswith("s(x) ")


def test_distributions_are_made_once_for_all_targets(fit, monkeypatch):
    model, made = type(fit.model), []
    plain = model.drawn_mixture
    monkeypatch.setattr(model, "drawn_mixture", lambda *given: made.append(1) or plain(*given))
    observed = observed_rows(fit, 20)
    found = average_predictions(fit, observed, "x", [-1.0, 1.0], ("mean", "sd"))
    assert list(found) == ["mean", "sd"] and len(made) == 2  # at each of the two values


def test_a_target_that_is_infinite_leaves_the_others(fit, monkeypatch):
    def infinite(mixture):
        return np.full(mixture.mean().shape, np.inf)

    monkeypatch.setattr("bayesvb.distributions.normal_mixture.NormalMixture.sd", infinite)
    assert list(average_draws(fit, "x", [-1.0, 1.0], ("mean", "sd"))) == ["mean"]
