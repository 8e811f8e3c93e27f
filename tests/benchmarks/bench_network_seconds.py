"""Seconds of a fit of a network with defaults, and the density of rows that it did not see.

    python tests/benchmarks/bench_network_seconds.py NAME [data ...]

NAME is the value of the column ``state``, under which the rows are kept: ``before``, ``after``.
``pinwheel``: two columns, ten experts, 200 and 1600 rows, five data sets each, 2000 rows to test.
The others: a stratified half of the rows to train, the other half to test, three times. All of it
by seeds from ``FIRST_SEED`` on: settings were chosen on the data sets of smaller seeds.

``seconds`` are those of the wall, ``processor`` those of the processors: the same on an idle
machine as long as there is one thread. ``ratio`` is the time of the processors over that of a fixed
numpy workload, the mean of what it took before and after the fit, in the same process. ``passes``
are those of all restarts over all rows, those over folds not counted.
Results: docs/benchmarks/network_seconds.csv.
"""

import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from bench_network_sizes import frame_of, stratified
from tables import data_folder, keep
from threadpoolctl import threadpool_limits

import bayesvb as bvb

FIRST_SEED = 10
PINWHEEL_ROWS, PINWHEEL_SETS, TEST_ROWS = (200, 1600), 5, 2000
OTHER_SETS = 3
NAMES = ("pinwheel", "iris", "breast_cancer", "vehicle")


def splits(name: str) -> Iterator[tuple[int, pd.DataFrame, pd.DataFrame]]:
    """Seed, training and test rows."""
    if name == "pinwheel":
        law = bvb.datasets.SIMULATIONS["pinwheel"]
        for size in PINWHEEL_ROWS:
            for seed in range(FIRST_SEED, FIRST_SEED + PINWHEEL_SETS):
                test = law.sample(TEST_ROWS, np.random.default_rng([seed, 1]))
                yield seed, law.sample(size, np.random.default_rng([seed, size])), test
        return
    frame = frame_of(name)
    for seed in range(FIRST_SEED, FIRST_SEED + OTHER_SETS):
        yield seed, *stratified(frame, len(frame) // 2, seed)


def timed(train: pd.DataFrame, seed: int) -> tuple[bvb.Fit, dict[str, float]]:
    """A fit with defaults and its times."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train)
    before, began, busy = workload(), time.perf_counter(), time.process_time()
    fit = model.fit(seed=seed)
    seconds, processor = time.perf_counter() - began, time.process_time() - busy
    ratio = processor / (0.5 * (before + workload()))
    return fit, {"seconds": seconds, "processor": processor, "ratio": ratio}


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
    state, *names = sys.argv[1:]
    tables = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name in names or [n for n in NAMES if n in bvb.datasets.names() or data_folder()]:
            found = [record(state, name, *split) for split in splits(name)]
            groups = pd.DataFrame(found).groupby(["state", "data", "n"], sort=False)
            means = groups.mean()
            means["lpd_se"], means["sets"] = groups["lpd"].sem(), groups.size()
            tables.append(means.reset_index())
        keep(pd.concat(tables), "network_seconds", by="state")


if __name__ == "__main__":
    main()
