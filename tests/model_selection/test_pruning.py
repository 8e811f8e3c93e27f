"""Components taken out of a fit: those that the bound can spare, and no others."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.gates import GATES
from bayesvb.model_selection import pruning
from bayesvb.models.mixture import Mixture

QUICK = {"seed": 1, "restarts": 2, "draws": 50, "covariance": "mean-field"}


@pytest.fixture(scope="module")
def lines():
    """Two lines; the weights depend on x."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2.0, 2.0, 300)
    up = rng.uniform(size=300) < 1.0 / (1.0 + np.exp(-3.0 * x))
    return pd.DataFrame(
        {"x": x, "y": np.where(up, 4.0 + 2.0 * x, -3.0 - x) + 0.4 * rng.normal(size=300)}
    )


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(2)
    centre = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 8.0]])[rng.integers(0, 3, 300)]
    return pd.DataFrame(centre + rng.normal(size=(300, 2)), columns=["a", "b"])


def score(fit):
    return fit.restarts.get("score", fit.restarts["elbo"])[fit.best_restart]


@pytest.mark.heavy
@pytest.mark.parametrize("n_components", [6, pytest.param(10, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("gate", GATES)
def test_two_lines_are_two_components(lines, gate, n_components):
    model = bvb.DensityRegression("y ~ x | gating(x)", lines, n_components=n_components, gate=gate)
    fit = model.fit(**QUICK)
    left = bvb.prune(fit)
    assert left.model.n_components == left.core.n_components == 2
    assert score(left) >= score(fit)
    assert (left.components()["share"] > 0.3).all()
    assert left.elbo_trace.iloc[-1] == left.elbo == left.restarts["elbo"][left.best_restart]
    assert (np.diff(left.elbo_trace) > -1e-8).all()
    assert bvb.prune(left) is left


@pytest.mark.heavy
def test_three_clouds_are_three_components(clouds):
    fit = bvb.GaussianMixture("~ a + b", clouds, n_components=10).fit(**QUICK)
    left = bvb.prune(fit)
    assert left.model.n_components == 3 and left.elbo >= fit.elbo
    assert left.components()["share"].tolist() == pytest.approx([1 / 3] * 3, abs=0.06)


@pytest.mark.heavy
def test_what_is_needed_stays(lines, clouds):
    for model in (
        bvb.DensityRegression("y ~ x | gating(x)", lines, n_components=2),
        bvb.GaussianMixture("~ a + b", clouds, n_components=3),
        bvb.DensityRegression("y ~ x", lines, n_components=1),
    ):
        fit = model.fit(**QUICK)
        assert bvb.prune(fit) is fit


def test_the_smallest_component_is_the_first_to_be_tried(monkeypatch, rng):
    """Clouds of 150, 100 and 50 rows; the rows of one that is gone go to the nearest other."""
    cloud = np.repeat([0, 1, 2], [150, 100, 50])
    data = pd.DataFrame({"y": np.array([0.0, 10.0, 5.5])[cloud] + rng.normal(size=300)})
    fit = bvb.GaussianMixture("~ y", data, n_components=3).fit(**QUICK)
    tried, partition_stats = [], Mixture.partition_stats

    def told(core, block, responsibilities):
        label = responsibilities.argmax(axis=0)
        pairs = {"01": (0, 1), "02": (0, 2), "12": (1, 2)}
        same = [
            name
            for name, (one, other) in pairs.items()
            if np.median(label[cloud == one]) == np.median(label[cloud == other])
        ]
        tried.extend(same)
        return partition_stats(core, block, responsibilities)

    monkeypatch.setattr(Mixture, "partition_stats", told)
    assert bvb.prune(fit) is fit
    # 50 rows go to the 100; then 100 rows go to the 50; at last 150 rows go to the 50
    assert tried == ["12", "12", "02"]


@pytest.mark.parametrize("joint", [True, False])
def test_rows_that_no_other_component_explains_can_lose_theirs(joint, rng):
    """So far apart that the probability of any other component is no longer a number."""
    data = pd.DataFrame({"y": np.r_[rng.normal(size=150), 1e3 + rng.normal(size=100)]})
    model = (
        bvb.GaussianMixture("~ y", data, n_components=2)
        if joint
        else bvb.DensityRegression("y ~ 1", data, n_components=2, gate="dirichlet")
    )
    fit = model.fit(**QUICK)
    assert fit.responsibilities().to_numpy().min() == 0.0
    assert bvb.prune(fit) is fit


@pytest.mark.heavy
def test_intervals_stay_what_they_were_and_the_fit_can_be_saved_and_made_again(lines, tmp_path):
    model = bvb.DensityRegression("y ~ x | gating(x)", lines, n_components=4)
    fit = bvb.prune(model.fit(seed=3, restarts=2, draws=50))
    assert fit.covariance == "linear-response"
    assert fit.restarts["initialisation"].iloc[-1] == "4 components, pruned"
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    pd.testing.assert_frame_equal(again.summary(), fit.summary())
    space = {"data": lines}
    exec(fit.code(), space)
    assert space["fit"].elbo == fit.elbo
    pd.testing.assert_frame_equal(space["fit"].summary(), fit.summary())


def test_a_model_without_components_to_spare_is_refused(lines):
    with pytest.raises(DataError, match="fit of Normal has no components to prune"):
        bvb.prune(bvb.Normal("y ~ 1", lines).fit(**QUICK))


@pytest.mark.heavy
def test_combined_restarts_are_not_pruned(lines):
    model = bvb.DensityRegression("y ~ x | gating(x)", lines, n_components=3)
    fit = model.fit(**QUICK, combine="average")
    with pytest.raises(DataError, match="combines 2 restarts"):
        bvb.prune(fit)
    assert bvb.prune(fit.members[0].fit).model.n_components == 2


def test_leave_one_out_that_prefers_more_components_is_reported(clouds, monkeypatch):
    """A difference that is clear beside its standard error, and no warning below it."""
    fit = bvb.GaussianMixture("~ a + b", clouds, n_components=5).fit(seed=1, restarts=2)
    plain, lost = pruning.elpd, {5: 0.0}

    def loo(one):
        found = plain(one)
        noise = 0.01 * np.cos(np.arange(len(clouds)))
        worse = lost.get(one.core.n_components, lost["others"]) / len(clouds)
        return replace(found, pointwise=found.pointwise * 0.0 - worse + noise)

    monkeypatch.setattr(pruning, "elpd", loo)
    lost["others"] = 3.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bvb.prune(fit)
    lost["others"] = 10.7
    with pytest.warns(UserWarning, match=r"prefers the 5 components.*the 3.*by 10\.7 nats"):
        bvb.prune(fit)
