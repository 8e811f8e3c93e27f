"""Rows shared among processes: the sums, bits, warnings and errors of one process."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float

import bayesvb as bvb
from bayesvb.data import forked_rows, sources
from bayesvb.data.blocks import Block
from bayesvb.data.dyadic_sums import total
from bayesvb.data.forked_rows import ForkedRows
from bayesvb.data.sources import InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines import side_by_side

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")

N_BLOCKS = 7


@dataclass(frozen=True)
class Total(SufficientStats):
    """A sum whose bits depend on the order of adding."""

    values: Float[np.ndarray, " entries"]


def summed(block, power=1.0):
    return Total(np.array([(block.response**power).sum(), float(block.n_rows)]))


def outside(block, what):
    """What happens only in processes that are not the first."""
    if os.getpid() != what["here"]:
        if what["does"] == "error":
            raise ZeroDivisionError("of the rows")
        if what["does"] == "warning":
            warnings.warn("of the rows", UserWarning, stacklevel=1)
        if what["does"] == "death":
            os.kill(os.getpid(), signal.SIGKILL)
    if what["does"] == "interrupt" and os.getpid() == what["here"]:
        raise KeyboardInterrupt
    return summed(block)


def doing(what):
    return partial(outside, what={"here": os.getpid(), "does": what})


def overflowing(block):
    return Total(np.exp(np.array([1e4, 1.0])))


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 40, N_BLOCKS)
    return tuple(
        Block({"mean": np.ones((1, n))}, rng.lognormal(sigma=5.0, size=(1, n)), None) for n in sizes
    )


@pytest.fixture
def rows(blocks, monkeypatch):
    """A source with its processes, whatever threads the tests themselves run in."""
    here = os.getpid()
    monkeypatch.setattr(sources, "can_fork", lambda: os.getpid() == here)
    with InMemorySource(blocks, workers=3).shared() as shared:
        assert shared.processes is not None and shared.processes.open
        yield shared


@pytest.fixture
def alone(blocks):
    return InMemorySource(blocks).map_reduce(summed).values


@settings(deadline=None, max_examples=15)
@given(places=st.integers(1, 9), sizes=st.lists(st.integers(1, 30), min_size=1, max_size=12))
def test_sums_have_the_bits_of_one_process(places, sizes):
    rng = np.random.default_rng(len(sizes))
    blocks = [
        Block({"mean": np.ones((1, n))}, rng.lognormal(sigma=5.0, size=(1, n)), None) for n in sizes
    ]
    processes = ForkedRows(blocks, places)
    try:
        expected = InMemorySource(tuple(blocks)).map_reduce(summed)
        found = processes.sums(summed)
        if found is None:  # one block, or one place
            assert min(places, len(sizes)) == 1 or len(sizes) == 1 or not processes.open
        else:
            np.testing.assert_array_equal(total(found).values, expected.values)
    finally:
        processes.close()


def test_every_process_has_about_equal_rows():
    assert forked_rows._ends([10] * 8, 2) == [4, 8]
    assert forked_rows._ends([10] * 8, 3) == [3, 5, 8]
    assert forked_rows._ends([1, 1, 30], 3) == [2, 3]


def test_passes_are_gone_over_elsewhere(rows):
    for power in (1.0, 0.5, 1.0):
        found = rows.map_reduce(partial(summed, power=power)).values
        expected = InMemorySource(rows.blocks).map_reduce(partial(summed, power=power)).values
        np.testing.assert_array_equal(found, expected)
    assert len(rows.processes._helpers) == 2


def test_a_function_that_cannot_be_sent_is_called_here(rows, alone):
    found = rows.map_reduce(lambda block: summed(block))
    np.testing.assert_array_equal(found.values, alone)
    assert rows.processes.open


def test_an_error_is_raised_here_and_the_next_pass_goes_on(rows, alone):
    with pytest.raises(ZeroDivisionError, match="of the rows"):
        rows.processes._asked(pickle.dumps((doing("error"), np.geterr())), summed)
    np.testing.assert_array_equal(rows.map_reduce(summed).values, alone)


def test_warnings_are_heard(rows):
    with pytest.warns(UserWarning, match="of the rows"):
        rows.map_reduce(doing("warning"))


def test_numpy_warns_there_as_it_would_here(rows):
    with np.errstate(all="ignore"):
        assert np.isinf(rows.map_reduce(overflowing).values[0])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        rows.map_reduce(overflowing)


def test_rows_of_a_process_that_was_killed_are_summed_here(rows, alone):
    found = rows.map_reduce(doing("death"))
    np.testing.assert_array_equal(found.values, alone)
    assert not rows.processes.open
    np.testing.assert_array_equal(rows.map_reduce(summed).values, alone)


def test_after_an_interrupt_sums_are_made_here(rows, alone):
    with pytest.raises(KeyboardInterrupt):
        rows.map_reduce(doing("interrupt"))
    assert not rows.processes.open
    np.testing.assert_array_equal(rows.map_reduce(summed).values, alone)


def test_no_process_is_left(blocks, monkeypatch):
    monkeypatch.setattr(sources, "can_fork", lambda: True)
    with (
        pytest.raises(ZeroDivisionError),
        InMemorySource(blocks, workers=2).shared() as shared,
    ):
        pids = [helper.pid for helper in shared.processes._helpers]
        raise ZeroDivisionError
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_where_processes_cannot_be_made_threads_go_over_the_rows(blocks, monkeypatch, alone):
    monkeypatch.setattr(sources, "can_fork", lambda: False)
    with InMemorySource(blocks, workers=2).shared() as shared:
        assert shared.processes is None
        np.testing.assert_array_equal(shared.map_reduce(summed).values, alone)
    monkeypatch.setattr(sources, "can_fork", lambda: True)
    with InMemorySource(blocks[:1], workers=2).shared() as shared:
        assert shared.processes is None


def test_processes_are_neither_copied_nor_inherited(rows):
    assert pickle.loads(pickle.dumps(rows)).processes is None
    assert rows.without(np.array([0])).processes is None
    answers, told = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(told, b"1" if rows.processes.open else b"0")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(answers, 1) == b"0"
    os.close(answers), os.close(told)


ORPHANS = """
import os, signal
import numpy as np
from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
blocks = tuple(Block({}, np.ones((1, 3)), None) for _ in range(4))
with InMemorySource(blocks, workers=3).shared() as shared:
    print(*[helper.pid for helper in shared.processes._helpers], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def gone(pid):
    """Whether a process has ended, whoever has to notice it."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are made on Linux")
def test_processes_end_with_the_one_that_made_them():
    ran = subprocess.run([sys.executable, "-c", ORPHANS], capture_output=True, text=True)
    pids = [int(word) for word in ran.stdout.split()]
    assert len(pids) == 2 and ran.returncode == -signal.SIGKILL
    until = time.monotonic() + 10.0
    while not all(map(gone, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert all(map(gone, pids))


MODELS = {
    "density": lambda data: bvb.DensityRegression("y ~ x | gating(x)", data, n_components=2),
    "gaussians": lambda data: bvb.GaussianMixture("~ x + y", data, n_components=2),
    "network": lambda data: bvb.ConditionalMixtureNetwork("y ~ x", data, n_experts=2),
    "groups": lambda data: bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=2),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_has_the_same_bits(name, monkeypatch):
    asked = []
    plain = ForkedRows.sums
    here = os.getpid()
    for module in (sources, side_by_side):
        monkeypatch.setattr(module, "can_fork", lambda: os.getpid() == here)

    def sums(self, function):
        found = plain(self, function)
        asked.append(found is not None)
        return found

    monkeypatch.setattr(ForkedRows, "sums", sums)
    rng = np.random.default_rng(5)
    n = 9000
    x, g = rng.normal(size=n), rng.integers(0, 30, n)
    y = np.where(rng.uniform(size=n) < 0.4, 2.0 + x, -2.0) + rng.normal(size=30)[g]
    model = MODELS[name](pd.DataFrame({"x": x, "y": y + 0.3 * rng.normal(size=n), "g": g}))
    options = {"seed": 1, "restarts": 1, "max_iter": 40, "draws": 30, "tol": 10.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, two = (model.fit(n_jobs=jobs, **options) for jobs in (1, 2))
    assert any(asked), "nothing was summed elsewhere"
    for key, draws in one.draws.items():
        np.testing.assert_array_equal(draws, two.draws[key])
    assert replace(one, seconds=0.0).elbo == two.elbo
