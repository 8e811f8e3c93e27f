"""One component per subject: growth mixtures by every door of the public model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import kstest, norm

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.reports.sections import SECTIONS
from bayesvb.results.summary import relative_entropy

CLASSES = np.array([[1.0, 0.3], [2.5, -0.6]])
"""Intercept and slope of both classes."""


def panel(n_groups=80, noise=0.5, seed=0):
    """Subjects of two classes with three to seven visits each, rows in no order."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=n_groups)
    k = (rng.random(n_groups) < 1.0 / (1.0 + np.exp(-w))).astype(int)
    group = np.repeat(np.arange(n_groups), rng.integers(3, 8, size=n_groups))
    t = rng.uniform(0.0, 4.0, size=len(group))
    y = (CLASSES[k[group]] * np.stack([np.ones_like(t), t], axis=1)).sum(axis=1)
    y += noise * rng.normal(size=len(t))
    frame = pd.DataFrame({"id": [f"s{g}" for g in group], "t": t, "w": w[group], "y": y})
    frame["k"] = k[group]
    return frame.sample(frac=1.0, random_state=1).reset_index(drop=True)


DATA = panel()
FORMULA = "y ~ t | gating(w)"


def model(data=DATA, formula=FORMULA, **options):
    return bvb.DensityRegression(formula, data, **{"n_components": 2, "group": "id", **options})


@pytest.fixture(scope="module")
def fit():
    return model().fit(seed=1, restarts=4)


def likelihood(x, y, number, k_probabilities, beta, sd):
    """Log likelihood of a growth mixture, and responsibilities of its groups."""
    each = norm.logpdf(y[:, None], x @ beta.T, sd)
    sums = np.stack([np.bincount(number, column) for column in each.T], axis=1)
    joint = sums + np.log(k_probabilities)
    whole = logsumexp(joint, axis=1, keepdims=True)
    return float(whole.sum()), np.exp(joint - whole)


def plain_em(data, start):
    """Maximum likelihood of a growth mixture with constant class probabilities."""
    number, _ = pd.factorize(data["id"])
    x, y = np.stack([np.ones(len(data)), data["t"]], axis=1), data["y"].to_numpy()
    r = start
    for _ in range(500):
        share, beta, sd = r.mean(axis=0), np.empty((2, 2)), np.empty(2)
        for k, own in enumerate(r.T):
            row = own[number]
            beta[k] = np.linalg.solve((x.T * row) @ x, (x.T * row) @ y)
            sd[k] = np.sqrt(row @ (y - x @ beta[k]) ** 2 / row.sum())
        value, r = likelihood(x, y, number, share, beta, sd)
    return value, beta, sd, share, r


@pytest.mark.heavy
def test_maximum_likelihood_is_that_of_a_plain_em():
    found = model(formula="y ~ t | gating(1)", gate="dirichlet").fit("em", prior=False, seed=1)
    labels = DATA.groupby("id", sort=False)["k"].first().to_numpy()
    start = np.where(np.arange(2)[None] == labels[:, None], 0.9, 0.1)
    value, beta, sd, share, r = plain_em(DATA, start)
    order = np.argsort(-share)
    table = found.summary()
    assert found.elbo == pytest.approx(value, abs=1e-3)
    assert_allclose(table.loc["mean", "mean"], beta[order].ravel(), atol=2e-3)
    assert_allclose(table.loc["sigma", "mean"], sd[order], atol=2e-3)
    assert_allclose(found.responsibilities().to_numpy(), r[:, order], atol=2e-3)


@pytest.mark.heavy
def test_classes_are_recovered(fit):
    truth = DATA.groupby("id", sort=False)["k"].first()
    probabilities = fit.responsibilities()
    assert list(probabilities.index) == list(truth.index)
    right = (probabilities.to_numpy().argmax(axis=1) == truth.to_numpy()).mean()
    assert max(right, 1.0 - right) > 0.95
    beta = fit.summary().loc["mean", "mean"].to_numpy().reshape(2, 2)
    assert_allclose(np.sort(beta[:, 1]), np.sort(CLASSES[:, 1]), atol=0.12)
    table = fit.classification_table()
    assert table["groups"].sum() == 80 == fit.components()["groups"].sum()
    assert (np.diag(table[[1, 2]]) > 0.9).all()
    assert_allclose(table[[1, 2]].sum(axis=1), 1.0)
    assert 0.7 < table.attrs["relative_entropy"] <= 1.0
    assert relative_entropy(np.full((3, 4), 0.25)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.heavy
def test_groups_of_one_row_are_the_fit_of_rows():
    alone = DATA[:90].assign(id=np.arange(90))
    options = {"seed": 1, "restarts": 2, "tol": 1e-6}
    each = [model(alone, group=group).fit(covariance="mean-field", **options)
            for group in ("id", None)]  # fmt: skip
    assert each[0].elbo == pytest.approx(each[1].elbo, abs=1e-3)
    densities = [one.log_density().to_numpy() for one in each]
    assert_allclose(*densities, atol=1e-3)


def test_one_component_is_the_fit_of_rows():
    options = {"n_components": 1, "priors": bvb.Priors(coefficient_units="noise")}
    each = [model(group=group, **options).fit(seed=1, restarts=1) for group in ("id", None)]
    assert each[0].elbo == pytest.approx(each[1].elbo, rel=1e-10)
    assert_allclose(each[0].summary(), each[1].summary(), rtol=1e-6)


@pytest.mark.heavy
def test_subjects_of_weight_two_are_two_subjects():
    data = DATA.assign(c=1.0 + (DATA["id"] < "s4"))
    twice = pd.concat([data, data[data["c"] == 2.0].assign(id=lambda one: one["id"] + "b")])
    options = {"seed": 1, "restarts": 3, "tol": 1e-6}
    weighted = model(data, weights="c").fit(**options)
    repeated = model(twice).fit(**options)
    assert weighted.elbo == pytest.approx(repeated.elbo, abs=0.5)  # standardised alike
    with pytest.raises(DataError, match="case weights"):
        model(data.assign(c=np.arange(1.0, len(data) + 1.0)), weights="c")


@pytest.mark.heavy
def test_leaving_out_to_first_order_is_leaving_out(fit):
    found, exact = read_elpd(fit.loo()), read_elpd(fit.loo("exact"))
    assert found.elpd == pytest.approx(exact.elpd, abs=0.1)


@pytest.mark.heavy
def test_leaving_out_is_by_subject(fit):
    found = read_elpd(fit.loo())
    assert len(found.pointwise) == 80
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read_elpd(fit.loo("psis")).elpd == pytest.approx(found.elpd, abs=2.0)
    assert len(fit.influence()) == 80
    with pytest.raises(DataError, match="group='id'"):
        fit.loo(groups="id")


@pytest.mark.heavy
def test_densities_of_subjects_are_joint(fit):
    density = fit.log_density()
    assert list(density.index) == list(fit.responsibilities().index)
    assert density.sum() > read_elpd(fit.loo()).elpd
    one = DATA[DATA["id"] == "s3"]
    assert fit.log_density(one).iloc[0] == pytest.approx(density["s3"], rel=1e-9)


@pytest.mark.heavy
def test_subjects_with_responses_are_predicted_from_them(fit):
    ahead = pd.DataFrame({"id": ["s1", "new"], "t": 2.0, "w": 0.3})
    known = DATA[DATA["id"] == "s1"]
    plain, told = (fit.predict(ahead, "component", observed=o) for o in (None, known))
    assert_allclose(told.iloc[0], fit.responsibilities(known).iloc[0], rtol=1e-9)
    assert_allclose(told.iloc[1], plain.iloc[1], rtol=1e-9)
    other = ahead.assign(id=ahead["id"].str.removeprefix("s"))
    with pytest.warns(DesignWarning, match="no row of observed= is of a group of `id`"):
        fit.predict(other, "component", observed=known)
    numbered = [frame.assign(id=frame["id"].str.removeprefix("s")) for frame in (ahead[:1], known)]
    same = fit.predict(numbered[0], "component", observed=numbered[1].astype({"id": int}))
    assert_allclose(same.iloc[0], told.iloc[0], rtol=1e-9)
    interval = fit.predict(ahead, "interval", observed=known)
    assert interval.loc[0, "upper"] - interval.loc[0, "lower"] > 0.0
    with pytest.raises(DataError, match="this model has no group="):
        model(group=None).fit(seed=1, restarts=1).predict(ahead, observed=known)


@pytest.mark.heavy
def test_combined_restarts_are_conditioned_on_what_was_observed():
    """The ratio of the densities of all rows and of those observed is that of the others."""
    both = model().fit(seed=1, restarts=3, combine="average")
    known, ahead = DATA[DATA["id"] == "s1"].iloc[:2], DATA[DATA["id"] == "s1"].iloc[2:3]
    density = both.predict(ahead, "density", at=ahead["y"], observed=known)
    joint = both.log_density(pd.concat([known, ahead]))["s1"] - both.log_density(known)["s1"]
    assert len(both.members) > 1
    assert_allclose(np.log(density.to_numpy().ravel()[0]), joint, atol=0.02)
    component = both.predict(ahead, "component", observed=known)
    assert_allclose(component.sum(axis=1), 1.0)


@pytest.mark.heavy
def test_responsibilities_of_other_rows_are_those_of_the_fit(fit):
    some = DATA[DATA["id"].isin(["s5", "s9"])]
    found, every = fit.responsibilities(some), fit.responsibilities()
    assert_allclose(found, every.loc[found.index], rtol=1e-9)


@pytest.mark.heavy
def test_rows_given_those_before_have_uniform_independent_transforms():
    found = model(panel(300, seed=3)).fit(seed=1, restarts=3)
    assert kstest(found.pit(), "uniform").pvalue > 0.01
    table = found.check()
    assert table.attrs["verdict"] != "problem"
    assert table.loc["Compared with least squares", "number"] > 50.0


@pytest.mark.heavy
def test_the_arviz_object_has_likelihoods_of_subjects(fit):
    tree = fit.idata
    likelihood = tree["log_likelihood"]["y"]
    assert likelihood.shape[-1] == 80
    assert tree["posterior_predictive"]["y"].shape[-1] == len(DATA)
    replicated = np.asarray(tree["posterior_predictive"]["y"]).reshape(-1, len(DATA))
    assert np.corrcoef(replicated.mean(axis=0), DATA["y"])[0, 1] > 0.3  # in the order of the data


@pytest.mark.heavy
def test_a_saved_fit_comes_back(fit, tmp_path):
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert again.elbo == fit.elbo
    pd.testing.assert_frame_equal(again.responsibilities(), fit.responsibilities())
    assert "80 groups of `id`" in str(again)


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["em", pytest.param("svi", marks=pytest.mark.heavy)])
def test_other_engines_agree(fit, method):
    found = model().fit(method, seed=1, restarts=3)
    for name in ("share", "sigma"):
        assert_allclose(found.components()[name], fit.components()[name], atol=0.02)


@pytest.mark.heavy
@pytest.mark.mcmc
def test_draws_of_the_exact_posterior_agree(fit):
    found = model().fit("nuts", seed=1, restarts=2, draws=300)
    assert_allclose(found.components()["share"], fit.components()["share"], atol=0.03)
    assert kstest(found.pit(), "uniform").pvalue > 0.001


def test_several_responses_have_groups_too():
    data = DATA.assign(z=2.0 - DATA["y"] + 0.1 * DATA["t"])
    two = model(data, "y + z ~ t | gating(1)").fit(seed=1, restarts=1)
    assert read_elpd(two.loo()).elpd > -np.inf


@pytest.mark.heavy
def test_heavy_tails_have_groups_too():
    tails = model(family="student").fit(seed=1, restarts=1, covariance="mean-field")
    assert tails.components()["groups"].sum() == 80
    assert read_elpd(tails.loo()).elpd > -np.inf


@pytest.mark.heavy
def test_trajectories_are_drawn(fit):
    found = SECTIONS["trajectories"].summary(fit)
    assert found["along"] == "t" and found["lines"] is not None and found["figures"] == []
    assert found["n_groups"] == 80
    still = model(formula="y ~ w | gating(w)").fit(seed=1, restarts=1)
    assert SECTIONS["trajectories"].summary(still)["lines"] is None
    assert SECTIONS["trajectories"].summary(model(group=None).fit(seed=1, restarts=1)) is None


def test_the_dot_leaves_the_groups_out():
    dotted = model(formula="y ~ . | gating(w)").design
    assert "id" not in dotted.covariates and "id" in dotted.frame


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"formula": "y ~ t"}, "`t` is a covariate of the weights"),
        ({}, {"group": "ids"}, "did you mean `id`"),
        ({"id": None}, {}, "missing"),
        ({"id": "a"}, {}, "a single level"),
        ({}, {"n_components": 81}, "groups"),
    ],
)
def test_what_cannot_be_is_said(change, options, said):
    with pytest.raises(DataError) as error:
        model(DATA.assign(**change), **options)
    assert said in str(error.value)


def test_prior_draws_are_of_whole_subjects():
    tree = model(formula="y ~ 1 | gating(1)").prior_predictive(400, seed=1)
    drawn = np.asarray(tree["prior_predictive"]["y"])[0]
    labels = DATA.loc[np.asarray(tree["prior_predictive"]["obs_id"]), "id"].to_numpy()
    share = np.isin(DATA["id"], labels).sum()
    assert len(labels) == share == drawn.shape[1] <= 500
    near = drawn - np.median(drawn, axis=1, keepdims=True)
    same = labels[1:] == labels[:-1]
    product = np.sign(near[:, 1:] * near[:, :-1]).mean(axis=0)
    assert product[same].mean() > product[~same].mean() + 0.1


@pytest.mark.heavy
def test_folds_and_clusters_are_of_whole_subjects(fit):
    site = DATA["id"].str[-1]
    clustered = fit.summary(covariance="robust", cluster=site)
    assert (clustered["sd"] > 0.0).all()
    with pytest.raises(DataError, match="several labels within a group of `id`"):
        fit.summary(covariance="robust", cluster=np.arange(len(DATA)) % 5)
    with pytest.raises(DataError, match="group='id'"):
        fit.predict(kind="interval", recalibrate="jackknife+")


@pytest.mark.heavy
def test_folds_of_subjects_agree_with_leaving_one_out(fit):
    found = read_elpd(fit.loo("folds"))
    assert found.elpd == pytest.approx(read_elpd(fit.loo()).elpd, abs=3.0)


@pytest.mark.heavy
def test_models_of_groups_are_compared_pruned_and_chosen_among(fit):
    three = model(n_components=3).fit(seed=1, restarts=2)
    assert len(bvb.compare({"two": fit, "three": three})) == 2
    assert bvb.prune(three).model.n_components <= 3
    alone = model(group=None).fit(seed=1, restarts=1)
    with pytest.raises(
        DataError, match=r"'alone' predicts 416 rows and 'two' 80 groups.*\n.*group="
    ):
        bvb.compare({"two": fit, "alone": alone})


@pytest.mark.parametrize("formula", ["y ~ t + (1 | id)", "y ~ t | gating(w + (1 | id))"])
def test_a_likelihood_without_priors_does_not_identify_effects_of_groups(formula):
    n_components = 1 + ("gating" in formula)
    own = bvb.DensityRegression(formula, DATA, n_components=n_components)
    with pytest.raises(DataError, match="not identified without their prior"):
        own.fit("em", prior=False, seed=1)
