"""The No-U-Turn sampler: what it asks for, exact posteriors, labels, chains that repeat."""

import json
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.nuts import Nuts
from bayesvb.errors import DataError
from bayesvb.models.mixture import Mixture
from bayesvb.storage.arviz_objects import group, import_arviz

BRIEF = {"seed": 1, "restarts": 1, "draws": 40, "chains": 2, "warmup": 60}


@pytest.fixture(scope="module")
def two_groups():
    """Two normals five standard deviations apart."""
    rng = np.random.default_rng(3)
    centre = np.where(rng.uniform(size=80) < 0.6, 2.5, -2.5)
    return pd.DataFrame({"y": centre + rng.normal(size=80)})


@pytest.fixture(scope="module")
def gaussians(two_groups):
    return bvb.GaussianMixture("~ y", two_groups, n_components=2)


def no_run(*_, **__):
    raise AssertionError("nothing must be fitted")


def test_without_numpyro_the_command_that_installs_it_is_said_before_anything_runs(
    gaussians, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(Cavi, "run", no_run)
    with pytest.raises(DataError, match=r"(?s)method='nuts' needs NumPyro.*bayesvb\[mcmc\]"):
        gaussians.fit("nuts")


def test_a_model_that_does_not_tell_its_parameters_is_refused_with_the_remedy(
    gaussians, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(Mixture, "parameter_space", lambda self: None)
    monkeypatch.setattr(Cavi, "run", no_run)
    with pytest.raises(DataError, match=r"(?s)for this model: a part .* no deriv.*method='cavi'"):
        gaussians.fit("nuts")


@pytest.mark.parametrize(
    "wrong",
    [
        {"chains": 0},
        {"warmup": -1},
        {"start": "middle"},
        {"target_accept": 1.0},
        {"max_tree_depth": 40},
    ],
    ids=str,
)
def test_wrong_options_are_named(wrong):
    with pytest.raises(DataError, match=f"{next(iter(wrong))}="):
        Nuts(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"target_accept": "much"}, {"dense_mass": "yes"}, {"vectorized": 1}], ids=str
)
def test_options_of_another_kind_are_named(wrong, unchecked):
    with pytest.raises(DataError, match=f"{next(iter(wrong))}="):
        Nuts(**wrong)


@pytest.mark.mcmc
def test_draws_are_those_of_the_exact_posterior(two_groups):
    model = bvb.Normal("y ~ 1", two_groups)
    fit = model.fit("nuts", seed=1, draws=2000, warmup=300)
    exact = model.exact_posterior(fit)
    mean, precision = fit.draws["mean"], fit.draws["precision"]
    shape, rate = exact.precision.shape, exact.precision.rate
    mc = 4.0 / np.sqrt(1000)  # four standard errors of half as many independent draws
    sd = np.sqrt(rate / (shape - 1.0) / exact.strength)
    assert abs(mean.mean() - exact.mean) < mc * sd
    assert_allclose(mean.std(), sd, rtol=mc)
    assert abs(precision.mean() - shape / rate) < mc * np.sqrt(shape) / rate
    assert_allclose(precision.std(), np.sqrt(shape) / rate, rtol=mc)
    assert fit.findings["divergences"] == 0


@pytest.fixture(scope="module")
def brief(gaussians):
    """A short fit, and the precision of JAX before it."""
    import jax.numpy as jnp

    return gaussians.fit("nuts", **BRIEF), jnp.asarray(1.0).dtype


@pytest.mark.mcmc
def test_precision_of_jax_stays_what_it_was(brief):
    import jax.numpy as jnp

    fit, before = brief
    assert jnp.asarray(1.0).dtype == before
    assert fit.draws["mean"].dtype == np.float64


@pytest.mark.mcmc
def test_energies_are_for_arviz(brief):
    """Kinetic energy has the mean of half the parameters; potential energy is of the draws."""
    fit, az = brief[0], import_arviz()
    obj = fit.idata
    statistics, found = group(obj, "sample_stats"), fit.findings
    assert statistics["energy"].dims == ("chain", "draw")
    assert int(statistics["diverging"].sum()) == found["divergences"]
    assert float(statistics["n_steps"].mean()) == found["mean_steps"]
    assert float(statistics["acceptance_rate"].mean()) == found["mean_acceptance"]
    assert (2 ** statistics["tree_depth"] > statistics["n_steps"]).all()
    assert (2 ** (statistics["tree_depth"] - 1) <= statistics["n_steps"]).all()
    assert (statistics["step_size"].std("draw") < 1e-9).all()
    energy = statistics["energy"] + statistics["lp"]
    assert energy.std() == pytest.approx(np.sqrt(5 / 2), rel=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few draws
        az.plot_energy(obj)
        plt.close("all")
        bfmi = az.bfmi(obj)
    values = bfmi if isinstance(bfmi, np.ndarray) else bfmi["energy"].to_numpy()
    assert values.shape == (2,) and (values > 0.3).all()


@pytest.mark.mcmc
def test_files_keep_chains_and_findings_and_need_no_sampler(brief, tmp_path, monkeypatch):
    fit = brief[0]
    path = fit.save(tmp_path / "fit.nc")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    loaded = bvb.load(path)
    assert (loaded.n_chains, loaded.findings) == (2, fit.findings)
    assert loaded.engine == Nuts(chains=2, warmup=60)
    assert group(loaded.idata, "sample_stats").equals(group(fit.idata, "sample_stats"))
    pd.testing.assert_frame_equal(loaded.summary(), fit.summary())


@pytest.mark.mcmc
def test_the_same_seed_draws_the_same_bits(gaussians, brief):
    here, again = brief[0], gaussians.fit("nuts", **BRIEF)
    for name, values in here.draws.items():
        assert_array_equal(again.draws[name], values)
    assert here.n_chains == 2 and len(here.draws["gate"]) == 40


@pytest.mark.mcmc
def test_chains_are_equally_long_even_if_there_are_more_draws_than_asked_for(gaussians, brief):
    fit = gaussians.fit("nuts", **{**BRIEF, "seed": 2, "draws": 31, "chains": 3})
    assert len(fit.draws["gate"]) == 33 and fit.n_chains == 3
    for name, values in brief[0].draws.items():
        assert not np.array_equal(fit.draws[name], values[:33])  # another seed


@pytest.mark.mcmc
def test_chains_from_anywhere_have_the_labels_of_the_optimum(gaussians):
    fit = gaussians.fit("nuts", seed=4, draws=400, chains=8, warmup=200, start="random")
    centre = fit.core.update(fit.stats).experts.mean[:, 0]
    close = np.abs(fit.draws["mean"][..., 0] - centre) < 0.5 * np.abs(np.diff(centre))
    assert close.mean() > 0.99
    assert 0 < fit.findings["relabelled"] < 400


@pytest.mark.mcmc
@pytest.mark.heavy
@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_two_experts_are_those_of_a_chain_of_another_program(root, gate):
    folder = root / "tests" / "reference" / "two_experts"
    known = json.loads((folder / "posterior.json").read_text(encoding="utf-8"))[gate]["nuts"]
    flat = {"gating_sd": 1.0, "gating_intercept_sd": 1.0, "standardize": False, "scales": "fixed"}
    priors = bvb.Priors(coefficient_sd=10.0, noise_shape=1.0, noise_rate=1.0, **flat)
    data = pd.read_csv(folder / "rows.csv")
    model = bvb.DensityRegression("y ~ x", data, n_components=2, gate=gate, priors=priors)
    fit = model.fit("nuts", seed=1, restarts=4, draws=4000)
    up = int(fit.draws["coefficients"][:, :, 0, 1].mean(axis=0).argmax())  # the slope of 1.5
    order = [up, 1 - up]
    ((chosen, odds),) = fit.core.gate_coefficients(fit.draws).items()
    found = {
        "coefficients": fit.draws["coefficients"][:, order, 0],
        "gate": odds if chosen == up else -odds,
        "sigma": fit.draws["precision"][:, order, 0] ** -0.5,
    }
    for name, draws in found.items():
        sd = np.array(known[f"{name}_sd"])
        # Both are averages of 4000 draws, of which at least a tenth count as independent.
        error = np.abs(draws.mean(axis=0) - known[name])
        assert (error < 4.0 * np.sqrt(2.0 / 400) * sd + 5e-4).all()
        assert_allclose(draws.std(axis=0), sd, rtol=4.0 / np.sqrt(400))
    assert fit.findings["divergences"] == 0
