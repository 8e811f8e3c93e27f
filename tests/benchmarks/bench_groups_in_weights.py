"""Effects of groups in the weights, each a column: seconds of a sweep and of its memory.

Two components, ten rows for each group, both gates. Run by hand; the largest case takes minutes.
"""

import time
import tracemalloc

import numpy as np
import pandas as pd
from bench_many_groups import sweep
from tables import keep

import bayesvb as bvb
from bayesvb.formula import group_columns
from bayesvb.numerics.runtime import single_threaded_blas

GROUPS = (100, 250, 500, 1_000, 2_000)
GATES = ("softmax", "stick-breaking")
REPEATS = 3


def simulated(n_groups: int) -> pd.DataFrame:
    """Two lines, of which the second is the more frequent the higher the level of a group."""
    rng = np.random.default_rng(1)
    g, x = rng.integers(0, n_groups, 10 * n_groups), rng.normal(size=10 * n_groups)
    second = rng.normal(size=n_groups)[g] + 0.5 * x > rng.logistic(size=len(x))
    y = np.where(second, 3.0 + x, -3.0 - 0.5 * x) + 0.5 * rng.normal(size=len(x))
    return pd.DataFrame({"y": y, "x": x, "g": g})


def measured(n_groups: int, gate: str) -> dict[str, float]:
    """Seconds of the processor for a sweep, and the memory that it takes, in MiB."""
    text = "y ~ x | x + (1 | g)"
    model = bvb.DensityRegression(text, simulated(n_groups), n_components=2, gate=gate)
    rng, core = np.random.default_rng(2), model.core
    parts = [
        core.partition_stats(block, rng.dirichlet(np.ones(2), block.n_rows).T)
        for block in model.source.iterate()
    ]
    stats, times = core.first_stats(sum(parts[1:], start=parts[0])), []
    with single_threaded_blas():
        for _ in range(REPEATS):
            began = time.process_time()
            stats, _ = sweep(core, model.source, stats)
            times.append(time.process_time() - began)
        tracemalloc.start()
        sweep(core, model.source, stats)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return {"seconds": float(np.median(times)), "peak_mib": peak / 2**20}


def main() -> None:
    """One row for each gate and number of groups."""
    group_columns.MOST_GROUPS = 10**6
    cases = [(gate, n_groups) for gate in GATES for n_groups in GROUPS]
    records = [{"gate": gate, "groups": n, **measured(n, gate)} for gate, n in cases]
    keep(pd.DataFrame(records), "groups_in_weights")


if __name__ == "__main__":
    main()
