"""Coverage of intervals of families with a shape or with thresholds: gamma, weibull, ordinal.

`y ~ x + z`, one component, effects of x of 1, 2 and 3 standard errors, 100 and 400 rows; a third of
the Weibull times is censored. Coverage of 90% linear-response intervals of the effect, and of the
log shape or of the second threshold.

    python tests/benchmarks/bench_positive.py [sets]

writes docs/benchmarks/positive.csv.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import bayesvb as bvb

OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "positive.csv"

SHAPE, CUTS = {"gamma": 3.0, "weibull": 1.5}, np.array([-1.0, 0.3, 1.5])

INFORMATION = {"gamma": 3.0, "weibull": 1.5**2 * 0.67, "ordinal": 0.30}
"""Of the predictor, in one row: approximate, as it only sets the size of the effect."""


def table(family, n, effect, rng):
    x, z = rng.normal(size=(2, n))
    slope = effect / np.sqrt(n * INFORMATION[family])
    u = 0.3 + slope * x - 0.4 * z
    if family == "ordinal":
        y = 1.0 + np.digitize(slope * x - 0.4 * z + rng.logistic(size=n), CUTS)
        return pd.DataFrame({"y": y, "x": x, "z": z}), slope
    if family == "gamma":
        y = np.exp(u) * rng.gamma(SHAPE[family], 1.0 / SHAPE[family], n)
        return pd.DataFrame({"y": y, "x": x, "z": z}), slope
    times, limit = np.exp(u) * rng.weibull(SHAPE[family], n), rng.exponential(3.0, n)
    seen = (times <= limit).astype(int)
    return pd.DataFrame({"y": np.minimum(times, limit), "seen": seen, "x": x, "z": z}), slope


def covered(draws, truth):
    low, high = np.quantile(draws, [0.05, 0.95])
    return low <= truth <= high


def one_set(family, n, effect, seed):
    data, slope = table(family, n, effect, np.random.default_rng(seed))
    formula = "Surv(y, seen) ~ x + z" if family == "weibull" else "y ~ x + z"
    model = bvb.DensityRegression(formula, data, n_components=1, family=family)
    posterior = model.fit(seed=1, n_jobs=1).posterior
    beta = posterior["beta"].sel(term_mean="x").to_numpy().ravel()
    if family == "ordinal":
        other, truth = posterior["threshold"].to_numpy().reshape(-1, 3)[:, 1], CUTS[1]
    else:
        other, truth = posterior["shape"].to_numpy().ravel(), SHAPE[family]
    return covered(beta, slope), covered(other, truth)


def main(sets):
    rows = []
    for family in ("gamma", "weibull", "ordinal"):
        for n in (100, 400):
            for effect in (1.0, 2.0, 3.0):
                found = [one_set(family, n, effect, seed) for seed in range(sets)]
                share = np.mean(found, axis=0)
                se = np.sqrt(0.09 / sets)
                rows.append((family, n, effect, sets, *share.round(3), round(se, 3)))
                print(rows[-1], flush=True)
    names = ["family", "rows", "effect in se", "sets", "coverage", "shape or threshold", "se"]
    pd.DataFrame(rows, columns=names).to_csv(OUT, index=False)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
