"""One component with half-t scales: its exact posterior belongs to its own log joint density."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import gamma, kstest, t

import bayesvb as bvb
from bayesvb.models.half_t_mixture import HalfTMixture, can_integrate
from bayesvb.results.named_draws import log_joint


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    g, x = np.repeat(np.arange(7), 9), rng.normal(size=63)
    y = np.sin(2 * x) + rng.normal(size=7)[g] + 0.6 * rng.normal(size=63)
    return pd.DataFrame({"x": x, "g": g, "y": y, "z": rng.normal(size=63)})


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x + (1 | g)", {}),
        ("y ~ x + (x | g)", {"weights": "w"}),
        ("y ~ s(x, k=6) + (1 | g) + offset(z)", {}),
        ("y ~ x + (1 | g)", {"priors": {"standardize": False}}),
    ],
)
@pytest.mark.parametrize(("units", "atol"), [("noise", 1e-6), (None, 0.01)])
def test_the_evidence_is_the_same_for_every_draw(data, formula, options, units, atol):
    options = dict(options)
    frame = data.assign(w=1.0 + np.arange(63) % 2)
    priors = bvb.Priors(coefficient_units=units, **options.pop("priors", {}))
    model = bvb.DensityRegression(formula, frame, n_components=1, priors=priors, **options)
    fit = model.fit(seed=1, draws=50)
    assert fit.covariance == "exact"
    joint = log_joint(fit.core, model.source, fit.draws, 0.0)
    assert_allclose(joint - fit.log_q, fit.core.integrated.log_evidence, atol=atol)


def test_draws_of_the_prior_have_half_t_standard_deviations(data):
    core = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=1).core
    draws = core.prior_draws(4000, np.random.default_rng(0))
    sd = 1.0 / np.sqrt(draws["term_precision"][:, 0] * draws["precision"][:, 0, 0])
    assert kstest(sd, lambda s: 2.0 * t.cdf(s, 3) - 1.0).pvalue > 0.01
    effects = draws["coefficients"][:, 0, 0, 2:] / sd[:, None]
    assert kstest(effects.ravel(), "norm").pvalue > 0.01


def test_draws_of_the_prior_have_gamma_precisions_of_curves(data):
    core = bvb.DensityRegression("y ~ s(x) + (1 | g)", data, n_components=1).core
    draws = core.prior_draws(4_000, np.random.default_rng(0))["term_precision"][:, 0]
    assert kstest(draws, gamma(0.5, scale=1.0 / 0.1).cdf).pvalue > 0.01


def test_what_cannot_be_integrated_keeps_its_scales(data):
    for formula, options in (
        ("y ~ x + (1 | g)", {"n_components": 2}),
        ("y ~ x + (1 | g)", {"family": "student"}),
        ("y + z ~ x + (1 | g)", {}),
        ("y ~ x", {}),
        ("y ~ x + (1 | g)", {"priors": bvb.Priors(scales="learned")}),
    ):
        given = {"n_components": 1, **options}
        assert not isinstance(bvb.DensityRegression(formula, data, **given).core, HalfTMixture)
    assert can_integrate(bvb.DensityRegression("y ~ (1 | g)", data, n_components=1).core)
