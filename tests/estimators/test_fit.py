"""A fit: predictions that agree with each other, labels, draws in the units of the data."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from threadpoolctl import threadpool_info, threadpool_limits

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.estimators import base
from bayesvb.gates import GATES

FORMULA = "y ~ x + z | gating(x)"


pytestmark = pytest.mark.quick(fit=("softmax", "dirichlet"))


@pytest.fixture(scope="module", params=GATES)
def fit(request, regimes):
    model = bvb.DensityRegression(FORMULA, regimes, n_components=3, gate=request.param)
    return model.fit(seed=3, restarts=2, draws=2000, tol=1e-5)


@pytest.fixture(scope="module")
def two_responses(regimes):
    data = regimes.assign(u=regimes["x"] - 0.3 * regimes["y"] + np.sin(np.arange(150)))
    return data, bvb.DensityRegression("y + u ~ x + z", data, n_components=2).fit(
        seed=1, restarts=1, draws=100
    )


# -- predictions ---------------------------------------------------------------------------------


def test_a_row_far_out_has_a_density_however_small(fit):
    far = pd.DataFrame({"y": [1e80, -50.0], "x": [0.0, 1e4], "z": [0.0, 0.0]})
    assert np.isfinite(fit.log_density(far)).all()
    assert fit.log_density(far).iloc[0] < -100.0


@pytest.mark.heavy
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.quick(gate=("softmax", "dirichlet"))
def test_weights_far_out_are_probabilities(regimes, gate, n_components):
    model = bvb.DensityRegression(FORMULA, regimes, n_components=n_components, gate=gate)
    fit = model.fit(seed=5, restarts=2, draws=30, tol=1e-4)
    size = np.geomspace(1.0, 1e8, 33)
    rows = pd.DataFrame({"x": np.concatenate([-size, size]), "z": 0.0})
    weights = fit.predict(rows, "component").to_numpy()
    assert ((weights >= 0.0) & (weights <= 1.0)).all()
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


def test_data_of_any_kind_predicts(fit, regimes):
    columns = {name: regimes[name].tolist() for name in ("x", "z")}
    assert_array_equal(fit.predict(columns), fit.predict(regimes))
    other = regimes.set_index(pd.MultiIndex.from_product([["a"] * 50, [1, 1, 2]]))
    assert fit.predict(other).index.equals(other.index)


# -- several responses ---------------------------------------------------------------------------


def test_several_responses_are_predicted_by_name(two_responses):
    data, fit = two_responses
    assert fit.predict(response="u").corr(data["u"]) > 0.3
    assert fit.predict(response="y").corr(data["y"]) > 0.5
    with pytest.raises(DataError, match=r"response=None.*\nhint: name one of \('y', 'u'\)"):
        fit.predict()
    with pytest.raises(DataError, match="response='v' is not one of y, u"):
        fit.predict(response="v")


# -- labels and draws ----------------------------------------------------------------------------


def test_components_are_sorted_by_share(fit):
    draws = fit.posterior["share"].to_numpy()[0]
    shares = draws.mean(axis=0)
    error = np.hypot.outer(draws.std(axis=0), draws.std(axis=0)) / np.sqrt(len(draws))
    for k in range(2):
        assert shares[k] >= shares[k + 1] - 4.0 * error[k, k + 1]
    assert shares[0] > shares[2] + 0.1 or not fit.draws["gate"].size
    assert sorted(fit.order) == [0, 1, 2]


def test_draws_have_the_moments_of_the_posterior_in_the_units_of_the_data(fit):
    """A Student t for coefficients, a gamma distribution for precisions."""
    q, scales = fit.q.experts, fit.model.scales
    unit, centre = scales.response.scale[0], scales.response.centre[0]
    mean = scales.parts["mean"]
    change = mean.coefficients(np.eye(3))  # standardised coefficients -> given ones
    posterior = fit.with_covariance("mean-field").posterior
    beta = posterior["beta"].to_numpy()[0]
    for k in range(2):  # the third is empty: its moments do not exist
        expected = unit * (q.mean[k, 0] @ change)
        expected[0] += centre
        shape, rate = float(q.shape[k]), float(q.rate[k, 0])
        covariance = unit**2 * rate / (shape - 1.0) * (change.T @ q.covariance[k] @ change)
        sds = np.sqrt(np.diag(covariance))
        assert_allclose(beta[:, k].mean(axis=0), expected, rtol=0, atol=4.0 * sds.max() / 44.0)
        assert_allclose(beta[:, k].std(axis=0), sds, rtol=0.08)
        precision = posterior["sigma"].to_numpy()[0, :, k] ** -2.0 * unit**2
        assert precision.mean() == pytest.approx(shape / rate, rel=0.03)
        assert precision.std() == pytest.approx(np.sqrt(shape) / rate, rel=0.08)


def test_noise_and_coefficients_change_units_exactly(fit, regimes):
    """Each draw predicts the same on either scale."""
    scales, posterior = fit.model.scales, fit.posterior
    unit, centre = scales.response.scale[0], scales.response.centre[0]
    sigma = posterior["sigma"].to_numpy()[0]
    assert_array_equal(sigma, unit / np.sqrt(fit.draws["precision"][:, :, 0]))
    block = fit.model.source.blocks[0]
    standard = fit.draws["coefficients"][:, :, 0] @ block.designs["mean"]
    given = posterior["beta"].to_numpy()[0] @ fit.model.design.matrices["mean"].T
    assert_allclose(given, centre + unit * standard, rtol=1e-8, atol=1e-7 * np.abs(given).max())


def test_gate_coefficients_change_units_exactly(fit, regimes):
    weights = fit.weights_at(regimes)
    assert weights.shape == (2000, 150, 3)
    assert_allclose(weights.sum(axis=2), 1.0, rtol=1e-9)
    if not fit.core.gate_coefficients(fit.draws):
        assert "gamma" not in fit.posterior
        return
    gamma = fit.posterior["gamma"]
    logits = gamma.to_numpy()[0] @ fit.model.design.matrices["gating"].T
    if fit.core.gate.formula == "softmax":
        assert gamma["component_gating"].to_numpy().tolist() == [2, 3]
        whole = np.concatenate([np.zeros((2000, 1, 150)), logits], axis=1)
        assert_allclose(softmax(whole, axis=1), np.moveaxis(weights, 2, 1), atol=1e-9)
        return
    left = np.ones((2000, 150))  # sticks in the order of the sentence
    sticks = [int(k) for k in fit.core.gate.coefficient_meaning().split("order ")[1].split(",")]
    labels = gamma["component_gating"].to_numpy().tolist()
    for stick in sticks[:2]:
        stop = 1.0 / (1.0 + np.exp(-logits[:, labels.index(stick)]))
        assert_allclose(left * stop, weights[:, :, stick - 1], atol=1e-9)
        left = left * (1.0 - stop)


def test_expected_weights_are_those_averaged_over_draws(fit, regimes):
    rows = regimes.head(10)
    drawn = fit.weights_at(rows).mean(axis=0)
    assert_allclose(fit.predict(rows, "component"), drawn, atol=0.03)
    assert fit.weights_at(rows, draws=5).shape == (5, 10, 3)
    with pytest.raises(DataError, match="draws=2001 is more than the 2000 draws of the fit"):
        fit.weights_at(rows, draws=2001)


def test_responsibilities_are_probabilities_of_the_rows_used(fit, regimes):
    table = fit.responsibilities()
    assert table.index.equals(regimes.index)
    assert table.columns.tolist() == [1, 2, 3]
    assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(table.sum(), fit.stats.experts.weight, rtol=0, atol=0.05)


def test_the_true_lines_are_found(regimes_fit):
    table = regimes_fit.summary()["mean"]
    upper = 1 if table["mean", 1, "Intercept"] > 0 else 2
    lines = table["mean"].unstack("term")[["Intercept", "x", "z"]]
    assert_allclose(lines.loc[upper], [4.0, 2.0, 0.0], atol=0.2)
    assert_allclose(lines.loc[3 - upper], [-3.0, -1.0, 0.5], atol=0.2)
    assert_allclose(table["sigma"], 0.4, atol=0.1)


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("predict_proba", "fit.predict(data, 'probability')"),
        ("aic", "fit.loo()"),
        ("avg_slopes", "bvb.effects.slopes(fit)"),
        ("sumary", "fit.summary"),
    ],
)
def test_a_name_of_another_package_is_answered_with_ours(regimes_fit, there, here):
    with pytest.raises(AttributeError) as refused:
        getattr(regimes_fit, there)
    assert str(refused.value) == f"a fit has no attribute {there!r}\nhint: write {here}"


def test_a_name_that_nothing_is_near_has_no_hint(regimes_fit):
    with pytest.raises(AttributeError, match=r"^a fit has no attribute 'zebra'$"):
        regimes_fit.zebra  # noqa: B018
    assert not hasattr(regimes_fit, "_repr_zebra_")


def test_what_to_write_instead_is_looked_for_once(regimes_fit, monkeypatch):
    """Questions what a model can do ask for names that it does not have, many times in a fit."""
    asked = []
    monkeypatch.setattr(base, "meant_of_model", lambda name, *_: asked.append(name))
    assert not any(hasattr(regimes_fit.model, "zebra_of_groups") for _ in range(3))
    assert asked == ["zebra_of_groups"]


def test_an_attribute_that_fails_says_why(regimes_fit, monkeypatch):
    """The error inside is what is told, not that the attribute is missing."""

    def fails(fit):
        raise AttributeError("inside")

    monkeypatch.setattr(bvb.Fit, "khat", property(fails))
    with pytest.raises(AttributeError, match=r"^inside$"):
        regimes_fit.khat  # noqa: B018


def test_a_fit_keeps_blas_to_one_thread(regimes, monkeypatch):
    model, seen = bvb.DensityRegression("y ~ x", regimes, n_components=2), []
    for name in ("search", "fitted"):
        own = getattr(base, name)

        def watched(*args, own=own, **options):
            seen.extend(
                lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
            )
            return own(*args, **options)

        monkeypatch.setattr(base, name, watched)
    with threadpool_limits(2, user_api="blas"):
        model.fit(seed=1, restarts=1, draws=30)
    assert len(seen) >= 2 and set(seen) == {1}
