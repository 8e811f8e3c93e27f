"""Automatic draws: when they are made, how long they stay, and what fits without them keep."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.results import exact_draws
from bayesvb.results.base import replace_draws


def two_lines(n, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, n)
    upper = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x))
    y = np.where(upper, 2.0 + x, -1.0 - 0.5 * x) + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": y})


def model_of(n=100, **options):
    return bvb.DensityRegression("y ~ x", two_lines(n), **{"n_components": 2, **options})


@pytest.fixture
def samples(monkeypatch):
    """Number of times that the sampler runs."""
    made, sample = [], exact_draws.importance_sample

    def counting(*args):
        made.append(1)
        return sample(*args)

    monkeypatch.setattr(exact_draws, "importance_sample", counting)
    return made


@pytest.fixture(scope="module")
def fit():
    return model_of().fit(seed=1, restarts=2)


def test_the_sampler_runs_when_draws_are_first_needed_and_once(samples):
    fit = model_of().fit(seed=1, restarts=2)
    fit.predict()
    fit.log_density()
    assert fit.elbo < 0.0 and not samples
    assert fit.summary().attrs["covariance"] == "exact"
    assert bvb.effects.slopes(fit, "x").covariance == "exact"
    assert fit.vcov().shape[0] == 6 and len(samples) == 1


def test_automatic_draws_are_those_of_exact(fit):
    exact = fit.with_covariance("linear-response").with_covariance("exact")
    assert not exact.automatic and exact.sampler.words == fit.sampler.words
    pd.testing.assert_frame_equal(fit.summary(), exact.summary(), check_exact=True)


def test_other_covariances_need_no_sampler(samples):
    fit = model_of().fit(seed=1, restarts=2)
    plain = fit.with_covariance("linear-response")
    assert plain.covariance == "linear-response" and not plain.automatic
    fit.with_covariance("mean-field").summary()
    fit.with_covariance("robust").summary()
    assert not samples


@pytest.mark.parametrize(
    ("n", "options", "covariance"),
    [
        (200, {}, "linear-response"),
        (199, {}, "exact"),
        (250, {"n_components": 3}, "exact or not reached"),
        (100, {"family": "student"}, "linear-response"),
        (100, {"n_components": 1}, "linear-response"),
    ],
)
def test_few_rows_are_below_200_or_100_per_component(n, options, covariance):
    fit = model_of(n, **options).fit(seed=1, restarts=1, draws=100)
    assert fit.automatic
    if covariance == "exact or not reached":
        assert fit.sampler is not None
    else:
        assert fit.covariance == covariance and (fit.sampler is not None) == (covariance == "exact")


def test_combined_restarts_and_asked_for_covariances_are_not_automatic():
    fits = [
        model_of().fit(seed=1, restarts=2, draws=100, **options)
        for options in ({"combine": "average"}, {"covariance": "linear-response"})
    ]
    assert not any(one.automatic for one in fits)
    assert [one.covariance for one in fits] == ["linear-response"] * 2


def test_a_file_keeps_the_draws_and_that_they_are_automatic(fit, samples, tmp_path):
    again = bvb.load(fit.save(tmp_path / "few.nc"))
    assert again.automatic and again.covariance == "exact" and not samples
    pd.testing.assert_frame_equal(again.summary(), fit.summary(), check_exact=True)
    plain = fit.with_covariance("linear-response")
    again = bvb.load(plain.save(tmp_path / "plain.nc"))
    assert not again.automatic and again.covariance == "linear-response"
    assert pickle.loads(pickle.dumps(fit)).covariance == "exact"


def test_pruned_fits_are_automatic_as_before(fit):
    assert bvb.prune(fit).automatic
    assert not bvb.prune(fit.with_covariance("linear-response")).automatic


def test_updates_have_linear_response_as_rows_before_are_not_kept(fit):
    assert fit.update(two_lines(60, seed=3)).covariance == "linear-response"


def test_an_interrupt_leaves_the_draws_of_the_fit(monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(exact_draws, "importance_sample", interrupted)
    fit = model_of().fit(seed=1, restarts=1, draws=100)
    with pytest.warns(UserWarning, match="interrupted: intervals come from"):
        assert fit.covariance == "linear-response"
    assert "linear-response covariance" in str(fit)


def test_the_code_of_a_report_names_what_is_not_the_default(fit):
    assert "covariance" not in fit.code()
    plain = fit.with_covariance("linear-response")
    assert "covariance='linear-response'" in plain.code()
    many = model_of(200).fit(seed=1, restarts=1, draws=50, covariance="linear-response")
    assert "covariance" not in many.code()
    narrow = model_of().fit(seed=1, restarts=1, draws=50, covariance="mean-field")
    assert "covariance='mean-field'" in narrow.code()


def test_given_draws_replace_automatic_ones(fit):
    values = {name: 2.0 * array for name, array in fit.draws.items()}
    other = replace_draws(fit, replace(fit.given_draws, values=values))
    assert other.draws is values and not other.automatic
