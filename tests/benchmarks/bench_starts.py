"""Do fits lose an optimum when runs end early, or when `bvb.select` starts from fewer components?

Random problems with 3 and 4 components. ``all``: eight runs, each to its end. ``early``: runs that
cannot reach the ELBO of the first two end early, as in every fit. ``chain``: one start is the fit
with a component less, and few others are tried, as in ``bvb.select`` (without stick-breaking).
ELBOs are those of the best run less that of ``all``; passes are of all runs.
Results: docs/benchmarks/starts.csv, one row for each fit.

With ``--rows``: four designs with five components and so many rows, starts compared on 2,000 rows
(``small``), or on all rows up to 20,000 and on 10,000 of more (``large``). CPU seconds of the fit
without linear response and draws. Results: docs/benchmarks/starts_rows.csv.

With ``--sampled N``: the same of N random problems with 4,500 to 8,000 rows and two to five
components. Results: docs/benchmarks/starts_sampled.csv.
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
from bayesvb.estimators.near_start import near_start
from bayesvb.numerics.streams import Streams

FIRST_SEED, SAMPLED_SEED = 20_000, 80_000
LEAST_ROWS, MOST_ROWS, SIZES = 150, 500, (2, 3, 4)


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


def wide(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, str]:
    """Two to four regressions on eight to nineteen covariates."""
    p, k = int(rng.integers(8, 20)), int(rng.integers(2, 5))
    x, weights = rng.normal(size=(n, p)), rng.normal(size=(k, p))
    member = np.argmax(x @ weights.T + rng.gumbel(size=(n, k)), axis=1)
    slopes, sd = rng.normal(size=(k, p + 1)), rng.choice([0.3, 1.0])
    y = slopes[member, 0] + (x * slopes[member, 1:]).sum(axis=1) + sd * rng.normal(size=n)
    names = [f"x{i}" for i in range(p)]
    right = " + ".join(names)
    return pd.DataFrame(x, columns=names).assign(y=y), f"y ~ {right} | gating({right})"


def by_sample(model: bvb.DensityRegression, seed: int) -> dict[str, object]:
    """ELBO, passes and seconds of a fit by the rows on which starts are compared."""
    row: dict[str, object] = {}
    fewest = restarts.SCREEN_ROWS
    for way, screened in {"large": restarts.MANY_ROWS, "small": fewest}.items():
        restarts.SCREEN_ROWS = screened
        began = time.process_time()
        found = searched(model, seed)
        row[f"seconds {way}"] = round(time.process_time() - began, 2)
        row[f"elbo {way}"] = round(found.final.bound, 3)
        row[f"passes {way}"] = told(found)[1]
        row[f"further passes {way}"] = found.final.n_iter
    return row


def of_rows(design: str, n_rows: int) -> dict[str, object]:
    """One design with five components."""
    data, formula = DESIGNS[design](n_rows, np.random.default_rng(FIRST_SEED))
    model = bvb.DensityRegression(formula, data, n_components=5)
    return {"rows": n_rows, "design": design, **by_sample(model, FIRST_SEED)}


def of_problem(seed: int) -> dict[str, object]:
    """One random problem."""
    rng = np.random.default_rng(seed)
    designs = {**DESIGNS, "mixture": mixture, "wide": wide}
    name, n_rows = [*designs][seed % len(designs)], int(rng.integers(4_500, 8_000))
    data, formula = designs[name](n_rows, rng)
    gate, size = ("softmax", "stick-breaking")[int(rng.integers(2))], int(rng.integers(2, 6))
    model = bvb.DensityRegression(formula, data, n_components=size, gate=gate)
    row = {"seed": seed, "rows": n_rows, "design": name, "gate": gate, "components": size}
    return row | by_sample(model, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--rows", type=int, nargs="*", default=())
    parser.add_argument("--sampled", type=int, default=0)
    warnings.simplefilter("ignore")
    each = [of_rows(name, n) for n in parser.parse_args().rows for name in DESIGNS]
    if each:
        keep(pd.DataFrame(each), "starts_rows", by="rows")
        return
    for last in range(parser.parse_args().sampled):
        each.append(of_problem(SAMPLED_SEED + last))
        keep(pd.DataFrame(each), "starts_sampled")
    if each:
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
