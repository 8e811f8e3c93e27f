"""Extrapolation between sweeps: how far it goes; runs that need the rows once."""

from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from jaxtyping import Float
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import Iterate, one_pass
from bayesvb.engines.cavi import cavi, squared_extrapolation


@pytest.mark.parametrize(
    ("factor", "length"),
    [
        (0.9, 10.0),  # slow: as far as the fixed point, 1 / (1 - factor)
        (0.999, 64.0),  # slower than the longest step allows
        (0.5, 2.0),
        (-0.5, 1.0),  # beyond and back: 2 / 3, which would fall short of the second sweep
    ],
)
def test_a_step_is_between_two_sweeps_and_the_longest(factor, length):
    start = np.array([2.0, -1.0, 0.5])
    once, twice = factor * start, factor**2 * start
    ahead, found = squared_extrapolation(start, once, twice, longest=64.0)
    assert found == pytest.approx(length)
    # (1 - l (1 - f))^2 times the start, which is the fixed point for l = 1 / (1 - f)
    assert_allclose(ahead, (1.0 - length * (1.0 - factor)) ** 2 * start, atol=1e-12)


def test_a_map_that_only_shifts_is_followed_as_far_as_allowed():
    start = np.zeros(2)
    ahead, length = squared_extrapolation(start, start + 1.0, start + 2.0, longest=16.0)
    assert length == 16.0
    assert_allclose(ahead, 32.0)


@pytest.mark.parametrize("formula", ["y ~ x", "y ~ x + (1 | g)"])
@pytest.mark.parametrize("n_components", [1, 2])
def test_a_lone_gaussian_component_needs_its_rows_once(formula, n_components, monkeypatch):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=40), "g": np.tile(list("abcd"), 10)})
    data["y"] = data["x"] + rng.normal(size=40)
    model = bvb.DensityRegression(formula, data, n_components=n_components)
    core, source, passes = model.core, model.source, []
    share = np.full((n_components, 40), 1.0 / n_components)
    start = core.first_stats(core.partition_stats(source.whole(), share))
    plain = InMemorySource.map_reduce

    def counted(rows, function):
        passes.append(rows.n_rows)
        return plain(rows, function)

    monkeypatch.setattr(InMemorySource, "map_reduce", counted)
    found = cavi(core, source, start, max_iter=6)
    assert passes.count(40) == (1 if n_components == 1 else found.n_iter)
    assert found.bound == pytest.approx(one_pass(core, source, found.stats).bound, rel=1e-12)


@dataclass(frozen=True)
class Place(SufficientStats):
    """A point."""

    at: Float[np.ndarray, "*many axes"]


@pytest.mark.parametrize("overshot", [0.01, 0.1, 1.0, 10.0])
def test_an_axis_that_is_overshot_does_not_hide_a_slow_one(overshot, monkeypatch, unchecked):
    """Where full steps lower the bound, damped ones are extrapolated and say what is left."""
    factors = np.array([-9.0, 0.98])

    def one_pass(model, source, stats):
        return Iterate(stats, -0.5 * float(stats.at @ stats.at), Place(factors * stats.at))

    monkeypatch.setattr(import_module("bayesvb.engines.cavi"), "one_pass", one_pass)
    model = SimpleNamespace(is_conjugate=False, has_slow_directions=True)
    model.compiled = lambda source: None
    found = cavi(model, None, Place(np.array([overshot, 3.0])))
    assert found.converged
    assert -found.bound < 1e-3
    assert found.n_iter < 80
