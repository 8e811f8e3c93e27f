"""Effects of groups on the weights, each a column or apart from these: sweeps and linear response.

Two components, twenty rows for each group, groups in both parts, both gates. Columns and no columns
in turns, seconds of one processor. Run by hand; columns are left out above 1 000 groups.
"""

import time
import tracemalloc

import numpy as np
import pandas as pd
from bench_many_groups import sweep
from tables import keep

import bayesvb as bvb
from bayesvb.engines.cavi import cavi
from bayesvb.linear.structure import LIMITS
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.sensitivity.covariance import linear_response

GROUPS = (100, 500, 1_000, 5_000, 20_000)
MOST_COLUMNS = 1_000
GATES = ("softmax", "stick-breaking")
REPEATS = 5
ROWS_OF_A_GROUP = 20


def simulated(n_groups: int) -> pd.DataFrame:
    """Two lines, of which the second is the more frequent the higher a level of the group."""
    rng, n_rows = np.random.default_rng(1), ROWS_OF_A_GROUP * n_groups
    g, x = rng.permutation(np.arange(n_rows) % n_groups), rng.normal(size=n_rows)
    second = rng.normal(size=n_groups)[g] + 0.5 * x > rng.logistic(size=n_rows)
    y = np.where(second, 3.0 + x, -3.0 - 0.5 * x) + rng.normal(size=n_groups)[g]
    return pd.DataFrame({"y": y + 0.5 * rng.normal(size=n_rows), "x": x, "g": g})


def state(n_groups: int, gate: str, *, columns: bool):
    """A model whose groups are columns or not, and statistics of a partition by chance."""
    most = 10**6 if columns else 5
    vars(LIMITS).update(columns=most, groups=most)
    text = "y ~ x + (1 | g)"
    model = bvb.DensityRegression(text, simulated(n_groups), n_components=2, gate=gate)
    rng, core = np.random.default_rng(2), model.core
    parts = [
        core.partition_stats(block, rng.dirichlet(np.ones(2), block.n_rows).T)
        for block in model.source.iterate()
    ]
    return core, model.source, core.first_stats(sum(parts[1:], start=parts[0]))


def measured(n_groups: int, gate: str) -> dict[str, float]:
    """Seconds and memory of a sweep each way, and of linear response without columns."""
    kinds = {"apart": False, "columns": True} if n_groups <= MOST_COLUMNS else {"apart": False}
    states = {name: state(n_groups, gate, columns=columns) for name, columns in kinds.items()}
    times: dict[str, list[float]] = {name: [] for name in kinds}
    found: dict[str, float] = {}
    with single_threaded_blas():
        for _ in range(REPEATS):
            for name, (core, source, stats) in states.items():
                began = time.process_time()
                stats, _ = sweep(core, source, stats)
                times[name].append(time.process_time() - began)
                states[name] = core, source, stats
        for name, one in states.items():
            tracemalloc.start()
            sweep(*one)
            found[f"seconds {name}"] = float(np.median(times[name]))
            found[f"MiB {name}"] = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
        core, source, stats = states["apart"]
        top = cavi(core, source, stats, tol=1e-3).stats
        began = time.process_time()
        response = linear_response(core, source, top)
        found["seconds response"] = time.process_time() - began
    assert response.failure is None, response.failure
    return found


def main() -> None:
    """One row for each gate and number of groups."""
    cases = [(gate, n_groups) for gate in GATES for n_groups in GROUPS]
    records = [{"gate": gate, "groups": n, **measured(n, gate)} for gate, n in cases]
    keep(pd.DataFrame(records), "groups_in_weights")


if __name__ == "__main__":
    main()
