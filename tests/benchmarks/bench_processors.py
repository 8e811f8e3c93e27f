"""A pass over rows in memory on one processor, by threads and by processes: ``[ROWS ...]``.

Milliseconds, the least of several passes in turns. Sums have the same bits in all three ways, which
is asserted.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
from bench_report import MODELS, table
from tables import keep

import bayesvb as bvb
from bayesvb.numerics.runtime import processors, single_threaded_blas

ROWS = (20_000, 100_000, 1_000_000)
ROUNDS, TOGETHER = 3, 4
FIVE = {
    "density, 5 components, 3 columns": lambda data: bvb.DensityRegression(
        "y ~ x + z + w", data, n_components=5
    )
}


def measured(name: str, n_rows: int) -> dict[str, object]:
    """One row of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = (FIVE | MODELS)[name](table(n_rows))
        fit = model.fit(seed=1, restarts=1, max_iter=2, draws=25, covariance="mean-field")
    step = partial(fit.core.e_step, fit.q)
    one, several = (model.source.with_workers(n) for n in (1, processors()))
    times: dict[str, list[float]] = {"one": [], "threads": [], "processes": []}
    bits = []
    with single_threaded_blas(), several.shared() as shared:
        for _ in range(ROUNDS):
            for way, source in {"one": one, "threads": several, "processes": shared}.items():
                for _ in range(TOGETHER):
                    began = time.perf_counter()
                    found = source.map_reduce(step)
                    times[way].append(1e3 * (time.perf_counter() - began))
                bits.append(found.stats.to_vector())
    assert all(np.array_equal(bits[0], other) for other in bits[1:])
    least = {way: min(each) for way, each in times.items()}
    return {
        "model": name,
        "rows": n_rows,
        "processors": processors(),
        **{f"{way}, ms": value for way, value in least.items()},
        "one / processes": least["one"] / least["processes"],
    }


def main() -> None:
    """Of these numbers of rows, or of all."""
    sizes = [int(word) for word in sys.argv[1:]] or ROWS
    found = pd.DataFrame([measured(name, n) for n in sizes for name in FIVE | MODELS])
    keep(found, "processors", by="rows")


if __name__ == "__main__":
    main()
