"""Coverage of intervals where responses are right censored or rounded, and time.

`y ~ x + z` with Gaussian noise of sd 1, effects of x of 1, 2 and 3 standard errors of complete
data, 100 and 400 rows; a third of the rows right censored, or all rounded to one standard
deviation. One component, and the upper of two lines that are cut alike. Coverage of 90% intervals
by linear response and by mean-field, of one component also of Wald intervals by maximum
likelihood on the same sets; then CPU time of a fit of 10,000 rows.

    python tests/benchmarks/bench_censored.py [sets] [first seed]

writes docs/benchmarks/censored.csv: coverage and its standard error, mean estimate / truth;
seconds. Of two components there are half as many sets.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import log_ndtr

import bayesvb as bvb

PROB, Z = 0.9, 1.6448536
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


def wald_covers(kind, data, slope):
    """Whether the Wald interval of a normal regression of intervals holds the slope."""
    design = np.stack([np.ones(len(data)), data["x"], data["z"]])
    y = data["y"].to_numpy()
    lower, upper = (y, np.inf) if kind.startswith("cens") else (y - 0.5, y + 0.5)
    seen = ~data["cut"].to_numpy() if "cut" in data else np.zeros(len(y), dtype=bool)

    def loss(theta):
        sd, line = np.exp(theta[3]), theta[:3] @ design
        low, high = (lower - line) / sd, (upper - line) / sd
        flipped = low + high > 0.0
        first, last = np.where(flipped, -high, low), np.where(flipped, -low, high)
        ratio = log_ndtr(first) - log_ndtr(last)
        density = -0.5 * low**2 - theta[3] - 0.5 * np.log(2.0 * np.pi)
        return -np.where(seen, density, log_ndtr(last) + np.log1p(-np.exp(ratio))).sum()

    best, h, steps = minimize(loss, np.zeros(4), method="BFGS").x, 1e-3, np.eye(4)
    hessian = [
        [
            loss(best + h * (a + b)) - loss(best + h * (a - b))
            - loss(best - h * (a - b)) + loss(best - h * (a + b))
            for b in steps
        ]
        for a in steps
    ]  # fmt: skip
    error = np.sqrt(np.linalg.inv(np.array(hessian) / (4.0 * h * h))[1, 1])
    return abs(best[1] - slope) < Z * error


def fit_of(kind, data, n_components, seed=1):
    formula = f"{kind} ~ x + z | gating(1)"
    model = bvb.DensityRegression(formula, data, n_components=n_components)
    return model.fit(seed=seed, draws=2000, n_jobs=1, restarts=4)


def coverage(kind, n, n_components, effect, seeds):
    rows = []
    for seed in seeds:
        data, slope = data_of(kind, n, n_components, effect, seed)
        fit = fit_of(kind, data, n_components, seed)
        found = fit.summary(PROB).loc["mean"]
        upper = int(found["mean"].unstack()["Intercept"].to_numpy().argmax()) + 1
        own = found.loc[(upper, "x")]
        narrow = fit.with_covariance("mean-field").summary(PROB).loc[("mean", upper, "x")]
        within = [one["lower"] < slope < one["upper"] for one in (own, narrow)]
        wald = wald_covers(kind, data, slope) if n_components == 1 else np.nan
        rows.append((*within, wald, own["mean"] / slope))
    covered, narrow, wald, ratio = np.array(rows, dtype=float).mean(axis=0)
    error = np.sqrt(covered * (1.0 - covered) / len(rows))
    return {
        "sets": len(rows), "coverage": covered, "se": error, "mean-field": narrow,
        "wald": wald, "estimate / truth": ratio,
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
                last = first + sets // n_components
                found = coverage(kind, n, n_components, effect, range(first, last))
                rows.append({**case, "effect in se": effect, **found})
                print(rows[-1], flush=True)
        rows.append({"response": kind, "rows": 10_000, "components": 1, **seconds(kind)})
        print(rows[-1], flush=True)
    pd.DataFrame(rows).round(3).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
