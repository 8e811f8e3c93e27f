"""Coverage of intervals where responses are right censored or rounded, and time.

`y ~ x + z` with Gaussian noise of sd 1, effects of x of 1, 2 and 3 standard errors of complete
data, 100 and 400 rows; a third of the rows right censored, or all rounded to one standard
deviation. One component, and the upper of two lines that are cut alike. Coverage of 90% intervals
by linear response; mean-field intervals beside them; then CPU time of a fit of 10,000 rows.

    python tests/benchmarks/bench_censored.py [sets] [first seed]

writes docs/benchmarks/censored.csv: coverage, its standard error, mean-field coverage, mean
estimate / truth; seconds.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import bayesvb as bvb

PROB = 0.9
OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "censored.csv"


def right_censored(y):
    limit = np.quantile(y, 2.0 / 3.0)
    return {"y": np.minimum(y, limit), "cut": y > limit}


def rounded(y):
    return {"y": np.round(y)}


KINDS = {"cens(y, cut)": right_censored, "rounded(y, 1)": rounded}


def data_of(kind, n, n_components, effect, seed):
    rng = np.random.default_rng([seed, n, round(10 * effect)])
    slope = effect / np.sqrt(n / n_components)
    x, z = rng.normal(size=(2, n))
    y = slope * x + 0.5 * z + rng.normal(size=n)
    if n_components == 2:
        y = np.where(rng.random(n) < 0.5, y + 6.0, 0.5 * z + rng.normal(size=n))
    return pd.DataFrame({**KINDS[kind](y), "x": x, "z": z}), slope


def fit_of(kind, data, n_components):
    formula = f"{kind} ~ x + z | gating(1)"
    model = bvb.DensityRegression(formula, data, n_components=n_components)
    return model.fit(seed=1, draws=1000, n_jobs=1, restarts=4)


def coverage(kind, n, n_components, effect, seeds):
    rows = []
    for seed in seeds:
        data, slope = data_of(kind, n, n_components, effect, seed)
        fit = fit_of(kind, data, n_components)
        found = fit.summary(PROB).loc["mean"]
        upper = int(found["mean"].unstack()["Intercept"].to_numpy().argmax()) + 1
        own = found.loc[(upper, "x")]
        narrow = fit.with_covariance("mean-field").summary(PROB).loc[("mean", upper, "x")]
        within = [one["lower"] < slope < one["upper"] for one in (own, narrow)]
        rows.append((*within, own["mean"] / slope))
    covered, narrow, ratio = np.array(rows, dtype=float).mean(axis=0)
    error = np.sqrt(covered * (1.0 - covered) / len(rows))
    return {
        "sets": len(rows), "coverage": covered, "se": error, "mean-field": narrow,
        "estimate / truth": ratio,
    }  # fmt: skip


def seconds(kind):
    """CPU time of the second of two fits."""
    data, _ = data_of(kind, 10_000, 1, 3.0, 0)
    fit_of(kind, data, 1)
    start = time.process_time()
    fit_of(kind, data, 1)
    return {"seconds": time.process_time() - start}


def main():
    sets, first = ([int(a) for a in sys.argv[1:]] + [200, 1][len(sys.argv) - 1 :])[:2]
    warnings.simplefilter("ignore")
    rows = []
    for kind in KINDS:
        for n, n_components in ((100, 1), (400, 1), (400, 2)):
            for effect in (1.0, 2.0, 3.0):
                case = {"response": kind, "rows": n, "components": n_components}
                found = coverage(kind, n, n_components, effect, range(first, first + sets))
                rows.append({**case, "effect in se": effect, **found})
                print(rows[-1], flush=True)
        rows.append({"response": kind, "rows": 10_000, "components": 1, **seconds(kind)})
        print(rows[-1], flush=True)
    pd.DataFrame(rows).round(3).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
