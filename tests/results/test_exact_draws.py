"""Draws of the exact posterior: which sampler made them, what is said of them, what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
import bayesvb.results.exact_draws as exact_draws
from bayesvb.engines.adaptive_importance import WeightedDraws
from bayesvb.engines.sampler_record import SamplerRecord
from bayesvb.engines.tempering import ChainDraws
from bayesvb.errors import DataError
from bayesvb.results.limits import LIMITS
from bayesvb.results.reduced_draws import ImportanceSample, space_of


def two_lines(n=150, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, n)
    upper = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x))
    y = np.where(upper, 2.0 + x, -1.0 - 0.5 * x) + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": y, "g": np.arange(n) % 3, "w": 1.0 + np.arange(n) % 2})


PRIORS = bvb.Priors(scales="learned")


def model_of(formula="y ~ x", data=None, **options):
    given = {"n_components": 2, "priors": PRIORS, **options}
    return bvb.DensityRegression(formula, two_lines() if data is None else data, **given)


@pytest.fixture(scope="module")
def fit():
    return model_of().fit(seed=1, restarts=2, covariance="linear-response")


@pytest.fixture(scope="module")
def exact(fit):
    return fit.with_covariance("exact")


@pytest.fixture(scope="module")
def chains(fit):
    """As where importance weights are not to be trusted; rough chains would warn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(LIMITS), "exact_khat", -9.0)
        return fit.with_covariance("exact")


def test_importance_sampling_makes_the_draws_and_says_so(exact):
    assert exact.covariance == "exact"
    assert exact.chains == 1 and len(exact.log_q) == 1000
    record = exact.sampler
    assert record.method == "importance sampling" and record.khat < 0.5
    assert f"Intervals: exact ({record.words})." in str(exact)
    assert exact.idata.attrs["sampler_khat"] == record.khat


@pytest.mark.heavy
def test_tempered_chains_agree_with_importance_sampling(exact, chains):
    """Means within four Monte Carlo standard errors, of 992 and 1,000 draws of the fits."""
    record = chains.sampler
    assert record.method == "parallel tempering" and chains.chains == 16
    assert record.r_hat < 1.05 and record.effective > 400.0 and math.isnan(record.khat)
    one, other = exact.summary(), chains.summary()
    z = (one["mean"] - other["mean"]) / np.sqrt(one["sd"] ** 2 / 500 + other["sd"] ** 2 / 400)
    assert z.abs().max() < 4.0
    width = [table["upper"] - table["lower"] for table in (one, other)]
    assert_allclose(*width, rtol=0.25)
    posterior = chains.idata["posterior"]
    assert posterior.sizes["chain"] == 16 and posterior.sizes["draw"] == 62
    assert {"r_hat", "ess_bulk"} <= set(other.columns)


def test_hmc_samples_more_than_forty_numbers(fit, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "sampled_parameters", 5)
    found = fit.with_covariance("exact")
    assert found.sampler.method == "HMC" and found.sampler.n_drawn == 16 * 300
    assert found.sampler.r_hat < 1.05


def test_a_fit_can_be_made_with_exact_draws(exact):
    again = model_of().fit(seed=1, restarts=2, covariance="exact")
    pd.testing.assert_frame_equal(again.summary(), exact.summary(), check_exact=True)


@pytest.mark.heavy
def test_draws_survive_saving(exact, chains, tmp_path):
    for number, one in enumerate((exact, chains)):
        again = bvb.load(one.save(tmp_path / f"{number}.nc"))
        assert again.sampler == one.sampler or again.sampler.words == one.sampler.words
        pd.testing.assert_frame_equal(again.summary(), one.summary())
        assert again.chains == one.chains
        back = again.with_covariance("linear-response")
        assert back.sampler is None and back.chains == 1


def test_effects_go_by_the_draws(exact, fit):
    table = bvb.effects.predictions(exact, {"x": [0.0]})
    assert table.covariance == "exact" and "(exact posterior)" in str(table)
    assert exact.khat == fit.khat


def test_a_report_says_how_to_sample_again(exact, fit):
    assert 'fit = fit.with_covariance("exact")' in exact.code()
    assert "with_covariance" not in fit.code()


def test_case_weights_count_rows():
    """Weights of two are rows that are there twice; tolerances as between seeds."""
    data = two_lines(80)
    twice = pd.concat([data, data[data["w"] == 2.0]], ignore_index=True)
    weighted = model_of(data=data, weights="w").fit(seed=1, restarts=2, covariance="exact")
    repeated = model_of(data=twice).fit(seed=1, restarts=2, covariance="exact")
    one, other = weighted.summary(), repeated.summary()
    z = (one["mean"] - other["mean"]) / np.sqrt((one["sd"] ** 2 + other["sd"] ** 2) / 300)
    assert z.abs().max() < 4.5


REFUSED = {
    "students": ({"family": "student"}, "Gaussian linear components"),
    "response units": (
        {"priors": bvb.Priors(coefficient_units="response", scales="fixed")},
        "in units of the noise",
    ),
    "survey": ({"weights": "w", "weight_type": "sampling"}, "sampling weights are not counts"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_sampled_is_refused_before_the_fit(name):
    options, reason = REFUSED[name]
    with pytest.raises(DataError, match=reason):
        model_of(**options).fit(seed=1, covariance="exact")


def test_combined_restarts_many_rows_and_other_engines_are_refused(fit, monkeypatch):
    with pytest.raises(DataError, match="restarts are combined"):
        model_of().fit(seed=1, restarts=2, covariance="exact", combine="average")
    with pytest.raises(DataError, match="was made by EM"):
        model_of().fit("em", seed=1, covariance="exact")
    mixture = bvb.GaussianMixture("~ x + y", two_lines(60), n_components=2)
    with pytest.raises(DataError, match="Gaussian linear components"):
        mixture.fit(seed=1, restarts=1).with_covariance("exact")
    monkeypatch.setitem(vars(LIMITS), "all_rows", 100)
    with pytest.raises(DataError, match="150 rows are more than 100"):
        fit.with_covariance("exact")


def test_many_levels_are_refused():
    data = two_lines().assign(g=np.arange(150) % 50)
    with pytest.raises(DataError, match="group-level coefficients are more than 40"):
        model_of("y ~ x + (1 | g)", data).fit(seed=1, covariance="exact")


def test_an_interrupt_falls_back_to_the_draws_of_the_fit(fit, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(exact_draws, "importance_sample", interrupted)
    with pytest.warns(UserWarning, match="interrupted: intervals come from"):
        found = fit.with_covariance("exact")
    assert found.covariance == "linear-response"
    pd.testing.assert_frame_equal(found.summary(), fit.summary())


def test_rough_chains_are_kept_with_a_warning(fit, monkeypatch):
    monkeypatch.setattr(
        exact_draws, "importance_sample", lambda fit, space, ratio: _bad(fit, space)
    )
    monkeypatch.setitem(vars(LIMITS), "exact_r_hat", 0.5)
    monkeypatch.setattr(exact_draws, "STEPS", 60)
    with pytest.warns(UserWarning, match="draws of the exact posterior are inaccurate"):
        found = fit.with_covariance("exact")
    assert found.covariance == "exact"


def _bad(fit, space):
    """Weights of two draws alone."""
    log_ratio = np.where(np.arange(len(fit.log_q)) < 2, 0.0, -50.0)
    return ImportanceSample.from_sample(
        WeightedDraws(space.vectors(fit.draws), fit.draws, fit.log_q, log_ratio)
    )


def test_chains_of_inexact_integrals_are_weighed(fit):
    """A density that leaves out a part of the prior: weights put it back."""
    space, rng = space_of(fit), np.random.default_rng(0)
    vectors = space.vectors(fit.draws)[:160].reshape(16, 10, space.size)
    lacking = 0.1 * vectors[:, :, 0]
    density = space.log_density(vectors.reshape(-1, space.size)).reshape(16, 10) - lacking
    found = ChainDraws(vectors, density)
    _, weights = exact_draws._complete(space, found, rng)
    assert_allclose(np.ptp(np.log(weights) - lacking), 0.0, atol=0.2)
    even = exact_draws._complete(space, ChainDraws(vectors, density + lacking), rng)[1]
    assert (even == 1.0).all()


def test_chains_are_exact_if_they_agree_and_are_worth_enough():
    assert not exact_draws.is_converged(SamplerRecord("HMC", 1600, 300.0, r_hat=1.01))
    assert exact_draws.is_converged(SamplerRecord("HMC", 1600, 500.0, r_hat=1.01))


@pytest.mark.heavy
def test_the_check_of_regimes_is_a_note_where_samplers_fail(fit, chains, monkeypatch):
    table = fit.check()
    assert table.loc["Several regimes", "grade"] == "ok"
    assert "Several regimes" in chains.check().index
    monkeypatch.setitem(vars(LIMITS), "exact_khat", -9.0)
    noted = fit.check().loc["Several regimes"]
    assert noted["grade"] == "note" and "fit.with_covariance" in noted["remedy"]
    many = model_of(data=two_lines(250)).fit(seed=1, restarts=2, draws=100)
    assert "Several regimes" not in many.check().index


@pytest.mark.heavy
def test_automatic_intervals_are_exact_where_importance_sampling_is(exact, monkeypatch, tmp_path):
    auto = model_of().fit(seed=1, restarts=2, covariance="auto")
    pd.testing.assert_frame_equal(auto.summary(), exact.summary(), check_exact=True)
    many = model_of(data=two_lines(250)).fit(seed=1, restarts=2, covariance="auto", draws=100)
    assert many.covariance == "linear-response" and many.sampler is None
    monkeypatch.setitem(vars(LIMITS), "exact_khat", -9.0)
    rough = model_of().fit(seed=1, restarts=2, covariance="auto")
    assert rough.covariance == "linear-response"
    assert "exact intervals were not reached (importance sampling of 10,000 draws" in str(rough)
    assert "several modes with these 150 rows, so intervals of single components" in str(rough)
    assert "fit.with_covariance('exact') samples all modes" in str(rough).replace("\n", " ")
    again = bvb.load(rough.save(tmp_path / "rough.nc"))
    assert again.sampler == rough.sampler or again.sampler.words == rough.sampler.words
    pd.testing.assert_frame_equal(again.summary(), rough.summary())


def test_automatic_intervals_of_a_posterior_that_is_known_are_its_own():
    alone = model_of(n_components=1, priors=bvb.Priors(scales="fixed"))
    assert alone.fit(seed=1, covariance="auto", draws=50).covariance == "linear-response"
