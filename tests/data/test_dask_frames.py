"""Rows on the workers of a Dask cluster: the fit of the rows in memory, workers killed or not."""

import os
import signal
import threading
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.blocks import BLOCK_ROWS
from bayesvb.data.dask_frames import DaskFrames
from bayesvb.data.dask_rows import DaskRows
from bayesvb.data.sources import InMemorySource
from bayesvb.errors import DataError
from bayesvb.formula.passes import representatives

distributed = pytest.importorskip("distributed", reason='needs pip install "bayesvb[dask]"')
dd = pytest.importorskip("dask.dataframe")

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning"),
]

FORMULA = "y ~ x + g | gating(scale(x))"
QUICK = {"seed": 1, "restarts": 1, "draws": 25, "covariance": "mean-field", "max_iter": 8}


def table(n_rows=3 * BLOCK_ROWS):
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=n_rows), rng.choice(["a", "b"], n_rows)
    y = np.where(rng.random(n_rows) < 0.4, 1.0 + x, -1.0 - 2.0 * (g == "a"))
    return pd.DataFrame({"y": y + 0.5 * rng.normal(size=n_rows), "x": x, "g": g})


@pytest.fixture(scope="module")
def client():
    """Two workers, processes of their own."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def few_rows_kept(monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 500)


def model(data, **options):
    return bvb.DensityRegression(FORMULA, data, n_components=2, **options)


def test_a_cluster_makes_the_fit_of_the_rows_in_memory(client):
    frame = table()
    found = model(dd.from_pandas(frame, npartitions=5))
    assert isinstance(found.all_rows, DaskRows)
    fit, expected = found.fit(**QUICK), model(frame).fit(**QUICK)
    assert_allclose(fit.stats.to_vector(), expected.stats.to_vector(), rtol=1e-8, atol=1e-8)
    pd.testing.assert_frame_equal(
        fit.summary().loc[["mean", "gating"]], expected.summary().loc[["mean", "gating"]], rtol=1e-8
    )


MODELS = {
    "components": lambda data: bvb.BayesianPCA("~ x + y + z", data),
    "classes": lambda data: bvb.ConditionalMixtureNetwork("g ~ x", data, n_experts=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_cluster_makes_the_fits_of_other_models(name, client, tmp_path):
    frame = table(1200)
    frame["z"] = frame["x"].where(np.arange(1200) % 5 > 0)
    found, expected = (
        MODELS[name](data).fit(**QUICK) for data in (dd.from_pandas(frame, npartitions=3), frame)
    )
    assert isinstance(found.model.all_rows, DaskRows)
    assert_allclose(found.elbo, expected.elbo, rtol=1e-9)
    back = bvb.load(found.save(tmp_path / "fit.nc"))
    assert back.elbo == found.elbo


def test_new_rows_on_a_cluster_are_folded_in(client):
    fit = model(table(1200)).fit(**QUICK)
    later = table(900).iloc[300:]
    found = fit.update(dd.from_pandas(later, npartitions=3))
    assert_allclose(found.elbo, fit.update(later, new_starts=0).elbo, rtol=1e-9)


def test_sums_have_the_bits_of_threads_over_the_same_blocks(client):
    found = model(dd.from_pandas(table(5 * BLOCK_ROWS + 77), npartitions=3))
    rows = found.all_rows
    threads = InMemorySource(tuple(rows.iterate()), workers=2)
    fit = found.fit(**QUICK)
    step = partial(fit.core.e_step, fit.q)
    mine, theirs = rows.map_reduce(step), threads.map_reduce(step)
    assert mine.bound == theirs.bound
    assert_array_equal(mine.stats.to_vector(), theirs.stats.to_vector())
    some = np.array([5, 3, 20_000, 7])
    assert_array_equal(rows.take(some).response, threads.take(some).response)
    assert_array_equal(rows.thinned(50).response, threads.thinned(50).response)
    assert rows.empty().n_rows == 0
    first = rows.map_rows(lambda block: block.response[0])
    assert_array_equal(first, threads.whole().response[0])


def test_a_worker_that_is_killed_in_mid_sweep_changes_nothing(client):
    data = dd.from_pandas(table(), npartitions=6)
    expected = model(data).fit(**QUICK)
    doomed = model(data)
    pids = list(client.run(os.getpid).values())
    killers = []

    def kill_soon(number, n_iter, bound):
        if number == 1 and not killers:  # the ascent over all rows has begun its next sweep
            killers.append(threading.Timer(0.02, os.kill, (pids[0], signal.SIGKILL)))
            killers[0].start()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = doomed.fit(**QUICK, progress=kill_soon)
    assert killers
    killers[0].join()
    assert pids[0] not in client.run(os.getpid).values()
    assert_array_equal(fit.stats.to_vector(), expected.stats.to_vector())
    assert_array_equal(fit.elbo_trace, expected.elbo_trace)


def test_without_a_cluster_partitions_are_read_here(client, monkeypatch):
    monkeypatch.setattr("bayesvb.data.dask_frames.current_client", lambda: None)
    frame = table()
    fit = model(dd.from_pandas(frame, npartitions=5)).fit(**QUICK)
    expected = model(frame).fit(**QUICK)
    assert_allclose(fit.stats.to_vector(), expected.stats.to_vector(), rtol=1e-8, atol=1e-8)
    frames = DaskFrames.of(dd.from_pandas(frame, npartitions=5))
    assert not frames.remote


def test_what_is_wrong_with_rows_is_said_here(client):
    frame = table()
    frame.loc[20_000, "x"] = np.inf
    with pytest.raises(DataError, match="`x` is not finite in 1 of"):
        model(dd.from_pandas(frame, npartitions=5))
