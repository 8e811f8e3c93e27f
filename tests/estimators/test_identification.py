"""Components of binary responses: refused unless something besides their average tells them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import beta

import bayesvb as bvb
from bayesvb.errors import DataError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 60))
    y = (rng.random(60) < 0.5).astype(float)
    return pd.DataFrame({"y": y, "x": x, "z": z, "g": np.arange(60) // 6})


def model(data, formula, **options):
    return bvb.DensityRegression(formula, data, family="bernoulli", **options)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x", {}),
        ("y ~ x + z | gating(x)", {"n_components": 3}),
        ("y ~ x | 1", {"n_components": 2}),
        ("y ~ x | gating(z)", {"n_components": 2, "gate": "dirichlet"}),
        ("y ~ s(x) | gating(log(x + 9))", {"n_components": 2}),
    ],
)
def test_components_that_are_not_identified_are_refused(data, formula, options):
    with pytest.raises(DataError, match=r"are not identified(.|\n)*n_components=1 is a logistic"):
        model(data, formula, **options)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x", {"n_components": 1}),
        ("y ~ x | gating(z)", {"n_components": 2}),
        ("y ~ x | 1", {"n_components": 2, "group": "g"}),
    ],
)
def test_components_that_are_identified_are_taken(data, formula, options):
    assert model(data, formula, **options).n_components == options["n_components"]


@pytest.mark.parametrize(("trials", "known"), [(2, False), (3, True)])
def test_trials_identify_components(data, trials, known):
    """Two components by three trials: a mixture of binomial distributions of two is any law."""

    def build():
        return bvb.DensityRegression(
            f"y | trials({trials}) ~ x", data, family="binomial", n_components=2
        )

    if known:
        assert build().n_components == 2
    else:
        with pytest.raises(DataError, match="2 trials per row are not identified"):
            build()


@pytest.mark.heavy
def test_counts_of_components_are_compared_where_there_can_be_several(data):
    fit = model(data, "y ~ x", n_components=1).fit(seed=1, draws=50)
    assert "One more component" not in fit.check().index
    with pytest.raises(DataError, match="not identified"):
        bvb.select(fit.model, [1, 2], seed=1)


def test_a_beta_response_is_refused_with_the_remedy():
    """Its log density is convex in the logit of the mean where that is far from the response."""
    data = pd.DataFrame({"y": [0.2, 0.4, 0.9], "x": [0.0, 1.0, 2.0]})
    with pytest.raises(DataError, match="not concave") as raised:
        bvb.DensityRegression("y ~ x", data, n_components=1, family="beta")
    assert "log(y / (1 - y))" in str(raised.value)
    precision, mean = 50.0, expit(np.array([-2.01, -2.0, -1.99]))
    values = beta.logpdf(0.9, mean * precision, (1.0 - mean) * precision)
    assert np.diff(values, 2)[0] / 1e-4 > 1.0
