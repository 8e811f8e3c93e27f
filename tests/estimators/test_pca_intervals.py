"""Intervals of centre and noise of a principal component analysis: the scores integrated out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import polygamma

import bayesvb as bvb


def simulated(seed, *, n_rows, n_dims=5, missing=0.0):
    """Rows of rank two, their centre, and the standard deviation of the noise."""
    rng = np.random.default_rng(seed)
    centre, noise = rng.normal(size=n_dims), 0.5
    values = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_dims)) + centre
    frame = pd.DataFrame(values + noise * rng.normal(size=values.shape)).add_prefix("v")
    return frame.mask(rng.random(values.shape) < missing), centre, noise


def fitted(seed, **options):
    frame, centre, noise = simulated(seed, **options)
    fit = bvb.BayesianPCA("~ .", frame).fit(seed=1, restarts=1, draws=300)
    return fit, centre, noise


@pytest.fixture(scope="module")
def fit():
    return fitted(0, n_rows=80)[0]


@pytest.fixture(scope="module")
def gapped():
    return fitted(1, n_rows=60, missing=0.2)[0]


def inside(fit, centre, noise):
    """Which 90 % intervals of the centre and of the noise cover."""
    table = fit.summary(prob=0.9)
    here, sigma = table.loc["centre"], table.loc["sigma"]
    of_centre = (here["lower"] < centre) & (centre < here["upper"])
    of_noise = (sigma["lower"] < noise) & (noise < sigma["upper"])
    return [*of_centre.tolist(), *of_noise.tolist()]


def coverage(seeds, **options):
    found = {"linear-response": [], "mean-field": []}
    for seed in seeds:
        fit, centre, noise = fitted(seed, **options)
        for name, hits in found.items():
            hits.append(inside(fit.with_covariance(name), centre, noise))
    return {name: np.array(hits) for name, hits in found.items()}


def test_centres_are_covered_and_were_not():
    found = coverage(range(12), n_rows=60)
    assert found["linear-response"][:, :-1].mean() > 0.78
    assert found["mean-field"][:, :-1].mean() < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_intervals_cover_as_often_as_they_say(missing):
    """Two hundred data sets; intervals of a centre are nearly independent between data sets."""
    found = coverage(range(200), n_rows=100, missing=missing)["linear-response"]
    assert 0.85 < found[:, :-1].mean() < 0.95
    assert 0.82 < found[:, -1].mean() < 0.97


def test_the_centre_varies_like_a_mean_of_rows(fit):
    """With nothing missing its covariance is that of a row over the number of rows."""
    q, n_rows = fit.q.loadings, fit.model.source.n_rows
    draws = fit.core.response_coordinates(fit.q)
    spread = 1.0 + np.trace(q.covariance[:, :-1, :-1], axis1=1, axis2=2)
    row = q.mean[:, :-1] @ q.mean[:, :-1].T
    row += q.rate / (q.shape - 1.0) * spread * np.eye(len(row))
    found = fit.response.covariance[:-1, :-1] / np.outer(draws.scale, draws.scale)
    found /= q.expected_precision
    assert_allclose(found, row / n_rows, rtol=1e-3, atol=1e-6)
    assert_allclose(fit.draws["centre"].std(axis=0) ** 2, np.diag(found), rtol=0.3)


def test_the_noise_has_the_values_less_the_scores_that_are_known(fit):
    """Nearly: scores are known but for a twentieth of their variance here."""
    n_rows, n_dims = fit.model.source.n_rows, 5
    dof = n_rows * (n_dims - 2)
    expected = polygamma(1, 0.5 * dof) / polygamma(1, fit.q.loadings.shape)
    assert fit.response.covariance[-1, -1] == pytest.approx(expected, rel=0.06)
    assert expected > 1.5


def test_every_row_informs_the_centre_by_what_was_observed(gapped):
    """Row by row, with the covariance of its own variables."""
    q, core = gapped.q.loadings, gapped.core
    (block,) = gapped.model.source.blocks
    loadings, spread = q.mean[:, :-1], 1.0 + np.trace(q.covariance[:, :-1, :-1], axis1=1, axis2=2)
    row = loadings @ loadings.T + np.diag(q.rate / (q.shape - 1.0) * spread)
    tau = q.expected_precision
    precision = core.prior.centre_precision * tau * np.eye(len(row))
    for seen in block.designs["observed"].T > 0.0:
        precision[np.ix_(seen, seen)] += np.linalg.inv(row[np.ix_(seen, seen)])
    scale = 1.0 / np.sqrt(q.covariance[:, -1, -1])
    expected = tau * np.linalg.inv(precision) * np.outer(scale, scale)
    assert_allclose(gapped.response.covariance[:-1, :-1], expected, rtol=1e-8)


def test_only_centre_and_noise_move_and_the_density_follows(gapped):
    """The log density changes by the volume that one draw's neighbourhood gains."""
    core, q, draws = gapped.core, gapped.q, gapped.q_draws
    moved, log_q = gapped.response.move(core, q, draws)
    assert (moved["loadings"] == draws["loadings"]).all()
    assert (moved["relevance"] == draws["relevance"]).all()
    n_dims = draws["centre"].shape[1]
    one = {name: values[:1] for name, values in draws.items()}

    def image(step):
        near = {name: values.copy() for name, values in one.items()}
        near["centre"][0] += step[:n_dims]
        near["precision"][0] += step[n_dims]
        there = gapped.response.move(core, q, near)[0]
        return np.append(there["centre"][0], there["precision"][0])

    size = 1e-5 * np.append(np.ones(n_dims), one["precision"][0])
    columns = [(image(step) - image(-step)) / (2.0 * step.max()) for step in np.diag(size)]
    volume = np.linalg.slogdet(np.array(columns))[1]
    assert core.log_posterior(q, one)[0] - log_q[0] == pytest.approx(volume, abs=1e-5)


def test_what_is_printed_says_which_intervals_are_mended(fit):
    assert "Intervals of centre and noise have the scores integrated out" in str(fit)
    assert fit.covariance == "linear-response"


def test_predictions_hardly_change(fit):
    given = fit.with_covariance("mean-field").log_density()
    assert_allclose(fit.log_density(), given, atol=0.1)
    assert fit.log_density().mean() == pytest.approx(given.mean(), abs=0.02)
