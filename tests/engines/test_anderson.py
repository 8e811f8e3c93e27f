"""Anderson extrapolation: exact for linear maps, safe-guarded in ascents, restored to the bit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.engines import anderson
from bayesvb.engines.anderson import AndersonMemory
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import ROUNDING, Cavi, cavi
from bayesvb.engines.restarts import MEMORY, search
from bayesvb.engines.run_log import AbstractRunPage
from bayesvb.numerics.streams import Streams

RATES = np.array([0.99, 0.9, 0.5, -0.3])


def recorded(memory, cycles, point):
    """The memory of so many cycles of two sweeps of a linear map, and where they ended."""
    for _ in range(cycles):
        once = RATES * point
        memory.record(point, once, RATES * once)
        point = RATES * once
    return memory


def test_a_linear_map_is_solved_from_one_pair_more_than_it_has_dimensions():
    memory = recorded(AndersonMemory(6), 3, np.array([3.0, -2.0, 5.0, 1.0]))
    assert_allclose(memory.extrapolation(), 0.0, atol=1e-9)


def test_fewer_pairs_propose_nothing():
    assert recorded(AndersonMemory(6), 1, np.ones(4)).extrapolation() is None
    assert recorded(AndersonMemory(0), 5, np.ones(4)).extrapolation() is None


def test_long_vectors_are_not_kept(monkeypatch):
    monkeypatch.setattr(anderson, "MOST_ENTRIES", 3)
    memory = recorded(AndersonMemory(6), 3, np.ones(4))
    assert memory.extrapolation() is None and not memory.arrays()


def test_a_restored_memory_proposes_the_same_bits():
    memory, again = recorded(AndersonMemory(6), 4, np.ones(4)), AndersonMemory(6)
    again.restore(memory.arrays())
    assert_array_equal(again.extrapolation(), memory.extrapolation())


def test_the_arrays_of_a_run_without_memory_restore_none():
    memory = AndersonMemory(6)
    memory.restore(AndersonMemory(0).arrays())
    assert memory.extrapolation() is None


@pytest.mark.parametrize(
    "damage",
    [{"memory.images": np.ones((2, 3))}, {"memory.points": np.full((4, 4), np.nan)}],
)
def test_damaged_pairs_raise(damage):
    arrays = recorded(AndersonMemory(4), 4, np.ones(4)).arrays() | damage
    with pytest.raises(ValueError, match="memory"):
        AndersonMemory(4).restore(arrays)


@pytest.fixture(scope="module")
def begun():
    """A slow ascent, two components for one line, that has come near its optimum."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, 300)
    data = pd.DataFrame({"x": x, "y": 2.0 * x + 0.2 * rng.standard_normal(300)})
    model = bvb.DensityRegression(
        "y ~ x | gating(x)", data, n_components=2, gate="stick-breaking",
        priors=bvb.Priors(scale_rate=0.005),
    )  # fmt: skip
    near = search(
        model.core, model.source, Cavi(), restarts=1, budget=Budget(), streams=Streams(1, 1),
        rough=True,
    )  # fmt: skip
    return model.core, model.source, near.final.stats


def test_an_ascent_that_begins_near_the_optimum_takes_fewer_passes_with_memory(begun):
    plain, ahead = (cavi(*begun, tol=1e-8, memory=memory) for memory in (0, MEMORY))
    assert ahead.converged and (np.diff(ahead.trace) >= -ROUNDING * abs(ahead.bound)).all()
    assert ahead.bound > plain.bound - 1e-6
    assert ahead.n_iter < 0.6 * plain.n_iter  # 13 of 43


class Page(AbstractRunPage):
    """States of a run in a list."""

    def __init__(self, known):
        self.at_first, self.states = known, []

    @property
    def known(self):
        return self.at_first

    def keep(self, state):
        self.states.append(state)

    def write(self):
        pass


def test_an_ascent_goes_on_from_a_written_state_to_the_same_bits(begun):
    whole = Page({})
    ended = cavi(*begun, tol=1e-10, memory=MEMORY, page=whole)
    again = cavi(*begun, tol=1e-10, memory=MEMORY, page=Page(whole.states[8]))
    assert_array_equal(again.trace, ended.trace)
    assert_array_equal(again.stats.to_vector(), ended.stats.to_vector())
