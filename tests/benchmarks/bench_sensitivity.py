"""Time and memory of linear response, leave-one-out and influence with many columns.

Gaussian experts with a softmax gate, all columns in both; ``python bench_sensitivity.py 50 5 1000``
measures 50 columns, five components and 1,000 rows. Lines of the output are those of
``docs/benchmarks/sensitivity.csv``: CPU time in seconds of one thread, and the peak of allocated
memory in MB, traced, which adds to the time. The columns "before" are of the same hour and machine,
when the direction in which the ELBO bends upwards was found by iterations. Linear response is
solved for in the space of statistics and in that of rows. What leave-one-out makes once serves
influence too.

With 200 columns, linear response does not fit into memory in the space of statistics. Fits are of
one restart, with linear response; with 50 columns CAVI ends at a saddle point first.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import bayesvb as bvb
from bayesvb.results import leave_one_out as leave_one_out_of
from bayesvb.results.influence import changes_without_rows, leverages
from bayesvb.results.leave_one_out import Fitted, leave_one_out
from bayesvb.sensitivity import covariance, solvers
from bayesvb.sensitivity.covariance import linear_response

CASES = [(p, k, n) for n in (1_000, 10_000) for p in (10, 50, 100, 200) for k in (2, 5)]

FEW = 432
"""Rows that are predicted in both spaces: in that of statistics all take minutes."""


def regressions(n_columns: int, n_components: int, n_rows: int) -> pd.DataFrame:
    """Rows whose component depends on the first column, with some noise."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n_rows, n_columns))
    slopes = rng.normal(size=(n_components, n_columns))
    cuts = np.quantile(x[:, 0], np.arange(1, n_components) / n_components)
    component = np.digitize(x[:, 0] + 0.5 * rng.normal(size=n_rows), cuts)
    y = (x * slopes[component]).sum(axis=1) + rng.normal(size=n_rows)
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(n_columns)]).assign(y=y)


def measure(n_columns: int, n_components: int, n_rows: int) -> list[str]:
    """Lines of sizes, what was computed, its CPU seconds and its peak of memory in MB."""
    data = regressions(n_columns, n_components, n_rows)
    formula = "y ~ " + " + ".join(data.columns[:-1])
    model = bvb.DensityRegression(formula, data, n_components=n_components)
    start = time.process_time()
    fit = model.fit(seed=1, restarts=1, draws=25, n_jobs=1)
    sizes = f"{n_columns},{n_components},{n_rows}"
    found = [f"{sizes},fit with intervals,{time.process_time() - start:.2f},"]

    def add(name: str, function: Callable[[], Any]) -> Any:
        result, cost = timed(function)
        found.append(f"{sizes},{name},{cost}")
        return result

    for name, longer in (("statistics", 0.0), ("rows", np.inf)):
        covariance.LONGER = longer
        where = f"linear response in the space of {name}"
        add(where, lambda: linear_response(fit.core, model.source, fit.stats))
    one = Fitted.of(fit)
    leave_one_out_of.processors = lambda: 1
    for name, longer in (("statistics", 0.0), ("rows", np.inf)):
        solvers.LONGER, some = longer, np.arange(min(n_rows, FEW))
        where = f"leave-one-out of {len(some)} rows in the space of {name}"
        add(where, lambda some=some: leave_one_out(Fitted.of(fit), some, row_passes=0.0))
    add("leave-one-out", lambda: leave_one_out(one, np.arange(n_rows), row_passes=0.0))
    add("influence", lambda: (changes_without_rows(one.jackknife), leverages(one.jackknife)))
    return found


def timed(function: Callable[[], Any]) -> tuple[Any, str]:
    """Result of a function, and its CPU seconds and peak of memory."""
    start = time.process_time()
    tracemalloc.start()
    found = function()
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return found, f"{seconds:.2f},{peak:.0f}"


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    for case in [tuple(given)] if given else CASES:
        print("\n".join(measure(*case)), flush=True)
