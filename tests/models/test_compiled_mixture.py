"""The compiled core has the numbers of NumPy: pass by pass, and whole fits."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.engines import cavi as engine
from bayesvb.engines import side_by_side
from bayesvb.engines.base import Budget, one_pass
from bayesvb.engines.restarts import _Task
from bayesvb.formula.passes import representatives
from bayesvb.models import compiled_pass
from bayesvb.numerics.compiled import SWITCH, describe_core
from bayesvb.numerics.streams import EngineStreams

pytestmark = [
    pytest.mark.skipif(describe_core().startswith("not built"), reason="there was no compiler"),
    pytest.mark.filterwarnings("ignore:the ELBO was still increasing"),
]

DOF = bvb.Priors(dof=4.0)
LEARNED, FIXED = bvb.Priors(scales="learned"), bvb.Priors(scales="fixed")
PROBLEMS = {
    "two components": ("y ~ x + z | gating(x)", {}),
    "five components": ("y ~ x + z | gating(x + z)", {"n_components": 5}),
    "constant gate": ("y ~ x + z | gating(1)", {"n_components": 3}),
    "intercepts only": ("y ~ 1 | gating(x)", {"n_components": 3}),
    "factor": ("y ~ x + g | gating(g)", {"n_components": 3}),
    "smooth": ("y ~ s(x) + z | gating(s(x))", {"n_components": 3}),
    "many columns": ("y ~ s(x) + s(z) + g | gating(s(x) + g)", {"n_components": 3}),
    "learned scales": ("y ~ x + z | gating(x)", {"n_components": 3, "priors": LEARNED}),
    "case weights": ("y ~ x + z | gating(x)", {"n_components": 3, "weights": "w"}),
    "fixed scales": ("y ~ x + z | gating(x)", {"n_components": 3, "priors": FIXED}),
    "sticks": ("y ~ x + z | gating(x)", {"n_components": 4, "gate": "stick-breaking"}),
    "dirichlet": ("y ~ x + z | gating(1)", {"n_components": 3, "gate": "dirichlet"}),
    "student": ("y ~ x + z | gating(x)", {"n_components": 3, "family": "student"}),
    "fixed dof": ("y ~ x | gating(x)", {"family": "student", "weights": "w", "priors": DOF}),
    "student sticks": ("y ~ x | gating(z)", {"family": "student", "gate": "stick-breaking"}),
    "counts": ("n ~ x + z | gating(x)", {"family": "poisson", "n_components": 3}),
    "gaussians": ("~ x + y + z", {"n_components": 3}),
    "weighted gaussians": ("~ x + y", {"n_components": 4, "weights": "w"}),
    "rates": ("n ~ x + offset(t) | gating(z)", {"family": "poisson", "weights": "w"}),
}
"""Formula and arguments; that scales differ shows in the numbers of statistics."""


@pytest.fixture(autouse=True)
def turned_on(monkeypatch):
    monkeypatch.setenv(SWITCH, "1")


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-2.0, 2.0, n), rng.normal(size=n)
    first = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(first, 1.0 + x + 0.5 * z, -1.0 - 0.5 * x) + 0.4 * rng.normal(size=n)
    columns = {"y": y, "x": x, "z": z, "g": rng.choice(list("abcd"), n)}
    counts = rng.poisson(np.where(first, 3.0, np.exp(0.5 * x)))
    return pd.DataFrame({**columns, "w": rng.integers(1, 4, n), "n": counts, "t": 0.3 * z})


def model_of(name, n=150):
    formula, arguments = PROBLEMS[name]
    public = bvb.GaussianMixture if formula.startswith("~") else bvb.DensityRegression
    return public(formula, table(n), **{"n_components": 2, **arguments})


@cache
def passes(name):
    """Every pass of some runs in NumPy: model, rows, and where it led."""
    found = []

    def recorded(model, source, stats):
        found.append((model, source, one_pass(model, source, stats)))
        return found[-1][2]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "0")
        patch.setattr(engine, "one_pass", recorded)
        model_of(name).fit(restarts=3, seed=1, max_iter=60, n_jobs=1)
    return found


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_pass_has_the_bound_and_the_statistics_of_numpy(name):
    found = passes(name)
    assert len(found) > 20
    for model, source, here in found:
        bound, following = model.compiled(source)(here.stats.to_vector())
        assert_allclose(bound, here.bound, rtol=1e-12)
        ahead = here.following.with_vector(following)
        for (leaf, own), (_, other) in zip(ahead.leaves(), here.following.leaves(), strict=True):
            assert_allclose(own, other, rtol=1e-9, atol=1e-10 * np.abs(other).max(), err_msg=leaf)


@pytest.mark.heavy
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_fit_has_the_numbers_of_numpy(name, monkeypatch):
    fits = []
    for switch in ("0", "1"):
        monkeypatch.setenv(SWITCH, switch)
        fits.append(model_of(name).fit(seed=1))
    without, within = fits
    assert_allclose(within.elbo, without.elbo, rtol=1e-12)
    assert abs(within.n_iter - without.n_iter) <= 0.02 * without.n_iter
    one, other = (fit.stats.to_vector() for fit in fits)
    assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def test_rows_whose_logits_vary_much_are_among_them():
    """These have an algorithm of their own, of which pieces of rows have some and not others."""
    variances = []
    for model, source, here in passes("smooth")[::5]:
        gate = model.update(here.stats).gate
        variances.append(model.gate.design(source.whole()).quadratic(gate.operator).max(axis=0))
    hard = np.array(variances) > 4.0
    assert 0.0 < hard.mean() < 1.0


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130, 30_000])
def test_any_number_of_rows_fills_pieces(n):
    model, source, here = passes("case weights")[-1]
    some = InMemorySource.of(source.take(np.sort(np.arange(n) % source.n_rows)))
    expected = one_pass(model, some, here.stats)
    bound, following = model.compiled(some)(here.stats.to_vector())
    assert_allclose(bound, expected.bound, rtol=1e-12)
    assert_allclose(following, expected.following.to_vector(), rtol=1e-9, atol=1e-9)


def test_statistics_of_no_data_are_refused_as_in_numpy():
    model, source, here = passes("two components")[-1]
    with pytest.raises(np.linalg.LinAlgError):
        one_pass(model, source, -5.0 * here.stats)
    with pytest.raises(np.linalg.LinAlgError):
        model.compiled(source)((-5.0 * here.stats).to_vector())
    with pytest.raises(np.linalg.LinAlgError):
        model.compiled(source)(np.full(here.stats.to_vector().size, np.nan))


@pytest.mark.parametrize(
    ("formula", "arguments"),
    [
        ("y ~ x", {"n_components": 1}),
        ("n ~ x | gating(x)", {"family": "negbinomial"}),
        ("y ~ x | gating(x)", {"gate": "softmax-jensen"}),
        ("y ~ x | gating(1)", {"group": "g"}),
    ],
)
def test_other_models_are_left_to_numpy(formula, arguments):
    model = bvb.DensityRegression(formula, table(), **{"n_components": 2, **arguments})
    fit = model.fit(restarts=1, seed=1)
    assert fit.core.compiled(fit.model.source) is None


@pytest.mark.parametrize(("covariance", "width"), [("diagonal", 2), ("full", 13)])
def test_other_mixtures_of_gaussians_are_left_to_numpy(covariance, width):
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(40, width))).add_prefix("x")
    model = bvb.GaussianMixture("~ .", wide, n_components=2, covariance=covariance)
    assert model.core.compiled(model.source) is None
    estimates = bvb.GaussianMixture("~ x0", wide, n_components=2)
    assert estimates.core.compiled(estimates.source) is not None
    assert estimates.core.with_prior_power(0.0).compiled(estimates.source) is None


@pytest.mark.parametrize("limit", ["MOST_ROWS", "MOST_NUMBERS"])
@pytest.mark.parametrize(
    "name",
    [
        "learned scales",
        "many columns",
        "case weights",
        "dirichlet",
        "student sticks",
        "weighted gaussians",
    ],
)
def test_very_many_rows_are_summed_by_block(name, limit, monkeypatch):
    model, source, here = passes(name)[-1]
    blocks = InMemorySource(tuple(source.whole().split(37)))
    assert type(model.compiled(blocks)) is compiled_pass.CompiledPass
    monkeypatch.setattr(compiled_pass, limit, 149)
    run = model.compiled(blocks)
    assert type(run) is compiled_pass.StreamedPass
    bound, following = run(here.stats.to_vector())
    assert_allclose(bound, here.bound, rtol=1e-12)
    assert_allclose(following, here.following.to_vector(), rtol=1e-9, atol=1e-9)
    other = model.compiled(blocks.with_workers(2))(here.stats.to_vector())
    assert bound == other[0] and np.array_equal(following, other[1])
    with pytest.raises(np.linalg.LinAlgError):
        run((-5.0 * here.stats).to_vector())
    monkeypatch.setenv(SWITCH, "0")
    assert model.compiled(blocks) is None


def test_counts_of_very_many_rows_are_left_to_numpy(monkeypatch):
    model, source, _ = passes("counts")[0]
    monkeypatch.setattr(compiled_pass, "MOST_ROWS", 149)
    assert model.compiled(source) is None


def test_files_are_summed_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 100)
    table(400).to_parquet(tmp_path / "rows.parquet", row_group_size=90)
    model = bvb.DensityRegression("y ~ x | gating(x)", tmp_path / "rows.parquet", n_components=2)
    stats = model.fit(seed=1, restarts=1, max_iter=3).stats
    run = model.core.compiled(model.all_rows)
    assert type(run) is compiled_pass.StreamedPass
    assert_allclose(run(stats.to_vector())[0], one_pass(model.core, model.all_rows, stats).bound)


@pytest.mark.parametrize(("switch", "places"), [("0", 2), ("1", 1)])
def test_short_runs_of_the_core_need_no_processes(switch, places, monkeypatch):
    monkeypatch.setenv(SWITCH, switch)
    model = model_of("two components", 600)
    task = _Task(engine.Cavi(), model.source.with_workers(2), Budget(), EngineStreams(1))
    assert task.places(model.core, 1000) == places
    assert task.places(model.core, 100_000) == 2


def test_fits_are_the_same_for_any_number_of_workers(monkeypatch):
    monkeypatch.setattr(side_by_side, "LITTLE_WORK", 0)
    frame = table(600)
    one, two = (
        bvb.DensityRegression("y ~ x | gating(x)", frame, n_components=3).fit(seed=1, n_jobs=n)
        for n in (1, 2)
    )
    assert one.elbo == two.elbo
    assert one.summary().equals(two.summary())
