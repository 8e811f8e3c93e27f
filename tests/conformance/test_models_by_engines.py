"""Every model by every engine: the same groups, dims and names, or one clear error."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.engines.chains import STATISTICS
from bayesvb.errors import DataError
from bayesvb.storage.arviz_objects import group, group_names

ROWS, DRAWS = 60, 100

MODELS = {
    "softmax": lambda data: bvb.DensityRegression("y ~ x | gating(z)", data, n_components=2),
    "sticks": lambda data: bvb.DensityRegression(
        "y ~ x", data, n_components=2, gate="stick-breaking"
    ),
    "dirichlet": lambda data: bvb.DensityRegression(
        "y ~ x", data, n_components=2, gate="dirichlet"
    ),
    "student": lambda data: bvb.DensityRegression("y ~ x", data, n_components=2, family="student"),
    "independent coefficients": lambda data: bvb.DensityRegression(
        "y ~ x", data, n_components=2, priors=bvb.Priors(coefficient_units="response")
    ),
    "two responses": lambda data: bvb.DensityRegression("y + w ~ x", data, n_components=2),
    "gaussians": lambda data: bvb.GaussianMixture("~ x + y", data, n_components=2),
    "diagonal gaussians": lambda data: bvb.GaussianMixture(
        "~ x + y", data, n_components=2, covariance="diagonal"
    ),
    "pca": lambda data: bvb.BayesianPCA("~ x + z + y", data, n_components=1),
    "normal": lambda data: bvb.Normal("y ~ 1", data),
    "classes": lambda data: bvb.ConditionalMixtureNetwork("label ~ x + z", data, n_experts=2),
    "numbers": lambda data: bvb.ConditionalMixtureNetwork("y ~ x + z", data, n_experts=2),
}

BRIEF = {
    "nuts": {"chains": 2, "warmup": 50, "max_tree_depth": 4},
    "bbvi": {"steps": 300},
}
"""Options that make an engine brief: what it finds is not looked at here."""

NEEDS_JAX = {"nuts", "bbvi"}

OTHERS = [
    pytest.param(name, marks=pytest.mark.mcmc) if name in NEEDS_JAX else name
    for name in ENGINES
    if name != DEFAULT_METHOD
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, ROWS))
    first = rng.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-2.0 * z))
    y = np.where(first, 2.0 + x, -2.0 - x) + 0.4 * rng.normal(size=ROWS)
    label = np.array(["red", "green", "blue"])[np.digitize(x + 0.3 * z, [-0.5, 0.5])]
    return pd.DataFrame({"x": x, "z": z, "y": y, "w": x - y, "label": label})


def fitted(model, method):
    """A brief fit; what a warning says of how brief it was does not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(
            method, seed=1, restarts=1, draws=DRAWS, combine="best", max_iter=50,
            **BRIEF.get(method, {}),
        )  # fmt: skip


def shapes(fit):
    """Groups, names, dims and coordinates, but for chains and draws."""
    described = {}
    for name in group_names(fit.idata):
        data = group(fit.idata, name)
        for variable in data.data_vars:
            dims = [dim for dim in data[variable].dims if dim not in ("chain", "draw", "iteration")]
            sizes = {dim: data.sizes[dim] for dim in dims}
            labels = {dim: data[dim].to_numpy().tolist() for dim in dims}
            described[name, str(variable)] = (sizes, labels)
    return described


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("kind", MODELS)
def test_groups_names_and_dims_are_those_of_coordinate_ascent(kind, method, data):
    model = MODELS[kind](data)
    try:
        fit = fitted(model, method)
    except DataError as error:
        said = str(error)
        assert f"method={method!r}" in said and type(model).__name__ in said and "hint:" in said
        return
    expected = shapes(fitted(model, DEFAULT_METHOD))
    if fit.engine.finds_points:  # whose scales of terms are fixed, without common coefficients
        learned = ("scale_", "beta_common")
        expected = {at: one for at, one in expected.items() if not at[1].startswith(learned)}
    found = shapes(fit)
    if method == "nuts":
        energies = {at for at in found if at[0] == "sample_stats"} - set(expected)
        assert {at[1] for at in energies} == {*STATISTICS, "tree_depth"}
        found = {at: one for at, one in found.items() if at not in energies}
    assert found == expected
    posterior = group(fit.idata, "posterior")
    assert posterior.sizes["chain"] * posterior.sizes["draw"] == DRAWS
    assert all(np.isfinite(posterior[name]).all() for name in posterior.data_vars)
    assert str(fit).startswith(model.headline(fit.engine))
    assert np.isfinite(fit.log_density(data)).all()


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_fits_by_different_engines_are_compared(data):
    model = MODELS["softmax"](data)
    methods = [name for name in ENGINES if name not in NEEDS_JAX]
    fits = {name: fitted(model, name) for name in methods}
    table = bvb.compare(fits) if len(fits) > 1 else None
    assert table is None or set(table.index) == set(fits)
    reference = fits[DEFAULT_METHOD].predict(data, kind="mean")
    for fit in fits.values():
        assert_allclose(fit.predict(data, kind="mean"), reference, atol=1.0)
