"""The log joint density of every public model: what it is of, and by formulas of scipy."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.storage.arviz_objects import group


@pytest.fixture
def model(case, table):
    return case.model(table)


def test_prior_draws_are_named_and_shaped_as_draws_of_a_fit_and_repeat(model, rng):
    draws, again = (model.prior_draws(7, seed=2) for _ in range(2))
    assert all(len(values) == 7 for values in draws.values())
    for name, values in model.core.prior_draws(7, np.random.default_rng(2)).items():
        assert_array_equal(draws[name], values)
        assert_array_equal(again[name], values)


def test_one_point_is_a_number_and_many_are_an_array(model):
    draws = model.prior_draws(3, seed=1)
    many = model.log_joint(draws)
    assert many.shape == (3,) and np.isfinite(many).all()
    for s in range(3):
        found = model.log_joint({name: values[s] for name, values in draws.items()})
        assert isinstance(found, float)
        assert_allclose(found, many[s], rtol=1e-12)


def test_the_draws_of_a_fit_have_the_log_joint_of_its_arviz_object(case, model):
    fit = case.brief_fit(model, restarts=1)
    lp = group(fit.idata, "sample_stats")["lp"].to_numpy().ravel()
    assert_allclose(model.log_joint(fit.draws, order=fit.order), lp, rtol=1e-10)


def test_a_row_of_weight_two_counts_twice(case, table):
    twice = case.model(pd.concat([table, table], ignore_index=True))
    weighted = case.model(table.assign(weight=2), weights="weight")
    draws = weighted.prior_draws(2, seed=1)
    assert_allclose(weighted.log_joint(draws), twice.log_joint(draws), rtol=1e-9)


WRONG = {
    "no mapping": (lambda draws: [1.0], "parameters is list, not a mapping"),
    "missing": (lambda draws: dict(list(draws.items())[1:]), "is missing; the parameters are"),
    "unknown": (lambda draws: {**draws, "tau": 1.0}, r"'tau'\] is not a parameter of this model"),
    "words": (lambda draws: {**draws, first(draws): "a"}, "are not numbers"),
    "shape": (lambda draws: {**draws, first(draws): np.zeros((3, 9, 9, 9, 9))}, "it must be"),
    "draws": (lambda draws: {**draws, first(draws): draws[first(draws)][:2]}, "differ in the num"),
    "nan": (lambda draws: {**draws, first(draws): np.nan * draws[first(draws)]}, "are not finite"),
    "negative": (lambda draws: {**draws, "precision": -draws["precision"]}, "that are not"),
}


def first(draws):
    return next(iter(draws))


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_parameters_are_named(wrong, table, unchecked):
    model = bvb.DensityRegression("y ~ x", table, n_components=2)
    change, words = WRONG[wrong]
    with pytest.raises(DataError, match=words):
        model.log_joint(change(model.prior_draws(3, seed=1)))


# Formulas of scipy


def standardised(values):
    return (values - values.mean()) / values.std()


def test_normal_is_that_of_scipy(table):
    model = bvb.Normal("y ~ 1", table, priors=bvb.NormalPriors(0.5, 2.0, 3.0))
    point = {"mean": 0.3, "precision": 1.7}
    y, sd = table["y"].to_numpy(), table["y"].to_numpy().std()
    centre, scale = y.mean() + 0.3 * sd, sd / np.sqrt(1.7)
    prior = stats.gamma(2.0, scale=1.0 / 3.0).logpdf(1.7)
    prior += stats.norm(0.0, 1.0 / np.sqrt(0.5 * 1.7)).logpdf(0.3)
    expected = prior + stats.norm(centre, scale).logpdf(y).sum()
    assert_allclose(model.log_joint(point), expected, rtol=1e-12)


@pytest.mark.parametrize("scales", ["fixed", "learned"])
@pytest.mark.parametrize("family", ["gaussian", "student"])
def test_two_lines_are_those_of_scipy(table, family, scales):
    dof = {"dof": 4.0} if family == "student" else {}
    own = {"scales": scales, "scale_shape": 2.0, "scale_rate": 0.05}
    priors = bvb.Priors(noise_shape=2.0, noise_rate=0.5, coefficient_sd=3.0, **own, **dof)
    model = bvb.DensityRegression("y ~ x", table, n_components=2, family=family, priors=priors)
    draws = {name: values[0] for name, values in model.prior_draws(1, seed=3).items()}
    x = np.stack([np.ones(len(table)), standardised(table["x"].to_numpy())])
    scaling = model.scales.response
    lines = scaling.centre + scaling.scale * (draws["coefficients"][:, 0] @ x)
    sds = scaling.scale / np.sqrt(draws["precision"])
    law = stats.norm if family == "gaussian" else lambda *given: stats.t(4.0, *given)
    each = law(lines, sds).logpdf(table["y"].to_numpy())
    logits = draws["gate"] @ x
    each += logits - logsumexp(logits, axis=0)
    prior = stats.gamma(2.0, scale=2.0).logpdf(draws["precision"]).sum()
    noise = 1.0 / np.sqrt(draws["precision"][..., None])
    line, logit = 3.0, 1.5
    if scales == "learned":
        learned = np.concatenate([draws["term_precision"], draws["gate_term_precision"]])
        prior += stats.gamma(2.0, scale=20.0).logpdf(learned).sum()
        line, logit = 1.0 / np.sqrt(learned)
    prior += stats.norm(0.0, noise * [3.0, line]).logpdf(draws["coefficients"]).sum()
    prior += stats.norm(0.0, [5.0, logit]).logpdf(draws["gate"]).sum()
    expected = prior + logsumexp(each, axis=0).sum()
    assert_allclose(model.log_joint(draws), expected, rtol=1e-11)


def test_gaussians_are_those_of_scipy(table):
    model = bvb.GaussianMixture("~ x + y", table, n_components=2)
    draws = {name: values[0] for name, values in model.prior_draws(1, seed=3).items()}
    data, sds = table[["x", "y"]].to_numpy(), table[["x", "y"]].to_numpy().std(axis=0)
    prior = stats.dirichlet([0.5, 0.5]).logpdf(draws["gate"])
    each = np.log(draws["gate"])[:, None] * np.ones(len(data))
    for k in range(2):
        precision, mean = draws["precision"][k], draws["mean"][k]
        prior += stats.wishart(5.0, np.eye(2) / (0.3**2 * 2.0)).logpdf(precision)
        covariance = np.linalg.inv(precision)
        prior += stats.multivariate_normal(np.zeros(2), covariance / 0.05).logpdf(mean)
        centre, own = data.mean(axis=0) + sds * mean, covariance * np.outer(sds, sds)
        each[k] += stats.multivariate_normal(centre, own).logpdf(data)
    assert_allclose(model.log_joint(draws), prior + logsumexp(each, axis=0).sum(), rtol=1e-10)
