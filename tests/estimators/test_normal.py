"""One Gaussian sample: the exact answer beside the fit, in the units of the data."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesvb as bvb
from bayesvb.errors import DataError, FormulaError, PriorError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    return pd.DataFrame({"y": 50.0 + 9.0 * rng.normal(size=20), "x": rng.normal(size=20)})


@pytest.fixture(scope="module")
def fit(data):
    return bvb.Normal("y ~ 1", data).fit(seed=1, draws=4000)


def test_one_run_is_enough(fit):
    assert len(fit.restarts) == 1
    assert fit.restarts["initialisation"].tolist() == ["closed form"]
    assert fit.converged


def test_the_exact_posterior_is_nearly_the_textbook_interval(fit, data):
    exact = fit.model.exact(fit, prob=0.9).loc[("mu", "exact")]
    y = data["y"]
    lower, upper = stats.t.interval(0.9, len(y) - 1, y.mean(), y.std() / len(y) ** 0.5)
    assert exact["mean"] == pytest.approx(y.mean(), rel=1e-3)
    assert_allclose(exact[["lower", "upper"]], [lower, upper], rtol=0.01)


def test_the_table_is_that_of_the_draws(fit):
    table = fit.model.exact(fit, prob=0.8)
    for part in ("mu", "sigma"):
        drawn = fit.posterior[part].values.ravel()
        row = table.loc[(part, "factorised")]
        error = drawn.std() / len(drawn) ** 0.5
        assert abs(row["mean"] - drawn.mean()) < 4.0 * error
        assert row["sd"] == pytest.approx(drawn.std(), rel=0.1)
        assert_allclose(row[["lower", "upper"]], np.quantile(drawn, [0.1, 0.9]), atol=8.0 * error)


def test_the_exact_rows_are_those_of_scipy(fit):
    model = fit.model
    law = model.exact_posterior(fit)
    a, b = law.precision.shape, law.precision.rate
    unit = model.scaling.scale[0]
    row = model.exact(fit, prob=0.8).loc[("sigma", "exact")] / unit
    sigma = stats.invgamma(a, scale=b)
    assert row["mean"] == pytest.approx(sigma.expect(np.sqrt), rel=1e-6)
    assert row["sd"] ** 2 == pytest.approx(sigma.mean() - row["mean"] ** 2, rel=1e-6)
    assert_allclose(row[["lower", "upper"]], np.sqrt(sigma.ppf([0.1, 0.9])), rtol=1e-9)
    mean = stats.t(2.0 * a, law.mean, np.sqrt(b / (a * law.strength)))
    row = model.exact(fit, prob=0.8).loc[("mu", "exact")]
    assert row["sd"] / unit == pytest.approx(mean.std(), rel=1e-9)
    ends = mean.ppf([0.1, 0.9]) * unit + model.scaling.centre[0]
    assert_allclose(row[["lower", "upper"]], ends, rtol=1e-9)


def test_factorised_intervals_are_narrower(fit):
    table = fit.model.exact(fit)
    width = (table["upper"] - table["lower"]).unstack("posterior")
    assert (width["factorised"] < width["exact"]).all()


def test_the_bound_misses_the_evidence_by_the_divergence(fit):
    cost = fit.model.divergences(fit)
    assert cost["bound"] == pytest.approx(fit.elbo, rel=1e-12)
    gap = cost["log evidence"] - cost["bound"]
    assert cost["KL(q, exact)"] == pytest.approx(gap, abs=1e-10)
    assert cost["KL(exact, q)"] > cost["KL(q, exact)"] > 0.0


def test_the_evidence_is_in_the_units_of_the_data(fit, data):
    other = bvb.Normal("y ~ 1", data.assign(y=1000.0 * data["y"])).fit(seed=1, draws=25)
    lost = len(data) * np.log(1000.0)
    one, two = fit.model.divergences(fit), other.model.divergences(other)
    assert_allclose(two["bound":"log evidence"], one["bound":"log evidence"] - lost, rtol=1e-10)
    assert_allclose(two["KL(q, exact)":], one["KL(q, exact)":], rtol=1e-7)
    assert_allclose(other.model.exact(other), 1000.0 * fit.model.exact(fit), rtol=1e-9)


def test_predictions_are_the_same_for_every_row_and_close_to_the_exact_ones(fit, data):
    exact = fit.model.exact_predictive(fit)
    new = pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"])
    for kind, theirs in (("mean", exact.mean()), ("sd", exact.sd())):
        found = fit.predict(new, kind)
        assert found.index.tolist() == ["a", "b"]
        assert found.nunique() == 1
        assert_allclose(found, theirs[0], rtol=0.03)
    quantiles = fit.predict(new, "quantile", q=[0.1, 0.9])
    assert_allclose(quantiles.iloc[0], exact.quantile(np.array([0.1, 0.9]))[:, 0], rtol=0.02)
    at = float(quantiles.iloc[0, 0])
    assert fit.predict(new, "cdf", at=at)["a"] == pytest.approx(0.1)
    assert fit.predict(new, "density", at=[at, 50.0]).shape == (2, 2)
    assert fit.predict(new, "draws", n=7, seed=1).shape == (2, 7)
    assert (fit.predict(new, "component") == 1.0).all(axis=None)
    density = fit.log_density(data)
    assert_allclose(density, np.log(fit.predict(data, "density", at=data["y"])))
    theirs = np.log(exact.density_at(data["y"].to_numpy()))[:, 0]
    assert_allclose(density, theirs, atol=0.1)


def test_the_predictive_has_an_interface_by_row(fit, data):
    one = fit.predictive(data)
    y = data["y"].to_numpy()
    assert one.cdf(y).shape == one.mean().shape == y.shape
    assert one.cdf_at(np.array([40.0, 60.0])).shape == (2, len(y))
    q = one.quantile(np.array([0.3]))[0]
    assert_allclose(one.cdf(q), 0.3)
    assert_allclose(np.log(one.density_at(y[:1])[0]), one.log_density(np.full_like(y, y[0])))


def test_replicates_have_the_moments_of_the_posterior(fit):
    drawn = fit.idata.posterior_predictive["y"].values
    assert drawn.mean() == pytest.approx(fit.predict({"x": [0]}).item(), abs=0.2)
    assert drawn.std() == pytest.approx(fit.predict({"x": [0]}, "sd").item(), rel=0.05)


def test_a_saved_fit_says_the_same(fit, data, tmp_path):
    again = bvb.load(fit.save(tmp_path / "a.nc"))
    assert str(again) == str(fit)
    pd.testing.assert_frame_equal(again.model.exact(again), fit.model.exact(fit))
    pd.testing.assert_series_equal(again.log_density(data), fit.log_density(data))


def test_what_is_printed_has_both_answers(fit):
    said = str(fit)
    assert "The posterior is known here: its interval of mu has" in said
    assert "KL(q, exact)" in said
    prior = str(fit.model)
    assert "One Gaussian sample" in prior
    assert "Gamma(0.01" in prior


def test_rows_count_by_their_weight_and_incomplete_ones_are_dropped(data):
    priors = bvb.NormalPriors(standardize=False)
    weight = np.arange(20) % 3
    one = bvb.Normal("y ~ 1", data, weights=weight, priors=priors).fit(seed=1, draws=25)
    repeated = data.loc[data.index.repeat(weight)]
    two = bvb.Normal("y ~ 1", repeated, priors=priors).fit(seed=1, draws=25)
    assert one.elbo == pytest.approx(two.elbo, rel=1e-12)
    holes = data.assign(y=data["y"].where(data.index != 3))
    assert bvb.Normal("y ~ 1", holes).design.n_missing == 1


@pytest.mark.parametrize(
    ("formula", "message"),
    [("y ~ x", "no covariates"), ("y + x ~ 1", "one response"), ("y ~ 1 | x", "part")],
)
def test_anything_but_one_sample_is_refused(data, formula, message):
    with pytest.raises(FormulaError, match=message):
        bvb.Normal(formula, data)


def test_other_models_of_this_module_say_what_they_lack(fit):
    with pytest.raises(DataError, match="components"):
        fit.components()


def test_priors_of_another_model_are_refused(data, unchecked):
    with pytest.raises(PriorError, match="NormalPriors"):
        bvb.Normal("y ~ 1", data, priors=bvb.Priors())


def test_priors_are_positive():
    with pytest.raises(PriorError, match="mean_precision"):
        bvb.NormalPriors(mean_precision=0.0)
