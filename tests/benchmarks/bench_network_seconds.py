"""Seconds of a fit of a network with defaults, and the density of rows that it did not see.

    python tests/benchmarks/bench_network_seconds.py NAME [data ...]

NAME is the value of the column ``state``, under which the rows are kept: ``before`` and ``after``
ascents that stop by nats per row; then ``one process, four variances`` and ``side by side, prior of
weights``, both with ``seeds=40``, in turns by the code of either state; ``fine passes`` and
``coarse passes``, each set in a process of its own (200 rows ``seeds=40``, 1600 rows ``seeds=50``).
``pinwheel``: two columns, ten experts, 200 and 1600 rows, five data sets each, 2000 rows to test.
The others: a stratified half of the rows to train, the other half to test, three times. All of it
by seeds from ``FIRST_SEED`` on: settings were chosen on the data sets of smaller seeds. An
argument ``seeds=30`` begins at another one, ``sets=3`` takes so many, ``rows=200`` one size only.

``seconds`` are those of the wall, ``processor`` those of the processors, all processes together.
``span`` is that of the longest chain: of processes side by side the busiest counts. On an idle
machine it is the wall's. ``ratio`` and ``span_ratio`` are these times over that of a fixed numpy
workload, the mean of what it took before and after the fit, in the same process. ``passes`` are
those of all restarts over all rows, those over folds not counted.
Results: docs/benchmarks/network_seconds.csv.
"""

import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from bench_network_sizes import frame_of, stratified
from tables import data_folder, keep
from threadpoolctl import threadpool_limits

import bayesvb as bvb
from bayesvb.engines import side_by_side

FIRST_SEED = 10
PINWHEEL_ROWS, PINWHEEL_SETS, TEST_ROWS = (200, 1600), 5, 2000
OTHER_SETS = 3
NAMES = ("pinwheel", "iris", "breast_cancer", "vehicle")


def splits(
    name: str, *, seeds: int = FIRST_SEED, sets: int = 0, rows: int = 0
) -> Iterator[tuple[int, pd.DataFrame, pd.DataFrame]]:
    """Seed, training and test rows."""
    if name == "pinwheel":
        law = bvb.datasets.SIMULATIONS["pinwheel"]
        for size in (rows,) if rows else PINWHEEL_ROWS:
            for seed in range(seeds, seeds + (sets or PINWHEEL_SETS)):
                test = law.sample(TEST_ROWS, np.random.default_rng([seed, 1]))
                yield seed, law.sample(size, np.random.default_rng([seed, size])), test
        return
    frame = frame_of(name)
    for seed in range(seeds, seeds + (sets or OTHER_SETS)):
        yield seed, *stratified(frame, len(frame) // 2, seed)


def timed(train: pd.DataFrame, seed: int) -> tuple[bvb.Fit, dict[str, float]]:
    """A fit with defaults and its times."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train)
    busiest: list[float] = []
    side_by_side._collect = counted(COLLECT, busiest)
    before, began, busy, others = (
        workload(),
        time.perf_counter(),
        time.process_time(),
        of_children(),
    )
    fit = model.fit(seed=seed)
    seconds, processor = time.perf_counter() - began, time.process_time() - busy
    span, processor = processor + sum(busiest), processor + of_children() - others
    times = {"seconds": seconds, "processor": processor, "span": span}
    unit = 0.5 * (before + workload())
    return fit, {**times, "ratio": processor / unit, "span_ratio": span / unit}


def of_children() -> float:
    """Processor time of the processes that were made here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


COLLECT = side_by_side._collect


def counted(collect: Callable[..., None], busiest: list[float]) -> Callable[..., None]:
    """The same, noting the processor time of the busiest of the processes each time."""

    def collecting(*arguments: Any) -> None:
        times, wait = [], os.waitpid

        def waiting(child: int, options: int) -> tuple[int, int]:
            before, found = of_children(), wait(child, options)
            times.append(of_children() - before)
            return found

        os.waitpid = waiting
        try:
            collect(*arguments)
        finally:
            os.waitpid = wait
        busiest.append(max(times))

    return collecting


def workload() -> float:
    """Processor time of a fixed piece of numpy, which tells how fast the machine is just now."""
    rng = np.random.default_rng(0)
    left, right = rng.random((600, 600)), rng.random((600, 600))
    times = []
    for _ in range(7):
        began = time.process_time()
        np.exp(left @ right / 600.0).sum()
        times.append(time.process_time() - began)
    return float(np.median(times))


def log_density(fit: bvb.Fit, test: pd.DataFrame) -> float:
    """Mean log predictive probability of the classes of these rows."""
    return float(fit.log_density(test).mean())


def record(state: str, name: str, seed: int, train: pd.DataFrame, test: pd.DataFrame) -> dict:
    """What is kept of one fit."""
    fit, times = timed(train, seed)
    row = {
        "state": state,
        "data": name,
        "n": len(train),
        **times,
        "passes": float(fit.restarts["n_iter"].sum()),
        "members": max(len(fit.members), 1),
        "lpd": log_density(fit, test),
    }
    print(seed, *row.values(), flush=True)
    return row


def main() -> None:
    """Means over the data sets, kept after each kind."""
    state, *others = sys.argv[1:] or ["--help"]
    if state in ("-h", "--help"):
        print(__doc__)
        return
    names = [name for name in others if "=" not in name]
    options = {key: int(value) for key, value in (o.split("=") for o in others if "=" in o)}
    tables = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name in names or [n for n in NAMES if n in bvb.datasets.names() or data_folder()]:
            found = [record(state, name, *split) for split in splits(name, **options)]
            groups = pd.DataFrame(found).groupby(["state", "data", "n"], sort=False)
            means = groups.mean()
            means["lpd_se"], means["sets"] = groups["lpd"].sem(), groups.size()
            tables.append(means.reset_index())
        keep(pd.concat(tables), "network_seconds", by="state")


if __name__ == "__main__":
    main()
