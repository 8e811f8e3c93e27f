"""Do fits lose an optimum when runs end early, or when `bvb.select` starts from fewer components?

Random problems with 2, 3 and 4 components in turn. ``all``: eight runs, each to its end. ``early``:
runs that cannot reach the ELBO of the first two end early, as in every fit. ``chain``: one start is
the fit with a component less, and few others are tried, as in ``bvb.select``. ELBOs are those of
the best run less that of ``all``; passes are of all runs. Results: docs/benchmarks/starts.csv, one
row for each fit.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from bench_convergence import DESIGNS
from bench_halving import RESTARTS, mixture
from tables import keep

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.restarts import RestartSearch, search
from bayesvb.model_selection.near_start import near_start
from bayesvb.numerics.streams import Streams

FIRST_SEED, LEAST_ROWS, MOST_ROWS, SIZES = 20_000, 150, 500, (2, 3, 4)


def searched(model: bvb.DensityRegression, seed: int, **options: object) -> RestartSearch:
    """Search of a fit with eight restarts."""
    streams = Streams(seed, RESTARTS)
    return search(
        model.core, model.source, Cavi(), restarts=RESTARTS, budget=Budget(), streams=streams,
        **options,
    )  # fmt: skip


def told(found: RestartSearch) -> tuple[float, int]:
    """ELBO of the best run, and passes of all."""
    best = max(run.ascent.bound for run in found.runs)
    return best, sum(run.ascent.n_iter for run in found.runs)


def problem(seed: int) -> list[dict[str, object]]:
    """One row for each number of components."""
    rng = np.random.default_rng(seed)
    designs = [*DESIGNS.values(), mixture, mixture, mixture, mixture]
    n_rows = int(rng.integers(LEAST_ROWS, MOST_ROWS))
    data, formula = designs[seed % len(designs)](n_rows, rng)
    gate = ("softmax", "stick-breaking")[int(rng.integers(2))]
    rows, fit = [], None
    for size in SIZES:
        model = bvb.DensityRegression(formula, data, n_components=size, gate=gate)
        (full, passes), (early, fewer) = (
            told(searched(model, seed, rough=rough)) for rough in (True, False)
        )
        near = None if fit is None else near_start(fit, size)
        began = time.process_time()
        fit = model.starting_near(near).fit(seed=seed, covariance="mean-field", n_jobs=1)
        seconds = time.process_time() - began
        table = fit.restarts
        chain = float(table["elbo"].max()) + model.log_jacobian * n_rows
        rows.append({"seed": seed, "rows": n_rows, "gate": gate, "components": size,
                     "early": early - full, "chain": chain - full, "passes": passes,
                     "passes early": fewer, "passes chain": int(table["n_iter"].sum()),
                     "seconds chain": seconds})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=60)
    warnings.simplefilter("ignore")
    table = pd.DataFrame()
    for seed in range(FIRST_SEED, FIRST_SEED + parser.parse_args().problems):
        table = pd.concat([table, pd.DataFrame(problem(seed))])
        keep(table.round({"early": 3, "chain": 3, "seconds chain": 2}), "starts")
    for way in ("early", "chain"):
        worse, better = (table[way] < -0.1).mean(), (table[way] > 0.1).mean()
        share = table[f"passes {way}"].sum() / table["passes"].sum()
        print(f"{way}: {worse:.1%} worse, {better:.1%} better, {share:.0%} of the passes")


if __name__ == "__main__":
    main()
