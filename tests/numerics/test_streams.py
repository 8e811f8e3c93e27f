"""Named random streams: what each seed has always meant, and no two uses that meet."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesvb.numerics.streams import NUMBERS, EngineStreams, Streams

SEEDS = (0, 1, 7, 2**32 - 1, 2**63 - 1)
RESTARTS = 3


def words(rng):
    """Enough bits that two streams do not agree by chance."""
    return tuple(rng.integers(0, 2**63, size=3).tolist())


def every_stream(seed, n_rows):
    """All streams that one fit to so many rows can ask for, by what they are for."""
    streams = Streams(seed, RESTARTS)
    found = {("start", number): streams.start(number) for number in range(RESTARTS)}
    found |= {
        "screening": streams.screening(),
        "draws": streams.draws(),
        "response_rows": streams.response_rows(),
        "reliability": streams.reliability(n_rows),
    }
    found |= {name: streams.rng(name) for name in NUMBERS}
    found |= {("rows", most): streams.rows(most, n_rows) for most in range(1, n_rows)}
    found |= {
        ("sets", at, n): streams.replicated_sets(at, n) for at in range(1, n_rows) for n in (1, 2)
    }
    paths = [("a",), ("b",), ("ab",), ("a", "b"), ("a", ""), ("\0",), ("a\0b",), ("aĀ",)]
    found |= {("path", path): streams.branch(*path[:-1]).rng(path[-1]) for path in paths}
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_rows", [1, 3, 5, 6, 12])
def test_no_two_streams_of_a_fit_meet(seed, n_rows):
    found = {name: words(rng) for name, rng in every_stream(seed, n_rows).items()}
    same = [pair for pair in combinations(found, 2) if found[pair[0]] == found[pair[1]]]
    assert same == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_streams_of_a_search_are_the_children_of_its_seed(seed):
    *starts, draws, rows = np.random.SeedSequence(seed).spawn(RESTARTS + 3)
    streams = Streams(seed, RESTARTS)
    given = [*(streams.start(number) for number in range(RESTARTS)), streams.screening()]
    given += [streams.draws(), streams.response_rows()]
    for child, rng in zip([*starts, draws, rows], given, strict=True):
        assert words(np.random.default_rng(child)) == words(rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_streams_of_a_finished_fit_keep_their_numbers(seed):
    streams = Streams(seed)
    numbers = {"replicates": 1, "importance": 2, "stacking": 3, "pruning": 4, "prior": 5}
    given = {(number,): streams.rng(name) for name, number in numbers.items()}
    given |= {(most,): streams.rows(most, 5001) for most in (400, 2000, 3000, 5000)}
    given |= {(n_all,): streams.reliability(n_all) for n_all in (6, 150)}
    given |= {(272, 40): streams.replicated_sets(272, 40)}
    for key, rng in given.items():
        assert words(rng) == words(np.random.default_rng([seed, *key]))
    assert set(numbers) == set(NUMBERS)


def test_the_bits_themselves():
    assert_array_equal(Streams(1, 2).start(0).integers(0, 2**32, size=2), [66015038, 3002330520])
    assert_array_equal(
        Streams(1).rng("replicates").integers(0, 2**32, size=2), [2228177951, 1425381069]
    )
    assert_array_equal(
        Streams(1).branch("restart", 3).rng("rows").integers(0, 2**32, size=2),
        [2038107986, 801251781],
    )


def test_a_stream_begins_anew_each_time_it_is_asked_for():
    for first, second in zip(every_stream(4, 7).values(), every_stream(4, 7).values(), strict=True):
        assert words(first) == words(second)


def test_a_branch_of_a_branch_is_a_branch_of_both_names():
    streams = Streams(9)
    assert streams.branch("fold").branch(2) == streams.branch("fold", "2")
    assert EngineStreams(9).branch("fold", 2).path == ("fold", "2")


def test_there_is_no_stream_for_a_run_that_was_not_asked_for():
    with pytest.raises(ValueError, match="number=3 is not one of 3 restarts"):
        Streams(1, RESTARTS).start(RESTARTS)
    with pytest.raises(ValueError, match="number=-1"):
        Streams(1, RESTARTS).start(-1)
    with pytest.raises(ValueError, match="number=0"):
        Streams(1).start(0)


def test_there_is_no_choice_of_all_rows_and_no_empty_replicates():
    with pytest.raises(ValueError, match="most=10 must be below the number of rows, 10"):
        Streams(1).rows(10, 10)
    with pytest.raises(ValueError, match="n_sets=0"):
        Streams(1).replicated_sets(10, 0)
