"""Likelihood of a network at a point: gradient, value, and the statistics that stand for it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines.point_estimates import PointEstimates
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.evaluation.elpd import read_elpd

STEP = 1e-5


@pytest.fixture(scope="module")
def block():
    iris = bvb.datasets.load("iris").iloc[::5]
    model = bvb.ConditionalMixtureNetwork("label ~ . | gating(petal_width)", iris, n_experts=3)
    rows = model.source.whole()
    return model, replace(rows, weight=np.linspace(0.5, 2.0, rows.n_rows))


@pytest.fixture(scope="module")
def points(block):
    return PointEstimates.of(block[0].core, penalised=False)


@pytest.fixture(scope="module")
def vector(block, points):
    rng = np.random.default_rng(1)
    partition = rng.dirichlet(np.ones(3), size=block[1].n_rows).T
    start = points.likelihood().vector(points.partition_stats(block[1], partition))
    return start + 0.5 * rng.normal(size=start.size)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_the_gradient_is_that_of_differences_whatever_the_order_of_the_sticks(
    order, block, points, vector
):
    stats = points.likelihood().stats(vector)
    likelihood = points.permuted(order, stats)[0].likelihood()
    found = likelihood.value_and_gradient(vector, block[1]).gradient
    steps = STEP * np.eye(vector.size)
    values = [
        [
            likelihood.value_and_gradient(vector + sign * step, block[1]).value
            for sign in (1.0, -1.0)
        ]
        for step in steps
    ]
    ahead, behind = np.transpose(values)
    assert_allclose(found, (ahead - behind) / (2.0 * STEP), atol=1e-6)


def test_the_statistics_of_a_point_have_its_likelihood_as_their_bound(block, points, vector):
    likelihood, rows = points.likelihood(), block[1]
    value = likelihood.value_and_gradient(vector, rows).value
    stats = likelihood.stats(vector)
    posterior = points.update(stats)
    assert points.e_step(posterior, rows).bound - points.kl(posterior) == pytest.approx(
        value, abs=1e-3
    )
    assert points.log_predictive(posterior, rows) @ rows.weight == pytest.approx(value, abs=1e-4)
    certain = points.update(likelihood.stats(1e3 * vector))
    assert np.isfinite(points.log_predictive(certain, rows)).all()  # of probabilities below 1e-308
    again = likelihood.value_and_gradient(likelihood.vector(stats), rows).value
    assert again == pytest.approx(value, abs=1e-4)


def test_a_numeric_response_is_referred_to_the_model_with_the_same_likelihood(block):
    iris = bvb.datasets.load("iris").iloc[::5]
    model = bvb.ConditionalMixtureNetwork("petal_width ~ sepal_width", iris, n_experts=2)
    with pytest.raises(DataError, match="DensityRegression"):
        model.fit("em", prior=False)


@pytest.mark.heavy
def test_networks_have_maximum_likelihood_estimates(tmp_path):
    frame = bvb.datasets.load("iris").iloc[::2]
    model = bvb.ConditionalMixtureNetwork("label ~ .", frame, n_experts=2)
    with pytest.warns(ConvergenceWarning, match="separate the classes of all rows"):
        fit = model.fit("em", prior=False, seed=1, restarts=2, draws=50)
    assert fit.elbo == pytest.approx(fit.log_density(frame).sum(), abs=1e-3)
    assert fit.elbo > -0.01  # every label of a flexible enough model
    assert not fit.members and "prior" not in fit.restarts
    assert "information of the parameters is singular" in str(fit)
    # folds are refitted from scratch, and lose what the training rows do not
    assert read_elpd(fit.loo()).elpd < -1.0
    table = fit.check(only="computation")
    assert table.loc["Likelihood has a maximum", "grade"] == "problem"
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    pd.testing.assert_series_equal(loaded.log_density(frame), fit.log_density(frame))
    assert "prior=False" in loaded.code()
