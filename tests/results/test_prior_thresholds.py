"""Values of the prior at which an effect is no longer clear: a fit with them says the same."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.storage.arviz_objects import arviz_line, import_arviz

RNG = np.random.default_rng(2)
DATA = pd.DataFrame({"x": RNG.normal(size=60), "z": RNG.normal(size=60)})
DATA["y"] = 0.8 * DATA["x"] + RNG.normal(size=60)


def fit_of(priors=None):
    model = bvb.DensityRegression("y ~ x + z", DATA, n_components=1, priors=priors)
    return model.fit(seed=1, restarts=1)


@pytest.fixture(scope="module")
def fit():
    return fit_of()


@pytest.fixture(scope="module")
def table(fit):
    return fit.prior_thresholds()


def test_at_the_threshold_the_interval_ends_at_zero(fit):
    table = fit.prior_thresholds(prob=0.9)
    at = ("mean", 1, "x", "coefficient_sd")
    value = table.loc[at, "zero_in_interval"]
    assert 0.0 < value < 1.0 < table.loc[at, "value"] == 10.0
    again = fit_of(replace(fit.model.priors, coefficient_sd=float(value)))
    lower, upper = again.summary(prob=0.9).loc[at[:-1], ["lower", "upper"]]
    assert abs(lower) < 0.1 * (upper - lower)
    assert np.isnan(table.loc[at, "sign_changes"])  # shrinking never changes a sign


def test_what_is_not_clear_needs_no_other_prior(table):
    row = table.loc[("mean", 1, "z", "coefficient_sd")]
    assert row["zero_in_interval"] == row["value"]


def test_only_coefficients_have_thresholds_each_with_every_number(table):
    assert table.index.names == ["part", "component", "term", "number"]
    assert set(table.index.get_level_values("part")) == {"mean"}
    terms = table.index.get_level_values("term").unique().tolist()
    assert terms == ["Intercept", "x", "z"]


def test_numbers_that_do_not_count_are_refused():
    model = bvb.DensityRegression("y ~ x", DATA, n_components=1)
    with pytest.raises(DataError, match="does not depend on the prior"):
        model.fit("em", prior=False, seed=1, restarts=1).prior_thresholds()


def power_scaling(fit):
    """ArviZ's sensitivity of the slope of x to a power of the prior."""
    az = import_arviz()
    sensitivity = az.psense if arviz_line() else az.psens
    found = sensitivity(fit.idata, var_names=["beta", "sigma"])["beta"]
    return float(found.sel(term_mean="x").squeeze())


@pytest.mark.heavy
def test_arviz_calls_a_prior_strong_where_its_threshold_is_near(fit):
    """ArviZ's limit is 0.05; powers of a normal prior change its standard deviation alone."""
    strong = fit_of(replace(fit.model.priors, coefficient_sd=0.3))
    distance = {}
    for one in (fit, strong):
        row = one.prior_thresholds().loc[("mean", 1, "x", "coefficient_sd")]
        distance[power_scaling(one) > 0.05] = row["value"] / row["zero_in_interval"]
    assert distance[False] > 100.0
    assert 1.0 < distance[True] < 10.0
