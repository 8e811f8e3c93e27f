"""A fit: predictions that agree with each other, labels, draws in the units of the data."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import simpson
from scipy.special import softmax

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.gates import GATES

FORMULA = "y ~ x + z | gating(x)"


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


def test_predictive_densities_integrate_to_one(fit, regimes):
    middle, spread = fit.predict(regimes.iloc[[5]]).iloc[0], 400.0
    points = middle + np.linspace(-spread, spread, 100_001)
    rows = pd.DataFrame({name: regimes[name].iloc[5] for name in ("x", "z")}, range(len(points)))
    density = fit.predict(rows, "density", at=pd.Series(points))
    cumulative = fit.predict(rows, "cdf", at=pd.Series(points))
    between = simpson(density, x=points)
    tails = cumulative.iloc[0] + 1.0 - cumulative.iloc[-1]
    assert tails < 0.01
    assert between + tails == pytest.approx(1.0, abs=1e-6)
    part = slice(49_000, 50_001)
    grown = cumulative.iloc[50_000] - cumulative.iloc[49_000]
    assert simpson(density.iloc[part], x=points[part]) == pytest.approx(grown, abs=1e-7)


def test_log_density_is_the_log_of_the_density_at_the_observed_response(fit, regimes):
    density = fit.predict(regimes, "density", at=regimes["y"])
    found = fit.log_density(regimes)
    assert found.name == "log_density"
    assert_allclose(found, np.log(density), rtol=0, atol=1e-10)
    pd.testing.assert_series_equal(fit.log_density(), found)


def test_kinds_of_prediction_agree(fit, regimes):
    rows = regimes.head(20)
    quantiles = fit.predict(rows, "quantile", q=[0.055, 0.5, 0.945])
    back = fit.predict(rows, "cdf", at=quantiles[0.5])
    assert_allclose(back, 0.5, atol=1e-9)
    interval = fit.predict(rows, "interval", prob=0.89)
    assert_allclose(interval, quantiles[[0.055, 0.945]], rtol=1e-9)
    assert_array_equal(fit.predict(rows, "interval"), interval)
    weights = fit.predict(rows, "component")
    assert weights.columns.tolist() == [1, 2, 3]
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-9)
    draws = fit.predict(rows, "draws", n=4000, seed=1)
    assert draws.shape == (20, 4000)
    for q in quantiles:
        assert_allclose(draws.lt(quantiles[q], axis=0).mean(axis=1), q, atol=0.04)
    distribution = fit.predictive(rows)
    assert_array_equal(fit.predict(rows), distribution.mean())
    assert_array_equal(fit.predict(rows, "sd"), distribution.sd())
    assert (fit.predict(rows, "sd") > 0.3).all()


def test_predictions_of_the_rows_fitted_need_no_data(fit, regimes):
    for kind in ("mean", "sd", "quantile", "interval", "component"):
        here, there = fit.predict(kind=kind), fit.predict(regimes, kind)
        assert here.index.equals(regimes.index)
        assert_array_equal(here, there)


def test_predictive_densities_are_those_averaged_over_draws(fit, regimes):
    """The closed form integrates over the posterior; draws average the likelihood over it."""
    likelihood = np.exp(np.concatenate(list(_likelihood(fit)), axis=1)).mean(axis=0)
    error = np.log(likelihood) - fit.log_density()
    assert abs(error.mean()) < 0.01
    assert (error.abs() < 0.25).all()


def _likelihood(fit):
    from bayesvb.idata import log_lik_blocks_of

    return log_lik_blocks_of(fit)


def test_a_row_far_out_has_a_density_however_small(fit):
    far = pd.DataFrame({"y": [1e80, -50.0], "x": [0.0, 1e4], "z": [0.0, 0.0]})
    assert np.isfinite(fit.log_density(far)).all()
    assert fit.log_density(far).iloc[0] < -100.0


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("n_components", [2, 3])
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


def test_several_responses_have_one_joint_density(two_responses):
    """Summed over the values of one response it is the density of the other."""
    data, fit = two_responses
    row = data.iloc[[4]]
    points = np.linspace(-400.0, 400.0, 40_001)
    grid = pd.DataFrame({"y": row["y"].iloc[0], "x": row["x"].iloc[0], "z": row["z"].iloc[0],
                         "u": points})  # fmt: skip
    joint = np.exp(fit.log_density(grid))
    alone = fit.predict(row, "density", at=row["y"], response="y").iloc[0]
    assert np.trapezoid(joint, points) == pytest.approx(alone, rel=1e-4)


# -- labels and draws ----------------------------------------------------------------------------


def test_components_are_sorted_by_share(fit):
    draws = fit.posterior["share"].to_numpy()[0]
    shares = draws.mean(axis=0)
    error = np.hypot.outer(draws.std(axis=0), draws.std(axis=0)) / np.sqrt(len(draws))
    for k in range(2):
        assert shares[k] >= shares[k + 1] - 4.0 * error[k, k + 1]
    assert shares[0] > shares[2] + 0.1
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
    if fit.model.gate == "dirichlet":
        assert "gamma" not in fit.posterior
        return
    gamma = fit.posterior["gamma"]
    logits = gamma.to_numpy()[0] @ fit.model.design.matrices["gating"].T
    if fit.model.gate.startswith("softmax"):
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
    assert_allclose(table.sum(), fit.sums.experts.weight, rtol=0, atol=0.05)


def test_the_true_lines_are_found(regimes_fit):
    table = regimes_fit.summary()["mean"]
    upper = 1 if table["mean", 1, "Intercept"] > 0 else 2
    lines = table["mean"].unstack("term")[["Intercept", "x", "z"]]
    assert_allclose(lines.loc[upper], [4.0, 2.0, 0.0], atol=0.2)
    assert_allclose(lines.loc[3 - upper], [-3.0, -1.0, 0.5], atol=0.2)
    assert_allclose(table["sigma"], 0.4, atol=0.1)
