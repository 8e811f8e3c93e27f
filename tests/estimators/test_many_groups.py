"""Density regressions with effects of very many groups: those of columns, and what is not there."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.engines.differentiated import Target, double_precision
from bayesvb.errors import DataError
from bayesvb.estimators.group_effects import coefficients_per_term
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.linear.structure import LIMITS
from bayesvb.results.importance import log_ratio
from bayesvb.results.named_draws import log_joint
from bayesvb.sensitivity.lanczos import projected_covariance

FEW = {"seed": 1, "restarts": 1, "draws": 100, "covariance": "mean-field"}


def simulated(n_groups=12, n_rows=150, seed=0):
    """Two lines, and a level of each group that moves both."""
    rng = np.random.default_rng(seed)
    g, x = rng.integers(0, n_groups, n_rows), rng.normal(size=n_rows)
    second = rng.random(n_rows) < 0.4
    y = np.where(second, 3.0 + x, -3.0 - 0.5 * x) + rng.normal(size=n_groups)[g]
    return pd.DataFrame({"y": y + 0.5 * rng.normal(size=n_rows), "x": x, "g": [f"g{i}" for i in g]})


@pytest.fixture(scope="module")
def pair(request):
    """The same model fitted with columns, and with effects apart from them.

    With the default prior, effects of columns scatter around common ones: others do not.
    """
    options = {"n_components": 2, "priors": bvb.Priors(scales="learned")}
    model = bvb.DensityRegression("y ~ x + (x | g) | x", simulated(), **options)
    columns = model.fit(seed=1, restarts=2, tol=1e-8, draws=4000)
    request.getfixturevalue("few_columns")
    apart = bvb.DensityRegression("y ~ x + (x | g) | x", simulated(), **options)
    return columns, apart.fit(seed=1, restarts=2, tol=1e-8, draws=4000)


@pytest.mark.heavy
def test_bound_scales_and_predictions_are_those_of_columns(pair):
    columns, apart = pair
    assert_allclose(apart.elbo, columns.elbo, atol=1e-6)
    assert_allclose(apart.q.scales.mean, columns.q.scales.mean, rtol=1e-3)
    new = pd.DataFrame({"x": [0.0, 2.0, 0.0], "g": ["g3", "g3", "elsewhere"]})
    for policy in ("typical", "marginal"):
        for kind in ("mean", "sd"):
            told = {"kind": kind, "new_groups": policy}
            assert_allclose(apart.predict(new, **told), columns.predict(new, **told), rtol=1e-4)
    assert_allclose(apart.predict(), columns.predict(), atol=1e-3)
    assert_allclose(apart.log_density(), columns.log_density(), atol=1e-3)


@pytest.mark.heavy
def test_effects_of_groups_are_those_of_columns(pair):
    tables = [bvb.effects.groups(fit.with_covariance("mean-field")) for fit in pair]
    columns, apart = (one.set_index(["term", "group", "component"]) for one in tables)
    apart = apart.loc[columns.index]
    for name in ("estimate", "lower", "upper"):
        assert_allclose(apart[name], columns[name], atol=0.06)


@pytest.mark.heavy
def test_intervals_of_effects_are_those_of_columns(pair):
    tables = [bvb.effects.groups(fit) for fit in pair]
    columns, apart = (one.set_index(["term", "group", "component"]) for one in tables)
    widths = [np.log(one["upper"] - one["lower"]) for one in (columns.loc[apart.index], apart)]
    assert_allclose(*widths, atol=0.12)


@pytest.mark.heavy
def test_drawn_predictions_are_those_of_columns(pair):
    fits = [fit.with_covariance("mean-field") for fit in pair]
    columns, apart = (bvb.effects.predictions(fit, data=simulated()[:30]).summary for fit in fits)
    assert_allclose(apart["estimate"], columns["estimate"], atol=0.03)
    assert_allclose(apart["sd"], columns["sd"], rtol=0.15)


@pytest.mark.heavy
def test_prior_rows_print_and_draws(pair):
    columns, apart = pair
    table, own = columns.model.prior_table(), apart.model.prior_table()
    assert_allclose(own.loc["mean", "scale"]["(1 | g)"], table.loc["mean", "scale"]["(1 | g)[g1]"])
    assert_allclose(own.loc["mean", "scale"]["(x | g)"], table.loc["mean", "scale"]["(x | g)[g1]"])
    assert_allclose(own.loc["scale", "scale"], table.loc["scale", "scale"])
    assert "(1 | g): 12 groups, effects.groups(fit)" in str(apart)
    new = pd.DataFrame({"x": [0.0], "g": ["g3"]})
    sd = [fit.predict(new, "draws", n=9000, seed=1).to_numpy().std() for fit in pair]
    assert_allclose(*sd, rtol=0.05)
    prior = apart.model.prior_predictive(draws=30, seed=1)
    assert np.isfinite(prior["prior_predictive"]["y"].to_numpy()).all()


@pytest.mark.heavy
def test_saved_fits_are_the_same(pair, tmp_path, few_columns):
    _, apart = pair
    again = bvb.load(apart.save(tmp_path / "fit.nc"))
    assert again.elbo == apart.elbo
    new = {"x": [0.0, 1.0], "g": ["g3", "elsewhere"]}
    assert_allclose(again.predict(new, "sd"), apart.predict(new, "sd"), rtol=1e-12)
    block = apart.model.source.take(np.arange(20))
    ours, theirs = (fit.core.log_lik(fit.draws, block) for fit in (apart, again))
    assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.heavy
def test_average_levels_keep_the_group(few_columns):
    data = simulated().assign(h=np.resize(["u", "v", "v"], 150))
    fit = bvb.DensityRegression("y ~ x + h + (1 | g) | 1", data, n_components=1).fit(**FEW)
    new = pd.DataFrame({"x": [0.0], "h": ["w"], "g": ["g3"]})
    u, v = (fit.predict(new.assign(h=level))[0] for level in "uv")
    average = fit.predict(new, new_levels="population")[0]
    assert_allclose(average, (u + 2.0 * v) / 3.0, atol=1e-9)
    assert np.isnan(fit.predict(new, new_levels="missing")[0])


@pytest.mark.heavy
def test_best_predictions_of_effects_are_those_of_statsmodels(few_columns):
    data = simulated(n_groups=40, n_rows=400, seed=3)
    data["y"] = data.x + pd.factorize(data.g)[0] % 5 + np.random.default_rng(0).normal(size=400)
    fit = bvb.DensityRegression("y ~ x + (1 | g) | 1", data, n_components=1).fit(seed=1)
    expected = smf.mixedlm("y ~ x", data, groups="g").fit()
    table = bvb.effects.groups(fit).set_index("group")["estimate"]
    effects = pd.Series({g: one.iloc[0] for g, one in expected.random_effects.items()})
    assert_allclose(table[effects.index], effects, atol=0.03)
    assert table["new group"] == 0.0


REFUSED = {
    "y ~ x + (1 | g) + (0 + x | g) | x": (DataError, "only one term may", {}),
    "y ~ x + (1|g) | x": (
        DataError,
        "12 groups, and at most 5",
        {"priors": bvb.Priors(coefficient_units="response")},
    ),
    "y ~ (1|g) | 1": (DataError, "12 groups, and at most 5", {"group": "g"}),
}


@pytest.mark.parametrize("formula", REFUSED)
def test_what_cannot_have_so_many_groups_says_so(formula, few_columns, monkeypatch):
    error, message, options = REFUSED[formula]
    monkeypatch.setitem(vars(LIMITS), "groups", 5)
    with pytest.raises(error, match=f"(?s){message}"):
        bvb.DensityRegression(formula, simulated(), n_components=2, **options)


@pytest.mark.heavy
def test_answers_to_rows_and_to_priors_are_those_of_columns(pair):
    columns, apart = pair
    found, expected = apart.influence(), columns.influence()
    assert set(found.columns) == set(expected.columns)
    for name, values in expected.items():
        assert_allclose(found[name], values, atol=1e-3 * max(np.abs(values).max(), 1.0))
    found, expected = apart.prior_sensitivity(), columns.prior_sensitivity()
    assert len(found) == len(expected)
    assert_allclose(found, expected.loc[found.index], atol=1e-3)


@pytest.mark.heavy
def test_robust_intervals_are_those_of_columns(pair):
    fits = [fit.with_covariance("robust") for fit in pair]
    tables = [bvb.effects.groups(fit).set_index(["term", "group", "component"]) for fit in fits]
    columns, apart = (one.loc[tables[1].index] for one in tables)
    widths = [np.log(one["upper"] - one["lower"]) for one in (columns, apart)]
    assert_allclose(*widths, atol=0.12)
    rows = fits[1].summary()["sd"]
    assert_allclose(np.log(rows), np.log(fits[0].summary()["sd"][rows.index]), atol=0.12)
    assert fits[1].with_covariance("mean-field").draws["coefficients"].shape[-1] == 2


@pytest.mark.heavy
def test_importance_weights_are_those_of_columns(pair):
    ratios = [log_ratio(fit.with_covariance("mean-field")) for fit in pair]
    spread = [np.std(ratio) for ratio in ratios]
    assert abs(np.mean(ratios[0]) - np.mean(ratios[1])) < 5.0 * np.hypot(*spread) / 4000**0.5
    assert_allclose(*spread, rtol=0.1)


@pytest.mark.heavy
def test_point_estimates_are_those_of_columns(few_columns, monkeypatch):
    fits = []
    for most in (5, 500):
        monkeypatch.setitem(vars(LIMITS), "columns", most)
        priors = bvb.Priors(scales="fixed")
        model = bvb.DensityRegression(
            "y ~ x + (1 | g) | x + (1 | g)", simulated(), n_components=2, priors=priors
        )
        fits.append(model.fit(method="em", seed=1, restarts=1, tol=1e-10, draws=500))
    apart, columns = fits
    assert apart.model.design.groups is not None
    assert apart.elbo == pytest.approx(columns.elbo, abs=1e-7)
    rows = apart.summary()
    for name in ("mean", "sd"):
        assert_allclose(rows[name], columns.summary().loc[rows.index, name], rtol=1e-6, atol=1e-8)
    tables = [bvb.effects.groups(fit, part=part) for part in ("mean", "gating") for fit in fits]
    for one, other in (tables[:2], tables[2:]):
        keys = ["term", "group", "component"]
        other = other.set_index(keys).loc[one.set_index(keys).index]
        for name in ("estimate", "lower", "upper"):
            assert_allclose(one[name], other[name], atol=0.05 * (one["upper"] - one["lower"]).max())


@pytest.mark.heavy
def test_log_joint_densities_and_their_gradients_are_those_of_columns(monkeypatch):
    jax = pytest.importorskip("jax")
    values = []
    for most in (500, 5):
        monkeypatch.setitem(vars(LIMITS), "columns", most)
        model = bvb.DensityRegression(
            "y ~ x + (x | g) | x + (1 | g)", simulated(), n_components=2,
            priors=bvb.Priors(scales="learned"),
        )  # fmt: skip
        core = model.core.with_complete_draws()
        target = Target.of(core, model.source)
        vector = np.random.default_rng(0).normal(size=target.space.size) / 3.0
        with double_precision():
            value, slope = jax.value_and_grad(target.potential)(vector)
            assert float(value) == pytest.approx(float(target.potential(vector)), rel=1e-10)
        values.append((float(value), np.asarray(slope)))
    assert_allclose(values[0][0], values[1][0], rtol=1e-10)
    assert_allclose(values[0][1], values[1][1], rtol=1e-6, atol=1e-6)


@pytest.mark.heavy
def test_what_needs_draws_or_answers_of_all_groups_says_so(pair, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "groups", 11)
    apart = replace(pair[1])  # without what it has computed
    with pytest.raises(DataError, match="draws do not contain the effects of 12 groups"):
        assert apart.khat
    for asked in (
        apart.influence, apart.prior_sensitivity, lambda: apart.with_covariance("robust")
    ):  # fmt: skip
        with pytest.raises(DataError, match="with this many groups"):
            asked()


@pytest.mark.heavy
def test_drawn_effects_have_the_names_and_moments_of_those_of_columns(pair, monkeypatch):
    columns, apart = (fit.with_covariance("mean-field") for fit in pair)
    found = apart.model.named_draws(apart)
    effects, beta = found.values["beta_groups"], columns.named_draws.values["beta"]
    assert found.dims["beta_groups"] == ["component", "term_groups"]
    names = found.coords["term_groups"]
    at = [columns.named_draws.coords["term_mean"].index(name) for name in names]
    spread = beta[:, :, at].std(axis=0)
    gap = (effects.mean(axis=0) - beta[:, :, at].mean(axis=0)) / spread
    assert np.abs(gap).max() < 0.1  # 4,000 draws each
    assert_allclose(effects.std(axis=0), spread, rtol=0.1)
    assert "beta_groups" in apart.model.prior_predictive(draws=30, seed=1)["prior"]


@pytest.mark.heavy
def test_drawn_effects_complete_the_lines_of_rows(pair, monkeypatch):
    _, apart = pair
    named, row = apart.model.named_draws(apart), pd.DataFrame({"x": [1.7], "g": ["g3"]})
    names = list(named.coords["term_groups"])
    levels, slopes = (names.index(f"({name} | g)[g3]") for name in ("1", "x"))
    beta, effects = named.values["beta"], named.values["beta_groups"]
    lines = beta[..., 0] + 1.7 * beta[..., 1] + effects[..., levels] + 1.7 * effects[..., slopes]
    block, weights = apart.model.block(apart.model.rows(row)), np.ones((len(beta), 2, 1))
    scaling = apart.model.scales.response
    expected = apart.core.drawn(apart.draws, weights, block, 0, scaling).location[..., 0].T
    assert_allclose(lines, expected, rtol=1e-10)
    monkeypatch.setitem(vars(LIMITS), "groups", 5)
    assert "beta_groups" not in apart.model.named_draws(apart).values


@pytest.mark.heavy
def test_rows_left_out_are_those_of_columns(pair):
    columns, apart = (read_elpd(fit.loo()).pointwise for fit in pair)
    assert np.abs(apart - columns).max() < 0.05
    assert_allclose(apart.sum(), columns.sum(), atol=0.1)


@pytest.mark.heavy
def test_intervals_are_those_of_columns(pair):
    columns, apart = (fit.summary() for fit in pair)
    assert pair[1].covariance == "linear-response"
    shared = [row for row in apart.index if row in columns.index]
    assert len(shared) == len(apart)
    assert_allclose(np.log(apart["sd"]), np.log(columns.loc[shared, "sd"]), atol=0.1)


@pytest.mark.heavy
def test_updated_fits_are_those_of_all_rows(few_columns):
    data = simulated(n_rows=400)
    kept = {"seed": 1, "restarts": 1, "tol": 1e-8, "draws": 100}
    text, first = "y ~ x + (1 | g) | 1", data.iloc[:250]
    early = bvb.DensityRegression(text, first, n_components=1).fit(**kept)
    later = early.update(data.iloc[250:], tol=1e-8)
    whole = bvb.DensityRegression(text, data, n_components=1).fit(**kept)
    effects = [bvb.effects.groups(fit)["estimate"] for fit in (later, whole, early)]
    assert_allclose(effects[0], effects[1], atol=1e-3)
    assert np.abs(effects[2] - effects[1]).max() > 0.05


def test_few_groups_stay_columns_and_many_are_one_matrix(few_columns):
    few = bvb.DensityRegression("y ~ x + (1 | h) | 1", simulated().assign(h=np.resize([1, 2], 150)))
    assert few.design.groups is None and GROUP_ROWS not in few.design.matrices
    both = simulated().assign(h=np.resize([1, 2], 150))
    model = bvb.DensityRegression("y ~ x + (x | g) + (1 | h) | 1", both, n_components=1)
    assert model.design.matrices[GROUP_ROWS].shape == (150, 3)
    assert coefficients_per_term(model.design).tolist() == [1.0] * 5 + [13.0] * 2
    assert model.fit(**FEW).converged


@pytest.mark.heavy
def test_rows_left_out_are_nearly_those_of_fits_without_them():
    data = simulated(n_groups=600, n_rows=4800, seed=5)
    fit = bvb.DensityRegression("y ~ x + (1 | g) | x", data, n_components=2).fit(**FEW)
    left = data.groupby("g").head(1).index[::2]  # one row of every second group
    rest = bvb.DensityRegression("y ~ x + (1 | g) | x", data.drop(left), n_components=2)
    fresh = rest.fit(**FEW).log_density(data.loc[left])
    held = pd.Series(read_elpd(fit.loo()).pointwise)[left]
    assert fit.log_density(data.loc[left]).mean() > fresh.mean() + 0.05
    assert 0.0 < (held - fresh).mean() < 0.03  # memberships of the others do not answer


OTHERS = [
    {"family": "student"},
    {"family": "student", "dof": 4},
    {"gate": "softmax-jensen"},
    {"gate": "softmax-bouchard"},
]


@pytest.mark.heavy
@pytest.mark.parametrize("options", OTHERS, ids=["student", "fixed dof", "jensen", "bouchard"])
def test_every_family_and_gate_is_that_of_columns(options, monkeypatch):
    data, fits = simulated(n_rows=240), []
    for most in (500, 5):
        monkeypatch.setitem(vars(LIMITS), "columns", most)
        # Columns have a common part with the default prior, effects without columns have none.
        given = {"priors": bvb.Priors(dof=options.get("dof"), scales="learned"), **options}
        given.pop("dof", None)
        model = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=2, **given)
        fits.append(model.fit(seed=1, restarts=1, tol=1e-10, draws=4000, max_iter=5000))
    columns, apart = fits
    assert apart.model.design.groups is not None and columns.model.design.groups is None
    assert_allclose(apart.elbo, columns.elbo, atol=1e-5)
    new = pd.DataFrame({"x": [0.0, 2.0, 0.0], "g": ["g3", "g3", "elsewhere"]})
    for kind in ("mean", "sd"):
        assert_allclose(apart.predict(new, kind), columns.predict(new, kind), rtol=1e-3)
    assert_allclose(apart.log_density(), columns.log_density(), atol=1e-2)
    one, other = (fit.summary().loc["mean", "sd"] for fit in (apart, columns))
    assert_allclose(np.log(one), np.log(other[one.index]), atol=0.12)


@pytest.mark.heavy
def test_rows_left_out_of_heavy_tails_are_nearly_those_of_fits_without_them():
    data = simulated(n_groups=520, n_rows=2600, seed=5)
    model = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=1, family="student")
    fit = model.fit(**FEW)
    assert fit.model.design.groups is not None
    left = data.groupby("g").head(1).index[::4]
    rest = bvb.DensityRegression(
        "y ~ x + (1 | g)", data.drop(left), n_components=1, family="student"
    )
    fresh = rest.fit(**FEW).log_density(data.loc[left])
    held = pd.Series(read_elpd(fit.loo()).pointwise)[left]
    assert fit.log_density(data.loc[left]).mean() > fresh.mean() + 0.05
    assert abs((held - fresh).mean()) < 0.03


@pytest.fixture(scope="module")
def lone():
    """One component with columns, and with effects apart from them; scales have half-t priors."""
    data, fits = simulated(n_rows=150, n_groups=15), []
    for most in (500, 5):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(vars(LIMITS), "columns", most)
            model = bvb.DensityRegression("y ~ x + (x | g)", data, n_components=1)
            fits.append(model.fit(seed=1, tol=1e-8, draws=4000))
    return fits


def test_scales_of_one_component_are_integrated_as_with_columns(lone):
    columns, apart = lone
    assert apart.covariance == "exact" and apart.model.design.groups is not None
    assert_allclose(apart.core.integrated.log_evidence, columns.core.integrated.log_evidence)
    new = pd.DataFrame({"x": [0.0, 2.0, 1.0], "g": ["g3", "g3", "elsewhere"]})
    assert_allclose(apart.predict(new, "interval"), columns.predict(new, "interval"), rtol=1e-9)
    first, second = (read_elpd(fit.loo()).pointwise for fit in lone)
    assert_allclose(second, first, rtol=1e-7)
    rows = [fit.summary().loc[["sd of groups", "correlation of groups"]] for fit in lone]
    assert_allclose(*rows, rtol=1e-9)
    scales = [fit.model.prior_table().loc["scale", "scale"] for fit in lone]
    assert_allclose(*scales)
    # Shares have the variance of fixed effects, which is that of other draws.
    parts = [fit.variance_components().loc[["sd", "correlation", "icc"]] for fit in lone]
    pd.testing.assert_frame_equal(*parts, rtol=1e-9)


def test_effects_of_one_component_are_those_of_columns(lone):
    """By a mixture over 25 values of the scales, and by 4,000 draws of columns."""
    keys = ["term", "group", "component"]
    columns, apart = (bvb.effects.groups(fit).set_index(keys) for fit in lone)
    columns = columns.loc[apart.index]
    width = columns["upper"] - columns["lower"]
    for name in ("estimate", "lower", "upper"):
        assert (np.abs(apart[name] - columns[name]) / width).max() < 0.1
    both = [bvb.effects.predictions(fit, data=simulated(n_rows=6)).summary for fit in lone]
    assert_allclose(both[1]["estimate"], both[0]["estimate"], atol=0.1 * both[0]["sd"].max())
    assert_allclose(np.log(both[1]["sd"]), np.log(both[0]["sd"]), atol=0.1)


def test_completed_draws_of_the_integrated_posterior_have_its_evidence(lone):
    _, apart = lone
    draws, of_effects = apart.core.completed(apart.draws)
    assert draws["coefficients"].shape[-1] == 2 + 2 * 16
    core = apart.core.with_complete_draws()
    joint = log_joint(core, apart.model.source, draws, 0.0)
    evidence = apart.core.integrated.log_evidence
    # Wide priors of shared coefficients are taken at the mean of the noise.
    assert_allclose(joint - apart.log_q - of_effects, evidence, atol=0.01)


def test_the_closed_linear_response_of_one_component_is_that_of_passes(lone):
    _, apart = lone
    core, source = apart.core, apart.model.source
    shared = core.response_of_shared(apart.stats, core.update(apart.stats), source)
    expected = projected_covariance(shared, shared.perturbations())
    assert_allclose(core.known_response(apart.q, source), expected, rtol=1e-6, atol=1e-8)
    again = apart.with_covariance("linear-response")
    assert again.covariance == "linear-response" and "effect_scale" not in again.draws
    assert np.isfinite(bvb.effects.groups(again)["lower"]).all()
