"""Density regression of real data by several engines: held-out density, WAIC, LOO and time.

    BAYESVB_DATA=folder python tests/benchmarks/bench_density_methods.py --methods cavi em svi

The data and formulas of ``real_data``, three components, softmax gate, five folds that are the same
for all engines, 8 restarts (2 for engines that sample or go by stochastic gradients), one thread.
``lpd`` is per held-out row, WAIC and LOO per training row. Results:
docs/benchmarks/density_methods.csv.
"""

import argparse

import pandas as pd
from real_data import REAL_DATA, RealData
from tables import keep

import bayesvb as bvb

FOLDS, COMPONENTS = 5, 3

WAYS = {
    "cavi": {"restarts": 8},
    "em": {"restarts": 8},
    "em, likelihood": {"method": "em", "prior": False, "restarts": 8},
    "svi": {"restarts": 8},
}
"""Arguments of ``fit`` where they are not those of ``OTHER``."""

OTHER = {"restarts": 2}


def record(one: RealData, frame: pd.DataFrame, method: str) -> dict[str, object]:
    """Means over the folds, with the standard error over folds of the log density."""
    models = {
        "density": lambda rows: bvb.DensityRegression(one.formula, rows, n_components=COMPONENTS)
    }
    ways = {method: WAYS.get(method, OTHER)}
    table = bvb.benchmark(models, {one.name: frame}, ways, FOLDS, criteria=("waic", "loo"))
    done = table[table["failure"] == ""]
    reasons = table.loc[table["failure"] != "", "failure"]
    columns = ["lpd", "waic", "loo", "seconds", "passes", "converged"]
    return {
        "run": f"{one.name}, {method}",
        "data": one.name,
        "method": method,
        "rows": len(frame),
        **done[columns].astype(float).mean().to_dict(),
        "lpd_se": done["lpd"].sem(),
        "failed": len(reasons),
        "failure": reasons.iloc[0] if len(reasons) else "",
    }


def main() -> None:
    """One row per data set and method, kept as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(WAYS))
    parser.add_argument("--data", nargs="+", help="of real_data; all that are there if left out")
    asked = parser.parse_args()
    for one in REAL_DATA:
        frame = one.load() if asked.data is None or one.name in asked.data else None
        if frame is not None:
            for method in asked.methods:
                keep(pd.DataFrame([record(one, frame, method)]), "density_methods", by="run")


if __name__ == "__main__":
    main()
