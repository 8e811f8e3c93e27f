"""Exact posterior of the slope of one regression: closed form, or integral over a scale."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb


def model_of_one_line(scales):
    """Sixty rows, one component, a slope of two standard errors."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    data = pd.DataFrame({"x": x, "y": 0.3 * x + rng.normal(size=60)})
    priors = bvb.Priors(scales=scales, coefficient_units="noise")
    return bvb.DensityRegression("y ~ x", data, n_components=1, priors=priors)


def given_scale(model, precision):
    """Mean and variance of the slope and log evidence, given the prior precision of the slope."""
    block, prior = model.source.whole(), model.core.experts.prior
    x, y = block.designs["mean"].T, block.response[0]
    start = np.diag([np.diagonal(prior.precision)[0], precision])
    after = start + x.T @ x
    mean = np.linalg.solve(after, x.T @ y)
    shape = float(prior.shape) + 0.5 * len(y)
    rate = float(prior.rate[0]) + 0.5 * (y @ y - mean @ after @ mean)
    variance = rate / (shape - 1.0) * np.linalg.inv(after)[1, 1]
    evidence = 0.5 * (np.linalg.slogdet(start)[1] - np.linalg.slogdet(after)[1])
    return mean[1], variance, evidence - shape * np.log(rate)


def exact_slope(model, scales):
    """Mean and standard deviation of the slope, standardised."""
    core = model.core
    if scales == "fixed":
        mean, variance, _ = given_scale(model, np.diagonal(core.experts.prior.precision)[1])
        return mean, np.sqrt(variance)
    logs = np.linspace(-9.0, 16.0, 401)
    each = np.array([given_scale(model, precision) for precision in np.exp(logs)])
    log_weights = each[:, 2] + core.prior.shape * logs - core.prior.rate * np.exp(logs)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    mean = weights @ each[:, 0]
    return mean, np.sqrt(weights @ (each[:, 1] + each[:, 0] ** 2) - mean**2)


@pytest.fixture(params=["fixed", "learned"])
def one_line(request):
    """A model of one component, and the exact mean and standard deviation of its slope."""
    model = model_of_one_line(request.param)
    return model, *exact_slope(model, request.param)
