"""Bayesian PCA from formula to file: rank, labels, units, missing values, predictions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning, PriorError
from bayesvb.evaluation.elpd import read_elpd


def rank_three(seed, n_rows=200, n_dims=10, noise=0.5):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(n_dims, 3))
    values = rng.normal(size=(n_rows, 3)) @ loadings.T + noise * rng.normal(size=(n_rows, n_dims))
    return pd.DataFrame(values, columns=[f"v{i}" for i in range(n_dims)])


@pytest.fixture(scope="module")
def iris():
    return bvb.datasets.load("iris").select_dtypes("number")


@pytest.fixture(scope="module")
def gapped(iris):
    rng = np.random.default_rng(0)
    holes = rng.random(iris.shape) < 0.2
    holes[7] = True
    return iris.mask(holes)


@pytest.fixture(scope="module")
def fit(iris):
    return bvb.BayesianPCA("~ .", iris).fit(seed=1, draws=400)


@pytest.fixture(scope="module")
def gapped_fit(gapped):
    return bvb.BayesianPCA("~ .", gapped).fit(seed=1, draws=400)


@pytest.mark.heavy
def test_the_rank_is_found_in_nineteen_of_twenty():
    found = []
    for seed in range(20):
        model = bvb.BayesianPCA("~ .", rank_three(seed))
        found.append(model.effective(model.fit(seed=1, draws=25)))
    assert found.count(3) >= 19


def test_the_subspace_is_that_of_the_singular_value_decomposition():
    data = rank_three(1, noise=0.2)
    fitted = bvb.BayesianPCA("~ .", data).fit(seed=1)
    ours = np.linalg.qr(fitted.posterior["loadings"].values[0, :, :3].mean(axis=0).T)[0]
    centred = data - data.mean()
    theirs = np.linalg.svd(centred.to_numpy(), full_matrices=False)[2][:3].T
    assert np.linalg.svd(ours.T @ theirs)[1].min() > 0.9999
    sd = fitted.posterior["sigma"].mean().item()
    assert sd == pytest.approx(0.2, rel=0.05)


def test_components_are_sorted_and_turned(fit):
    mean = fit.q.loadings.mean[:, :-1]
    norms = np.linalg.norm(mean, axis=0)
    assert (np.diff(norms) < 0.0).all()
    assert (np.take_along_axis(mean, np.abs(mean).argmax(axis=0)[None], axis=0) > 0.0).all()
    table = fit.components()
    assert_allclose(table["norm"], norms)
    assert table["variance"].sum() < 1.0
    assert table["effective"].tolist() == (table["signal"] > 1.0).tolist()
    assert fit.model.effective(fit) == table["effective"].sum()


def test_draws_are_in_the_units_of_the_data(fit, iris):
    posterior = fit.posterior
    assert posterior["loadings"].dims == ("chain", "draw", "component", "feature")
    assert posterior["component"].values.tolist() == [1, 2, 3]
    assert_allclose(posterior["centre"].mean(("chain", "draw")), iris.mean(), atol=0.01)
    w = posterior["loadings"].values[0]
    noise = posterior["sigma"].values[0] ** 2
    spread = (w**2).sum(axis=1) + noise[:, None]
    assert_allclose(spread.mean(axis=0), iris.var(), rtol=0.1)


def test_a_scale_of_its_own_for_every_variable(iris):
    stretched = iris * [1.0, 10.0, 100.0, 0.1]
    one = bvb.BayesianPCA("~ .", iris, scale=True).fit(seed=1, draws=50)
    two = bvb.BayesianPCA("~ .", stretched, scale=True).fit(seed=1, draws=50)
    assert_allclose(two.predict(kind="scores"), one.predict(kind="scores"), rtol=1e-6, atol=1e-8)
    assert two.posterior["sigma"].dims == ("chain", "draw", "feature")
    assert_allclose(
        two.posterior["sigma"] / one.posterior["sigma"], np.tile([1, 10, 100, 0.1], (1, 50, 1))
    )


def test_the_density_is_the_mean_over_draws(fit, iris):
    posterior = fit.with_covariance("mean-field").posterior
    row = iris.to_numpy(dtype=float)[3]
    densities = []
    for s in range(posterior.sizes["draw"]):
        w = posterior["loadings"].values[0, s]
        noise = posterior["sigma"].values[0, s] ** 2
        law = multivariate_normal(posterior["centre"].values[0, s], w.T @ w + noise * np.eye(4))
        densities.append(law.pdf(row))
    assert np.exp(fit.log_density(iris.iloc[[3]])).item() == pytest.approx(np.mean(densities))
    assert_allclose(fit.predict(iris, "density"), np.exp(fit.log_density(iris)))


def test_moments_are_near_those_of_the_data(fit, iris):
    mean, covariance = fit.model.moments(fit)
    assert_allclose(mean, iris.mean(), atol=0.01)
    assert_allclose(covariance, iris.cov(), atol=0.06)


def test_a_reconstruction_is_closer_than_the_noise(fit, iris):
    rest = iris - fit.predict(kind="reconstruction")
    assert rest.to_numpy().std() < fit.posterior["sigma"].mean().item()
    scores = fit.predict(kind="scores")
    assert_allclose(scores.mean(), 0.0, atol=0.01)
    assert (fit.predict(kind="scores-sd").nunique() == 1).all()


def test_what_was_observed_is_kept_and_the_rest_is_filled(gapped_fit, gapped, iris):
    filled = gapped_fit.predict(gapped, "impute", missing="keep")
    assert filled.index.equals(gapped.index)
    assert filled.iloc[7].isna().all()
    seen = gapped.notna().to_numpy()
    assert (filled.to_numpy()[seen] == gapped.to_numpy()[seen]).all()
    holes = ~seen
    holes[7] = False
    error = (filled - iris).to_numpy()[holes]
    naive = (gapped.mean() - iris).to_numpy()[holes]
    assert (error**2).mean() < 0.3 * (naive**2).mean()


def test_intervals_of_missing_values_cover_them(gapped_fit, gapped, iris):
    inside = []
    for name in iris.columns:
        missing = gapped[name].isna() & gapped.notna().any(axis=1)
        ends = gapped_fit.predict(gapped, "interval", response=name, prob=0.9, missing="keep")
        covered = (iris[name] > ends["lower"]) & (iris[name] < ends["upper"])
        inside += covered[missing].tolist()
    assert 0.8 < np.mean(inside) < 0.97


def test_one_variable_given_the_others_does_not_read_the_variable(fit, iris):
    name = iris.columns[2]
    one = fit.predict(iris, "mean", response=name)
    two = fit.predict(iris.assign(**{name: np.nan}), "mean", response=name)
    assert_allclose(one, two)
    assert np.corrcoef(one, iris[name])[0, 1] > 0.9
    assert_allclose(fit.predict(iris.assign(**{name: np.nan}), "impute")[name], two)


def test_missing_values_enter_no_density(gapped_fit, gapped):
    found = gapped_fit.log_density(gapped)
    assert found.isna().tolist() == gapped.isna().all(axis=1).tolist()
    one = gapped.iloc[[0]].copy()
    other = one.copy()
    other.loc[:, one.columns[one.notna().iloc[0]][0]] = np.nan
    assert gapped_fit.log_density(one).item() != gapped_fit.log_density(other).item()


@pytest.mark.filterwarnings("ignore:Pareto k of")
def test_the_arviz_object_has_gaps_where_the_data_have(gapped_fit, gapped):
    idata = gapped_fit.idata
    used = gapped[gapped.notna().any(axis=1)]
    for name in gapped.columns:
        holes = used[name].isna().to_numpy()
        assert (np.isnan(idata.observed_data[name].values) == holes).all()
        assert (np.isnan(idata.posterior_predictive[name].values[0, 0]) == holes).all()
    assert np.isfinite(read_elpd(gapped_fit.loo()).elpd)


def test_rows_that_lack_values_may_be_dropped_or_refused(gapped):
    with pytest.warns(DesignWarning, match="rows lack a value and are not used: `sepal_length`"):
        dropped = bvb.BayesianPCA("~ .", gapped, missing="drop")
    assert dropped.design.n_missing == gapped.isna().any(axis=1).sum()
    assert dropped.n_gaps == 0
    with pytest.raises(DataError, match="rows lack a value"):
        bvb.BayesianPCA("~ .", gapped, missing="raise")


def test_what_is_printed_names_the_rule_and_the_gaps(gapped_fit, gapped):
    said = str(gapped_fit)
    assert f"{gapped_fit.model.effective(gapped_fit)} of 3 components are effective" in said
    assert f"{gapped.isna().sum().sum() - 4} of {149 * 4} values are missing" in said
    assert "1 dropped" in said
    assert "sorted by the norm" in said
    assert "Bayesian PCA, at most 3" in str(gapped_fit.model)


def test_defaults_of_the_number_of_components(iris):
    assert bvb.BayesianPCA("~ .", iris).n_components == 3
    assert bvb.BayesianPCA("~ .", iris.iloc[::60]).n_components == 1  # of three rows
    assert bvb.BayesianPCA("~ sepal_length + petal_width", iris).n_components == 1


@pytest.mark.parametrize("n_rows", [3, 5])
@pytest.mark.heavy
def test_few_rows_of_noise_leave_the_noise_determined(n_rows):
    """As many components as fit the rows exactly have a density of new rows of -3e11."""
    rng = np.random.default_rng(1)
    names = [f"v{i}" for i in range(40)]
    rows, new = (pd.DataFrame(rng.normal(size=(n, 40)), columns=names) for n in (n_rows, 20))
    fit = bvb.BayesianPCA("~ .", rows).fit(seed=1, restarts=2, draws=50)
    truth = -20.0 * (1.0 + np.log(2.0 * np.pi))
    assert fit.log_density(new).mean() > truth - 40.0
    assert fit.log_density().mean() < truth + 40.0
    assert fit.check()["grade"]["Noise of the components"] == "ok"
    with pytest.warns(DesignWarning, match=f"n_components={n_rows - 1} fits {n_rows} rows exactly"):
        exact = bvb.BayesianPCA("~ .", rows, n_components=n_rows - 1)
    check = exact.fit(seed=1, restarts=1, draws=25).check().loc["Noise of the components"]
    assert check["grade"] == "problem"
    assert check["number"] > 0.3
    assert "fit fewer components" in check["remedy"]


def test_a_prior_centre_pulls_the_centre_and_is_in_the_units_of_the_data(iris, tmp_path):
    priors = bvb.PcaPriors(centre_precision=1e6, m0={"petal_width": 3.0})
    fit = bvb.BayesianPCA("~ .", iris, priors=priors).fit(seed=1, restarts=1, draws=50)
    centre = fit.posterior["centre"].mean(("chain", "draw"))
    assert_allclose(centre, [*iris.mean()[:3], 3.0], atol=0.01)
    assert fit.model.prior_table()["location"]["centre", "petal_width"] == pytest.approx(3.0)
    given = [*iris.mean()[:3], 3.0]
    listed = bvb.BayesianPCA("~ .", iris, priors=bvb.PcaPriors(centre_precision=1e6, m0=given))
    assert_allclose(listed.fit(seed=1, restarts=1, draws=50).elbo, fit.elbo, rtol=1e-9)
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert again.model.priors == priors
    assert_allclose(again.log_density(), fit.log_density(), rtol=1e-12)


def test_scores_of_the_prior_centre_identify_the_components(iris):
    """The joint density of draws is that of the fit's order; no component is turned."""
    priors = bvb.PcaPriors(centre_precision=50.0, s0=(0.5, -2.0, 1.0))
    model = bvb.BayesianPCA("~ .", iris, priors=priors)
    fit = model.fit(seed=1, restarts=1, draws=50)
    assert sorted(fit.core.prior.centre_scores) == [-2.0, 0.5, 1.0]
    assert (np.diff(fit.components()["norm"]) < 0.0).all()
    joint = model.log_joint(fit.draws, order=fit.order)
    ratio = joint - fit.core.log_posterior(fit.q, fit.draws)
    assert abs(ratio.mean() - fit.elbo) < 40.0  # scores are integrated out in the first alone
    assert fit.covariance == "mean-field"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"m0": {"petal": 1.0}}, "m0 names 'petal', which is not among the variables"),
        ({"m0": [1.0, 2.0]}, "m0 has 2 values, not one for each variable: 4"),
        ({"m0": 1.0}, "m0 has 1 values, not one for each variable: 4"),
        ({"s0": [1.0, 2.0]}, "s0 has 2 values, not one for each component: 3"),
        ({"s0": float("nan")}, "s0=nan must be a finite number"),
        ({"m0": {"petal_width": "a"}}, r"m0\['petal_width'\]='a' must be a finite number"),
    ],
)
def test_a_prior_centre_that_cannot_be_is_refused(iris, options, message, unchecked):
    with pytest.raises(PriorError, match=message):
        bvb.BayesianPCA("~ .", iris, priors=bvb.PcaPriors(**options))


@pytest.mark.heavy
def test_variances_beyond_double_precision_leave_the_draws_finite():
    """Sizes of cells and fractions: linear response is withheld with the reason, not NaN draws."""
    rng = np.random.default_rng(0)
    radius = 14.0 + 3.5 * rng.normal(size=200)
    sizes = {"radius": radius, "perimeter": 6.5 * radius, "area": 3.1 * radius**2}
    noise = {"radius": 0.01, "perimeter": 1.5, "area": 5.0}
    data = pd.DataFrame({name: own + noise[name] * rng.normal(size=200)
                         for name, own in sizes.items()})  # fmt: skip
    for name, sd in {"smooth": 0.014, "compact": 0.05, "fractal": 0.007}.items():
        data[name] = sd * (rng.normal(size=200) + 0.1 * (radius - 14.0))
    data = data.mask(rng.random(data.shape) < 0.05)
    fit = bvb.BayesianPCA("~ .", data).fit(seed=1, restarts=1, draws=50)
    assert all(np.isfinite(values).all() for values in fit.draws.values())
    assert fit.covariance == "mean-field"
    with pytest.raises(DataError, match="differ by more than double precision holds"):
        fit.with_covariance("linear-response")
    assert "Bayesian principal component" in str(fit)


def test_collinear_variables_are_welcome_and_constant_ones_named(iris):
    twice = iris.assign(double=2.0 * iris["sepal_length"])
    fitted = bvb.BayesianPCA("~ .", twice).fit(seed=1, draws=25)
    assert fitted.converged
    with pytest.warns(DesignWarning, match="constant variables.*`flat`"):
        model = bvb.BayesianPCA("~ .", iris.assign(flat=3.0))
    assert np.isfinite(model.fit(seed=1, draws=25).elbo)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.quick(scale=(True,))
def test_constant_variables_change_nothing(scale, tmp_path):
    """Number of components, intervals and densities are those without the constant columns."""
    data = rank_three(5, n_rows=100, n_dims=7)
    plain = bvb.BayesianPCA("~ .", data, scale=scale).fit(seed=1, restarts=2, draws=100)
    with pytest.warns(DesignWarning, match="not part of components"):
        model = bvb.BayesianPCA("~ .", data.assign(k=3.0, zero=0.0), scale=scale)
    fit = model.fit(seed=1, restarts=2, draws=100)
    assert model.n_components == plain.model.n_components
    assert model.effective(fit) == plain.model.effective(plain)
    assert list(model.observed()) == list(data)
    given = fit.predict(kind="reconstruction")
    assert_allclose(given[["k", "zero"]], np.broadcast_to([3.0, 0.0], (100, 2)), atol=1e-8)
    assert_allclose(given[list(data)], plain.predict(kind="reconstruction"), atol=0.02)
    assert_allclose(fit.log_density(), plain.log_density(), atol=0.2)
    assert fit.log_density().mean() == pytest.approx(plain.log_density().mean(), abs=0.02)
    sd, expected = (one.summary().loc["loadings", "sd"].loc[[1, 2]] for one in (fit, plain))
    assert_allclose(sd, expected, rtol=5.0 / np.sqrt(100))  # of 100 draws each
    assert_allclose(fit.components()["variance"][:3], plain.components()["variance"][:3], atol=1e-3)
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert_allclose(again.log_density(), fit.log_density(), rtol=1e-12)
    with pytest.raises(DataError, match="response='k'"):
        fit.predict(kind="mean", response="k")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 4}, "n_components=4 is more than the 3"),
        ({"n_components": 0}, "at least 1"),
        ({"missing": "skip"}, "missing='skip'"),
        ({"formula": "~ sepal_length"}, "one variable only"),
    ],
)
def test_what_cannot_be_is_refused(iris, options, message):
    formula = options.pop("formula", "~ .")
    with pytest.raises(DataError, match=message):
        bvb.BayesianPCA(formula, iris, **options)


def test_a_scale_is_a_truth_value(iris, unchecked):
    with pytest.raises(DataError, match="scale='yes' must be True or False"):
        bvb.BayesianPCA("~ .", iris, scale="yes")


def test_priors_of_another_model_are_refused(iris, unchecked):
    with pytest.raises(PriorError, match="PcaPriors"):
        bvb.BayesianPCA("~ .", iris, priors=bvb.Priors())


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("mean", {}, "one variable given the others"),
        ("score", {}, "did you mean 'scores'"),
        ("scores", {"prob": 0.9}, "does not use prob"),
        ("mean", {"response": "sepal"}, "response='sepal'"),
    ],
)
def test_a_prediction_that_cannot_be_made_says_why(fit, kind, options, message):
    with pytest.raises(DataError) as caught:
        fit.predict(kind=kind, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_extreme_units(iris, factor):
    fitted = bvb.BayesianPCA("~ .", iris * factor).fit(seed=1, draws=25)
    assert np.isfinite(fitted.elbo)
    assert fitted.components()["effective"].all()
