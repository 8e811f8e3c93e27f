"""Fits without some of their rows, from the sums of these rows alone."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.errors import DataError

RNG = np.random.default_rng(4)
DATA = pd.DataFrame({"x": RNG.normal(size=90), "z": RNG.normal(size=90)})
DATA["y"] = np.where(RNG.random(90) < 0.5, 3.0 + DATA["x"], -3.0) + 0.5 * RNG.normal(size=90)
SITE, REST = DATA[:30], DATA[30:]
FEW = {"seed": 1, "restarts": 1, "tol": 1e-8, "draws": 50}


def without_site(fit):
    """The fit of the other rows, in the units of the first fit."""
    rows = fit.model.rows(REST, response=fit.model.formula.response is not None)
    return fit.model.over(InMemorySource.of(fit.model.block(rows))).fit(**FEW)


@pytest.mark.parametrize(
    "model",
    [
        bvb.DensityRegression("y ~ x + z", DATA, n_components=1),
        bvb.DensityRegression("y ~ s(x, k=4)", DATA, n_components=1),
        bvb.Normal("y ~ 1", DATA),
        bvb.GaussianMixture("~ x + y", DATA, n_components=1),
    ],
)
def test_with_one_component_it_is_the_fit_of_the_other_rows(model):
    fit = model.fit(**FEW)
    found, expected = fit.downdate(SITE, tol=1e-8), without_site(fit)
    theirs = expected.stats.to_vector()
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(found.stats.to_vector(), theirs, rtol=1e-6, atol=1e-6 * scale)
    assert found.elbo == pytest.approx(expected.elbo, abs=1e-5)
    np.testing.assert_allclose(found.summary()["sd"], expected.summary()["sd"], rtol=1e-3)
    assert found.model.source.n_rows == 60


def test_principal_components_are_those_of_the_other_rows():
    fit = bvb.BayesianPCA("~ .", DATA).fit(**FEW)
    found, expected = fit.downdate(SITE, tol=1e-8), without_site(fit)
    assert found.elbo == pytest.approx(expected.elbo, abs=1e-4)


def test_components_of_a_mixture_are_near_and_a_downdate_is_undone_by_an_update():
    fit = bvb.GaussianMixture("~ x + y", DATA, n_components=2).fit(**FEW)
    found, expected = fit.downdate(SITE), without_site(fit)
    assert found.log_density(REST).mean() == pytest.approx(
        expected.log_density(REST).mean(), abs=0.02
    )
    again = found.update(SITE)
    np.testing.assert_allclose(again.log_density(), fit.log_density(), atol=0.02)


@pytest.mark.heavy
def test_every_site_tells_what_the_others_would_find_without_it():
    sites, agreed = [DATA[:30], DATA[30:50], DATA[50:]], None
    model = bvb.DensityRegression("y ~ x + z", sites[1], n_components=1)
    settings = {"restarts": 1, "tol": 1e-8, "covariance": "mean-field"}
    while agreed is None or not agreed.finished:
        parts = [bvb.site_statistics(model, rows, agreed, **settings) for rows in sites]
        agreed = bvb.merge_site_statistics(parts)
    fit = bvb.fit_from_sites(model, sites[0], agreed)
    found = fit.downdate(sites[0], tol=1e-8)
    expected = without_site(bvb.DensityRegression("y ~ x + z", DATA, n_components=1).fit(**FEW))
    np.testing.assert_allclose(found.log_density(REST), expected.log_density(REST), atol=1e-6)


def test_rows_that_the_fit_has_not_seen_are_refused():
    fit = bvb.DensityRegression("y ~ x", SITE, n_components=1).fit(**FEW)
    with pytest.raises(DataError, match="none would be left"):
        fit.downdate(DATA)
    with pytest.raises(DataError, match="rows that are not rows of this fit"):
        fit.downdate(SITE[:20].assign(x=lambda rows: 100.0 * rows["x"]))
