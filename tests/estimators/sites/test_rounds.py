"""Sites that tell sums: the fit of all rows, from files too, and a word where it cannot be."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.engines import cavi
from bayesvb.errors import DataError
from bayesvb.estimators.sites.columns import pooled_levels, pooled_quantiles
from bayesvb.estimators.sites.contents import keyed
from bayesvb.estimators.sites.record import moments_of
from bayesvb.estimators.sites.rounds import model_at_site
from bayesvb.results.all_rows import rows_text


def simulated(n, seed):
    rng = np.random.default_rng(seed)
    x, second = rng.normal(size=n), rng.random(n)
    second = second < 1.0 / (1.0 + np.exp(-2.0 * x))
    group = rng.choice(list("abc"), n)
    y = np.where(second, 3.0 + 1.5 * x, -2.0 - 0.5 * x) + (group == "b")
    y += np.where(second, 0.4, 0.7) * rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "g": group,
            "y": y,
            "w": rng.integers(1, 3, n).astype(float),
            "half": np.where(second, "p", "q"),
        }
    )


DATA = simulated(300, 1)
DATA.loc[:79, "g"] = DATA.loc[:79, "g"].replace("c", "a")  # a level that one site has not
SITES = [DATA[:80], DATA[80:150], DATA[150:]]


def rounds(model, sites, agreed=None, until=None, **options):
    """Merged statistics after all rounds, or after those up to one."""
    while agreed is None or not (agreed.finished or agreed.round == until):
        agreed = bvb.merge_site_statistics(
            [bvb.site_statistics(model, rows, agreed, **options) for rows in sites]
        )
    return agreed


def model_of(rows=SITES[1], **options):
    return bvb.DensityRegression("y ~ x + g | x", rows, **{"n_components": 2, **options})


QUICK = {
    "softmax": {"restarts": 1},
    # Two sticks may be mirrored: between such starts, which more restarts try, only the rounding
    # of the bound decides, and sums then have the signs of the one or the other.
    "stick-breaking": {"restarts": 1, "covariance": "mean-field"},
}


@pytest.mark.heavy
def test_a_round_costs_as_much_however_many_there_have_been(monkeypatch):
    replayed, plain = [], cavi.one_pass
    monkeypatch.setattr(cavi, "one_pass", lambda *given: replayed.append(1) or plain(*given))
    model, passes, kept = model_of(), [], []
    few = {"restarts": 1, "covariance": "mean-field", "tol": 1e-12, "max_iter": 30}
    agreed = rounds(model, SITES, until="starts", **few)
    while not agreed.finished:
        replayed.clear()
        agreed = bvb.merge_site_statistics(
            [bvb.site_statistics(model, rows, agreed, **few) for rows in SITES]
        )
        passes.append(len(replayed) / len(SITES) ** 2)  # an ascent from the fit of each site
        kept.append(len(agreed.known["sums"]) / len(SITES))
    assert agreed.n_passes > 25
    assert max(passes) <= 3
    assert max(kept) <= 2


@pytest.mark.heavy
@pytest.mark.parametrize("gate", QUICK)
def test_sites_find_the_fit_of_all_rows(gate):
    model = model_of(gate=gate)
    begun = rounds(model, SITES, until="starts", **QUICK[gate])
    fit = bvb.fit_from_sites(model, SITES[0], rounds(model, SITES, begun))
    whole = bvb.fit_from_sites(model, DATA, rounds(model, [DATA], replace(begun, n_sites=1)))
    mine, theirs = fit.stats.to_vector(), whole.stats.to_vector()
    np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
    assert fit.elbo == pytest.approx(whole.elbo, rel=1e-12)
    np.testing.assert_allclose(fit.response.covariance, whole.response.covariance, atol=1e-5)
    usual = model_of(DATA, gate=gate).fit(seed=1)
    assert fit.elbo == pytest.approx(usual.elbo, abs=2e-3)
    at = DATA[:5]
    np.testing.assert_allclose(fit.predict(at), usual.predict(at), atol=0.02)
    scales, own = usual.model.scales, fit.model.scales
    np.testing.assert_allclose(own.parts["mean"].scale, scales.parts["mean"].scale, rtol=1e-12)
    assert fit.model.source.n_rows == 300


@pytest.mark.heavy
@pytest.mark.parametrize("formula", ["y ~ x + g | x", "y ~ x * g + I(x**2) | x"])
def test_with_one_component_no_sum_is_lost(formula):
    model = bvb.DensityRegression(formula, SITES[1], n_components=1)
    settings = {"tol": 1e-9, "covariance": "mean-field", "restarts": 1}
    fit = bvb.fit_from_sites(model, SITES[2], rounds(model, SITES, **settings))
    whole = bvb.DensityRegression(formula, DATA, n_components=1)
    usual = whole.fit(restarts=1, seed=0, tol=1e-9)
    np.testing.assert_allclose(fit.stats.to_vector(), usual.stats.to_vector(), rtol=1e-8, atol=1e-8)
    assert fit.elbo == pytest.approx(usual.elbo, rel=1e-10)


@pytest.mark.heavy
def test_weights_count_at_sites_too():
    options = {"tol": 1e-9, "covariance": "mean-field", "weights": "w"}
    model = bvb.DensityRegression("y ~ x", SITES[0], n_components=1)
    fit = bvb.fit_from_sites(model, SITES[0], rounds(model, SITES, **options), weights="w")
    usual = bvb.DensityRegression("y ~ x", DATA, n_components=1, weights="w")
    assert fit.elbo == pytest.approx(usual.fit(restarts=1, seed=0, tol=1e-9).elbo, rel=1e-10)


@pytest.mark.heavy
def test_files_carry_the_same_statistics(tmp_path):
    model, agreed, number_of_round = model_of(), None, 0
    few = {"restarts": 1, "covariance": "mean-field", "tol": 0.1, "max_iter": 10}
    while agreed is None or not agreed.finished:
        parts = [bvb.site_statistics(model, rows, agreed, **few) for rows in SITES]
        if number_of_round < 8:  # of each kind: rows, starts, passes of runs
            parts = [part.save(tmp_path / f"{number}.nc") for number, part in enumerate(parts)]
        agreed, number_of_round = bvb.merge_site_statistics(parts), number_of_round + 1
    agreed = agreed.save(tmp_path / "agreed.nc")
    fit = bvb.fit_from_sites(model, SITES[0], agreed)
    assert fit.elbo == bvb.fit_from_sites(model, SITES[0], rounds(model, SITES, **few)).elbo
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert np.array_equal(back.predict(DATA[:5]), fit.predict(DATA[:5]))
    assert back.model.source.n_rows == 300


def test_a_damaged_file_is_refused(tmp_path):
    path = bvb.site_statistics(model_of(), SITES[0]).save(tmp_path / "part.nc")
    assert bvb.merge_site_statistics([path]).n_rows == 80
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        bvb.merge_site_statistics([path])
    fit = model_of().fit(seed=1, restarts=1, draws=30).save(tmp_path / "fit.nc")
    with pytest.raises(DataError, match="does not hold statistics"):
        bvb.merge_site_statistics([fit])


def test_sites_must_answer_to_the_same_question():
    model = model_of()
    first = [bvb.site_statistics(model, rows) for rows in SITES]
    agreed = bvb.merge_site_statistics(first)
    second = [bvb.site_statistics(model, rows, agreed) for rows in SITES]
    with pytest.raises(DataError, match="round"):
        bvb.merge_site_statistics([first[0], second[1]])
    with pytest.raises(DataError, match="another options"):
        bvb.merge_site_statistics(
            [first[0], bvb.site_statistics(model_of(n_components=1), SITES[1])]
        )
    other = bvb.merge_site_statistics(
        [bvb.site_statistics(model, rows.assign(g="a")) for rows in SITES]
    )
    with pytest.raises(DataError, match="other merged statistics"):
        bvb.merge_site_statistics(
            [second[0], bvb.site_statistics(model, SITES[1].assign(g="a"), other)]
        )
    with pytest.raises(DataError, match="is a merged result"):
        bvb.merge_site_statistics([bvb.merge_site_statistics(second)])
    with pytest.raises(DataError, match="not finished"):
        bvb.fit_from_sites(model, SITES[0], agreed)
    with pytest.raises(DataError, match="not reported in the first round"):
        bvb.site_statistics(model, SITES[0].assign(g="z"), agreed)


@pytest.mark.heavy
def test_components_of_sites_have_the_covariance_of_all_rows():
    model = bvb.BayesianPCA("~ x + y + w", SITES[1], n_components=1)
    agreed = rounds(model, SITES, restarts=1, tol=1e-6)
    fit = bvb.fit_from_sites(model, SITES[0], agreed)
    usual = bvb.BayesianPCA("~ x + y + w", DATA, n_components=1).fit(seed=1, tol=1e-6)
    assert fit.covariance == usual.covariance
    np.testing.assert_allclose(fit.summary()["sd"], usual.summary()["sd"], rtol=0.1)


GAPS = DATA[["x", "y", "w"]].copy()
GAPS.iloc[np.arange(90, 290, 9), 1] = np.nan  # the first site has none

MODELS = {
    "normal": lambda rows: bvb.Normal("y ~ 1", rows),
    "gaussians": lambda rows: bvb.GaussianMixture("~ x + y", rows, n_components=2),
    "components": lambda rows: bvb.BayesianPCA("~ x + y + w", rows, n_components=2),
    "gaps": lambda rows: bvb.BayesianPCA("~ x + y + w", GAPS.loc[rows.index], n_components=2),
    "classes": lambda rows: bvb.ConditionalMixtureNetwork("g ~ x + y", rows, n_experts=2),
    "numbers": lambda rows: bvb.ConditionalMixtureNetwork("y ~ x + g", rows, n_experts=2),
    "student": lambda rows: model_of(rows, family="student"),
    "curves": lambda rows: bvb.DensityRegression(
        "y ~ bs(x, df=4) + g | s(x, k=4)", rows, n_components=2
    ),
    "polynomials": lambda rows: bvb.DensityRegression(
        "y ~ poly(x, 2) + scale(w) | cr(x, df=3, constraints='center')", rows, n_components=2
    ),
    "groups": lambda rows: bvb.DensityRegression(
        "y ~ x + (1 + x | g) + (g | half) | (1 | g)", rows, n_components=2
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_of_sites_is_that_of_all_rows(kind, tmp_path):
    few = {"restarts": 1, "covariance": "mean-field", "max_iter": 12}
    make, data = MODELS[kind], GAPS if kind == "gaps" else DATA
    model, sites = make(SITES[1]), [data[:80], data[80:150], data[150:]]
    begun = rounds(model, sites, until="starts", **few)
    agreed = rounds(model, [data], replace(begun, n_sites=1))
    whole = bvb.fit_from_sites(model, data, agreed)
    fit = bvb.fit_from_sites(model, sites[0], rounds(model, sites, begun))
    mine, theirs = fit.stats.to_vector(), whole.stats.to_vector()
    np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
    assert fit.elbo == pytest.approx(whole.elbo, rel=1e-10)
    assert fit.model.source.n_rows == 300
    said = "300 rows of 3 sites; results by row are for the 80 rows here"
    assert rows_text(fit.model) == said
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert rows_text(back.model) == said
    at = data[:5]
    np.testing.assert_allclose(back.log_density(at), fit.log_density(at), rtol=1e-12)
    assert np.isfinite(fit.log_density(data[-5:])).all()  # levels and ends of another site


@pytest.mark.parametrize(
    "kind",
    [
        "gaussians",
        *(pytest.param(one, marks=pytest.mark.heavy) for one in ("normal", "gaps", "groups")),
    ],
)
def test_units_are_those_of_all_rows(kind):
    data = GAPS if kind == "gaps" else DATA
    model, sites = MODELS[kind](SITES[1]), [data[:80], data[80:150], data[150:]]
    begun = rounds(model, sites, until="scales", restarts=1)
    own = MODELS[kind](DATA)
    scales = own.scales.response if kind == "groups" else own.scaling
    name = {"groups": "response", "normal": "response"}.get(kind, "variables")
    if kind == "gaps":
        weights = [moments_of(begun.known[keyed(one)]).weight for one in ("x", "y", "w")]
        assert weights == data.notna().sum().tolist()
    else:
        found = moments_of(begun.known[keyed(name)])
        np.testing.assert_allclose(found.mean, scales.centre, rtol=1e-12)
        np.testing.assert_allclose(found.deviation, scales.scale, rtol=1e-12)


def test_a_curve_of_sites_is_near_that_of_all_rows():
    model = bvb.DensityRegression("y ~ s(x, k=5)", SITES[0], n_components=1)
    agreed = rounds(model, SITES, until="columns")
    own = np.quantile(DATA["x"], np.linspace(0.0, 1.0, 257))
    found = agreed.known["quantiles"][0]
    assert (np.diff(found) > 0.0).all()
    assert np.abs(found - own)[25:-25].max() < 0.1
    assert found[[0, -1]].tolist() == [DATA["x"].min(), DATA["x"].max()]


@pytest.mark.heavy
def test_sites_may_have_their_columns_in_any_order():
    model = bvb.GaussianMixture("~ .", DATA[["x", "y", "w"]], n_components=1)
    few = {"restarts": 1, "max_iter": 3}
    turned = [SITES[0][["x", "y", "w"]], SITES[1][["w", "y", "x"]], SITES[2][["y", "x", "w"]]]
    fit = bvb.fit_from_sites(model, turned[1], rounds(model, turned, **few))
    assert fit.model.variables == ("x", "y", "w")
    np.testing.assert_allclose(fit.elbo, model.fit(seed=1, restarts=1).elbo, rtol=1e-9)


def test_what_is_no_sum_is_refused():
    first = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(300), "D")
    data = DATA.assign(day=first, h=np.where(DATA["x"] > 0.0, "a", "b"))

    def refused(words, formula="y ~ x", rows=data, **options):
        model = bvb.DensityRegression(formula, data, n_components=1, **options)
        with pytest.raises(DataError, match=words):
            bvb.site_statistics(model, rows)

    refused("sampling weights", weights="w", weight_type="sampling")
    refused("a subject may have rows at several sites", formula="y ~ x | gating(1)", group="h")
    refused("counted from the first one", "y ~ day")
    refused("groups of several columns", "y ~ x + (1 | g:h)")
    refused("depends on several columns jointly", "y ~ bs(x * w, df=4)")
    refused("needs all rows in memory", rows=[data[:10], data[10:]])


def test_quantiles_of_sites_are_those_of_all_rows():
    rng = np.random.default_rng(3)
    rows = [rng.normal(size=(1, 4000)), 2.0 + rng.normal(size=(1, 1000))]
    shares = np.linspace(0.0, 1.0, 33)
    told = [np.quantile(one, shares, axis=1).T for one in rows]
    found = pooled_quantiles(told, [4000, 1000])
    whole = np.sort(np.concatenate(rows, axis=1)[0])
    ranks = np.searchsorted(whole, found[0]) / len(whole)
    assert np.abs(ranks - np.linspace(0.0, 1.0, 257)).max() < 0.015
    np.testing.assert_array_equal(found[0, [0, -1]], whole[[0, -1]])
    assert pooled_quantiles([np.empty((0, 1))], [3]).shape == (0, 257)


def test_levels_of_sites_come_in_one_order():
    assert pooled_levels([{"g": ["a", "c"]}, {"g": ["b"]}]) == {"g": ["a", "b", "c"]}
    low = [{"g": ["low", "mid", "high"]}, {"g": ["low", "high"]}]
    assert pooled_levels(low) == {"g": ["low", "mid", "high"]}
    parts = [{"g": ["low", "mid"]}, {"g": ["mid", "high"]}]
    assert pooled_levels(parts) == {"g": ["low", "mid", "high"]}
    with pytest.raises(DataError, match="in different orders"):
        pooled_levels([{"g": ["low", "mid", "high"]}, {"g": ["mid", "low"]}])
    with pytest.raises(DataError, match="at some sites only"):
        pooled_levels([{"g": ["a"]}, {}])
    with pytest.raises(DataError, match="at some sites only"):
        pooled_levels([{"g": ["a"]}, {"g": []}])
    with pytest.raises(DataError, match="text and numbers"):
        pooled_levels([{"g": ["a"]}, {"g": [1]}])


def test_ordered_levels_keep_their_order_where_sites_lack_some():
    """Each site has levels in alphabetical order, which is not theirs."""
    words = ["low", "mid", "high"]
    y = pd.Categorical.from_codes(np.digitize(DATA["y"][:120], [-3.0, 2.0]), words, ordered=True)
    data = DATA[:120].assign(y=y)
    sites = [data[data["y"] != "mid"], data[data["y"] == "mid"]]
    options = {"n_components": 1, "family": "ordinal"}
    model = bvb.DensityRegression("y ~ x", data, **options)
    agreed = rounds(model, sites, until="scales")
    for site in sites:
        assert model_at_site(model, site, None, agreed).design.order.labels == tuple(words)


def test_a_site_may_have_censored_rows_only():
    data = DATA[:120].assign(y=DATA["y"].clip(upper=2.0), late=DATA["y"] > 2.0)
    sites = [data[data["late"]], data[~data["late"]]]
    model = bvb.DensityRegression("cens(y, late) ~ x", data, n_components=1)
    agreed = rounds(model, sites, until="starts")
    assert agreed.round == "starts"
    for site in sites:
        scales = model_at_site(model, site, None, agreed).scales.response
        assert scales.scale == pytest.approx(model.scales.response.scale)
    with pytest.raises(DataError, match="all rows are right censored"):
        bvb.DensityRegression("cens(y, late) ~ x", sites[0].assign(y=DATA["x"]), n_components=1)


@pytest.mark.parametrize("wrong", [None, [], "a", 3, [3], ["absent.nc"], {}])
def test_wrong_parts_are_named(wrong):
    with pytest.raises(DataError):
        bvb.merge_site_statistics(wrong)
