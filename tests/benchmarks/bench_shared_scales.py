"""What a scale that components share costs slopes, and what it gains in prediction.

    python tests/benchmarks/bench_shared_scales.py [sets] [first seed]

Two components under the default prior (one estimated scale per term, rate 0.1), with the rate 0.05
of earlier versions, and with fixed scales. Slopes of 100 rows and, a quarter as many sets, of 400,
`y ~ x | 1`, of each size in standard errors: coverage of 90% intervals of both slopes, and their
estimates relative to the truth, of the component with the larger mean and of the other. Held-out
log density per row with three further columns that have no effect, more than with the rate 0.05,
of the laws of `bench_held_out_families.py`. The rate 0.1 was chosen on seeds 7001 to 7024, as the
largest of 0.05, 0.1, 0.15, 0.25, and 0.5 that loses less than 0.005 nats per row on average. Writes
docs/benchmarks/shared_scales.csv; its rows of other priors, and of 12 sets, are of an earlier run.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from bench_effect_sizes import EFFECTS, INTERCEPTS, LEFT, inside, rows_of_two
from bench_held_out_families import NEW_ROWS, held_out, simulated
from tables import keep

import bayesvb as bvb

PRIORS = {
    "rate 0.05": {"priors": bvb.Priors(scale_rate=0.05)},
    "default": {},
    "fixed": {"priors": bvb.Priors(scales="fixed")},
}


def slopes(family, n, effect, seeds):
    """Coverage and relative estimates of slopes, by prior."""
    for name, options in PRIORS.items():
        covered, ratio = [], []
        for seed in seeds:
            data, truth = rows_of_two(family, n, effect, seed)
            options = {"n_components": 2, "family": family, **options}
            model = bvb.DensityRegression(f"{LEFT.get(family, 'y')} ~ x | 1", data, **options)
            found = model.fit(seed=1, n_jobs=1).summary(0.9).loc["mean"]
            order = found.xs("Intercept", level="term")["mean"].sort_values(ascending=False).index
            found = found.xs("x", level="term").loc[order]
            covered.append(inside(found, truth).mean())
            ratio.append(found["mean"] / truth if effect else found["mean"] * np.nan)
        case = {"family": family, "rows": n, "effect in se": effect, "prior": name}
        larger, smaller = np.mean(ratio, axis=0)
        case |= {"coverage": np.mean(covered), "larger, relative": larger}
        yield {**case, "smaller, relative": smaller, "sets": len(seeds)}


def gains(family, law, n, seeds):
    """Held-out log density more than with the rate 0.05, with its standard error, by prior."""
    formula, rows = f"{LEFT.get(family, 'y')} ~ x + z + v + w | 1", np.arange(n)
    found = {name: [] for name in PRIORS}
    for seed in seeds:
        given = simulated(family, law, n, seed), formula, family, 2
        for name, options in PRIORS.items():
            each = held_out(*given, rows, np.arange(n, n + NEW_ROWS), **options)
            found[name].append(each.mean())
    for name in list(PRIORS)[1:]:
        gain = np.array(found[name]) - np.array(found["rate 0.05"])
        case = {"family": f"{family}, {law}", "rows": n, "prior": name, "gain": gain.mean()}
        yield {**case, "se": gain.std(ddof=1) / len(gain) ** 0.5, "sets": len(seeds)}


def main():
    warnings.simplefilter("ignore")
    sets, first = ([int(a) for a in sys.argv[1:3]] + [12, 8001][len(sys.argv[1:3]) :])[:2]
    lines = []
    for family in INTERCEPTS:
        for n, seeds in ((100, range(first, first + sets)), (400, range(first, first + sets // 4))):
            for effect in EFFECTS:
                lines += slopes(family, n, effect, seeds)
        for law in ("small", "one"):
            lines += gains(family, law, 100, range(first + 100, first + 100 + sets))
    keep(pd.DataFrame(lines), "shared_scales")


if __name__ == "__main__":
    main()
