"""Coverage of intervals beside structural zeros: poisson and negbinomial; of a hurdle: gamma.

``y ~ x | zero(z)``, one component, effects of x on the log mean and of z on the log odds of a
structural zero of 1 to 3 standard errors, 150 and 600 rows, four in ten zeros structural. Coverage
of 90% linear-response intervals of both effects, of the probability of a structural zero where
covariates are 0, and of the probability of any zero, averaged over the rows.

    python tests/benchmarks/bench_zero.py [sets] [family ...]

writes docs/benchmarks/zero.csv.
"""

import sys

import numpy as np
import pandas as pd
from scipy.special import expit
from tables import keep

import bayesvb as bvb

LEVEL, LOG_MEAN, DISPERSION = -0.4, 1.2, 3.0

INFORMATION = {"poisson": (1.8, 0.20), "negbinomial": (0.75, 0.14), "gamma": (1.8, 0.24)}
"""Of the log mean and of the log odds, in one row: approximate, as they set the size of effects."""


def table(family, n, effect, rng):
    x, z = rng.normal(size=(2, n))
    slopes = effect / np.sqrt(n * np.array(INFORMATION[family]))
    mean, structural = np.exp(LOG_MEAN + slopes[0] * x), expit(LEVEL + slopes[1] * z)
    varied = mean * rng.gamma(DISPERSION, 1.0 / DISPERSION, n)  # the shape of gamma amounts, too
    some = mean if family == "poisson" else varied
    none = np.exp(-mean) if family == "poisson" else (1.0 + mean / DISPERSION) ** -DISPERSION
    if family == "gamma":
        none = 0.0
    zero = rng.random(n) < structural
    y = np.where(zero, 0.0, some if family == "gamma" else rng.poisson(some))
    truth = (*slopes, expit(LEVEL), np.mean(structural + (1.0 - structural) * none))
    return pd.DataFrame({"y": y, "x": x, "z": z}), truth


def one_set(family, n, effect, seed):
    data, truth = table(family, n, effect, np.random.default_rng([seed, n, int(effect)]))
    model = bvb.DensityRegression("y ~ x | zero(z)", data, n_components=1, family=family)
    fit = model.fit(seed=1, n_jobs=1)
    beta, zeta = fit.posterior["beta"], fit.posterior["beta_zero"]
    any_zero = bvb.effects.predictions(fit, target="density", at=0.0, average_by=True)
    draws = [beta.sel(term_mean="x"), zeta.sel(term_zero="z"),
             expit(zeta.sel(term_zero="Intercept")), any_zero.draws]  # fmt: skip
    ends = [np.quantile(np.ravel(one), [0.05, 0.95]) for one in draws]
    return [low <= one <= high for (low, high), one in zip(ends, truth, strict=True)]


def main(sets, families):
    rows = []
    for family in families:
        for n in (150, 600):
            for effect in (1.0, 2.0, 3.0):
                share = np.mean([one_set(family, n, effect, seed) for seed in range(sets)], axis=0)
                rows.append((family, n, effect, sets, *share.round(3)))
                print(rows[-1], flush=True)
    names = ["family", "rows", "effect in se", "sets", "effect on the mean", "effect on zeros",
             "structural zero", "any zero"]  # fmt: skip
    found = pd.DataFrame(rows, columns=names)
    keep(found.assign(se=np.sqrt(0.09 / found["sets"]).round(3)), "zero", by="family")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60, sys.argv[2:] or INFORMATION)
