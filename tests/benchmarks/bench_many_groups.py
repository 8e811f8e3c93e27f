"""Effects of very many groups: seconds and memory of a sweep, and where columns are slower.

Three components, random intercepts, ten rows for each group. Run by hand; the largest case takes
some minutes. Seconds are given by the clock and of the processor, as the machine may have other
work, beside the processor's for a fixed sum in numpy in the same process.

``--crossover`` fits the same data with effects as columns and apart from them, interleaved.
``--response`` takes the linear response with groups eliminated, by differences of passes, and of a
sample of a quarter of the rows whose weights stand for all: sds of the gate's contrasts beside each
other.
"""

import sys
import time
import tracemalloc
from functools import partial
from unittest.mock import patch

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.engines.cavi import cavi
from bayesvb.linear.structure import LIMITS
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.sensitivity.covariance import linear_response

CASES = ((10_000, 1_000), (100_000, 10_000), (1_000_000, 100_000))
CROSSOVER = (25, 50, 100, 200, 400)
RESPONSES = (600, 2_000, 4_000, 8_000)
REPEATS = 5


def simulated(n_rows: int, n_groups: int) -> pd.DataFrame:
    """Three lines and a level of each group."""
    rng = np.random.default_rng(1)
    g, x, k = rng.integers(0, n_groups, n_rows), rng.normal(size=n_rows), rng.integers(0, 3, n_rows)
    y = np.choose(k, [3.0 + x, -3.0 - 0.5 * x, 0.3 + 0.0 * x]) + rng.normal(size=n_groups)[g]
    return pd.DataFrame({"y": y + 0.5 * rng.normal(size=n_rows), "x": x, "g": g})


def model_of(data: pd.DataFrame):
    """Three components whose lines have a level of each group."""
    return bvb.DensityRegression("y ~ x + (1 | g) | x", data, n_components=3)


def first_stats(model):
    """Statistics of a partition by chance."""
    core, rng = model.core, np.random.default_rng(2)
    parts = [
        core.partition_stats(block, rng.dirichlet(np.ones(3), block.n_rows).T)
        for block in model.source.iterate()
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return core.first_stats(total)


def sweep(core, source, stats):
    """The next statistics, and the bound."""
    posterior = core.update(stats)
    found = source.map_reduce(partial(core.e_step, posterior))
    return core.global_step(posterior, found.stats), found.bound - core.kl(posterior)


def yardstick() -> float:
    """Seconds of the processor for a fixed sum: 30 million products."""
    x = np.linspace(0.0, 1.0, 3_000_000)
    began = time.process_time()
    for _ in range(10):
        float(np.sum(x * x))
    return time.process_time() - began


def measured(n_rows: int, n_groups: int) -> dict[str, float]:
    """Seconds of a sweep on one and two threads, and memory beyond the model, beside the data."""
    data = simulated(n_rows, n_groups)
    model = model_of(data)
    stats, found = first_stats(model), {}
    with single_threaded_blas():
        for workers in (1, 2):
            source, times = model.source.with_workers(workers), []
            for _ in range(REPEATS):
                began, used = time.perf_counter(), time.process_time()
                stats, _ = sweep(model.core, source, stats)
                times.append((time.perf_counter() - began, time.process_time() - used))
            found[f"seconds_{workers}"], spent = np.median(times, axis=0).tolist()
            found[f"processor_{workers}"] = spent
        tracemalloc.start()
        sweep(model.core, model.source.with_workers(2), stats)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    size = data.memory_usage(index=False).sum()
    return {**found, "yardstick": yardstick(), "peak_over_data": peak / size}


def by_scale() -> None:
    """One row for each number of rows and groups."""
    records = [{"rows": n, "groups": g, **measured(n, g)} for n, g in CASES]
    keep(pd.DataFrame(records), "many_groups")


def seconds_of(data: pd.DataFrame, most: int) -> float:
    """Seconds of the processor for a sweep with at most so many groups as columns."""
    vars(LIMITS).update(columns=most, groups=most)
    model = model_of(data)
    stats, times = first_stats(model), []
    with single_threaded_blas():
        for _ in range(REPEATS):
            began = time.process_time()
            stats, _ = sweep(model.core, model.source, stats)
            times.append(time.process_time() - began)
    return float(np.median(times))


def crossover() -> None:
    """Seconds of the processor for a sweep with columns, and with effects apart from them."""
    records = []
    for n_groups in CROSSOVER:
        data = simulated(10 * n_groups, n_groups)
        pairs = np.array([[seconds_of(data, most) for most in (10**6, 0)] for _ in range(3)])
        columns, apart = np.median(pairs, axis=0)
        records.append({"groups": n_groups, "columns": columns, "apart": apart,
                        "ratio": columns / apart})  # fmt: skip
    keep(pd.DataFrame(records), "many_groups_crossover")


def contrast_sds(core, response, stats) -> np.ndarray:
    """Standard deviations of the gate's coefficients against the first component's."""
    q = core.update(stats)
    draws = core.draws(q, 4_000, np.random.default_rng(1))
    gate = response.move(core, q, draws)[0]["gate"]
    return (gate[:, 1:] - gate[:, :1]).std(axis=0).ravel()


def response_of(n_rows: int, n_groups: int) -> dict[str, float]:
    """Seconds of the processor, and sds of contrasts relative to those with groups eliminated."""
    model = model_of(simulated(n_rows, n_groups))
    kept = {"seed": 1, "restarts": 1, "draws": 100, "covariance": "mean-field"}
    fit = model.fit(**kept, tol=1e-6)
    core, stats, source = fit.core, fit.stats, model.source
    began = time.process_time()
    exact = linear_response(core, source, stats)
    found = {"seconds": time.process_time() - began}
    if exact.failure is not None:
        return {**found, "by_differences": np.nan, "sample": np.nan}
    own = contrast_sds(core, exact, stats)
    sample = source.standing_for_all(n_rows // 4, np.random.default_rng(1))
    there = cavi(core, sample, stats, max_iter=500).stats
    few = contrast_sds(core, linear_response(core, sample, there), there)
    with patch.object(type(core), "response_of_shared", lambda *_: None):
        began = time.process_time()
        differences = contrast_sds(core, linear_response(core, source, stats), stats)
    found["seconds_differences"] = time.process_time() - began
    return {**found, "by_differences": (differences / own).max(), "sample": (few / own).max()}


def responses() -> None:
    """One row for each number of groups."""
    cases = [(10 * groups, groups) for groups in RESPONSES]
    records = [{"rows": n, "groups": g, **response_of(n, g)} for n, g in cases]
    keep(pd.DataFrame(records), "many_groups_response")


if __name__ == "__main__":
    if "--response" in sys.argv:
        responses()
    else:
        crossover() if "--crossover" in sys.argv else by_scale()
