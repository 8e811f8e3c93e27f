"""Tasks in processes: the results, bits, progress and errors that they have one after the other."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.engines import folds
from bayesvb.engines import side_by_side as module
from bayesvb.engines.side_by_side import side_by_side
from bayesvb.numerics.streams import EngineStreams

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")


@pytest.fixture
def forking(monkeypatch):
    """Processes whatever threads the tests themselves run in."""
    here = os.getpid()
    monkeypatch.setattr(module, "can_fork", lambda: os.getpid() == here)


def squares(count):
    def task(number, told):
        if told is not None:
            told(number, 1, 0.5 * number)
            told(number, 2, float(number))
        return number, os.getpid(), np.arange(3.0) * number

    return [lambda told, number=number: task(number, told) for number in range(count)]


def test_results_come_in_order_from_other_processes(forking):
    found = list(side_by_side(squares(7), 2))
    assert [number for number, *_ in found] == list(range(7))
    assert os.getpid() not in {process for _, process, _ in found}
    np.testing.assert_array_equal(found[3][2], [0.0, 3.0, 6.0])
    assert found[3][2].flags.writeable


def test_one_worker_or_one_task_needs_no_process(forking):
    assert {process for _, process, _ in side_by_side(squares(3), 1)} == {os.getpid()}
    assert {process for _, process, _ in side_by_side(squares(1), 2)} == {os.getpid()}


def test_progress_is_told_as_one_after_the_other(forking):
    alone, together = [], []
    list(side_by_side(squares(5), 1, lambda *words: alone.append(words)))
    list(side_by_side(squares(5), 3, lambda *words: together.append(words)))
    assert together == alone and len(alone) == 10


def test_an_error_is_that_of_the_task(forking):
    def failing(told):
        raise ZeroDivisionError("of the task")

    tasks = [*squares(2), failing]
    found = side_by_side(tasks, 2)
    assert next(found)[0] == 0 and next(found)[0] == 1
    with pytest.raises(ZeroDivisionError, match="of the task"):
        next(found)


def test_what_a_killed_process_owes_is_made_here(forking):
    here = os.getpid()

    def mortal(told):
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return "made here"

    tasks = [mortal, *squares(3)]
    assert next(side_by_side(tasks, 2)) == "made here"


ORPHANS = """
import os, pathlib, sys, time
from bayesvb.engines.side_by_side import side_by_side

folder = pathlib.Path(sys.argv[1])

def task(told, number):
    (folder / f"begun {number}").touch()
    while True:
        time.sleep(0.01)

list(side_by_side([lambda told, k=k: task(told, k) for k in range(4)], 2))
"""


def test_processes_end_after_their_parent_was_killed(tmp_path):
    """In the middle of tasks that never write to a pipe and never look for their parent."""
    held, holding = os.pipe()
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS, tmp_path], pass_fds=[holding])
    os.close(holding)
    try:
        while len(list(tmp_path.iterdir())) < 2:
            assert parent.poll() is None
            time.sleep(0.01)
    finally:
        parent.kill()
        parent.wait()
    assert select.select([held], [], [], 10.0)[0] and not os.read(held, 1)  # all have closed it
    os.close(held)


def test_warnings_are_heard(forking):
    def warning(told):
        warnings.warn("of the task", UserWarning, stacklevel=1)
        return 1

    with pytest.warns(UserWarning, match="of the task"):
        assert list(side_by_side([warning, warning], 2)) == [1, 1]


def waiting(told, interrupted=None):
    """A task that Ctrl-C ends, with what it has."""
    try:
        if interrupted is not None:
            time.sleep(0.3)
            os.kill(interrupted, signal.SIGINT)
        time.sleep(30.0)
    except KeyboardInterrupt:
        return "so far"
    return "whole"


@pytest.fixture
def hearing():
    """A process that hears Ctrl-C: those in the background of a shell are started without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_what_is_under_way(forking, hearing):
    interrupting = partial(waiting, interrupted=os.getpid())
    found, began = [], time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for result in side_by_side([waiting, interrupting, waiting, waiting], 2):
            found.append(result)
    assert found == ["so far", "so far"]
    assert time.monotonic() - began < 10.0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_by_the_progress_ends_all(forking):
    def telling(told):
        told(0, 1, 0.0)
        return waiting(told)

    def interrupt(*_):
        raise KeyboardInterrupt

    found = []
    with pytest.raises(KeyboardInterrupt):
        for result in side_by_side([telling, waiting, waiting], 2, interrupt):
            found.append(result)
    assert found[0] == "so far"


def test_one_after_the_other_nothing_is_begun_after_the_last(monkeypatch):
    monkeypatch.setattr(module, "can_fork", lambda: False)
    found = []
    with pytest.raises(KeyboardInterrupt):
        for result in side_by_side(squares(4), 2, last=lambda result: result[0] == 1):
            found.append(result[0])
    assert found == [0, 1]


@pytest.mark.parametrize(
    "combine",
    ["best", *(pytest.param(name, marks=pytest.mark.heavy) for name in ("stack", "average"))],
)
def test_a_fit_has_the_same_bits(forking, monkeypatch, combine):
    made = []
    fork = os.fork
    monkeypatch.setattr(module, "LITTLE_WORK", 0)
    monkeypatch.setattr(os, "fork", lambda: made.append(1) or fork())
    rows = bvb.datasets.SIMULATIONS["pinwheel"].sample(40, np.random.default_rng(1))
    model = bvb.ConditionalMixtureNetwork("label ~ .", rows, n_experts=3)
    options = {"seed": 2, "restarts": 4, "max_iter": 45, "tol": 0.05, "combine": combine}
    told = {1: [], 2: []}
    fits = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for workers, heard in told.items():
            tell = lambda *words, heard=heard: heard.append(words)  # noqa: E731
            fits[workers] = model.fit(n_jobs=workers, progress=tell, **options)
    assert made
    assert told[1] == told[2]
    one, two = fits[1], fits[2]
    columns = [name for name in one.restarts if name != "seconds"]
    assert one.restarts[columns].equals(two.restarts[columns])
    for name, draws in one.draws.items():
        np.testing.assert_array_equal(draws, two.draws[name])


def test_few_iterations_over_many_columns_are_enough_work_for_processes(rng):
    def places(n_columns):
        numbers = rng.normal(size=(400, n_columns + 1))
        rows = pd.DataFrame(numbers).add_prefix("x").rename(columns={"x0": "y"})
        model = bvb.DensityRegression("y ~ .", rows, n_components=2)
        return module.processes(model.core, model.source.with_workers(2), passes=40)

    assert (places(2), places(80)) == (1, 2)


def test_folds_are_left_out_by_several_processes_to_the_same_bits(forking, monkeypatch, regimes):
    fit = bvb.DensityRegression("y ~ x", regimes, n_components=2).fit(seed=1, restarts=1)
    source = fit.model.source
    run = folds.Ascended(fit.core, fit.stats, EngineStreams(1, ("folds",)))
    asked = []

    def found(workers):
        monkeypatch.setattr(folds, "processes", lambda *_: workers)
        return folds.without_folds([run], source, fit.engine)[0]

    def continued(*args):
        asked.append(os.getpid())
        return plain(*args)

    plain = folds.continued
    monkeypatch.setattr(folds, "continued", continued)
    here = [one.to_vector() for one in found(1)]
    assert len(asked) == folds.FOLDS
    there = [one.to_vector() for one in found(2)]
    assert len(asked) == folds.FOLDS, "nothing was left out in this process"
    assert all(np.array_equal(one, other) for one, other in zip(here, there, strict=True))


def test_folds_of_rows_in_several_blocks_are_as_well(forking, monkeypatch, regimes):
    fit = bvb.DensityRegression("y ~ x", regimes, n_components=2).fit(seed=1, restarts=1)
    several = InMemorySource(tuple(fit.model.source.whole().split(len(regimes) // 3)))
    asked, plain = [], folds.continued
    monkeypatch.setattr(folds, "continued", lambda *args: asked.append(1) or plain(*args))
    monkeypatch.setattr(module, "LITTLE_WORK", 0)
    monkeypatch.setattr(folds, "processors", lambda: 2)
    streams = EngineStreams(1, ("folds",))
    runs = [folds.Ascended(fit.core, fit.stats, streams)] * 2
    found = folds.without_folds(runs, several, fit.engine)
    assert [len(each) for each in found] == [folds.FOLDS] * 2
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one.to_vector(), other.to_vector())
    assert not asked
