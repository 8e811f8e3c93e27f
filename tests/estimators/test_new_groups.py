"""Predictions of groups and levels that were not in the data of the fit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    g = np.repeat(np.arange(25), 8)
    frame = pd.DataFrame({"x": rng.normal(size=200), "g": [f"g{i}" for i in g]})
    frame["h"] = np.where(np.arange(200) % 4 == 0, "u", "v")
    effects = rng.normal(size=25)
    frame["y"] = frame.x + 2.0 * effects[g] + (frame.h == "u") + 0.5 * rng.normal(size=200)
    model = bvb.DensityRegression("y ~ x + h + (1 | g) | 1", frame, n_components=1)
    return model.fit(seed=1, restarts=1)


def test_a_new_group_is_the_typical_one_or_any(fit):
    new = {"x": [0.0, 0.0], "h": ["v", "v"], "g": ["g3", "elsewhere"]}
    typical = fit.predict(new, kind="sd", new_groups="typical")
    drawn = fit.predict(new, kind="sd")
    assert drawn[1] > 1.5 * typical[1]
    assert drawn[0] == typical[0]
    means = [fit.predict(new, new_groups=one)[1] for one in ("typical", "marginal")]
    assert_allclose(means[0], means[1], atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("mean", {}),
        ("sd", {}),
        ("interval", {"prob": 0.8}),
        ("quantile", {"q": [0.1, 0.9]}),
        ("cdf", {"at": 1.0}),
        ("density", {"at": 1.0}),
        ("draws", {"n": 3, "seed": 1}),
    ],
)
def test_every_kind_integrates_over_groups_by_default(fit, kind, options):
    new = pd.DataFrame({"x": [0.5, 0.5], "h": ["v", "v"], "g": ["g3", "elsewhere"]})
    default, marginal, typical, older = (
        np.asarray(fit.predict(new, kind, **options, **policy))
        for policy in (
            {}, {"new_groups": "marginal"}, {"new_groups": "typical"}, {"new_groups": "sample"},
        )
    )  # fmt: skip
    assert_allclose(default, marginal, rtol=1e-12)
    assert_allclose(older, marginal, rtol=1e-12)
    assert kind == "mean" or (default[1] != typical[1]).all()
    if kind != "draws":
        assert_allclose(default[0], typical[0], rtol=1e-12)


def test_effects_are_of_the_typical_group_and_say_so(fit):
    effects = bvb.effects.predictions(fit, conditional={"x": [0.5]})
    assert "Held at the typical group, whose effect is 0: g." in str(effects)
    table = effects.summary
    new = {"x": [0.5], "h": ["v"], "g": ["new group"]}
    typical = fit.predict(new, new_groups="typical")
    assert_allclose(table["estimate"], typical, atol=0.15)
    assert table["upper"].iloc[0] - table["lower"].iloc[0] < 3.0  # groups alone differ by more


def test_a_new_level_is_refused_missing_or_average(fit):
    new = pd.DataFrame({"x": [0.0, 0.0], "h": ["w", "v"], "g": ["g3", "g3"]}, index=["a", "b"])
    with pytest.raises(DataError, match="in the data of the fit: 'w'"):
        fit.predict(new)
    missing = fit.predict(new, new_levels="missing")
    assert np.isnan(missing["a"]) and missing["b"] == fit.predict(new.iloc[1:])["b"]
    average = fit.predict(new, new_levels="population")["a"]
    u, v = fit.predict(pd.concat([new, new]).assign(h=["u", "v", "u", "v"])).iloc[:2]
    assert_allclose(average, 0.25 * u + 0.75 * v, atol=1e-9)


def test_densities_and_memberships_heed_what_is_new(fit):
    new = pd.DataFrame({"x": [0.0], "h": ["v"], "g": ["elsewhere"], "y": [4.0]})
    typical, drawn = (fit.log_density(new, new_groups=one)[0] for one in ("typical", "marginal"))
    assert drawn > typical + 1.0  # four is far from the typical group, and not from any
    density = fit.predict(new, kind="density", at=4.0, new_groups="marginal")
    assert_allclose(drawn, np.log(density.to_numpy().ravel()[0]), rtol=1e-9)
    strange = new.assign(h="w", g="g3")
    with pytest.raises(DataError, match="in the data of the fit: 'w'"):
        fit.log_density(strange)
    assert np.isnan(fit.log_density(strange, new_levels="missing")[0])
    assert np.isfinite(fit.log_density(strange, new_levels="population")[0])
    assert fit.responsibilities(strange, new_levels="population").loc[0, 1] == 1.0


@pytest.mark.usefixtures("unchecked")  # checks of annotations stand between us and the caller
def test_new_groups_are_told_unless_the_policy_is_named(fit, recwarn):
    new = pd.DataFrame({"x": [0.0], "h": ["v"], "g": ["G3"], "y": [4.0]})
    for verb in (fit.predict, fit.log_density, fit.responsibilities, fit.predictive):
        with pytest.warns(DesignWarning, match="no group of `g` in the new data") as told:
            verb(new)
        assert told[0].filename == __file__
        verb(new, new_groups="population")
    assert not recwarn


def test_what_is_no_policy_is_refused(fit):
    with pytest.raises(DataError, match="new_groups='mean' is not known"):
        fit.predict(new_groups="mean")
    with pytest.raises(DataError, match="new_levels='drop' is not known"):
        fit.predict(new_levels="drop")
    plain = bvb.DensityRegression("y ~ x | 1", fit.model.design.frame, n_components=1)
    with pytest.raises(DataError, match="no group-level effects"):
        plain.fit(seed=1, restarts=1).predict(new_groups="marginal")


@pytest.mark.usefixtures("unchecked")
def test_a_list_of_policies_is_refused(fit):
    with pytest.raises(DataError, match=r"new_groups=\['typical'\] is not known"):
        fit.predict(new_groups=["typical"])


def test_predictive_distributions_heed_what_is_new(fit):
    new = {"x": [0.0, 0.0], "h": ["v", "w"], "g": ["elsewhere", "g3"]}
    drawn = fit.predictive(new, new_groups="marginal", new_levels="missing")
    assert_allclose(drawn.mean(), fit.predict(new, new_levels="missing")[:1], atol=1e-9)
    assert_allclose(
        drawn.sd(), fit.predict(new, "sd", new_groups="marginal", new_levels="missing")[:1]
    )
    with pytest.raises(DataError, match="in the data of the fit: 'w'"):
        fit.predictive(new)


def test_weights_heed_what_is_new():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"g": np.repeat([f"g{i}" for i in range(10)], 12)})
    frame["h"] = np.where(np.arange(120) % 3 == 0, "u", "v")
    high = rng.random(120) < np.repeat([0.1, 0.9] * 5, 12)
    frame["y"] = np.where(high, 3.0, -3.0) + rng.normal(size=120)
    model = bvb.DensityRegression("y ~ 1 | h + (1 | g)", frame, n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=400)
    new = {"h": ["v", "w"], "g": ["elsewhere", "g3"]}
    typical = fit.weights_at(new, new_levels="population", new_groups="typical")
    drawn = fit.weights_at(new, new_levels="population", new_groups="marginal")
    assert typical.shape == (400, 2, 2)
    assert drawn[:, 0, 0].std() > 1.5 * typical[:, 0, 0].std()
    assert_allclose(drawn[:, 1], typical[:, 1])
    assert fit.weights_at(new, new_levels="missing").shape == (400, 1, 2)


def test_rows_that_lack_a_value_are_told_unless_asked_otherwise(fit):
    """The response is not among the columns that have to be there."""
    new = pd.DataFrame({"x": [0.0, np.nan, np.nan], "h": ["v", None, "u"], "g": "g3", "y": np.nan})
    told = "2 of 3 rows lack a value: `x` in 2, `h` in 1; their prediction is NaN"
    with pytest.warns(DesignWarning, match=told) as warned:
        found = fit.predict(new)
    assert "dropna(subset=['x', 'h'])" in str(warned[0].message)
    assert found.isna().tolist() == [False, True, True]
    pd.testing.assert_series_equal(fit.predict(new, missing="keep"), found)
    with pytest.raises(DataError, match="2 of 3 rows lack a value"):
        fit.predict(new, missing="raise")
    fit.predict(new.iloc[:1], missing="raise")
    with pytest.raises(DataError, match="missing='drop' is not known; it is one of 'warn'"):
        fit.predict(new, missing="drop")
