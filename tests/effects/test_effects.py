"""Effects of covariates: theory that they must agree with, grids, averages, and bad requests."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb import effects, plots
from bayesvb.errors import ConvergenceWarning, DataError, DesignWarning, ExtrapolationWarning
from bayesvb.results.limits import LIMITS

N = 120


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x, z = rng.uniform(1.0, 3.0, N), rng.normal(size=N)
    g = rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
    y = 1.0 + x + np.where(g == "b", 1.0, 0.0) * z + rng.normal(size=N) * np.where(z > 0, 1.0, 0.3)
    return pd.DataFrame({"y": np.exp(0.3 * y), "v": y - x, "x": x, "z": z, "g": g})


def fitted(formula, data, n_components=2, **options):
    model = bvb.DensityRegression(formula, data, n_components=n_components, **options)
    return model.fit(seed=2, restarts=1, draws=100, max_iter=300, tol=1e-4)


@pytest.fixture(scope="module")
def fit(data):
    """Two experts with levels, an interaction, and a logarithm of the response."""
    return fitted("log(y) ~ x + g*z | gating(z)", data)


@pytest.fixture(scope="module")
def one(data):
    return fitted("log(y) ~ x + z", data, 1)


@pytest.fixture(scope="module")
def curved(data):
    return fitted("log(y) ~ bs(x, df=4) | gating(x)", data)


@pytest.fixture(scope="module")
def two(data):
    return fitted("y + v ~ x + g | gating(x)", data)


OPTIONS = {
    "mean": {},
    "sd": {},
    "quantile": {"q": [0.1, 0.5]},
    "probability": {"above": 0.5},
    "density": {"at": 0.5},
    "weights": {},
}


def test_without_a_name_effects_are_averages_of_all_covariates(data, fit, one):
    every = effects.comparisons(fit)
    assert list(every.summary["term"].unique()) == ["x", "z", "g"]
    alone = effects.comparisons(fit, "g", average_by=True)
    last = every.summary.tail(3).reset_index(drop=True)
    pd.testing.assert_frame_equal(last, alone.summary)
    np.testing.assert_array_equal(every.draws[:, -3:], alone.draws)
    slopes = effects.slopes(one, variables=None, target="sd").summary
    assert slopes["term"].tolist() == ["x", "z"]
    with pytest.raises(DataError, match="no covariate of the kind"):
        effects.slopes(fitted("log(y) ~ 1", data, 1))


def test_names_of_marginaleffects_are_read_or_lead_to_the_name_here(data, one):
    """Of arguments the same table; of comparisons that have another name here, a hint."""
    theirs = effects.comparisons(one, "x", newdata=data.head(5), by="g", conf_level=0.5)
    ours = effects.comparisons(one, "x", data=data.head(5), average_by="g", prob=0.5)
    pd.testing.assert_frame_equal(theirs.summary, ours.summary)
    for name, hint in {
        "lnor": "target='odds', comparison='ratio'",
        "ratioavg": "average_by",
    }.items():
        with pytest.raises(DataError, match=hint):
            effects.comparisons(one, "x", comparison=name)
    with pytest.raises(DataError, match="above=365"):
        effects.predictions(one, target="survival")


def test_one_component_has_its_coefficients_as_slopes(one):
    beta = one.posterior["beta"].sel(component=1).values[0]
    for place, name in enumerate(one.model.design.terms["mean"]):
        if name != "Intercept":
            found = effects.slopes(one, name, ["x"]).draws.values
            expected = np.broadcast_to(beta[:, [place]], found.shape)
            # rounding of the two means, divided by a step of 1e-4 ranges
            np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("place", [1e3, 1e9, -1e60])
def test_slopes_far_from_the_rows_are_not_lost_in_rounding(one, place):
    found = effects.slopes(one, "x", data={"x": [place], "z": [0.0]}).draws.values.ravel()
    beta = one.posterior["beta"].sel(component=1, term_mean="x").values[0]
    np.testing.assert_allclose(found, beta, atol=1e-9)


def test_one_component_has_its_noise_as_sd(one):
    found = effects.predictions(one, {"x": [1.5]}, target="sd").draws.values[:, 0]
    np.testing.assert_allclose(found, one.posterior["sigma"].values.ravel(), rtol=1e-12)


def test_rows_of_weight_zero_are_as_rows_that_are_not_there(data):
    far = data.assign(x=np.where(data.g == "c", 100.0 + data.x, data.x))
    weight = (far.g != "c").to_numpy(dtype=float)
    with pytest.warns(DesignWarning, match="`g` has levels whose rows all have weight 0: 'c'"):
        weighted = fitted("y ~ g + x", far, 1, weights=weight)
    alone = fitted("y ~ g + x", far[weight > 0.0], 1)
    asked = {
        "grid": lambda fit: effects.predictions(fit, ["x", "g"]),
        "typical row": lambda fit: effects.predictions(fit, {}),
        "unit": lambda fit: effects.comparisons(fit, "x", {}),
        "levels": lambda fit: effects.comparisons(fit, "g", {}),
        "average": lambda fit: effects.predictions(fit, average_by="g"),
        "slope": lambda fit: effects.slopes(fit, "x", average_by=True),
    }
    for ask in asked.values():
        found, expected = ask(weighted), ask(alone)
        names = [
            name for name in expected.summary if name not in ("estimate", "sd", "lower", "upper")
        ]
        pd.testing.assert_frame_equal(found.summary[names], expected.summary[names], rtol=1e-12)
        assert found.held == pytest.approx(expected.held)


def test_the_mean_is_close_to_that_of_the_predictive(fit):
    # the predictive takes gate and experts for independent; the draws know their covariance
    found = effects.predictions(fit).summary
    apart = found["estimate"].to_numpy() - fit.predict().to_numpy()
    assert np.abs(apart).max() < (4.0 / np.sqrt(100) + 0.2) * found["sd"].max()


@pytest.mark.parametrize("q", [0.05, 0.5, 0.99])
def test_probability_and_quantile_are_inverse(fit, q):
    row = {"x": [2.0], "z": [0.3]}
    at = effects.predictions(fit, row, target="quantile", q=q).draws.values[:3, 0]
    for draw, value in enumerate(at):
        below = effects.predictions(fit, row, target="probability", below=float(value))
        assert below.draws.values[draw, 0] == pytest.approx(q, rel=1e-7)
        above = effects.predictions(fit, row, target="probability", above=float(value))
        assert above.draws.values[draw, 0] == pytest.approx(1.0 - q, rel=1e-7)


@pytest.mark.parametrize("target", OPTIONS)
def test_a_comparison_is_that_of_the_predictions(fit, target):
    ask = {"target": target, **OPTIONS[target]}
    a, b = (
        effects.predictions(fit, {"z": [-0.5, 0.8], "g": g}, **ask).draws.values for g in ("a", "c")
    )
    for comparison, expected in (
        ("difference", b - a),
        ("ratio", b / a),
        ("lift", (b - a) / a),
    ):
        found = effects.comparisons(
            fit, {"g": ["a", "c"]}, {"z": [-0.5, 0.8]}, comparison=comparison, **ask
        )
        np.testing.assert_allclose(found.draws.values, expected, rtol=1e-12)


def test_all_pairs_of_levels_are_compared(fit):
    found = effects.comparisons(fit, "g", {})
    assert found.summary["contrast"].tolist() == ["b - a", "c - a", "c - b"]
    ab, ac, bc = found.draws.values.T
    np.testing.assert_allclose(ac - ab, bc, atol=1e-12)


def test_a_number_changes_by_one_unit_about_its_mean(one):
    mean = one.model.design.frame["x"].mean()
    found = effects.comparisons(one, "x", average_by=True)
    slope = effects.slopes(one, "x", {}).draws.values
    np.testing.assert_allclose(found.draws.values, slope, atol=1e-9)
    assert found.summary["contrast"].tolist() == [f"{mean + 0.5:.4g} - {mean - 0.5:.4g}"]


def test_one_unit_far_beyond_the_data_is_warned_of(data):
    narrow = fitted("y ~ x", data.assign(x=1.0 + 0.01 * data["x"]), 1)
    with pytest.warns(ExtrapolationWarning, match="one unit of `x` is an extrapolation"):
        effects.comparisons(narrow, "x")


def test_slopes_of_the_mean_are_its_derivative(fit):
    """Sum of w' mu + w mu', with w' by the softmax, on the standardised scale."""
    rows = fit.model.rows()
    block, core, draws = fit.model.block(rows), fit.core, fit.draws
    names = fit.model.design.terms["mean"]
    frame = fit.model.design.frame
    moved = np.zeros((N, len(names)))  # d x_mean / d z in the data's units
    for place, name in enumerate(names):
        if "z" in name:
            level = [one for one in "abc" if f"{one}" in name.replace("z", "").replace("g", "")]
            moved[:, place] = (frame["g"] == level[0]) if level else 1.0
    scales = fit.model.scales
    mu = draws["coefficients"][:, :, 0] @ block.designs["mean"]
    dmu = scales.parts["mean"].coefficients(draws["coefficients"][:, :, 0]) @ moved.T
    weights = np.exp(core.gate.log_weights(draws["gate"], block))
    dlogit = draws["gate"][:, :, 1:2] / scales.parts["gating"].scale[1]
    dweights = weights * (dlogit - (weights * dlogit).sum(axis=1, keepdims=True))
    expected = (dweights * mu + weights * dmu).sum(axis=1) * scales.response.scale[0]
    found = effects.slopes(fit, "z")
    inside = (frame["z"] > frame["z"].min()) & (frame["z"] < frame["z"].max())
    # the third derivative enters with the square of the step
    size = np.abs(expected).max()
    np.testing.assert_allclose(found.draws.values[:, inside], expected[:, inside], atol=1e-6 * size)
    whole = effects.slopes(fit, "z", average_by=True).draws.values[:, 0]
    np.testing.assert_allclose(whole, found.draws.values.mean(axis=1), rtol=1e-10)


def test_weights_sum_to_one_for_every_draw_and_are_those_of_the_fit(fit):
    found = effects.predictions(fit, target="weights")
    draws = found.draws.values.reshape(100, N, 2)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0, rtol=1e-12)
    np.testing.assert_allclose(draws, fit.weights_at(), rtol=1e-10)
    assert found.summary["component"].tolist() == [1, 2] * N


def test_elasticities_scale_the_slope(fit):
    where = {"x": [1.5, 2.5], "z": [0.2]}
    y = effects.predictions(fit, where).draws.values
    found = {s: effects.slopes(fit, "x", where, slope=s).draws.values
             for s in ("dydx", "eyex", "eydx", "dyex")}  # fmt: skip
    x = np.array([1.5, 2.5])
    np.testing.assert_allclose(found["dyex"], found["dydx"] * x, rtol=1e-12)
    np.testing.assert_allclose(found["eydx"], found["dydx"] / y, rtol=1e-12)
    np.testing.assert_allclose(found["eyex"], found["dydx"] * x / y, rtol=1e-12)


def test_splines_have_slopes_up_to_the_ends_of_the_data(curved):
    x = curved.model.design.frame["x"]
    ends = [float(x.min()), float(x.max())]
    near = [ends[0] + 0.01, ends[1] - 0.01]
    at_ends = effects.slopes(curved, "x", {"x": ends}).summary["estimate"]
    beside = effects.slopes(curved, "x", {"x": near}).summary["estimate"]
    np.testing.assert_allclose(at_ends, beside, atol=0.15)


def test_several_responses_are_rows_of_their_own(two):
    found = effects.predictions(two, {"x": [1.5, 2.5]})
    assert found.summary["response"].tolist() == ["y", "v", "y", "v"]
    for name in ("y", "v"):
        alone = effects.predictions(two, {"x": [1.5, 2.5]}, response=name)
        assert "response" not in alone.summary
        same = found.summary["response"] == name
        np.testing.assert_array_equal(alone.draws.values, found.draws.values[:, same])
    assert len(effects.predictions(two, {"x": [1.5]}, target="weights").summary) == 2


@pytest.mark.parametrize("target", ["mean", "quantile"])
def test_blocks_of_rows_do_not_change_the_answer(fit, target, monkeypatch):
    ask = {"target": target, **OPTIONS[target]}
    whole = effects.predictions(fit, average_by="g", **ask).draws.values
    rows = effects.predictions(fit, **ask).draws.values
    monkeypatch.setitem(vars(LIMITS), "entries_in_memory", 100 * 2 * 7)
    np.testing.assert_allclose(effects.predictions(fit, average_by="g", **ask).draws.values, whole)
    np.testing.assert_allclose(effects.predictions(fit, **ask).draws.values, rows)


@pytest.mark.parametrize("slope", ["dydx", "eyex", "eydx", "dyex"])
def test_blocks_of_rows_do_not_change_slopes(fit, slope, monkeypatch):
    """At the ends of the data the step is one-sided, so that the width differs between rows."""
    order = np.argsort(fit.model.design.frame["z"].to_numpy())
    rows = fit.model.design.frame.iloc[order]
    whole = effects.slopes(fit, "z", data=rows, slope=slope).draws.values
    mean = effects.slopes(fit, "z", data=rows, slope=slope, average_by=True).draws.values
    monkeypatch.setitem(vars(LIMITS), "entries_in_memory", 100 * 2 * 7)
    found = effects.slopes(fit, "z", data=rows, slope=slope).draws.values
    np.testing.assert_allclose(found, whole, rtol=1e-9, atol=1e-9 * np.abs(whole).max())
    found = effects.slopes(fit, "z", data=rows, slope=slope, average_by=True).draws.values
    np.testing.assert_allclose(found, mean, rtol=1e-9, atol=1e-9 * np.abs(mean).max())
    np.testing.assert_allclose(found[:, 0], whole.mean(axis=1), rtol=1e-9)


def test_averages_are_those_of_the_rows_by_case_weight(data):
    weight = np.random.default_rng(3).uniform(0.5, 2.0, N)
    weighted = fitted("log(y) ~ x + g", data, weights=weight)
    rows = effects.predictions(weighted)
    found = effects.predictions(weighted, average_by="g")
    assert found.summary["g"].tolist() == ["a", "b", "c"]
    for place, level in enumerate("abc"):
        mine = (data["g"] == level).to_numpy()
        expected = np.average(rows.draws.values[:, mine], axis=1, weights=weight[mine])
        np.testing.assert_allclose(found.draws.values[:, place], expected, rtol=1e-10)


def test_a_grid_has_a_curve_then_three_quantiles_and_levels(fit):
    table = effects.predictions(fit, ["x", "z", "g"]).summary
    assert (table["x"].nunique(), table["z"].nunique(), table["g"].nunique()) == (50, 3, 3)
    assert list(table.columns) == ["x", "z", "g", "estimate", "sd", "lower", "upper"]
    frame = fit.model.design.frame
    held = effects.predictions(fit, "x").held
    assert held == {"z": frame["z"].mean(), "g": "a"}
    lone = effects.predictions(fit, {})
    assert len(lone.summary) == 1 and set(lone.held) == {"x", "z", "g"}


def test_own_rows_keep_their_index(fit):
    rows = pd.DataFrame({"x": [1.5, 2.0], "z": [0.0, 1.0], "g": ["b", "a"], "w": 1}, index=[7, 3])
    found = effects.predictions(fit, data=rows)
    assert found.summary.index.tolist() == [7, 3]
    assert effects.predictions(fit, data=rows, average_by="w").summary["w"].tolist() == [1]


def test_the_result_says_what_it_is(fit):
    found = effects.comparisons(fit, "g", {}, target="quantile", q=0.9, prob=0.5)
    assert (found.covariance, found.prob, found.measure) == (fit.covariance, 0.5, "difference")
    text = str(found)
    assert text.startswith("Comparisons: difference of quantile of log(y) at q = 0.9")
    assert "50% intervals, 100 draws (linear-response covariance)." in text
    assert found.draws.dims == ("draw", "row")
    assert found.draws["contrast"].values.tolist() == found.summary["contrast"].tolist()
    low, high = np.quantile(found.draws.values, [0.25, 0.75], axis=0)
    np.testing.assert_array_equal(found.summary[["lower", "upper"]].to_numpy().T, [low, high])
    spread = found.draws.to_pandas().std()  # of a sample: divided by the draws less one
    np.testing.assert_allclose(found.summary["sd"], spread, rtol=1e-12)
    np.testing.assert_allclose(found.summary["estimate"], found.draws.values.mean(axis=0))
    other = effects.predictions(fit.with_covariance("mean-field"), {})
    assert other.covariance == "mean-field"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda f: effects.predictions(f, "w"), "conditional names 'w'"),
        (lambda f: effects.predictions(f, 3), "not a name, a list"),
        (lambda f: effects.predictions(f, {"x": []}), "`x` needs at least one value"),
        (lambda f: effects.predictions(f, {"g": ["q"]}), "`g`"),
        (lambda f: effects.predictions(f, {"x": ["q"]}), "'q' is not a value of `x`"),
        (lambda f: effects.predictions(f, {"x": [1.5, None]}), "1 of the requested rows have"),
        (lambda f: effects.predictions(f, "x", data={"x": [1]}), "both given"),
        (lambda f: effects.predictions(f, target="median"), "target='median'"),
        (lambda f: effects.predictions(f, target="quantile"), "needs q="),
        (lambda f: effects.predictions(f, q=0.5), "does not use q"),
        (lambda f: effects.predictions(f, target="quantile", q=[0.5, 1.0]), "between 0 and 1"),
        (lambda f: effects.predictions(f, target="probability", above=1.0, below=2.0), "one of"),
        (lambda f: effects.predictions(f, target="density", at=np.nan), "finite"),
        (lambda f: effects.predictions(f, prob=1.5), "prob=1.5"),
        (
            lambda f: effects.predictions(f, average_by="w"),
            "average_by=.w. is not a column of the rows",
        ),
        (lambda f: effects.predictions(f, "x", average_by="g"), "made at a single value of `g`"),
        (lambda f: effects.predictions(f, response="v"), "response='v'"),
        (lambda f: effects.comparisons(f, "w"), "contrast names 'w'"),
        (lambda f: effects.comparisons(f, {"x": [1.5]}), "fewer than two"),
        (lambda f: effects.comparisons(f, {"x": [1, 2], "z": [1, 2]}), "neither the name"),
        (lambda f: effects.comparisons(f, "g", ["g"]), "in contrast and in conditional"),
        (lambda f: effects.comparisons(f, "g", comparison="odds"), "comparison='odds'"),
        (lambda f: effects.slopes(f, "g"), "has levels"),
        (lambda f: effects.slopes(f, "x", eps=0.0), "eps=0.0"),
        (lambda f: effects.slopes(f, "x", slope="xdy"), "slope='xdy'"),
    ],
)
def test_a_bad_request_is_explained(fit, ask, message, request):
    if request.config.getoption("--jaxtyping-packages", None) and message == "not a name, a list":
        pytest.skip("annotations are checked")
    with pytest.raises(DataError, match=message):
        ask(fit)


def test_rows_that_lack_a_value_are_counted(fit):
    rows = pd.DataFrame({"x": [1.5, np.nan], "z": [0.0, 1.0], "g": ["b", "a"]}, index=["u", "v"])
    with pytest.raises(DataError, match="1 rows of the data have missing values, the first is 'v'"):
        effects.predictions(fit, data=rows)
    with pytest.raises(DataError, match=r"the first is 9\n"):
        effects.predictions(fit, data=rows.set_axis([8, 9]))


def test_rows_without_a_group_are_refused(fit):
    rows = pd.DataFrame({"x": [1.5, 2.0], "z": [0.0, 1.0], "g": ["b", "a"], "w": [1.0, None]})
    with pytest.raises(DataError, match="1 rows of the data have missing values"):
        effects.predictions(fit, data=rows, average_by="w")


@pytest.mark.parametrize("gate", ["dirichlet", "stick-breaking"])
def test_every_gate_has_weights_that_sum_to_one(data, gate):
    found = fitted("v ~ x + g", data.astype({"g": "category"}), gate=gate)
    weights = effects.predictions(found, {"x": [1.2, 2.8]}, target="weights").draws.values
    np.testing.assert_allclose(weights.reshape(100, 2, 2).sum(axis=2), 1.0, rtol=1e-12)
    with pytest.raises(DataError, match="`g`"):
        effects.predictions(found, {"g": ["q"]})


def test_what_does_not_fit_in_memory_is_refused(fit, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "bytes_stored", 8 * 100 * N - 1)
    with pytest.raises(DataError, match="average_by=True"):
        effects.predictions(fit)
    assert len(effects.predictions(fit, average_by=True).summary) == 1


def test_of_many_single_rows_few_are_printed(fit):
    rows = effects.predictions(fit)
    assert f"... {len(rows.summary) - 10} more" in str(rows)
    curve = str(effects.predictions(fit, "x"))
    assert f"... {50 - LIMITS.printed_rows} more" in curve


def test_the_draws_of_combined_restarts_are_those_of_each(data):
    model = bvb.DensityRegression("v ~ x + g | gating(z)", data, n_components=2)
    with pytest.warns(ConvergenceWarning):
        brief = {"draws": 60, "max_iter": 6, "covariance": "mean-field"}
        whole = model.fit(seed=3, restarts=3, combine="average", **brief)
    assert len(whole.members) > 1
    for target in ("mean", "weights"):
        found = effects.predictions(whole, {"z": [-1.0, 1.0]}, target=target).draws.values
        for number, member in enumerate(whole.members):
            own = effects.predictions(member.fit, {"z": [-1.0, 1.0]}, target=target).draws.values
            mine = found[whole.draws["member"] == number]
            assert len(mine) and all((own == row).all(axis=1).any() for row in mine)


def test_a_model_without_covariates_has_no_effects(data):
    joint = bvb.GaussianMixture("~ x + z", data, n_components=1).fit(seed=1, restarts=1, draws=50)
    with pytest.raises(DataError, match="GaussianMixture has no effects"):
        effects.predictions(joint)


def test_a_model_without_terms_has_one_prediction(data):
    plain = fitted("v ~ 1", data)
    found = effects.predictions(plain, {})
    assert found.summary["estimate"].iloc[0] == pytest.approx(data["v"].mean(), abs=0.1)


def test_averages_by_what_the_rows_lack_say_how_it_is_had(fit, data):
    for name, remedy in (("all", "average_by=True"), ("site", "data=")):
        with pytest.raises(DataError, match=remedy):
            effects.predictions(fit, average_by=name)
    known = effects.predictions(fit, data=data.assign(site=data.index % 2), average_by="site")
    assert known.summary["site"].tolist() == [0, 1]


def test_the_median_is_found_among_the_quantiles(fit):
    with pytest.raises(DataError, match=r"target='quantile', q=0\.5"):
        effects.predictions(fit, target="median")


def test_dates_are_asked_for_as_dates_or_as_the_days_of_the_fit():
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60), unit="D")
    rows = pd.DataFrame({"day": day, "y": np.arange(60.0) % 7 + np.arange(60)})
    dated = fitted("y ~ day", rows, 1)
    asked, told = [pd.Timestamp("2020-01-11"), pd.Timestamp("2020-02-10")], [10.0, 40.0]
    for question in (
        lambda values: effects.predictions(dated, {"day": values}),
        lambda values: effects.comparisons(dated, {"day": values}, {}),
        lambda values: effects.slopes(dated, "day", {"day": values}),
    ):
        pd.testing.assert_frame_equal(question(asked).summary, question(told).summary)
    assert plots.ridges(dated, "day", asked).get_yticks().size >= 2


@pytest.fixture(scope="module")
def without_a_cell():
    rng = np.random.default_rng(0)
    a, b = np.repeat(["x", "y", "z"], 40), np.tile(["p", "q"], 60)
    data = pd.DataFrame({"a": a, "b": b, "n": rng.poisson(2.0, 120)})
    data = data[(data["a"] != "z") | (data["b"] != "q")]
    with pytest.warns(DesignWarning, match="some combinations of levels have no rows"):
        model = bvb.DensityRegression("n ~ a * b", data, n_components=1, family="poisson")
    return model.fit(seed=1)


def test_levels_without_rows_have_no_estimate(without_a_cell):
    table = bvb.effects.predictions(without_a_cell, ["a", "b"])
    empty = (table.summary["a"] == "z") & (table.summary["b"] == "q")
    numbers = table.summary[["estimate", "sd", "lower", "upper"]]
    assert numbers[empty].isna().all(axis=None) and numbers[~empty].notna().all(axis=None)
    assert "Without estimate, 1 row: the data have no rows with these levels." in str(table)
    pairs = table.pairs().summary
    assert pairs["lower"].isna().sum() == 5 and (pairs["upper"].dropna() < 5.0).all()
    contrasts = bvb.effects.comparisons(without_a_cell, "b", average_by="a").summary
    assert contrasts.set_index("a")["upper"].isna().to_dict() == {"x": 0, "y": 0, "z": 1}
    table.plot(), bvb.effects.comparisons(without_a_cell, "b", ["a"]).plot()


def test_levels_that_never_differ_have_an_estimate(without_a_cell):
    fit = without_a_cell.refit("~ a + b")
    assert bvb.effects.predictions(fit, ["a", "b"]).summary["lower"].notna().all()


def test_a_ratio_near_one_is_printed_with_digits_that_differ():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"income": 50_000.0 + 10_000.0 * rng.normal(size=300)})
    rate = 30.0 * np.exp(data["income"] / 50_000.0)
    data["n"] = rng.poisson(rate)
    fit = bvb.DensityRegression("n ~ income", data, n_components=1, family="poisson").fit(seed=1)
    effect = bvb.effects.comparisons(fit, "income", {}, ratio=True)
    for text in (str(effect), effect._repr_html_(), str(fit), str(fit.summary())):
        assert "1.00002" in text
