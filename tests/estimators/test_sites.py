"""Sites that tell sums: the fit of all rows, from files too, and a word where it cannot be."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.estimators.site_levels import pooled_levels


def simulated(n, seed):
    rng = np.random.default_rng(seed)
    x, second = rng.normal(size=n), rng.random(n)
    second = second < 1.0 / (1.0 + np.exp(-2.0 * x))
    group = rng.choice(list("abc"), n)
    y = np.where(second, 3.0 + 1.5 * x, -2.0 - 0.5 * x) + (group == "b")
    y += np.where(second, 0.4, 0.7) * rng.normal(size=n)
    return pd.DataFrame({"x": x, "g": group, "y": y, "w": rng.integers(1, 3, n).astype(float)})


DATA = simulated(300, 1)
DATA.loc[:79, "g"] = DATA.loc[:79, "g"].replace("c", "a")  # a level that one site has not
SITES = [DATA[:80], DATA[80:150], DATA[150:]]


def rounds(model, sites, agreed=None, until=None, **options):
    """Merged statistics after all rounds, or after those up to one."""
    while agreed is None or not (agreed.finished or agreed.round == until):
        agreed = bvb.merge([bvb.site_statistics(model, rows, agreed, **options) for rows in sites])
    return agreed


def model_of(rows=SITES[1], **options):
    return bvb.DensityRegression("y ~ x + g | x", rows, **{"n_components": 2, **options})


QUICK = {
    "softmax": {"restarts": 1},
    "stick-breaking": {"restarts": 2, "covariance": "mean-field"},
}


@pytest.mark.heavy
@pytest.mark.parametrize("gate", QUICK)
def test_sites_find_the_fit_of_all_rows(gate):
    model = model_of(gate=gate)
    begun = rounds(model, SITES, until="starts", **QUICK[gate])
    fit = bvb.fit_of_sites(model, SITES[0], rounds(model, SITES, begun))
    whole = bvb.fit_of_sites(model, DATA, rounds(model, [DATA], replace(begun, n_sites=1)))
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
def test_with_one_component_no_sum_is_lost():
    model = model_of(n_components=1)
    settings = {"tol": 1e-9, "covariance": "mean-field", "restarts": 1}
    fit = bvb.fit_of_sites(model, SITES[2], rounds(model, SITES, **settings))
    usual = model_of(DATA, n_components=1).fit(restarts=1, seed=0, tol=1e-9)
    np.testing.assert_allclose(fit.stats.to_vector(), usual.stats.to_vector(), rtol=1e-8, atol=1e-8)
    assert fit.elbo == pytest.approx(usual.elbo, rel=1e-10)


@pytest.mark.heavy
def test_weights_count_at_sites_too():
    options = {"tol": 1e-9, "covariance": "mean-field", "weights": "w"}
    model = bvb.DensityRegression("y ~ x", SITES[0], n_components=1)
    fit = bvb.fit_of_sites(model, SITES[0], rounds(model, SITES, **options), weights="w")
    usual = bvb.DensityRegression("y ~ x", DATA, n_components=1, weights="w")
    assert fit.elbo == pytest.approx(usual.fit(restarts=1, seed=0, tol=1e-9).elbo, rel=1e-10)


@pytest.mark.heavy
def test_files_carry_the_same_statistics(tmp_path):
    model, agreed, finished = model_of(), None, False
    few = {"restarts": 1, "covariance": "mean-field", "tol": 0.1}
    while not finished:
        parts = [bvb.site_statistics(model, rows, agreed, **few) for rows in SITES]
        if agreed is None or len(agreed.known.get("sums", ())) < 3:
            parts = [part.save(tmp_path / f"{number}.nc") for number, part in enumerate(parts)]
        agreed = bvb.merge(parts)
        finished = agreed.finished
    agreed = agreed.save(tmp_path / "agreed.nc")
    fit = bvb.fit_of_sites(model, SITES[0], agreed)
    assert fit.elbo == bvb.fit_of_sites(model, SITES[0], rounds(model, SITES, **few)).elbo
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert np.array_equal(back.predict(DATA[:5]), fit.predict(DATA[:5]))
    assert back.model.source.n_rows == 300


def test_a_damaged_file_is_refused(tmp_path):
    path = bvb.site_statistics(model_of(), SITES[0]).save(tmp_path / "part.nc")
    assert bvb.merge([path]).n_rows == 80
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        bvb.merge([path])
    fit = model_of().fit(seed=1, restarts=1, draws=30).save(tmp_path / "fit.nc")
    with pytest.raises(DataError, match="does not hold statistics"):
        bvb.merge([fit])


def test_sites_must_answer_to_the_same_question():
    model = model_of()
    first = [bvb.site_statistics(model, rows) for rows in SITES]
    agreed = bvb.merge(first)
    second = [bvb.site_statistics(model, rows, agreed) for rows in SITES]
    with pytest.raises(DataError, match="round"):
        bvb.merge([first[0], second[1]])
    with pytest.raises(DataError, match="another options"):
        bvb.merge([first[0], bvb.site_statistics(model_of(n_components=1), SITES[1])])
    other = bvb.merge([bvb.site_statistics(model, rows.assign(g="a")) for rows in SITES])
    with pytest.raises(DataError, match="other merged statistics"):
        bvb.merge([second[0], bvb.site_statistics(model, SITES[1].assign(g="a"), other)])
    with pytest.raises(DataError, match="merged already"):
        bvb.merge([bvb.merge(second)])
    with pytest.raises(DataError, match="not finished"):
        bvb.fit_of_sites(model, SITES[0], agreed)
    with pytest.raises(DataError, match="not told in the first round"):
        bvb.site_statistics(model, SITES[0].assign(g="z"), agreed)


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("y ~ bs(x, df=4)", {}, "learned from all rows"),
        ("y ~ s(x, k=4)", {}, "learned from all rows"),
        ("y ~ x + (1 | g)", {}, "groups"),
        ("y ~ x", {"family": "student"}, "medians"),
        ("y ~ x", {"weights": "w", "weights_are": "sampling"}, "sampling weights"),
    ],
)
def test_what_is_no_sum_is_refused(formula, options, words):
    model = bvb.DensityRegression(formula, DATA, n_components=1, **options)
    with pytest.raises(DataError, match=words):
        bvb.site_statistics(model, DATA)


def test_levels_of_sites_come_in_one_order():
    assert pooled_levels([{"g": ["a", "c"]}, {"g": ["b"]}]) == {"g": ["a", "b", "c"]}
    low = [{"g": ["low", "mid", "high"]}, {"g": ["low", "high"]}]
    assert pooled_levels(low) == {"g": ["low", "mid", "high"]}
    with pytest.raises(DataError, match="another order"):
        pooled_levels([{"g": ["low", "mid", "high"]}, {"g": ["mid", "low"]}])
    with pytest.raises(DataError, match="same columns"):
        pooled_levels([{"g": ["a"]}, {}])
    with pytest.raises(DataError, match="text and numbers"):
        pooled_levels([{"g": ["a"]}, {"g": [1]}])


@pytest.mark.parametrize("wrong", [None, [], "a", 3, [3], ["absent.nc"], {}])
def test_wrong_parts_are_named(wrong):
    with pytest.raises(DataError):
        bvb.merge(wrong)
