"""Time of sweeps of models other than networks: ``bench_sweep_times.py [WHEN]``.

Three lines: a start of a density regression with twenty components to its optimum (the gestation
data with the published priors of logit stick-breaking, needs dde.csv), a sweep over a million rows
(five components, three terms, softmax gate), and a sweep of twenty Gaussians in ten dimensions over
1e5 rows. Seconds are the processor's, those of a million rows for each of two threads: what a sweep
takes where both have a processor to themselves. Beside them stand multiples of a numpy workload
that is run in turns with them: of exponentials and a matrix product, and for Gaussians of the two
matrix products of a sweep.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from bench_gaussian_mixture_speed import ours
from bench_lsbp import COMPONENTS, FORMULA, PRIORS, gestation
from bench_rows import FORMULA as ROWS_FORMULA
from bench_rows import frame
from tables import keep

import bayesvb as bvb
from bayesvb.data.blocks import BLOCK_ROWS
from bayesvb.engines.partitions import SAMPLE_ROWS, kmeans_start
from bayesvb.numerics.runtime import keep_freed_memory, single_threaded_blas

WORKERS = 2
GAUSSIAN_ROWS, DIMS, GAUSSIANS = 100_000, 10, 20
Run = Callable[[], object]


def in_turns(run: Run, unit: Run, repeats: int, clock: Callable[[], float]) -> dict[str, float]:
    """Median seconds of both, and the median of their ratio."""
    times = []
    for _ in range(repeats):
        began = clock()
        run()
        between = clock()
        unit()
        times.append((between - began, clock() - between))
    found = np.array(times)
    seconds, own = np.median(found, axis=0)
    return {"seconds": seconds, "unit": own, "ratio": np.median(found[:, 0] / found[:, 1])}


def workload() -> None:
    """Exponentials, sums over components and a matrix product, a hundred times."""
    rng = np.random.default_rng(0)
    terms = rng.random((COMPONENTS, 2312))
    out = np.empty_like(terms)
    for _ in range(100):
        np.exp(terms, out=out)
        out.sum(axis=0)
        out @ terms.T


def start() -> dict[str, float] | None:
    """Processor seconds of one start to the optimum, and its passes."""
    data = gestation()
    if data is None:
        return None
    model = bvb.DensityRegression(
        FORMULA,
        data,
        n_components=COMPONENTS,
        gate="stick-breaking",
        priors=PRIORS,
    )
    seeds, passes = iter(range(8)), []

    def fit() -> None:
        passes.append(model.fit(restarts=1, seed=next(seeds), n_jobs=1, draws=25).n_iter)

    with single_threaded_blas():
        found = in_turns(fit, workload, 8, time.process_time)
    return {**found, "passes": float(np.median(passes))}


def million() -> dict[str, float]:
    """Processor seconds of a sweep over a million rows, for each of two threads."""
    model = bvb.DensityRegression(ROWS_FORMULA, frame(), n_components=5)
    rng = np.random.default_rng(0)
    mixture, source = model.core, model.source.with_workers(WORKERS)
    begin = kmeans_start(source.sample(SAMPLE_ROWS, rng), model.n_components, rng)
    keep_freed_memory()
    with single_threaded_blas():
        stats = mixture.first_stats(
            source.map_reduce(lambda b: mixture.partition_stats(b, begin.responsibilities(b)))
        )

        def sweep() -> None:
            nonlocal stats
            posterior = mixture.update(stats)
            sums = source.map_reduce(partial(mixture.e_step, posterior))
            mixture.kl(posterior)
            stats = mixture.global_step(posterior, sums.stats)

        for _ in range(3):
            sweep()
        found = in_turns(sweep, workload, 15, time.process_time)
    shared = {name: found[name] / WORKERS for name in ("seconds", "ratio")}
    return found | shared


def gaussians() -> dict[str, float]:
    """Seconds of a sweep of a Gaussian mixture on one thread."""
    rng = np.random.default_rng(1)
    centres = 3.0 * rng.normal(size=(GAUSSIANS, DIMS))
    label = rng.integers(0, GAUSSIANS, GAUSSIAN_ROWS)
    x = centres[label] + rng.normal(size=(GAUSSIAN_ROWS, DIMS))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    partition = np.full((GAUSSIANS, GAUSSIAN_ROWS), 0.1 / GAUSSIANS)
    partition[label, np.arange(GAUSSIAN_ROWS)] += 0.9
    features = rng.random((DIMS * (DIMS + 1) // 2 + DIMS + 1, GAUSSIAN_ROWS))
    slopes = rng.random((GAUSSIANS, len(features)))
    starts = range(0, GAUSSIAN_ROWS, BLOCK_ROWS)
    parts = [np.ascontiguousarray(features[:, at : at + BLOCK_ROWS]) for at in starts]
    shares = [np.ascontiguousarray(partition[:, at : at + BLOCK_ROWS]) for at in starts]

    def products() -> None:
        for part, share in zip(parts, shares, strict=True):
            slopes @ part
            share @ part.T

    keep_freed_memory()
    with single_threaded_blas():
        return in_turns(ours("full", x, partition), products, 15, time.process_time)


LINES = {
    "gestation, 20 components, sticks: one start": start,
    "1e6 rows, 5 components: one sweep, two threads": million,
    "1e5 rows, 20 Gaussians in 10 dimensions: one sweep": gaussians,
}


def main() -> None:
    """Measure all lines, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("when", nargs="?", default="now", help="what the lines are called")
    when = parser.parse_args().when
    found = []
    for name, line in LINES.items():
        measured = line()
        if measured is not None:
            row = {"run": f"{when}: {name}", "when": when, "line": name, **measured}
            found.append(row)
            print(pd.DataFrame([row]).to_string(index=False, header=False), flush=True)
    keep(pd.DataFrame(found), "sweep_times", by="run")


if __name__ == "__main__":
    main()
