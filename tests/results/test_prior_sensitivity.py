"""Sensitivity to the prior: against refits with other numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.results import prior_sensitivity
from bayesvb.results.prior_sensitivity import numbers


def rows(n=150):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, n)
    first = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-1.0 - x))
    y = np.where(first, 1.5 + 1.5 * x, -1.5 - x) + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"x": x, "y": y})


def fit_of(priors, n_components=2, gate="softmax"):
    model = bvb.DensityRegression(
        "y ~ x", rows(), n_components=n_components, gate=gate, priors=priors
    )
    # exact means are of draws: refits would differ by their noise
    return model.fit(
        seed=1, restarts=3, draws=400, tol=1e-11, max_iter=5000, covariance="linear-response"
    )


CASES = [
    (1, "coefficient_sd", "softmax"),
    (1, "noise_rate", "softmax"),
    (2, "coefficient_sd", "softmax"),
    (2, "noise_shape", "softmax"),
    (2, "gating_sd", "softmax"),
    (2, "gating_intercept_sd", "stick-breaking"),
    (2, "concentration", "dirichlet"),
    (1, "scale_rate", "softmax"),
    (2, "scale_shape", "dirichlet"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("n_components", "number", "gate"), CASES)
def test_changes_are_those_of_refits(n_components, number, gate):
    learned = {"scales": "learned" if number.startswith("scale") else "fixed", "scale_rate": 0.5}
    priors = bvb.Priors(coefficient_sd=3.0, gating_sd=2.0, gating_intercept_sd=2.0, **learned)
    fit = fit_of(priors, n_components, gate)
    found = fit.prior_sensitivity().loc[number]
    table = fit.summary()
    for side, factor in (("halved", 0.5), ("doubled", 2.0)):
        value = factor * getattr(priors, number)
        other = fit_of(replace(priors, **{number: value}), n_components, gate).summary()
        moved = (other["mean"] - table["mean"]).divide(table["sd"].replace(0.0, np.inf))
        off = (found[side] - moved)[table["p_positive"].notna()]
        assert np.abs(off).max() < 0.05 + 0.25 * np.abs(moved).max()
    assert (found["value"] == getattr(priors, number)).all()


def test_the_derivative_is_that_of_small_changes():
    fit = fit_of(bvb.Priors(coefficient_sd=3.0, scales="fixed"), 1)
    near = fit_of(bvb.Priors(coefficient_sd=3.0 * 2**0.1, scales="fixed"), 1)
    found = fit.prior_sensitivity().loc["coefficient_sd"].loc["mean", "derivative"]
    own, other = fit.q.experts, near.q.experts
    unit = np.sqrt(np.diag(own.covariance[0]) * own.rate[0, 0] / own.shape[0])
    change = (other.mean[0, 0] - own.mean[0, 0]) / unit / 0.1
    assert np.sign(found.to_numpy()[-1]) == np.sign(change[-1])
    assert_allclose(found.to_numpy()[-1], change[-1], rtol=0.1)


@pytest.mark.heavy
def test_numbers_without_part_in_the_fit_are_left_out():
    found = fit_of(bvb.Priors(scales="fixed"), 2).prior_sensitivity()
    assert found.index.names == ["number", "part", "component", "term"]
    assert list(dict.fromkeys(found.index.get_level_values("number"))) == [
        "coefficient_sd", "noise_shape", "noise_rate", "gating_sd", "gating_intercept_sd"
    ]  # fmt: skip
    for scales, of_common in (("between", ["common_sd"]), ("learned", [])):
        learned = fit_of(bvb.Priors(scales=scales), 2).prior_sensitivity()
        assert list(dict.fromkeys(learned.index.get_level_values("number"))) == [
            "coefficient_sd", "noise_shape", "noise_rate", "gating_intercept_sd", *of_common,
            "scale_shape", "scale_rate", "gating_scale_rate",
        ]  # fmt: skip
    assert "dof" not in numbers(bvb.Priors())
    assert "standardize" not in numbers(bvb.Priors())


def test_models_without_linear_response_say_so():
    fit = bvb.GaussianMixture("~ x + y", rows(), n_components=2).fit(seed=1, restarts=1)
    with pytest.raises(DataError, match="has no sensitivity to its prior"):
        fit.prior_sensitivity()


@pytest.mark.heavy
def test_a_number_is_answered_as_if_it_were_alone(monkeypatch):
    fit = fit_of(bvb.Priors(scales="fixed"))
    together = fit.prior_sensitivity()
    for name, value in numbers(fit.model.priors).items():
        if name not in together.index.get_level_values("number"):
            continue
        monkeypatch.setattr(prior_sensitivity, "numbers", lambda _, own=(name, value): dict([own]))
        alone = fit.prior_sensitivity()
        assert_allclose(alone, together.loc[[name]], rtol=1e-9, atol=1e-9)
