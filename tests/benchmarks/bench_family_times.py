"""CPU time of one component of each family, compared with statsmodels, in one run.

    python tests/benchmarks/bench_family_times.py [rows ...]

`y ~ x + z`, 10,000 and 100,000 rows: model and fit with intervals; maximum likelihood by `GLM`
(binomial, Poisson, gamma) or `NegativeBinomial`. A third of the Weibull times is censored; the
reference, as statsmodels has no such model, is a gamma regression of the same times. Median of nine
fits, after two. The goal is three times the reference and 30 ms. Writes
docs/benchmarks/family_times.csv.
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
from bench_referees import LEFT, table
from tables import keep

import bayesvb as bvb

LAWS = {
    "bernoulli": sm.families.Binomial(),
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
    "weibull": sm.families.Gamma(sm.families.links.Log()),
}


def fit_here(family, data):
    formula = f"{LEFT.get(family, 'y')} ~ x + z"
    bvb.DensityRegression(formula, data, n_components=1, family=family).fit(seed=1, n_jobs=1)


def fit_there(family, data):
    columns, y = sm.add_constant(data[["x", "z"]]), data["y"]
    if family == "negbinomial":
        sm.NegativeBinomial(y, columns).fit(disp=0)
        return
    y = np.column_stack([y, 10.0 - y]) if family == "binomial" else y
    sm.GLM(y, columns, LAWS[family]).fit()


def seconds(fit, family, data):
    """Median CPU seconds of nine fits, the first two aside."""
    found = []
    for _ in range(11):
        began = time.process_time()
        fit(family, data)
        found.append(time.process_time() - began)
    return float(np.median(found[2:]))


def main(sizes):
    warnings.simplefilter("ignore")
    lines = []
    for n in sizes:
        for family, data in table(n, 1):
            if family == "ordinal":
                continue
            own, other = (seconds(fit, family, data) for fit in (fit_here, fit_there))
            case = {"family": family, "rows": n, "cpu_s": own, "reference_cpu_s": other}
            lines.append({**case, "goal_cpu_s": 3.0 * other + 0.03})
    keep(pd.DataFrame(lines).round(4), "family_times")


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [10_000, 100_000])
