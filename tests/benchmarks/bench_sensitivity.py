"""Time and memory of linear response with many columns.

Gaussian experts with a softmax gate, all columns in both; ``python bench_sensitivity.py 50 5 1000``
measures 50 columns, five components and 1,000 rows. CPU time in seconds of one thread, and the peak
of allocated memory in MB, of ``linear_response`` alone:

======= ========== ====== ================= ==========================
columns components   rows before, s and MB  bounded effects, s and MB
======= ========== ====== ================= ==========================
     10          2  1,000      0.10     12          0.06     12
     10          5  1,000      0.30     58          0.15     54
     10          5 10,000      1.04     60          0.84     56
     50          3  1,000      7.62    361          2.37    226
     50          5  1,000     22.89  1,044          7.34    479
======= ========== ====== ================= ==========================

Before, directions down to a norm of 1e-3 were followed whatever their effect on a variance, each
product made derivatives of the rows again, and products of three axes went over all features once
for each direction. The machine was shared; with two components and 50 columns the fit is at no
maximum, and 200 columns are beyond the limit of memory.
"""

from __future__ import annotations

import sys
import time
import tracemalloc

import numpy as np
import pandas as pd

import bayesvb as bvb
from bayesvb.sensitivity.covariance import linear_response

CASES = [(p, k, n) for n in (1_000, 10_000) for p in (10, 50, 100, 200) for k in (2, 5)]


def regressions(n_columns: int, n_components: int, n_rows: int) -> pd.DataFrame:
    """Rows whose component depends on the first column, with some noise."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n_rows, n_columns))
    slopes = rng.normal(size=(n_components, n_columns))
    cuts = np.quantile(x[:, 0], np.arange(1, n_components) / n_components)
    component = np.digitize(x[:, 0] + 0.5 * rng.normal(size=n_rows), cuts)
    y = (x * slopes[component]).sum(axis=1) + rng.normal(size=n_rows)
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(n_columns)]).assign(y=y)


def measure(n_columns: int, n_components: int, n_rows: int) -> str:
    """One line: sizes, seconds of the fit of one restart and of linear response, and its peak."""
    data = regressions(n_columns, n_components, n_rows)
    formula = "y ~ " + " + ".join(data.columns[:-1])
    model = bvb.DensityRegression(formula, data, n_components=n_components)
    start = time.process_time()
    fit = model.fit(seed=1, restarts=1, draws=25, covariance="mean-field", n_jobs=1)
    fitted = time.process_time()
    tracemalloc.start()
    response = linear_response(fit.core, model.source, fit.stats)
    seconds, peak = time.process_time() - fitted, tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return (
        f"{n_columns:7d} {n_components:2d} {n_rows:6d}  fit {fitted - start:6.1f} s  "
        f"response {seconds:6.2f} s {peak:5.0f} MB  {response.failure or ''}"
    )


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    for case in [tuple(given)] if given else CASES:
        print(measure(*case), flush=True)
