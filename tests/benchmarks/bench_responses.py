"""Coverage of intervals of an effect, and time, of families of discrete responses.

One component, `y ~ x + z`, effects of x of 1, 2 and 3 standard errors, 100 and 400 rows. Coverage
of 90% intervals by linear response and of 90% Wald intervals by maximum likelihood; then CPU time
of a fit of 10,000 rows and of statsmodels' GLM.

    python tests/benchmarks/bench_responses.py [sets] [first seed]

writes docs/benchmarks/responses.csv: coverage, its standard error, mean estimate / truth; seconds.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit

import bayesvb as bvb

PROB, Z = 0.9, 1.6448536
INTERCEPT = 0.3
OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "responses.csv"


def log_odds(u, rng):
    return (rng.random(len(u)) < expit(u)).astype(float)


def log_means(u, rng):
    return rng.poisson(np.exp(u)).astype(float)


FAMILIES = {
    "bernoulli": (log_odds, sm.families.Binomial(), expit(INTERCEPT) * expit(-INTERCEPT)),
    "poisson": (log_means, sm.families.Poisson(), np.exp(INTERCEPT)),
}
"""Family -> responses given the predictor, that of statsmodels, information per row."""


def data_of(family, n, effect, seed):
    rng = np.random.default_rng([seed, n, round(10 * effect)])
    draw, _, information = FAMILIES[family]
    x, z = rng.normal(size=(2, n))
    slope = effect / np.sqrt(n * information)
    y = draw(INTERCEPT + slope * x + 0.5 * z, rng)
    return pd.DataFrame({"y": y, "x": x, "z": z}), slope


def fit_of(family, data):
    model = bvb.DensityRegression("y ~ x + z", data, n_components=1, family=family)
    return model.fit(seed=1, draws=1000, n_jobs=1)


def glm_of(family, data):
    columns = sm.add_constant(data[["x", "z"]])
    return sm.GLM(data["y"], columns, FAMILIES[family][1]).fit()


def coverage(family, n, effect, seeds):
    rows = []
    for seed in seeds:
        data, slope = data_of(family, n, effect, seed)
        if data["y"].nunique() < 2:
            continue
        found = fit_of(family, data).summary(PROB).loc[("mean", 1, "x")]
        glm = glm_of(family, data)
        wald = abs(glm.params["x"] - slope) < Z * glm.bse["x"]
        rows.append((found["lower"] < slope < found["upper"], wald, found["mean"] / slope))
    each = np.array(rows, dtype=float)
    covered, wald, ratio = each.mean(axis=0)
    return {
        "sets": len(each),
        "coverage": covered,
        "wald": wald,
        "se": np.sqrt(covered * (1.0 - covered) / len(each)),
        "estimate / truth": ratio,
    }


def seconds(family):
    """CPU time of the second of two fits, and of two of statsmodels."""
    data, _ = data_of(family, 10_000, 3.0, 0)
    found = {}
    for name, function in (("seconds", fit_of), ("glm seconds", glm_of)):
        function(family, data)
        start = time.process_time()
        function(family, data)
        found[name] = time.process_time() - start
    return found


def main():
    sets, first = ([int(a) for a in sys.argv[1:]] + [400, 1][len(sys.argv) - 1 :])[:2]
    warnings.simplefilter("ignore")
    rows = []
    for family in FAMILIES:
        spent = seconds(family)
        for n in (100, 400):
            for effect in (1.0, 2.0, 3.0):
                case = {"family": family, "rows": n, "effect in se": effect}
                rows.append({**case, **coverage(family, n, effect, range(first, first + sets))})
                print(rows[-1], flush=True)
        rows.append({"family": family, "rows": 10_000, **spent})
        print(rows[-1], flush=True)
    pd.DataFrame(rows).round(3).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
