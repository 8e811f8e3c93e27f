"""The compiled core has the numbers of NumPy for networks: pass by pass, and whole fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.engines import cavi as engine
from bayesvb.engines.base import one_pass
from bayesvb.models import compiled_pass
from bayesvb.numerics.compiled import SWITCH, describe_core

pytestmark = [
    pytest.mark.skipif(describe_core().startswith("not built"), reason="there was no compiler"),
    pytest.mark.filterwarnings("ignore:the ELBO was still increasing"),
]

PROBLEMS = {
    "three classes": ("label ~ x1 + x2", {"n_experts": 10}),
    "two classes": ("two ~ x1 + x2", {"n_experts": 3}),
    "own gate": ("label ~ x1 + x2 | gating(x1)", {"n_experts": 4}),
    "case weights": ("label ~ x1 + x2", {"n_experts": 4, "weights": "w"}),
    "independent latents": ("label ~ x1 + x2", {"n_experts": 4, "latent_covariance": "diagonal"}),
    "one latent": ("label ~ x1 + x2", {"n_experts": 4, "latent_dim": 1}),
    "five latents": ("label ~ x1 + x2", {"n_experts": 3, "latent_dim": 5}),
    "one expert": ("label ~ x1 + x2", {"n_experts": 1}),
    "numbers": ("y ~ x1 + x2", {"n_experts": 4, "weights": "w"}),
    "numbers, two latents": ("y ~ x1 + x2", {"n_experts": 4, "latent_dim": 2}),
    "two responses": ("y + z ~ x1 + x2", {"n_experts": 3}),
}
"""Formula and arguments."""

OTHERS = [
    {"latent_covariance": "shared"},
    {"latent_posterior": "mean-field"},
    {"latent_dim": 13},
]


@pytest.fixture(autouse=True)
def turned_on(monkeypatch):
    monkeypatch.setenv(SWITCH, "1")


def model_of(name, n=150):
    formula, arguments = PROBLEMS[name]
    rng = np.random.default_rng(0)
    table = bvb.datasets.SIMULATIONS["pinwheel"].sample(n, rng)
    table["two"] = np.where(table["label"] == table["label"].iloc[0], "this", "that")
    table["y"] = np.sin(2.0 * table["x1"]) + 0.2 * rng.normal(size=n)
    table["z"] = table["x2"] + 0.2 * rng.normal(size=n)
    return bvb.ConditionalMixtureNetwork(
        formula, table.assign(w=rng.integers(1, 4, n)), **arguments
    )


def passes(name, monkeypatch):
    """Every pass of some runs in NumPy, with one inner step or two: model, rows, where it led."""
    found = []

    def recorded(model, source, stats):
        found.append((model, source, one_pass(model, source, stats)))
        return found[-1][2]

    monkeypatch.setenv(SWITCH, "0")
    monkeypatch.setattr(engine, "one_pass", recorded)
    for limits in ({}, {"tol": 1e-6}):
        model_of(name).fit(restarts=2, seed=1, max_iter=15, n_jobs=1, combine="best", **limits)
    monkeypatch.setenv(SWITCH, "1")
    return found


@pytest.mark.parametrize("name", ["three classes", "two responses"])
def test_very_many_rows_are_summed_by_block(name, monkeypatch):
    model, source, here = passes(name, monkeypatch)[-1]
    blocks = InMemorySource(tuple(source.whole().split(37)))
    monkeypatch.setattr(compiled_pass, "MOST_ROWS", 149)
    bound, following = model.compiled(blocks)(here.stats.to_vector())
    assert_allclose(bound, here.bound, rtol=1e-12)
    assert_allclose(following, here.following.to_vector(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_pass_has_the_bound_and_the_statistics_of_numpy(name, monkeypatch):
    found = passes(name, monkeypatch)
    assert len(found) > 20
    for model, source, here in found[::3]:
        bound, following = model.compiled(source)(here.stats.to_vector())
        assert_allclose(bound, here.bound, rtol=1e-12)
        ahead = here.following.with_vector(following)
        for (leaf, own), (_, other) in zip(ahead.leaves(), here.following.leaves(), strict=True):
            largest = np.abs(other).max(initial=0.0)
            assert_allclose(own, other, rtol=1e-9, atol=1e-10 * largest, err_msg=leaf)


@pytest.mark.parametrize("name", ["three classes", "numbers"])
def test_a_fit_has_the_numbers_of_numpy(name, monkeypatch):
    """Of few passes: extrapolation makes rounding errors grow in the hundreds of a whole run."""
    fits = []
    for switch in ("0", "1"):
        monkeypatch.setenv(SWITCH, switch)
        fits.append(model_of(name).fit(seed=1, restarts=2, max_iter=15))
    without, within = fits
    assert_allclose(within.elbo, without.elbo, rtol=1e-10)
    assert_allclose(within.restarts["elpd_per_row"], without.restarts["elpd_per_row"], rtol=1e-8)
    assert_allclose(*(fit.log_density() for fit in fits), atol=1e-8)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
def test_any_number_of_rows_fills_pieces_and_labels_may_have_another_order(n, monkeypatch):
    model, source, here = passes("case weights", monkeypatch)[-1]
    model, stats = model.permuted([2, 0, 3, 1], here.stats)
    some = InMemorySource.of(source.take(np.arange(n)))
    expected = one_pass(model, some, stats)
    bound, following = model.compiled(some)(stats.to_vector())
    assert_allclose(bound, expected.bound, rtol=1e-12)
    assert_allclose(following, expected.following.to_vector(), rtol=1e-9, atol=1e-9)


def test_statistics_of_no_data_are_refused_as_in_numpy(monkeypatch):
    model, source, here = passes("numbers", monkeypatch)[-1]
    for outside in (-5.0 * here.stats.to_vector(), np.full(here.stats.to_vector().size, np.nan)):
        with pytest.raises(np.linalg.LinAlgError):
            model.compiled(source)(outside)


@pytest.mark.parametrize("arguments", OTHERS)
def test_other_networks_are_left_to_numpy(arguments):
    table = bvb.datasets.SIMULATIONS["pinwheel"].sample(50, np.random.default_rng(0))
    model = bvb.ConditionalMixtureNetwork("label ~ x1 + x2", table, n_experts=2, **arguments)
    assert model.core.compiled(model.source) is None


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_priors_with_correlations_are_left_to_numpy(make_problem, kind):
    problem = make_problem(kind, 0)
    assert problem.model.compiled(InMemorySource.of(problem.block)) is None
