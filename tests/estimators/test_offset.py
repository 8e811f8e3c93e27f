"""A known summand of the response: a fit with an offset is the fit of the response without it."""

import numpy as np
import pytest

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.baselines import linear_baseline

SHIFTED = ("mean", "interval", "quantile", "draws")


@pytest.fixture(scope="module")
def data():
    frame = bvb.datasets.load("faithful")
    frame["z"] = np.random.default_rng(0).normal(scale=30.0, size=len(frame))
    frame["later"] = frame.waiting + frame.z
    return frame


def fits(data, family):
    """One fit with an offset, and one of the difference."""
    options = {"n_components": 2, "family": family}
    own = bvb.DensityRegression("later ~ eruptions + offset(z)", data, **options)
    plain = bvb.DensityRegression("I(later - z) ~ eruptions", data, **options)
    return own.fit(seed=1, restarts=1), plain.fit(seed=1, restarts=1)


@pytest.fixture(scope="module")
def pair(data):
    return fits(data, "gaussian")


def test_the_fit_is_that_of_the_difference(pair):
    own, plain = pair
    np.testing.assert_allclose(own.elbo, plain.elbo, rtol=1e-9)
    np.testing.assert_allclose(own.summary(), plain.summary(), rtol=1e-6)
    elpd = [read_elpd(fit.loo()).elpd for fit in (own, plain)]
    np.testing.assert_allclose(*elpd, rtol=1e-8)
    np.testing.assert_allclose(own.pit(), plain.pit(), rtol=1e-7, atol=1e-12)


@pytest.mark.heavy
def test_student_experts_have_it_too(data):
    own, plain = fits(data, "student")
    np.testing.assert_allclose(own.elbo, plain.elbo, rtol=1e-9)
    np.testing.assert_allclose(own.predict(), plain.predict() + data.z, rtol=1e-7)
    np.testing.assert_allclose(own.log_density(data), plain.log_density(data), rtol=1e-7)


@pytest.mark.parametrize("kind", [*SHIFTED, "sd", "component"])
def test_predictions_are_moved_by_it(kind, pair, data):
    own, plain = pair
    new = data.iloc[::7].drop(columns="later")
    options = {"n": 3, "seed": 1} if kind == "draws" else {}
    moved = own.predict(new, kind=kind, **options).to_numpy()
    still = plain.predict(new, kind=kind, **options).to_numpy()
    shift = new.z.to_numpy() if kind in SHIFTED else np.zeros(len(new))
    np.testing.assert_allclose(
        moved.reshape(len(new), -1), still.reshape(len(new), -1) + shift[:, None], rtol=1e-7
    )


def test_the_distribution_at_a_value_is_that_of_the_difference(pair, data):
    own, plain = pair
    np.testing.assert_allclose(own.log_density(data), plain.log_density(data), rtol=1e-8)
    at, still = data.later + 1.0, data.later - data.z + 1.0
    for kind in ("cdf", "density"):
        np.testing.assert_allclose(
            own.predict(kind=kind, at=at), plain.predict(kind=kind, at=still), rtol=1e-7, atol=1e-12
        )


def test_effects_know_it(pair):
    own, plain = pair
    moved = bvb.effects.predictions(own, {"eruptions": [3.0], "z": [100.0]}).summary
    still = bvb.effects.predictions(plain, {"eruptions": [3.0]}).summary
    for column in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(moved[column], still[column] + 100.0, rtol=1e-7)


@pytest.mark.heavy
def test_replicates_and_the_saved_fit_know_it(pair, data, tmp_path):
    own, plain = pair
    moved = own.idata.posterior_predictive["later"].to_numpy()
    (name,) = plain.model.observed()
    still = plain.idata.posterior_predictive[name].to_numpy()
    np.testing.assert_allclose(moved, still + data.z.to_numpy(), rtol=1e-7)
    again = bvb.load(own.save(tmp_path / "fit.nc"))
    new = data.iloc[:5]
    np.testing.assert_array_equal(again.predict(new), own.predict(new))
    np.testing.assert_array_equal(again.model.design.offset, own.model.design.offset)


def test_least_squares_beside_the_fit_has_it_too(pair):
    own, plain = (linear_baseline(fit) for fit in pair)
    np.testing.assert_allclose(own, plain, rtol=1e-9)


def test_jackknife_intervals_are_moved_by_it(pair, data):
    new = data.iloc[:4]
    moved, still = (fit.predict(new, kind="interval", recalibrate="jackknife+") for fit in pair)
    np.testing.assert_allclose(moved, still.to_numpy() + new.z.to_numpy()[:, None], rtol=1e-7)


@pytest.mark.heavy
def test_rows_of_a_subject_in_one_component_have_it_too(data):
    some = data.assign(id=np.arange(len(data)) // 4)
    formulas = "later ~ eruptions + offset(z) | 1", "I(later - z) ~ eruptions | 1"
    own, plain = (
        bvb.DensityRegression(one, some, n_components=2, group="id").fit(seed=1, restarts=1)
        for one in formulas
    )
    np.testing.assert_allclose(own.elbo, plain.elbo, rtol=1e-9)
    np.testing.assert_allclose(own.predict(), plain.predict() + data.z, rtol=1e-7)
    (name,) = plain.model.observed()
    moved = own.idata.posterior_predictive["later"].to_numpy()
    still = plain.idata.posterior_predictive[name].to_numpy()
    np.testing.assert_allclose(moved, still + data.z.to_numpy(), rtol=1e-7)


def test_a_poisson_like_rate_of_exposures_is_found(data):
    """log(count) = log(exposure) + log(rate): the rate's coefficients do not see the exposure."""
    rng = np.random.default_rng(3)
    exposure, x = rng.uniform(1.0, 1000.0, 400), rng.normal(size=400)
    frame = {"y": np.log(exposure) + 0.5 * x + 0.1 * rng.normal(size=400), "e": exposure, "x": x}
    fit = bvb.DensityRegression("y ~ x + offset(log(e))", frame, n_components=1).fit(
        seed=1, restarts=1
    )
    assert abs(fit.summary().loc[("mean", 1, "x"), "mean"] - 0.5) < 0.02
    assert read_elpd(fit.loo()).elpd / 400 > 0.8
