"""A million rows: seconds per sweep and peak memory, serial and with two threads."""

import resource
import time
from functools import partial

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.engines.partitions import SAMPLE_ROWS, kmeans_start
from bayesvb.numerics.runtime import single_threaded_blas

ROWS = 1_000_000
FORMULA = "y ~ x1 + x2 | gating(x1)"
SWEEPS = 7


def frame() -> pd.DataFrame:
    """Two regimes, the switch depending on x1."""
    rng = np.random.default_rng(0)
    x1, x2 = rng.normal(size=ROWS), rng.normal(size=ROWS)
    upper = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-2.0 * x1))
    noise = rng.normal(size=ROWS)
    y = np.where(upper, 1.0 + x1 + 0.3 * noise, -1.0 - x2 + 0.7 * noise)
    return pd.DataFrame({"y": y, "x1": x1, "x2": x2})


def peak() -> float:
    """Peak memory of the process so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def seconds_per_sweep(model: bvb.DensityRegression, workers: int) -> float:
    """Median time of a sweep."""
    rng = np.random.default_rng(0)
    mixture, source = model.core, model.source.with_workers(workers)
    begin = kmeans_start(source.sample(SAMPLE_ROWS, rng), model.n_components, rng)
    with single_threaded_blas():
        stats = mixture.first_stats(
            source.map_reduce(lambda b: mixture.partition_stats(b, begin.responsibilities(b)))
        )
        times = []
        for _ in range(SWEEPS):
            began = time.perf_counter()
            posterior = mixture.update(stats)
            stats = mixture.global_step(
                posterior, source.map_reduce(partial(mixture.e_step, posterior)).stats
            )
            times.append(time.perf_counter() - began)
    return float(np.median(times[1:]))


def main() -> None:
    data = frame()
    bvb.DensityRegression(FORMULA, data.iloc[:2000]).fit(seed=1, restarts=1, draws=25)
    before = peak()
    model = bvb.DensityRegression(FORMULA, data, n_components=5)
    matrices = sum(m.nbytes for m in model.design.matrices.values()) / 2**20
    rows = []
    for workers in (1, 2):
        seconds = seconds_per_sweep(model, workers)
        grown = peak() - before
        rows.append(
            {
                "workers": workers,
                "seconds per sweep": seconds,
                "design matrices MiB": matrices,
                "peak growth MiB": grown,
                "growth / matrices": grown / matrices,
            }
        )
    began = time.perf_counter()
    fit = model.fit(seed=1)
    took = time.perf_counter() - began
    print(f"whole fit, 8 restarts on a sample, then all rows: {took:.1f} s, {fit.n_iter} passes")
    print(f"peak growth with the whole fit: {(peak() - before) / matrices:.2f} x the matrices")
    keep(pd.DataFrame(rows), "rows")


if __name__ == "__main__":
    main()
