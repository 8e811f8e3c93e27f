"""Point estimates of likelihoods of one predictor: gradient zero, and the observed information."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.variational.parameter_space import ParameterSpace

STEP = 1e-3
"""Of differences, in standard errors: their relative error is about its square."""

CASES = {
    "poisson": "y ~ x + offset(z)",
    "bernoulli": "b ~ x",
    "binomial": "y | trials(40) ~ x",
    "negbinomial": "y ~ x",
    "gamma": "v ~ x",
    "weibull": "Surv(v, b) ~ x",
    "poisson with zeros": "y ~ x | zero(z)",
    "sequential": "level ~ x",
}


def table(n=80):
    rng = np.random.default_rng(4)
    x, z = rng.normal(size=(2, n))
    y = rng.poisson(np.exp(0.8 + 0.4 * x) * rng.gamma(2.0, 0.5, n)) * 1.0
    v, b = np.exp(x) * rng.gamma(3.0, size=n), rng.integers(0, 2, n) * 1.0
    level = 1.0 + np.digitize(y, [1.0, 3.0])
    return pd.DataFrame({"x": x, "z": z, "y": y, "v": v, "b": b, "level": level})


def fitted(name, *, prior=False, **options):
    options = {"family": name.split()[0], "n_components": 1, **options}
    model = bvb.DensityRegression(CASES[name], table(), **options)
    return model.fit("em", prior=prior, seed=1, draws=60, tol=1e-11)


def estimates(fit):
    """Experts, their parameter space, the point and a root of its covariance."""
    experts = fit.model.core.experts
    space = ParameterSpace(experts.supports(1))
    vectors = space.vectors({name: fit.draws[name] for name in space.supports})
    return experts, space, vectors.mean(axis=0), np.linalg.cholesky(np.cov(vectors.T))


def differences(objective, at, root):
    """First and second derivatives along the columns of a root."""
    ahead, behind = (np.array([objective(at + s * way) for way in STEP * root.T]) for s in (1, -1))
    return (ahead - behind) / (2.0 * STEP), (ahead + behind - 2.0 * objective(at)) / STEP**2


@pytest.mark.parametrize("name", CASES)
def test_maximum_likelihood_has_gradient_zero_and_the_observed_information(name):
    fit = fitted(name)
    experts, space, at, root = estimates(fit)
    block = fit.model.source.whole()

    def log_lik(vector):
        return experts.log_lik(space.draws(vector[None])[0], block).sum()

    slopes, bends = differences(log_lik, at, root)
    assert_allclose(slopes, 0.0, atol=1e-3)
    assert_allclose(bends, -1.0, atol=2e-3)
    assert_allclose(fit.elbo, log_lik(at), atol=1e-6 * block.n_rows)  # of 32 nodes of a shape
    assert (np.diff(fit.elbo_trace) > -1e-9).all()


@pytest.mark.parametrize("name", ["negbinomial", "gamma", "weibull", "poisson with zeros"])
def test_the_mode_has_gradient_zero_with_the_prior(name):
    """Narrow priors, which move the estimates; densities of log dispersions."""
    fit = fitted(name, prior=True, priors=bvb.Priors(coefficient_sd=0.1, zero_sd=0.2))
    experts, space, at, root = estimates(fit)
    block = fit.model.source.whole()

    def log_joint(vector):
        draws, volume = space.draws(vector[None])
        known = experts.log_lik(draws, block).sum() + volume
        return (known + experts.log_density(None, draws)).item()

    slopes, bends = differences(log_joint, at, root)
    assert_allclose(slopes, 0.0, atol=1e-3)
    assert_allclose(bends, -1.0, atol=2e-3)


def test_a_fixed_dispersion_has_no_point_estimate():
    with pytest.raises(DataError, match="the dispersion is fixed; omit Priors"):
        fitted("negbinomial", priors=bvb.Priors(dispersion=2.0))
