"""Do fits lose an optimum when runs end early, or when `bvb.select` starts from fewer components?

Random problems with 3 and 4 components. ``all``: eight runs, each to its end. ``early``: runs that
cannot reach the ELBO of the first two end early, as in every fit. ``chain``: one start is the fit
with a component less, and few others are tried, as in ``bvb.select`` (without stick-breaking).
ELBOs are those of the best run less that of ``all``; passes are of all runs.
Results: docs/benchmarks/starts.csv, one row for each fit.

With ``--rows``: ``all`` and ``early`` of four designs with five components and so many rows, CPU
seconds of the fit without linear response and draws. Results: docs/benchmarks/starts_rows.csv.
``impact`` of 100,000 rows takes longer with early ends: the run that would win on the sample, by
0.9 nats, ends early, and the next best one crosses a plateau of 10 nats in 1,358 passes over all
rows, where the winner takes 202.
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
from bayesvb.engines import restarts
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
        near = None if fit is None else near_start(fit, size)
        fit = model.starting_near(near).fit(seed=seed, covariance="mean-field", n_jobs=1)
        if size == SIZES[0]:
            continue
        (full, passes), (early, fewer) = (
            told(searched(model, seed, rough=rough)) for rough in (True, False)
        )
        row = {"seed": seed, "rows": n_rows, "gate": gate, "components": size, "passes": passes,
               "early": early - full, "passes early": fewer}  # fmt: skip
        if near is not None:
            row["chain"] = float(fit.restarts["elbo"].max()) + model.log_jacobian * n_rows - full
            row["passes chain"] = int(fit.restarts["n_iter"].sum())
        rows.append(row)
    return rows


def of_rows(design: str, n_rows: int) -> dict[str, object]:
    """ELBO, passes and seconds of a large fit, with all runs to their end and with early ends."""
    data, formula = DESIGNS[design](n_rows, np.random.default_rng(FIRST_SEED))
    model = bvb.DensityRegression(formula, data, n_components=5)
    row: dict[str, object] = {"rows": n_rows, "design": design}
    ends = restarts._floor
    for way in ("all", "early"):
        restarts._floor = ends if way == "early" else lambda runs: -np.inf
        began = time.process_time()
        found = searched(model, FIRST_SEED)
        row[f"seconds {way}"] = round(time.process_time() - began, 2)
        row[f"elbo {way}"] = round(found.final.bound, 3)
        row[f"passes {way}"] = told(found)[1]
    restarts._floor = ends
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--rows", type=int, nargs="*", default=())
    warnings.simplefilter("ignore")
    each = [of_rows(name, n) for n in parser.parse_args().rows for name in DESIGNS]
    if each:
        keep(pd.DataFrame(each), "starts_rows")
        return
    table = pd.DataFrame()
    for seed in range(FIRST_SEED, FIRST_SEED + parser.parse_args().problems):
        table = pd.concat([table, pd.DataFrame(problem(seed))])
        keep(table.round({"early": 3, "chain": 3}), "starts")
    for way in ("early", "chain"):
        made = table.dropna(subset=[way])
        worse, better = (made[way] < -0.1).sum(), (made[way] > 0.1).sum()
        share = made[f"passes {way}"].sum() / made["passes"].sum()
        print(f"{way}: {worse} of {len(made)} worse, {better} better, {share:.0%} of the passes")


if __name__ == "__main__":
    main()
