"""Effects of groups with one component against the mixed models of statsmodels."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose
from scipy.stats import t

import bayesvb as bvb


def simulated(seed, sizes, slopes):
    """Groups of these sizes with effects, and a covariate with mean zero."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=len(group))
    effect, slope = rng.normal(size=(2, len(sizes)))
    y = 10.0 + 4.0 * x + 1.5 * effect[group] + slopes * slope[group] * x
    y += 0.8 * rng.normal(size=len(group))
    return pd.DataFrame({"y": y, "x": x - x.mean(), "g": [f"g{one}" for one in group]})


CASES = {
    "even, intercepts": (simulated(1, [10] * 40, 0.0), False),
    "uneven, intercepts": (simulated(2, list(range(2, 42)), 0.0), False),
    "slopes": (simulated(3, [8] * 60, 0.7), True),
    "more than 500 groups, slopes": (simulated(4, [6] * 520, 0.7), True),
}


@pytest.fixture(scope="module", params=CASES)
def pair(request):
    """A fit, and what statsmodels finds by restricted maximum likelihood."""
    data, slopes = CASES[request.param]
    effects = "(x || g)" if slopes else "(1 | g)"
    model = bvb.DensityRegression(f"y ~ x + {effects} | 1", data, n_components=1)
    parts = {"vc_formula": {"slope": "0 + x"}} if slopes else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = smf.mixedlm("y ~ x", data, groups="g", re_formula="1", **parts).fit()
    return model.fit(seed=1, restarts=1, draws=40000), expected


pytestmark = pytest.mark.heavy


def averaged(expected):
    """Restricted maximum likelihood averaged over the sd of groups, that has its half-t(3) prior.

    Averages of the sd and of the noise, and covariances of effects that groups share: those given
    the sd on average, and of the estimates. Over 40 groups the sd is larger than at the maximum:
    its posterior is skewed.
    """
    x, y = expected.model.exog, expected.model.endog
    z = np.array(expected.model.groups)[:, None] == expected.model.group_labels
    start = np.sqrt(expected.cov_re.iloc[0, 0] / expected.scale)
    found, free = [], len(y) - x.shape[1]
    for ratio in start * np.exp(np.linspace(-0.8, 0.8, 81)):
        root = np.linalg.cholesky(np.eye(len(y)) + ratio**2 * (z @ z.T.astype(float)))
        whitened = np.linalg.solve(root, np.column_stack([x, y]))
        inverse = np.linalg.inv(whitened[:, :-1].T @ whitened[:, :-1])
        mean = inverse @ whitened[:, :-1].T @ whitened[:, -1]
        square = ((whitened[:, -1] - whitened[:, :-1] @ mean) ** 2).sum()
        noise = np.sqrt(square / free)
        log_density = 0.5 * np.linalg.slogdet(inverse)[1] - 0.5 * free * np.log(square)
        log_density += t(3).logpdf(noise * ratio / y.std()) + np.log(noise * ratio)
        log_density -= np.log(np.diag(root)).sum()
        found.append([log_density, noise * ratio, noise, mean, noise**2 * inverse])
    log_density, sd, noise, mean, covariance = map(np.array, zip(*found, strict=True))
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    assert max(weight[0], weight[-1]) < 1e-6
    between = np.cov(mean.T, aweights=weight, ddof=0)
    return weight @ sd, weight @ noise, np.tensordot(weight, covariance, 1) + between


def test_effects_that_groups_share_agree(pair):
    """To 0.02 standard errors; these are those averaged over the sd of groups where it is one."""
    fit, expected = pair
    found, errors = fit.summary().loc["mean"].loc[1], expected.bse
    if not len(expected.vcomp):
        errors = dict(zip(("Intercept", "x"), np.sqrt(np.diag(averaged(expected)[2])), strict=True))
        assert errors["Intercept"] > 1.03 * expected.bse["Intercept"]
    for term in ("Intercept", "x"):
        assert abs(found.loc[term, "mean"] - expected.params[term]) < 0.02 * expected.bse[term]
        rtol = 0.03 if len(expected.vcomp) else 0.01
        assert_allclose(found.loc[term, "sd"], errors[term], rtol=rtol)


def test_standard_deviations_of_groups_agree(pair):
    """Within 1% of the average over the sd of groups where there is one; else near the maximum."""
    fit, expected = pair
    noise = fit.summary().loc[("sigma", 1, ""), "mean"]
    assert_allclose(noise, np.sqrt(expected.scale), rtol=0.01)
    if not len(expected.vcomp):
        sd, averaged_noise, _ = averaged(expected)
        own = fit.summary().loc[("sd of groups", slice(None), "(1 | g)"), "mean"]
        assert_allclose(own, sd, rtol=0.01)
        assert_allclose(noise, averaged_noise, rtol=0.005)
        return
    scale = fit.summary().loc["scale"]["mean"].droplevel(0) * noise
    assert_allclose(scale["(1 | g)"], np.sqrt(expected.cov_re.iloc[0, 0]), rtol=0.03)
    unit = fit.model.design.frame.x.std(ddof=0)
    assert_allclose(scale["(x | g)"] / unit, np.sqrt(expected.vcomp[0]), rtol=0.03)


def test_predictions_of_groups_agree(pair):
    fit, expected = pair
    assert_allclose(fit.predict(), expected.fittedvalues, atol=0.03 * np.sqrt(expected.scale))
