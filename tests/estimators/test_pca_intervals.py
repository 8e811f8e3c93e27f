"""Intervals of a principal component analysis: the scores integrated out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import polygamma

import bayesvb as bvb
from bayesvb.models.pca.information import ANGLE, LoadingsInformation, with_doubtful_angles


def simulated(seed, *, n_rows, n_dims=5, missing=0.0):
    """Rows of rank two, their centre, and the standard deviation of the noise."""
    rng = np.random.default_rng(seed)
    centre, noise = rng.normal(size=n_dims), 0.5
    values = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_dims)) + centre
    frame = pd.DataFrame(values + noise * rng.normal(size=values.shape)).add_prefix("v")
    return frame.mask(rng.random(values.shape) < missing), centre, noise


def with_axes(seed, *, n_rows, n_dims, lengths, noise):
    """Rows of a factor model whose columns are principal axes of these lengths."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(n_dims, len(lengths))))[0]
    loadings = axes * lengths
    values = rng.normal(size=(n_rows, len(lengths))) @ loadings.T
    values = values + rng.normal(size=n_dims) + noise * rng.normal(size=values.shape)
    return pd.DataFrame(values).add_prefix("v"), loadings, noise


def loadings_inside(fit, loadings):
    """Which 90 % intervals of loadings cover, the signs of columns as in the fit."""
    table = fit.summary(prob=0.9).loc["loadings"]
    mean, lower, upper = (
        table[name].to_numpy().reshape(-1, len(loadings))[: loadings.shape[1]]
        for name in ("mean", "lower", "upper")
    )
    truth = np.sign((mean * loadings.T).sum(axis=1))[:, None] * loadings.T
    return (lower < truth) & (truth < upper)


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
    scale = 1.0 / draws.root[:, 0, 0]
    n_dims = len(row)
    found = fit.response.covariance[:n_dims, :n_dims] / scale**2 / q.expected_precision
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
    n_dims = len(row)
    assert_allclose(gapped.response.covariance[:n_dims, :n_dims], expected, rtol=1e-8)


def test_idle_components_stay_and_the_density_follows_what_moves(gapped):
    """The log density changes by the volume that one draw's neighbourhood gains."""
    core, q, draws = gapped.core, gapped.q, gapped.variational_draws
    moved, log_q = gapped.response.move(core, q, draws)
    n_moved = core.response_coordinates(q).n_moved
    assert n_moved == 2
    assert (moved["loadings"][:, :, 2:] == draws["loadings"][:, :, 2:]).all()
    assert (moved["relevance"] == draws["relevance"]).all()
    one = {name: values[:1] for name, values in draws.items()}
    start = _moved_entries(one)

    def image(step):
        return _moved_entries(gapped.response.move(core, q, _with_entries(one, start + step))[0])

    size = 1e-5 * np.append(np.ones(len(start) - 1), one["precision"][0])
    columns = [(image(step) - image(-step)) / (2.0 * step.max()) for step in np.diag(size)]
    volume = np.linalg.slogdet(np.array(columns))[1]
    assert core.log_posterior(q, one)[0] - log_q[0] == pytest.approx(volume, abs=1e-4)


def _moved_entries(draws):
    """Centre, loadings of two components and noise of one draw."""
    loadings = draws["loadings"][0, :, :2].ravel()
    return np.concatenate([draws["centre"][0], loadings, draws["precision"]])


def _with_entries(draws, entries):
    """The draw with these."""
    near = {name: values.copy() for name, values in draws.items()}
    n_dims = near["centre"].shape[1]
    near["centre"][0] = entries[:n_dims]
    near["loadings"][0, :, :2] = entries[n_dims:-1].reshape(n_dims, 2)
    near["precision"][0] = entries[-1]
    return near


def test_coordinates_are_one_to_one_and_standard_under_the_posterior(fit):
    coordinates, draws = fit.core.response_coordinates(fit.q), fit.variational_draws
    standard = coordinates.standard(draws)
    n_entries = standard.shape[1]
    again = coordinates.moved(draws, np.eye(n_entries))
    for name, values in draws.items():
        assert_allclose(again[name], values, rtol=1e-9, atol=1e-9)
    many = fit.core.draws(fit.q, 20_000, np.random.default_rng(1))
    assert_allclose(np.cov(coordinates.standard(many).T), np.eye(n_entries), atol=0.06)


def test_information_of_loadings_is_that_of_differences():
    """The mean log density of rows bends by Fisher's information, with and without gaps."""
    rng = np.random.default_rng(4)
    loadings = rng.normal(size=(4, 2))
    truth = loadings @ loadings.T + 0.3 * np.eye(4)
    seen = np.array([0, 1, 3])

    def divergence(step):
        w = loadings + step[:8].reshape(2, 4).T
        law = (w @ w.T + (0.3 + step[8]) * np.eye(4))[np.ix_(seen, seen)]
        own = np.linalg.solve(law, truth[np.ix_(seen, seen)])
        return 0.5 * (np.trace(own) - np.linalg.slogdet(own)[1])

    inverse = np.zeros((4, 4))
    inverse[np.ix_(seen, seen)] = np.linalg.inv(truth[np.ix_(seen, seen)])
    found = LoadingsInformation.of(inverse, loadings, 1.0)
    whole = np.block([[found.loadings, found.cross[:, None]], [found.cross[None], found.noise]])
    size, bends = 1e-3, np.empty((9, 9))
    for a, one in enumerate(size * np.eye(9)):
        for b, two in enumerate(size * np.eye(9)):
            corners = [divergence(x * one + y * two) * x * y for x in (1, -1) for y in (1, -1)]
            bends[a, b] = sum(corners) / (4.0 * size**2)
    assert_allclose(bends, whole, atol=1e-3 * np.abs(whole).max())


def test_loadings_vary_as_principal_axes_do():
    """Against the asymptotic covariance of eigenvectors and eigenvalues, two axes far apart."""
    axes = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 5)))[0]
    length, noise, n_rows = np.array([3.0, 1.0]), 0.25, 400.0
    loadings = axes[:, :2] * length
    along = np.append(length**2, [0.0, 0.0, 0.0]) + noise
    inverse = axes / along @ axes.T
    information = LoadingsInformation.of(inverse, loadings, n_rows)
    found = information.covariance(loadings, np.zeros(2), 0.0)[:5, :5]
    turned = axes.T @ found @ axes
    gap = along[0] - along[1:]
    assert_allclose(np.diag(turned)[1:], 9.0 * along[0] * along[1:] / gap**2 / n_rows, rtol=1e-6)
    variances = 2.0 * along[0] ** 2 / n_rows + 2.0 * noise**2 / (3.0 * n_rows)
    assert turned[0, 0] == pytest.approx(variances / (2.0 * 3.0) ** 2, rel=1e-6)


def test_an_angle_between_columns_of_one_length_is_anywhere():
    loadings = 2.0 * np.eye(4)[:, :2]
    inverse = np.linalg.inv(loadings @ loadings.T + np.eye(4))
    information = LoadingsInformation.of(inverse, loadings * [1.0, 1.0 - 1e-6], 100.0)
    plain = information.covariance(loadings * [1.0, 1.0 - 1e-6], np.zeros(2), 0.0)
    found = with_doubtful_angles(plain, loadings, 1.0)
    assert found[1, 1] == pytest.approx(4.0 * ANGLE, rel=1e-3) and plain[1, 1] > 1e3


def test_loadings_are_covered_and_were_not():
    found = {"linear-response": [], "mean-field": []}
    for seed in range(8):
        data, loadings, _ = with_axes(seed, n_rows=100, n_dims=5, lengths=(3.0, 1.5), noise=0.5)
        fit = bvb.BayesianPCA("~ .", data, scale=False).fit(seed=1, restarts=2, draws=300)
        for name, hits in found.items():
            hits.append(loadings_inside(fit.with_covariance(name), loadings).mean())
    assert np.mean(found["linear-response"]) > 0.8
    assert np.mean(found["mean-field"]) < 0.75


def test_what_is_printed_says_which_intervals_are_mended(fit):
    assert "noise and loadings of effective components have the scores integrated out" in str(fit)
    assert fit.covariance == "linear-response"


def test_predictions_hardly_change(fit):
    given = fit.with_covariance("mean-field").log_density()
    assert_allclose(fit.log_density(), given, rtol=0.02)
    assert fit.log_density().mean() == pytest.approx(given.mean(), abs=0.02)
