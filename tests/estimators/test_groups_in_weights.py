"""Effects of very many groups on the weights: what columns would have, and what is not there."""

import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.data.sources import InMemorySource
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.linear.structure import LIMITS
from bayesvb.models.ensemble import MEMBER, Ensemble, joined

ASCENT = {"seed": 1, "restarts": 2, "tol": 1e-10, "draws": 4000}

FEW = {"seed": 1, "restarts": 1, "draws": 100, "covariance": "mean-field"}

CASES = [
    ("y ~ x + (1 | g)", "softmax"),
    ("y ~ x + (1 | g)", "stick-breaking"),
    ("y ~ x | x + (1 | g)", "softmax"),
    ("y ~ x + (1 | g) | x + (x | g)", "stick-breaking"),
    ("y ~ x + (x | g)", "softmax"),
]


def simulated(n_groups=12, n_rows=240, seed=0):
    """Two lines with a level of each group, of which one is more frequent in some groups."""
    rng = np.random.default_rng(seed)
    g, x = rng.integers(0, n_groups, n_rows), rng.normal(size=n_rows)
    g[:n_groups] = np.arange(n_groups)
    second = rng.logistic(size=n_rows) < 1.5 * rng.normal(size=n_groups)[g] + x
    y = np.where(second, 3.0 + x, -3.0 - 0.5 * x) + rng.normal(size=n_groups)[g]
    return pd.DataFrame({"y": y + 0.5 * rng.normal(size=n_rows), "x": x, "g": [f"g{i}" for i in g]})


@pytest.fixture(scope="module", params=CASES, ids=" ".join)
def pair(request):
    """The same model at the same maximum with columns, and with effects apart from them."""
    text, gate = request.param
    # With the default prior, effects of columns scatter around common ones: others do not.
    options = {"n_components": 2, "gate": gate, "priors": bvb.Priors(scales="learned")}
    columns = bvb.DensityRegression(text, simulated(), **options).fit(**ASCENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(LIMITS), "columns", 5)
        apart = bvb.DensityRegression(text, simulated(), **options).fit(**ASCENT)
        yield columns, apart


@pytest.fixture(scope="module")
def fit(few_columns):
    """Groups in both parts, with the default gate."""
    return bvb.DensityRegression("y ~ x + (1 | g)", simulated(), n_components=2).fit(**ASCENT)


def by_gate_component(fit):
    """Effects on the weights as what they say of the component of the higher line."""
    table = bvb.effects.groups(fit, "gating")
    higher = int(np.argmax(fit.summary().loc["mean", "mean"].unstack()["Intercept"])) + 1
    sign = 1.0 if (table["component"] == higher).all() else -1.0
    return table.set_index(["term", "group"])["estimate"] * sign


@pytest.mark.heavy
def test_optimum_and_predictions_are_those_of_columns(pair):
    columns, apart = pair
    assert not apart.core.gate.draws_complete and apart.covariance == "linear-response"
    assert_allclose(apart.elbo, columns.elbo, atol=1e-8)
    assert_allclose(apart.q.scales.mean, columns.q.scales.mean, rtol=1e-4)
    assert_allclose(apart.predict(), columns.predict(), atol=2e-6)
    assert_allclose(apart.log_density(), columns.log_density(), atol=1e-5)
    new = pd.DataFrame({"x": [0.0, 2.0, 0.0], "g": ["g3", "g3", "elsewhere"]})
    for policy in ("typical", "marginal"):
        told = {"kind": "sd", "new_groups": policy}
        assert_allclose(apart.predict(new, **told), columns.predict(new, **told), rtol=1e-5)


@pytest.mark.heavy
def test_draws_and_effects_are_those_of_columns(pair):
    columns, apart = pair
    effects = by_gate_component(apart)
    assert_allclose(effects, by_gate_component(columns)[effects.index], atol=0.06)
    block = [one.model.block(one.model.rows(simulated().head(40))) for one in pair]
    for name in ("linear-response", "mean-field"):
        each = []
        for one, rows in zip(pair, block, strict=True):
            own = one.with_covariance(name)
            weight = np.exp(own.core.log_weights(own.draws, rows))
            higher = int(np.argmax(one.summary().loc["mean", "mean"].unstack()["Intercept"]))
            each.append(weight[:, higher])
        assert_allclose(each[1].mean(axis=0), each[0].mean(axis=0), atol=0.015)
        assert_allclose(each[1].std(axis=0), each[0].std(axis=0), rtol=0.12, atol=0.003)


@pytest.mark.heavy
def test_summary_has_the_names_and_intervals_of_columns(pair):
    columns, apart = (one.summary().loc[["sigma", "scale", "gating scale"]] for one in pair)
    assert_array_equal(apart.index.to_numpy(), columns.index.to_numpy())
    assert "(1 | g)" in apart.loc["gating scale"].index.get_level_values("term")
    assert_allclose(apart["mean"], columns["mean"], rtol=0.2)
    assert "groups, effects.groups(fit, 'gating')" in str(pair[1])
    names = set(pair[1].idata.posterior["scale_gating"].coords["block_gating"].to_numpy())
    assert "(1 | g)" in names
    table, own = (one.model.prior_table() for one in pair)
    assert_allclose(
        own.loc["gating", "scale"]["(1 | g)"], table.loc["gating", "scale"]["(1 | g)[g1]"]
    )


@pytest.mark.heavy
def test_shares_have_the_intervals_of_columns(pair):
    widths = [
        np.log(one.components()["share_upper"] - one.components()["share_lower"]) for one in pair
    ]
    assert_allclose(widths[1], widths[0], atol=0.12)


@pytest.mark.heavy
def test_rows_left_out_are_those_of_fits_without_them(few_columns):
    for gate in ("softmax", "stick-breaking"):
        data = simulated(n_groups=30, n_rows=450, seed=2)
        options = {"n_components": 2, "gate": gate}
        fit = bvb.DensityRegression("y ~ x + (1 | g)", data, **options).fit(**FEW, tol=1e-8)
        held = pd.Series(read_elpd(fit.loo()).pointwise)
        left = data.groupby("g").head(1).index[::2]
        seen, fresh = fit.log_density(data.loc[left]), []
        for row in left:
            rest = bvb.DensityRegression("y ~ x + (1 | g)", data.drop(row), **options)
            fresh.append(rest.fit(**FEW, tol=1e-8).log_density(data.loc[[row]]).iloc[0])
        assert np.abs(held[left] - fresh).mean() < 0.15 * np.abs(seen - fresh).mean()


@pytest.mark.heavy
def test_saved_fits_are_the_same(fit, tmp_path):
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert again.elbo == fit.elbo and again.covariance == "linear-response"
    new = {"x": [0.0, 1.0], "g": ["g3", "elsewhere"]}
    assert_allclose(again.predict(new, "sd"), fit.predict(new, "sd"), rtol=1e-12)
    block = fit.model.source.take(np.arange(20))
    for name in ("linear-response", "mean-field"):
        each = [one.with_covariance(name) for one in (fit, again)]
        ours, theirs = (one.core.log_lik(one.draws, block) for one in each)
        assert_allclose(ours, theirs, rtol=1e-9)
    tables = [bvb.effects.groups(one, "gating") for one in (fit, again)]
    assert_allclose(tables[0]["upper"], tables[1]["upper"], rtol=1e-9)


@pytest.mark.heavy
@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_the_bound_rises_to_where_its_gradient_is_zero(gate, few_columns):
    for seed in range(2):
        data = simulated(seed=seed, n_groups=20)
        model = bvb.DensityRegression("y ~ x + (x | g)", data, n_components=3, gate=gate)
        fit = model.fit(**{**ASCENT, "seed": seed, "restarts": 1, "tol": 1e-12, "max_iter": 5000})
        trace = fit.traces["final"] if "final" in fit.traces else next(iter(fit.traces.values()))
        assert (np.diff(trace) > -1e-7 * np.abs(trace[-1])).all()
        core, posterior = fit.core, fit.core.update(fit.stats)
        step = model.source.map_reduce(partial(core.e_step, posterior))
        again = core.gradient_stats(posterior, step.stats).to_vector()
        assert_allclose(again, fit.stats.to_vector(), atol=2e-3)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_statistics_of_blocks_add_to_those_of_the_whole(gate, few_columns, rng):
    model = bvb.DensityRegression("y ~ x + (1 | g)", simulated(), n_components=3, gate=gate)
    core, block = model.core, model.source.whole()
    start = core.first_stats(core.partition_stats(block, rng.dirichlet(np.ones(3), 240).T))
    source = InMemorySource(tuple(block.split(50)))
    whole, parts = (
        one.map_reduce(partial(core.e_step, core.update(start))) for one in (model.source, source)
    )
    assert_allclose(parts.bound, whole.bound, rtol=1e-12)
    assert_allclose(parts.stats.to_vector(), whole.stats.to_vector(), atol=1e-10)


@pytest.mark.heavy
@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_updated_fits_are_those_of_columns(gate, monkeypatch):
    data, later = simulated(n_rows=600), []
    for most in (500, 5):
        monkeypatch.setitem(vars(LIMITS), "columns", most)
        text, first = "y ~ x + (1 | g)", data.iloc[:400]
        options = {"gate": gate, "priors": bvb.Priors(scales="learned")}
        model = bvb.DensityRegression(text, first, n_components=2, **options)
        later.append(model.fit(**ASCENT).update(data.iloc[400:], tol=1e-10))
    columns, apart = later
    assert_allclose(apart.elbo, columns.elbo, atol=1e-6)
    assert_allclose(apart.predict(data), columns.predict(data), atol=1e-4)
    block = apart.model.block(apart.model.rows(data.head(30)))
    drawn = np.exp(apart.core.log_weights(apart.draws, block)).mean(axis=0)
    assert_allclose(drawn, apart.core.mean_weights(apart.q, block), atol=0.03)


def test_one_component_is_what_it_is_without_weights(few_columns):
    for text in ("y ~ x + (1 | g)", "y ~ x + (1 | g) | (x | g)"):
        one = bvb.DensityRegression(text, simulated(), n_components=1)
        assert GATE_GROUPS not in one.design.matrices and GROUP_ROWS in one.design.matrices
        other = bvb.DensityRegression("y ~ x + (1 | g) | 1", simulated(), n_components=1)
        fits = [model.fit(seed=1, draws=50) for model in (one, other)]
        assert fits[0].elbo == fits[1].elbo
        assert_array_equal(fits[0].predict(), fits[1].predict())
    alone = bvb.DensityRegression("y ~ x | (1 | g)", simulated(), n_components=1)
    assert alone.design.groups is None


def test_weights_without_covariates_have_no_groups(few_columns):
    model = bvb.DensityRegression("y ~ x | (1 | g)", simulated(), n_components=2, gate="dirichlet")
    assert model.design.gate_groups is None and model.design.groups is None


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("y ~ x + (1 | g) | (1 | h)", {}, "(?s)15 other groups.*use the same groups in both parts"),
        ("y ~ x + (1 | g) | (1 | g) + (1 | h)", {}, "only one grouping may have that many"),
        ("y ~ x | (1 | g)", {"group": "h"}, "is a covariate of the weights"),
    ],
)
def test_what_cannot_have_them_says_so(text, options, message, few_columns):
    data = simulated().assign(h=np.resize(np.arange(15), 240))
    with pytest.raises(DataError, match=message):
        bvb.DensityRegression(text, data, n_components=2, **options)


@pytest.mark.heavy
def test_what_needs_draws_of_all_groups_says_so(fit, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "groups", 11)
    fit = replace(fit)  # without what it has computed
    for asked in (
        fit.influence, fit.prior_sensitivity, lambda: fit.khat,
        lambda: fit.with_covariance("robust"),
    ):  # fmt: skip
        with pytest.raises(DataError, match="group"):
            asked()


@pytest.mark.parametrize("scales", ["between", "fixed"])
def test_draws_without_effects_have_no_importance_weights(scales, few_columns, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "groups", 11)
    for text in ("y ~ x | x + (1 | g)", "y ~ x + (1 | g) | x"):
        priors = bvb.Priors(scales=scales)
        model = bvb.DensityRegression(text, simulated(), n_components=2, priors=priors)
        fit = model.fit(**FEW)
        with pytest.raises(DataError, match="draws do not contain the effects of 12 groups"):
            fit.khat  # noqa: B018


@pytest.mark.heavy
def test_slopes_are_those_of_columns(pair):
    columns, apart = (
        bvb.effects.slopes(one, "x", data=simulated().head(30)).summary for one in pair
    )
    assert_allclose(apart["estimate"], columns["estimate"], atol=0.15)
    assert_allclose(apart["sd"], columns["sd"], rtol=0.15, atol=0.01)


def test_drawn_lines_have_the_effects_of_their_own_fit(few_columns, rng):
    model = bvb.DensityRegression("y ~ x + (1 | g)", simulated(), n_components=2)
    fits = [model.fit(**{**FEW, "seed": seed}) for seed in (1, 2)]
    draws, _ = joined([fit.draws for fit in fits], [60, 40], rng)
    block, scaling = model.source.take(np.arange(5)), model.scales.response
    core = Ensemble(tuple(fit.core for fit in fits), np.array([0.6, 0.4]))
    whole = core.drawn(draws, np.exp(core.log_weights(draws, block)), block, 0, scaling)
    for number, fit in enumerate(fits):
        at = draws[MEMBER] == number
        own = {name: values[at] for name, values in draws.items() if name != MEMBER}
        alone = fit.core.drawn(own, np.exp(fit.core.log_weights(own, block)), block, 0, scaling)
        for name, values in vars(alone).items():
            assert_array_equal(vars(whole)[name][:, at], values)


@pytest.mark.heavy
def test_predictive_and_prior_draws_have_the_groups(fit, few_columns):
    at = {"x": [0.0], "g": ["g3"]}
    drawn = fit.predict(at, "draws", n=9000, seed=1)
    assert_allclose(drawn.to_numpy().std(), fit.predict(at, "sd")[0], rtol=0.05)
    prior = fit.model.prior_predictive(draws=400, seed=1)
    assert np.isfinite(prior["prior_predictive"]["y"].to_numpy()).all()


def test_drawn_effects_are_the_same_wherever_they_are_asked_for(few_columns):
    model = bvb.DensityRegression("y ~ x + (x | g)", simulated(), n_components=3)
    fit = model.fit(**FEW)
    rows = [np.array([3, 50, 7, 90]), np.array([90, 3])]
    here, there = (fit.core.log_weights(fit.draws, model.source.take(at)) for at in rows)
    assert_allclose(here[:, :, [3, 0]], there, rtol=1e-12)
    own = replace(fit.core, effect_laws=None)
    assert np.abs(own.log_weights(fit.draws, model.source.take(rows[1])) - there).max() > 0.1


@pytest.mark.heavy
def test_memory_grows_with_rows_and_groups_only():
    n_groups, rng = 2_000, np.random.default_rng(1)
    data = simulated(n_groups=n_groups, n_rows=10 * n_groups, seed=3)
    model = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=2)
    assert model.source.whole().designs["gating"].shape == (2, 10 * n_groups)
    core, block = model.core, model.source.whole()
    start = core.first_stats(
        core.partition_stats(block, rng.dirichlet(np.ones(2), 10 * n_groups).T)
    )
    tracemalloc.start()
    posterior = core.update(start)
    step = model.source.map_reduce(partial(core.e_step, posterior))
    stats = core.global_step(posterior, step.stats)
    core.kl(core.update(stats))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * sum(one.nbytes for one in block.designs.values())
    assert peak < 0.25 * 8 * n_groups**2  # bytes of one matrix of groups by groups
