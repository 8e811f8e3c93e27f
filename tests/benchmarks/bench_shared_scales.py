"""What a scale that components share costs slopes, and what it gains in prediction.

    python tests/benchmarks/bench_shared_scales.py

Two components under the default prior (one estimated scale per term, rate 0.05), with the rate 0.5,
and with fixed scales. Poisson slopes of 100 rows, `y ~ x | 1`, 40 sets of each size in standard
errors: coverage of 90% intervals of both slopes, and their estimates relative to the truth, of the
component with the larger mean and of the other. Held-out log density per row with three further
columns that have no effect, less than by default, of the laws of `bench_held_out_families.py`:
12 sets of 100 and 400 rows, Poisson, binomial, and gamma. Writes
docs/benchmarks/shared_scales.csv.
"""

import warnings

import numpy as np
import pandas as pd
from bench_effect_sizes import EFFECTS, LEFT, inside, rows_of_two
from bench_held_out_families import EFFECTS as LAWS
from bench_held_out_families import NEW_ROWS, held_out, simulated
from tables import keep

import bayesvb as bvb

PRIORS = {
    "default": {},
    "rate 0.5": {"priors": bvb.Priors(scale_rate=0.5)},
    "fixed": {"priors": bvb.Priors(scales="fixed")},
}


def slopes(effect, seeds=range(3001, 3041)):
    """Coverage and relative estimates of Poisson slopes, by prior."""
    for name, options in PRIORS.items():
        covered, ratio = [], []
        for seed in seeds:
            data, truth = rows_of_two("poisson", 100, effect, seed)
            options = {"n_components": 2, "family": "poisson", **options}
            found = bvb.DensityRegression("y ~ x | 1", data, **options).fit(seed=1, n_jobs=1)
            found = found.summary(0.9).loc["mean"]
            order = found.xs("Intercept", level="term")["mean"].sort_values(ascending=False).index
            found = found.xs("x", level="term").loc[order]
            covered.append(inside(found, truth).mean())
            ratio.append(found["mean"] / truth if effect else found["mean"] * np.nan)
        case = {"family": "poisson", "rows": 100, "effect in se": effect, "prior": name}
        larger, smaller = np.mean(ratio, axis=0)
        case |= {"coverage": np.mean(covered), "larger, relative": larger}
        yield {**case, "smaller, relative": smaller}


def losses(family, law, n, seeds=range(101, 113)):
    """Held-out log density less than by default, with its standard error, by prior."""
    formula, rows = f"{LEFT.get(family, 'y')} ~ x + z + v + w | 1", np.arange(n)
    found = {name: [] for name in PRIORS}
    for seed in seeds:
        given = simulated(family, law, n, seed), formula, family, 2
        for name, options in PRIORS.items():
            each = held_out(*given, rows, np.arange(n, n + NEW_ROWS), **options)
            found[name].append(each.mean())
    for name in list(PRIORS)[1:]:
        gain = np.array(found[name]) - np.array(found["default"])
        case = {"family": f"{family}, {law}", "rows": n, "prior": name, "gain": gain.mean()}
        yield {**case, "se": gain.std(ddof=1) / len(gain) ** 0.5}


def main():
    warnings.simplefilter("ignore")
    lines = [line for effect in EFFECTS for line in slopes(effect)]
    for family in ("poisson", "binomial", "gamma"):
        for law in LAWS:
            for n in (100, 400):
                lines += losses(family, law, n)
    keep(pd.DataFrame(lines), "shared_scales")


if __name__ == "__main__":
    main()
