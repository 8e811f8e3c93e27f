"""Ascents over all rows that begin at the optimum of a sample: extrapolated from ten sweeps or two.

Passes, seconds of the processor and the bound below the best one known, the better of both after
150 further passes. Results: docs/benchmarks/all_rows.csv.
"""

import time
import warnings

import numpy as np
import pandas as pd
from bench_convergence import DESIGNS
from tables import keep

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi, cavi
from bayesvb.engines.restarts import MEMORY, SCREEN_ROWS, enlarged, search
from bayesvb.numerics.streams import Streams

ROWS, SEED, MOST_PASSES, FURTHER = 40_000, 5, 1500, 150
SIZES = {"two experts": 4, "sine": 5, "impact": 3, "line": 3}
GATES = {"line": "stick-breaking"}


def compared(design: str, size: int) -> list[dict[str, object]]:
    """Both ascents of one design, from the same statistics."""
    data, formula = DESIGNS[design](ROWS, np.random.default_rng(SEED))
    gate = GATES.get(design, "softmax")
    model = bvb.DensityRegression(formula, data, n_components=size, gate=gate)
    core, source = model.core, model.source
    sample = source.sample(SCREEN_ROWS // 2, np.random.default_rng(SEED))
    screened, one = InMemorySource.of(sample), Streams(SEED, 1)
    run = search(core, screened, Cavi(), restarts=1, budget=Budget(), streams=one, rough=True)
    start, lines, ends = enlarged(core, source, run.final.stats), [], []
    for memory in (0, MEMORY):
        began = time.process_time()
        ascent = cavi(core, source, start, max_iter=MOST_PASSES, memory=memory)
        seconds = time.process_time() - began
        ends.append(ascent)
        lines.append(
            {"design": design, "components": size, "memory": memory, "passes": ascent.n_iter,
             "converged": ascent.converged, "seconds": seconds}
        )  # fmt: skip
    best = max(ends, key=lambda ascent: ascent.bound)
    top = cavi(core, source, best.stats, tol=1e-7, max_iter=FURTHER, memory=MEMORY).bound
    return [
        line | {"below the best": top - end.bound} for line, end in zip(lines, ends, strict=True)
    ]


def main() -> None:
    warnings.simplefilter("ignore")
    keep(pd.DataFrame([x for name, k in SIZES.items() for x in compared(name, k)]), "all_rows")


if __name__ == "__main__":
    main()
