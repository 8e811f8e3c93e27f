"""What an ascent would still gain, told from gains that are geometric, irregular or nothing."""

import numpy as np
import pytest

from bayesvb.engines.stopping import CYCLES, RemainingGain, sweeps_to_go


def recorded(gains, to_go):
    """What is left after cycles with these gains, each of one plain sweep."""
    remaining = RemainingGain()
    for gain, length in zip(gains, np.broadcast_to(to_go, len(gains)), strict=True):
        remaining.record(sweep=gain, cycle=gain, to_go=length)
    return remaining.nats(bound=0.0)


@pytest.mark.parametrize("rate", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("first", [1e-6, 1.0, 1e3])
def test_a_geometric_series_is_not_underestimated(rate, first):
    """Ways shorten by the rate, gains by its square; at most the last sums are ahead of it."""
    gains = first * rate ** (2.0 * np.arange(12))
    left = gains[-1] * rate**2 / (1.0 - rate**2)
    found = recorded(gains, 1.0 / (1.0 - rate))
    assert left <= found < left * (1.0 + 1.0 / rate ** (2.0 * CYCLES)) * CYCLES / rate**2


def test_irregular_extrapolations_do_not_hide_a_slow_axis():
    """Sweeps that go to and fro along other axes, whose norms are short: gains tell the ratio."""
    gains = 0.95 ** np.arange(60.0)
    cycles, found = gains * np.tile([1.6, 1.2, 1.6, 0.8, 1.0, 0.8], 10), {}
    for is_regular in (True, False):
        remaining = RemainingGain(is_regular=is_regular)
        for sweep, cycle in zip(gains[:30], cycles, strict=False):
            remaining.record(sweep=sweep, cycle=cycle, to_go=0.7)
        found[is_regular] = remaining.nats(bound=0.0)
    assert found[True] < cycles[30:].sum() < found[False] < 2.0 * cycles[30:].sum()


def test_one_slow_cycle_among_many_is_remembered():
    gains = 0.5 ** np.arange(14)
    slow = np.where(np.arange(14) == 5, 100.0, 2.0)
    assert recorded(gains, slow) == pytest.approx(50.0 * gains[-2])
    assert recorded(gains, 2.0) < 3.0 * gains[-2]


def test_gains_that_grow_are_no_end():
    assert recorded(1e-9 * 1.2 ** np.arange(12), 3.0) == np.inf


@pytest.mark.parametrize("n_cycles", range(2 * CYCLES))
def test_too_few_cycles_tell_nothing(n_cycles):
    assert recorded(0.1 ** np.arange(n_cycles), 1.1) == np.inf


@pytest.mark.parametrize(("rate", "is_told"), [(0.1, True), (0.3, False)])
def test_two_fast_cycles_are_enough_for_one_component(rate, is_told):
    """Gains fall by the square of the rate; what is left is told with a margin, or not at all."""
    single, several = RemainingGain(is_simple=True), RemainingGain()
    gains = 5.0 * rate ** (2.0 * np.arange(3))
    for gain in gains[:2]:
        for remaining in (single, several):
            remaining.record(sweep=gain, cycle=gain, to_go=1.0 / (1.0 - rate))
    assert several.nats(bound=0.0) == np.inf
    found = single.nats(bound=0.0)
    assert (gains[2] < found < 2.0 * gains[1]) if is_told else found == np.inf


def test_two_cycles_without_a_gain_are_the_end():
    assert recorded([3.0, 0.0, 0.0], 50.0) == 0.0
    assert recorded([3.0, 0.0, -1.0], 50.0) == 0.0
    assert recorded([3.0, 0.0, 1e-12], 50.0) == np.inf
    remaining = RemainingGain()
    for gain in (3.0, 0.0, 1e-12):
        remaining.record(sweep=gain, cycle=gain, to_go=50.0)
    assert remaining.nats(bound=-1e4) == 0.0


def test_a_cycle_that_gained_by_its_extrapolation_is_not_the_end():
    remaining = RemainingGain()
    for _ in range(3):
        remaining.record(sweep=0.0, cycle=1.0, to_go=2.0)
    assert remaining.nats(bound=0.0) == np.inf


def test_sweeps_to_go_of_no_change_and_of_a_straight_way(rng):
    start, change = rng.normal(size=(2, 4))
    assert sweeps_to_go(start, start, start) == 0.0
    assert sweeps_to_go(np.zeros(4), np.ones(4), 2.0 * np.ones(4)) == np.inf
    ahead = [start + (1.0 - 0.8**n) * change for n in (0, 1, 2)]
    assert sweeps_to_go(*ahead) == pytest.approx(5.0)
