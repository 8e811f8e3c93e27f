"""Smooth curves against regression splines: log density of left-out rows, ten folds, twice.

The motorcycle data, whose mean and spread both change with time. ``bs()`` cannot be evaluated
beyond the rows of the fit: its rows outside are clipped to the range. Rows of a fold are left out
together. The difference to ``s(times)`` is that of mean log densities of rows, with its standard
error over rows.

    python tests/benchmarks/bench_smooths.py
"""

import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb

FOLDS, REPEATS = 10, 2

CURVES = {
    "s(times)": "s(times)",
    "s(6)": "s(times, k=6)",
    "bs(5), clipped": "bs(times, df=5, extrapolation='clip')",
    "bs(8), clipped": "bs(times, df=8, extrapolation='clip')",
}

GATES = {"same": "{0}", "line": "times"}


def held_out(formula, data, n_components):
    """Log density of every row without its fold, in each of the repetitions."""
    found = np.empty((REPEATS, len(data)))
    for repeat in range(REPEATS):
        fold = np.random.default_rng(repeat).permutation(np.resize(np.arange(FOLDS), len(data)))
        for one in range(FOLDS):
            left = data[fold != one].reset_index(drop=True)
            model = bvb.DensityRegression(formula, left, n_components=n_components)
            fit = model.fit(seed=1, restarts=8, covariance="mean-field", draws=25)
            found[repeat, fold == one] = fit.log_density(data[fold == one])
    return found


def main():
    """Every curve, gate and number of components."""
    warnings.simplefilter("ignore")
    data, rows = bvb.datasets.load("mcycle"), []
    for gate, of_gate in GATES.items():
        for n_components in (1, 2, 3, 5):
            best = None
            for name, curve in CURVES.items():
                formula = f"accel ~ {curve} | gating({of_gate.format(curve)})"
                each = held_out(formula, data, n_components).mean(axis=0)
                best = each if best is None else best
                apart = each - best
                rows.append(
                    {
                        "gate": gate,
                        "components": n_components,
                        "curve": name,
                        "log_density": each.mean(),
                        "difference": apart.mean(),
                        "se": apart.std(ddof=1) / np.sqrt(len(apart)),
                    }
                )
                print(rows[-1], flush=True)
    keep(pd.DataFrame(rows), "smooths")


if __name__ == "__main__":
    main()
