"""The compiled core says whether it runs, and refuses arrays that do not belong together."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesvb as bvb
from bayesvb.numerics import compiled
from bayesvb.numerics.compiled import SWITCH, compiled_sweep, describe_core

built = pytest.mark.skipif(describe_core().startswith("not built"), reason="no compiler")

N, K, P, Q = 5, 2, 2, 1


def mixture_arrays(kind=0, gate=0, offset=0, stage=0):
    """Sizes, prior, rows and statistics of a mixture, with common columns and a grid where known.

    ``kind``: Gaussian, Student, counts. ``gate``: softmax, sticks, constant. ``stage``: a sweep,
    sums of rows, the end of a sweep.
    """
    common, q, logits = int(kind < 2), Q * (gate < 2), K - (gate == 1)
    sizes = [
        N,
        stage,
        K,
        P,
        q,
        0,
        offset,
        common,
        1,
        q,
        kind,
        gate,
        1,
        0,
        *[1] * common,
        0,
        *[4] * q,
    ]
    weights = (1 + q) * q + (logits * q if q else K)
    prior = np.full(8 + 2 * (P + common) + weights + 4 * (1 + q) + 8 * q, 0.5)
    experts = K * (3 + P + (0 if kind == 2 else 2) + (kind == 1))
    stats = np.ones(experts + (logits * 2 * q if q else K) + 2 * (1 + q))
    rows = np.linspace(-1.0, 1.0, N * (1 + offset + P + q))
    ahead = np.ones(len(stats) + (K if stage else 0))
    return np.array(sizes, dtype=np.int64), prior, rows, stats, ahead


ARRAYS = mixture_arrays()
_, _, ROWS, STATS, _ = ARRAYS


def network_arrays(classes, h=2, outputs=2, stage=0):
    """Sizes, prior, rows and statistics of a network of classes, or of numbers."""
    pairs = (h + 1) * (h + 2) // 2
    sizes = np.array([N, stage, K, P, Q, h, outputs, 1, classes, 0, 1, 1, 0], dtype=np.int64)
    prior = np.full(
        1 + h + P + K * Q + h + 1 + (outputs * (h + 1) if classes else 1 + outputs), 0.5
    )
    rows = np.linspace(0.1, 1.0, N * ((1 if classes else outputs) + 1 + P + Q))
    last = outputs * (pairs + h + 1) if classes else 1 + pairs + outputs * (h + 2)
    stats = np.ones(K * (1 + 3 + h * P + h) + (K - 1) * (1 + Q) + last)
    return sizes, prior, rows, stats, np.ones(len(stats) + (K if stage else 0))


def joint_arrays(d=2, stage=0):
    """Sizes, prior, rows and statistics of a mixture of Gaussians with case weights."""
    sizes = np.array([N, stage, K, d, 1], dtype=np.int64)
    prior = np.concatenate([[1.0, d, 0.0], np.zeros(d), np.eye(d).ravel(), np.full(K, 0.5)])
    stats = np.ones(K * (2 + d + d * (d + 1) // 2))
    rows = np.linspace(0.1, 1.0, N * (1 + d))
    return sizes, prior, rows, stats, np.ones(len(stats) + (K if stage else 0))


def drawn_arrays(h=2, sticks=2, points=4, draws=3):
    """Sizes, parameters and points, log weights, locations and probabilities of drawn classes."""
    sizes = np.array([N, draws, K, h, sticks, points], dtype=np.int64)
    small = np.full(3 + draws * sticks * (h + 1) + draws * K * h + points * h, 0.5)
    log_weights, location = np.full(draws * K * N, -0.7), np.ones(draws * K * h * N)
    return sizes, small, log_weights, location, np.empty(draws * (sticks + 1) * N)


CASES = {
    "mixture": ("sweep", ARRAYS),
    "Student noise and sticks": ("sweep", mixture_arrays(1, 1)),
    "counts and constant weights": ("sweep", mixture_arrays(2, 2, 1)),
    "classes": ("network", network_arrays(1)),
    "numbers": ("network", network_arrays(0)),
    "sums of rows": ("sweep", mixture_arrays(stage=1)),
    "end of a sweep": ("sweep", mixture_arrays(stage=2)),
    "sums of a network": ("network", network_arrays(1, stage=1)),
    "Gaussians": ("joint", joint_arrays()),
    "sums of Gaussians": ("joint", joint_arrays(stage=1)),
    "drawn classes": ("drawn", drawn_arrays()),
}

every_case = pytest.mark.parametrize("case", CASES)


@pytest.fixture(autouse=True, scope="module")
def turned_on():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "1")
        yield


@built
@every_case
def test_arrays_that_belong_together_have_a_sweep(case):
    name, arrays = CASES[case]
    assert isinstance(compiled_sweep(name)(*arrays), float)


@built
@every_case
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("change", [-1, 1])
def test_a_length_that_does_not_agree_is_refused(case, number, change):
    name, arrays = CASES[case]
    arrays = list(arrays)
    arrays[number] = np.resize(arrays[number], len(arrays[number]) + change)
    with pytest.raises(ValueError, match="lengths of the arrays do not agree"):
        compiled_sweep(name)(*arrays)


@built
@every_case
@given(at=st.integers(0, 16), value=st.integers(-(2**63), 2**63 - 1))
def test_no_size_leads_beyond_an_array(case, at, value):
    """What is computed may be anything; the sanitisers of .ci/run see what is read."""
    name, arrays = CASES[case]
    sizes = arrays[0].copy()
    sizes[at % len(sizes)] = value
    try:
        compiled_sweep(name)(sizes, *arrays[1:])
    except ValueError as error:
        assert "lengths of the arrays" in str(error)


@built
@every_case
@given(data=st.data())
def test_no_number_leads_beyond_an_array(case, data):
    name, (sizes, prior, rows, stats, ahead) = CASES[case]
    n = len(prior) + len(stats)
    numbers = np.array(data.draw(st.lists(st.floats(), min_size=n, max_size=n)))
    prior, stats = np.split(numbers, [len(prior)])
    assert isinstance(compiled_sweep(name)(sizes, prior, rows, stats, ahead), float)


@built
def test_arrays_that_are_not_contiguous_or_read_only_are_refused():
    with pytest.raises((BufferError, ValueError)):
        compiled_sweep()(*ARRAYS[:2], np.resize(ROWS, 2 * len(ROWS))[::2], *ARRAYS[3:])
    fixed = np.empty_like(STATS)
    fixed.flags.writeable = False
    with pytest.raises((BufferError, TypeError, ValueError)):
        compiled_sweep()(*ARRAYS[:4], fixed)


@built
def test_the_environment_turns_it_off(monkeypatch):
    monkeypatch.delenv(SWITCH, raising=False)
    assert describe_core() == "runs"
    monkeypatch.setenv(SWITCH, "0")
    assert compiled_sweep() is None
    assert describe_core() == f"turned off by {SWITCH}=0"


def test_without_the_module_numpy_runs(monkeypatch):
    monkeypatch.setattr(compiled, "_imported", lambda: None)
    assert compiled_sweep() is None
    assert describe_core() == "not built: NumPy runs"


@pytest.mark.parametrize("of_core", [{}, {"INTERFACE": compiled.INTERFACE + 1}])
def test_a_core_of_another_version_is_named_once_and_numpy_runs(of_core, monkeypatch, capsys):
    other = ModuleType("old")
    vars(other).update(of_core, __file__="old.so", sweep=min)
    monkeypatch.setattr(compiled, "_imported", lambda: other)
    with pytest.warns(RuntimeWarning, match=r"old\.so is of another .* run 'pip install -e \."):
        assert compiled_sweep() is None
    assert compiled_sweep("network") is None  # and no second warning
    bvb.show_versions()
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "compiled core: of another version: NumPy runs; install bayesvb again"


def test_both_languages_have_the_same_number_of_the_interface():
    source = Path(compiled.__file__).with_name("sweep.c").read_text()
    assert f"#define INTERFACE {compiled.INTERFACE}\n" in source
