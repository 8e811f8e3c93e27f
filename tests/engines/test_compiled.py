"""Densities compiled once for all rows of one shape: the values, and when two are the same."""

import pkgutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines.compiled import Place, RowlessPotential, kept_for_equal, potential_of
from bayesvb.engines.differentiated import Target

pytestmark = pytest.mark.usefixtures("unchecked")  # rows hold a `Place` where they hold arrays


def frame(seed, n=30):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": rng.normal(size=n), "id": np.arange(n) // 3})
    # The prior depends on how many rows there are, so the counts have one sum.
    counts = rng.permutation(np.arange(n) % 2 + 1)
    return data.assign(y=data["x"] + rng.normal(size=n), count=counts)


def target_of(seed, n=30, **options):
    options = {"n_components": 2, "weights": "count", **options}
    gate = "1" if "group" in options else "x"
    model = bvb.DensityRegression(f"y ~ x | gating({gate})", frame(seed, n), **options)
    return Target.of(model.core, model.source)


@pytest.mark.parametrize("options", [{}, {"family": "student"}, {"group": "id", "weights": None}])
def test_the_value_is_that_of_the_rows(options):
    target = target_of(1, **options)
    potential, arrays = RowlessPotential.of(target)
    for vector in target.space.vectors(target.model.prior_draws(3, np.random.default_rng(1))):
        assert_allclose(potential(vector, arrays), target.potential(vector), rtol=1e-14)


def test_each_array_is_given_once():
    target = target_of(1)
    both = np.ones((2, 30))
    rows = replace(target.rows, designs={"mean": both, "gating": both})
    potential, arrays = RowlessPotential.of(replace(target, rows=rows))
    assert set(potential.target.rows.designs.values()) == {Place(0, (2, 30))}
    assert [array.shape for array in arrays] == [(2, 30), (1, 30), (30,)]


def test_other_rows_of_the_same_shape_are_the_same_function():
    one, two = (RowlessPotential.of(target_of(seed))[0] for seed in (1, 2))
    assert one == two and hash(one) == hash(two)


@pytest.mark.parametrize(
    "options",
    [{"n": 31}, {"n_components": 3}, {"gate": "stick-breaking"}, {"weights": None},
     {"priors": bvb.Priors(coefficient_sd=3.0, scales="fixed")}],
    ids=str,
)  # fmt: skip
def test_another_model_or_shape_is_another_function(options):
    one, two = RowlessPotential.of(target_of(1))[0], RowlessPotential.of(target_of(1, **options))[0]
    assert one != two


def test_other_groups_of_rows_are_another_function():
    target = target_of(1, group="id", weights=None)
    members = target.rows.members
    moved = replace(members, starts=members.starts + (np.arange(len(members.starts)) == 1))
    other = replace(target, rows=replace(target.rows, members=moved))
    assert RowlessPotential.of(target)[0] == RowlessPotential.of(target)[0]
    assert RowlessPotential.of(target)[0] != RowlessPotential.of(other)[0]


def test_what_holds_the_rows_is_not_kept():
    made = []

    @kept_for_equal
    def make(potential, setting):
        made.append((potential, setting))
        return object()

    (one, _), (two, _) = (RowlessPotential.of(target_of(seed)) for seed in (1, 2))
    assert make(one, 3) is make(two, 3) and make(one, 4) is not make(two, 3)
    assert len(made) == 2
    assert make(target_of, 3) is not make(target_of, 3)


@pytest.mark.mcmc
def test_a_model_that_needs_its_rows_when_it_is_compiled_gets_them(x64):
    data = frame(1).assign(z=lambda d: d["x"].where(d["x"] > -0.5))
    model = bvb.BayesianPCA("~ x + y + z", data)
    target = Target.of(model.core, model.source)
    potential, arrays = potential_of(target)
    vector = target.space.vectors(model.core.prior_draws(1, np.random.default_rng(1)))[0]
    assert arrays == () and not isinstance(potential, RowlessPotential)
    assert potential(vector, ()) == target.potential(vector)


@pytest.mark.mcmc
def test_a_model_that_cannot_be_pickled_keeps_its_rows(x64, monkeypatch):
    monkeypatch.setattr("bayesvb.engines.compiled.RowlessPotential.of", lambda target: 1 / 0)
    assert potential_of(target_of(1))[1] == ()


@pytest.mark.mcmc
@pytest.mark.parametrize(
    ("method", "traced", "options"),
    [
        ("nuts", "numpyro.infer.hmc.HMC.init", {"chains": 2, "warmup": 20, "draws": 26}),
        ("bbvi", "bayesvb.engines.gaussian_guide.GuideFit.advance", {"steps": 20, "draws": 26}),
    ],
)
def test_a_second_data_set_is_fitted_by_what_was_compiled_for_the_first(
    method, traced, options, monkeypatch
):
    owner, name = pkgutil.resolve_name(traced.rpartition(".")[0]), traced.rpartition(".")[2]
    whole, count, counts = getattr(owner, name), [], []
    monkeypatch.setattr(
        owner, name, lambda *given, **more: count.append(1) or whole(*given, **more)
    )
    for seed, n in ((1, 40), (2, 40), (3, 41)):
        model = bvb.DensityRegression("y ~ x", frame(seed, n), n_components=1)
        model.fit(method, seed=seed, restarts=1, **options)
        counts.append(len(count))
    once = counts[0]
    assert counts == [once, once, 2 * once]


@pytest.mark.mcmc
def test_what_was_compiled_before_leaves_the_bits_as_they_are():
    model = bvb.DensityRegression("y ~ x", frame(4), n_components=1)
    options = {"seed": 1, "restarts": 1, "draws": 26, "chains": 1, "warmup": 20}
    alone = model.fit("nuts", **options)
    bvb.DensityRegression("y ~ x", frame(5), n_components=1).fit("nuts", **options)
    again = model.fit("nuts", **options)
    for name, values in alone.draws.items():
        np.testing.assert_array_equal(values, again.draws[name])
