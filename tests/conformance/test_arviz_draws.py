"""Groups of the ArviZ object belong together: number s of each is of the same draw."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import bayesvb as bvb
from bayesvb.storage.arviz_objects import group

SOME = [0, 7, 199]


def values(obj, name):
    """The variables of a group, chains one after the other."""
    data = group(obj, name)
    return {key: one.to_numpy().reshape(-1, *one.shape[2:]) for key, one in data.items()}


def test_likelihood_and_prior_are_those_of_the_draw_with_that_number(fit):
    obj = fit.idata
    (log_lik,) = values(obj, "log_likelihood").values()
    log_prior = values(obj, "log_prior")["parameters"]
    for s in SOME:
        draw = {name: drawn[s : s + 1] for name, drawn in fit.draws.items()}
        blocks = [fit.core.log_lik(draw, block) for block in fit.model.source.iterate()]
        found = np.concatenate(blocks, axis=1)[0] - fit.model.log_jacobian
        assert_allclose(log_lik[s], found, rtol=0, atol=1e-10)
        assert_allclose(log_prior[s], fit.core.log_prior(draw)[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_gaussian_mixtures_have_the_density_of_their_named_draws(table, covariance):
    model = bvb.GaussianMixture("~ y + x", table, n_components=2, covariance=covariance)
    fit = model.fit(seed=1, restarts=1, draws=200)
    obj = fit.idata
    posterior, (log_lik,) = values(obj, "posterior"), values(obj, "log_likelihood").values()
    rows = table[["y", "x"]].to_numpy()
    for s in SOME:
        each = [
            np.log(posterior["share"][s, k])
            + multivariate_normal(posterior["mean"][s, k], posterior["covariance"][s, k]).logpdf(
                rows
            )
            for k in range(2)
        ]
        assert_allclose(log_lik[s], logsumexp(each, axis=0), rtol=0, atol=1e-10)


def test_principal_components_have_the_density_of_their_named_draws(table):
    """A row has the density of its observed values, whatever the covariance of the draws."""
    columns = ["y", "x", "gap"]
    fit = bvb.BayesianPCA("~ y + x + gap", table).fit(seed=1, restarts=1, draws=200)
    obj = fit.idata
    posterior, (log_lik,) = values(obj, "posterior"), values(obj, "log_likelihood").values()
    rows = table[columns].to_numpy()
    for s in SOME:
        loadings, noise = posterior["loadings"][s], posterior["sigma"][s]
        covariance = loadings.T @ loadings + noise**2 * np.eye(3)
        for i in range(0, len(rows), 5):
            seen = np.isfinite(rows[i])
            law = multivariate_normal(posterior["centre"][s][seen], covariance[np.ix_(seen, seen)])
            assert_allclose(log_lik[s, i], law.logpdf(rows[i, seen]), rtol=0, atol=1e-10)


@pytest.mark.heavy
def test_subjects_of_latent_classes_have_the_density_of_their_rows():
    """The likelihood of a subject is a sum over classes of the product over its rows."""
    rng = np.random.default_rng(2)
    subject, t = np.repeat(np.arange(40), 4), np.tile(np.arange(4.0), 40)
    y = np.where(subject % 2, 2.0 + t, 1.0 - t) + 0.5 * rng.normal(size=160)
    data = pd.DataFrame({"y": y, "t": t, "s": subject})
    model = bvb.DensityRegression("y ~ t | 1", data, n_components=2, group="s")
    fit = model.fit(seed=1, restarts=1, draws=200)
    obj = fit.idata
    posterior, (log_lik,) = values(obj, "posterior"), values(obj, "log_likelihood").values()
    assert log_lik.shape == (200, 40)
    x = np.stack([np.ones(160), t])
    for s in SOME:
        sd = posterior["sigma"][s][:, None]
        z = (y - posterior["beta"][s] @ x) / sd
        each = (-0.5 * z**2 - np.log(sd) - 0.5 * np.log(2 * np.pi)).reshape(2, 40, 4).sum(axis=2)
        log_weights = np.log(posterior["share"][s])[:, None]
        assert_allclose(log_lik[s], logsumexp(log_weights + each, axis=0), rtol=0, atol=1e-10)
