"""Importance sampling of fits in the space of the parameters on which rows depend."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines.adaptive_importance import StudentProposal
from bayesvb.results.base import replace_draws
from bayesvb.results.importance import log_ratio
from bayesvb.results.reduced_draws import importance_sample, reduced_khat, space_of, truncate


def two_lines(n=150, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, n)
    upper = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x))
    y = np.where(upper, 2.0 + x, -1.0 - 0.5 * x) + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": y})


@pytest.fixture(scope="module")
def fit():
    priors = bvb.Priors(scales="learned")
    model = bvb.DensityRegression("y ~ x", two_lines(), n_components=2, priors=priors)
    return model.fit(seed=1, restarts=2, covariance="linear-response")


def test_k_hat_is_small_and_importance_sampling_exact(fit):
    space = space_of(fit)
    assert fit.khat == reduced_khat(fit, space, None) < 0.5
    found = importance_sample(fit, space, lambda: log_ratio(fit))
    assert found.is_exact
    assert found.record.n_drawn <= 10_000 and found.record.effective > 2000.0
    assert_allclose(found.weights.sum(), 1.0)


def test_a_sample_does_not_depend_on_where_it_starts(fit):
    """Tolerance: four Monte Carlo standard errors of a mean, in posterior standard deviations."""
    space, ratio, means, variances = space_of(fit), log_ratio(fit), [], []
    for factor in (1.0, 2.0):
        moved = {**fit.draws, "coefficients": factor * fit.draws["coefficients"]}
        given = replace(fit.given_draws, values=moved)
        found = importance_sample(replace_draws(fit, given), space, lambda: ratio)
        slopes = found.sample.draws["coefficients"][:, :, 0, 1]
        means.append(found.weights @ slopes)
        variances.append(fit.draws["coefficients"][:, :, 0, 1].var(axis=0) / found.record.effective)
    assert (np.abs(means[0] - means[1]) < 4.0 * np.sqrt(sum(variances))).all()


def test_a_proposal_of_resampled_draws_heeds_no_draw_alone():
    log_ratio = np.append(np.zeros(999), 200.0)
    weights = truncate(log_ratio, 2)
    assert weights.max() < 0.25 * weights.sum()
    vectors = np.random.default_rng(0).normal(size=(1000, 2))
    assert np.isfinite(StudentProposal.from_draws(vectors, weights).root).all()


def test_combined_fits_have_no_space():
    model = bvb.DensityRegression("y ~ x", two_lines(), n_components=2)
    stacked = model.fit(seed=1, restarts=2, combine="average", draws=50)
    assert space_of(stacked) is None
