"""A million rows: stochastic steps beside coordinate ascent, passes and all; memory for more rows.

Both engines set out from the optimum of a sample of 10 000 rows, which takes one pass over all rows
(counted here); stochastic steps take ``PASSES`` more in minibatches and one for the bound.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from bench_rows import FORMULA, frame
from tables import keep

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import Budget
from bayesvb.engines.restarts import enlarged
from bayesvb.engines.svi import Svi
from bayesvb.numerics.streams import Streams

COMPONENTS = (2, 5)
PASSES = 1
BLOCK = 10_000


@dataclass(frozen=True)
class GeneratedRows(AbstractSource):
    """Blocks that are simulated whenever the rows are gone over."""

    make: Callable[[], Iterator[Block]]
    rows: int

    def iterate(self) -> Iterator[Block]:
        yield from self.make()

    @property
    def n_rows(self) -> int:
        return self.rows

    @property
    def total_weight(self) -> float:
        return float(self.rows)


def bounds() -> pd.DataFrame:
    """Bound, passes and seconds of both engines."""
    data, rows = frame(), []
    for n_components in COMPONENTS:
        model = bvb.DensityRegression(FORMULA, data, n_components=n_components)
        best = None
        for method, options in (("cavi", {}), ("svi", {"passes": PASSES})):
            began = time.perf_counter()
            fit = model.fit(method, seed=1, covariance="mean-field", draws=25, n_jobs=1, **options)
            took = time.perf_counter() - began
            best = fit.elbo if best is None else best
            rows.append(
                {
                    "components": n_components,
                    "method": method,
                    "bound": f"{fit.elbo:.1f}",
                    "below CAVI, %": 100.0 * (best - fit.elbo) / abs(best),
                    "passes": fit.n_iter + 1,
                    "converged": fit.converged,
                    "seconds": took,
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def simulated(n_blocks: int) -> GeneratedRows:
    """Rows of the same design, on about the standardised scale."""

    def make() -> Iterator[Block]:
        for number in range(n_blocks):
            rng = np.random.default_rng(number)
            x1, x2, noise = rng.normal(size=(3, BLOCK))
            upper = rng.random(BLOCK) < 1.0 / (1.0 + np.exp(-2.0 * x1))
            y = np.where(upper, 1.0 + x1 + 0.3 * noise, -1.0 - x2 + 0.7 * noise)
            ones = np.ones(BLOCK)
            designs = {"mean": np.stack([ones, x1, x2]), "gating": np.stack([ones, x1])}
            yield Block(designs, 0.5 * y[None])

    return GeneratedRows(make, n_blocks * BLOCK)


def memory() -> pd.DataFrame:
    """Peak of all arrays during a run over rows that are never in memory together."""
    model = bvb.DensityRegression(FORMULA, frame().iloc[:BLOCK], n_components=5)
    core, stats = model.core, model.fit(seed=1, restarts=2, draws=25).stats
    rows = []
    for n_rows in (100_000, 1_000_000):
        source = simulated(n_rows // BLOCK)
        tracemalloc.start()
        start = enlarged(core, source, stats)
        found = Svi(passes=PASSES).run(core, source, start, Budget(), Streams(1).branch("run"))
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        rows.append({"rows": n_rows, "peak MiB": peak, "bound per row": found.bound / n_rows})
    return pd.DataFrame(rows)


def main() -> None:
    keep(bounds(), "svi")
    keep(memory(), "svi_memory")


if __name__ == "__main__":
    main()
