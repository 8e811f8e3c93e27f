"""Black-box variational inference: options, bounds, posteriors, draws that repeat."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import bayesvb as bvb
from bayesvb.engines.bbvi import Bbvi
from bayesvb.engines.gaussian_guide import GuideFit
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.results.named_draws import log_joint


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2.0, 2.0, 120)
    first = rng.uniform(size=120) < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(first, 4.0 + 2.0 * x, -3.0 - x) + 0.4 * rng.normal(size=120)
    return pd.DataFrame({"x": x, "y": y})


@pytest.fixture(scope="module")
def lines(data):
    return bvb.DensityRegression("y ~ x", data, n_components=2)


@pytest.fixture(scope="module")
def fit(lines):
    return lines.fit("bbvi", seed=1, restarts=2, draws=1000, steps=2000)


def test_without_numpyro_the_command_that_installs_it_is_said(lines, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"(?s)method='bbvi' needs NumPyro.*bayesvb\[mcmc\]"):
        lines.fit("bbvi")


@pytest.mark.parametrize(
    "wrong",
    [
        {"preset": "mine"},
        {"guide": "wide"},
        {"steps": 0},
        {"particles": 0},
        {"learning_rate": -1.0},
    ],
    ids=str,
)
def test_wrong_options_are_named(wrong):
    with pytest.raises(DataError, match=f"{next(iter(wrong))}="):
        Bbvi(**wrong)


def test_options_that_are_left_out_are_those_of_the_preset():
    assert Bbvi("network-paper").settings == GuideFit(False, 20_000, 8, 0.005, decaying=False)
    own = Bbvi("network-paper", guide="full-rank", steps=7).settings
    assert own == GuideFit(True, 7, 8, 0.005, decaying=False)
    assert Bbvi(guide="mean-field").settings.full is False


@pytest.mark.mcmc
def test_the_bound_is_below_the_exact_evidence_and_close_to_it(data):
    model = bvb.Normal("y ~ 1", data)
    fit = model.fit("bbvi", seed=1, draws=2000, steps=2000)
    exact = model.fit(seed=1)
    evidence = model.divergences(exact)["log evidence"]
    assert evidence - 0.05 < fit.elbo < evidence + 0.01  # the last bound has a Monte Carlo error
    law = model.exact_posterior(exact)
    assert_allclose(fit.draws["mean"].mean(), law.mean, atol=0.02)
    assert_allclose(fit.draws["precision"].mean(), law.precision.mean, rtol=0.02)


@pytest.mark.mcmc
def test_the_bound_is_the_mean_of_log_joint_less_log_density(lines, fit):
    joint = log_joint(fit.core, lines.source, fit.draws, lines.log_jacobian)
    gap = joint - fit.log_q
    assert abs(gap.mean() - fit.elbo) < 4.0 * gap.std() * np.sqrt(2.0 / 1000)
    assert gap.std() < 1.0
    weighed = logsumexp(gap) - np.log(1000)
    assert fit.elbo < weighed < fit.elbo + 0.5


@pytest.mark.mcmc
def test_a_bound_that_falls_is_warned_of(lines):
    with pytest.warns(ConvergenceWarning, match="the bound fell .* smaller learning_rate"):
        wild = lines.fit("bbvi", seed=1, restarts=1, steps=30, learning_rate=3.0)
    assert not wild.converged


@pytest.mark.mcmc
def test_all_together_have_a_larger_bound_than_one_by_one(lines, fit):
    apart = lines.fit("bbvi", seed=1, restarts=2, draws=1000, steps=2000, guide="mean-field")
    assert apart.elbo < fit.elbo - 1.0
    wide, narrow = (one.summary().loc["mean", "sd"] for one in (fit, apart))
    assert (narrow < wide).all()


@pytest.mark.mcmc
def test_statistics_belong_to_the_draws(fit):
    centre = fit.core.update(fit.stats).experts.mean[:, 0]
    assert_allclose(fit.draws["coefficients"].mean(axis=0)[:, 0], centre, atol=0.05)


@pytest.mark.mcmc
def test_the_same_seed_gives_the_same_bits(lines, fit):
    again = lines.fit("bbvi", seed=1, restarts=2, draws=1000, steps=2000)
    assert_array_equal(again.elbo_trace, fit.elbo_trace)
    for name, values in fit.draws.items():
        assert_array_equal(again.draws[name], values)


@pytest.mark.mcmc
def test_bounds_are_told_on_the_way(lines):
    seen = []
    lines.fit(
        "bbvi",
        seed=1,
        restarts=1,
        steps=300,
        progress=lambda run, n, bound: seen.append((n, bound)),
    )
    assert seen and seen[0][0] == 1
