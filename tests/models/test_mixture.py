"""One component with a conjugate prior: its posterior is exact, and so is all that follows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.models.mixture import Mixture
from bayesvb.sensitivity.covariance import linear_response

FORMULA = "y + y2 ~ x + g"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(3, 40))
    return pd.DataFrame({
        "x": noise[0], "y": noise[0] + noise[1], "y2": noise[2], "g": [*"abcd"] * 10,
        "w": rng.uniform(0.5, 3.0, 40),
    })  # fmt: skip


@pytest.mark.parametrize("weights", [None, "w"])
def test_the_linear_response_of_an_exact_posterior_is_its_covariance(rows, weights, monkeypatch):
    model = bvb.DensityRegression(FORMULA, rows, n_components=1, weights=weights)
    fit = model.fit(seed=1, restarts=1, draws=25)
    assert (fit.response.covariance == np.eye(len(fit.response.covariance))).all()
    monkeypatch.setattr(Mixture, "known_response", lambda self, posterior, source: None)
    found = linear_response(fit.core, fit.model.source, fit.stats)
    assert_allclose(found.covariance, fit.response.covariance, atol=1e-8)


@pytest.mark.parametrize("weights", [None, "w"])
def test_leaving_a_row_out_of_an_exact_posterior_is_a_refit(rows, weights):
    model = bvb.DensityRegression(FORMULA, rows, n_components=1, weights=weights)
    fit = model.fit(seed=1, restarts=1, draws=25, tol=1e-8)
    found = read_elpd(fit.loo())
    assert "deletion" not in fit.one_restart.cache  # a derivative of so many statistics takes long
    assert_allclose(found.pointwise, read_elpd(fit.loo("exact")).pointwise, rtol=1e-8)


@pytest.mark.parametrize(
    ("n_components", "scales"), [(2, "fixed"), (1, "learned")], ids=["two", "learned"]
)
def test_memberships_and_scales_follow(rows, n_components, scales):
    priors = bvb.Priors(scales=scales)
    model = bvb.DensityRegression("y ~ x", rows, n_components=n_components, priors=priors)
    fit = model.fit(seed=1, restarts=1, draws=25, covariance="mean-field")
    posterior, source = fit.core.update(fit.stats), fit.model.source
    block = source.take(np.arange(5))
    found = fit.core.known_response(posterior, source)
    if scales == "fixed":
        assert found is None
    else:  # a closed form of its own
        assert np.linalg.eigvalsh(found)[-1] > 1.01
    assert fit.core.row_predictions_without(posterior, block, np.ones(5)) is None
