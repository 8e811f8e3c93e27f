"""Effects of groups with one component against the mixed models of statsmodels."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose

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
    effects = "(x | g)" if slopes else "(1 | g)"
    model = bvb.DensityRegression(f"y ~ x + {effects} | 1", data, n_components=1)
    parts = {"vc_formula": {"slope": "0 + x"}} if slopes else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = smf.mixedlm("y ~ x", data, groups="g", re_formula="1", **parts).fit()
    return model.fit(seed=1, restarts=1, draws=40000), expected


pytestmark = pytest.mark.heavy


def test_effects_that_groups_share_agree(pair):
    """To 0.02 standard errors, and what a learned scale draws a single coefficient to zero."""
    fit, expected = pair
    found = fit.summary().loc["mean"].loc[1]
    for term in ("Intercept", "x"):
        one, error = expected.params[term], expected.bse[term]
        pull = 0.0 if term == "Intercept" else 2.2 * error**2 / abs(one)
        assert abs(found.loc[term, "mean"] - one) < 0.02 * error + pull
        assert_allclose(found.loc[term, "sd"], error, rtol=0.03)


def test_standard_deviations_of_groups_agree(pair):
    fit, expected = pair
    noise = fit.summary().loc[("sigma", 1, ""), "mean"]
    assert_allclose(noise, np.sqrt(expected.scale), rtol=0.01)
    scale = fit.summary().loc["scale"]["mean"].droplevel(0) * noise
    assert_allclose(scale["(1 | g)"], np.sqrt(expected.cov_re.iloc[0, 0]), rtol=0.03)
    if len(expected.vcomp):
        unit = fit.model.design.frame.x.std(ddof=0)
        assert_allclose(scale["(x | g)"] / unit, np.sqrt(expected.vcomp[0]), rtol=0.03)


def test_predictions_of_groups_agree(pair):
    fit, expected = pair
    assert_allclose(fit.predict(), expected.fittedvalues, atol=0.03 * np.sqrt(expected.scale))
