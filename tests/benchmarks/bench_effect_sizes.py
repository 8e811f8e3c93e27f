"""Coverage of intervals by size of the effect, of families that are not Gaussian.

One component, `y ~ x + z`, and two components with constant weights, `y ~ x | 1`, whose slopes are
of opposite signs: effects of x of 0, 1, 2, 3 and 5 standard errors given the components, 100 and
400 rows. A third of the Weibull times of one component is censored; with one trial per row several
components are not identified, and ordered levels have one. Coverage of 90% intervals by default
and, of one component, of Wald intervals by maximum likelihood (``method="em"``), and of intervals
of the dispersion, of the shape or of the second threshold (``further``).

    python tests/benchmarks/bench_effect_sizes.py [sets] [first seed] [components] [family ...]

writes docs/benchmarks/effect_sizes.csv; rows of other families or numbers of components stay.

    python tests/benchmarks/bench_effect_sizes.py repeat

repeats the cells of lowest coverage with 60 new sets, and Poisson slopes of 100 rows with
``Priors(scales="fixed")``, in docs/benchmarks/effect_sizes_repeated.csv.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

import bayesvb as bvb

OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "effect_sizes.csv"

PROB, TRIALS, CUTS = 0.9, 10, np.array([-1.0, 0.3, 1.5])

EFFECTS = (0.0, 1.0, 2.0, 3.0, 5.0)

FURTHER = {"negbinomial": 2.0, "gamma": 3.0, "weibull": 1.5}
"""Dispersion or shape of one component."""

INTERCEPTS = {
    "binomial": (1.0, -1.5),
    "poisson": (1.8, 0.0),
    "negbinomial": (2.5, 0.3),
    "gamma": (1.5, -0.5),
    "weibull": (1.5, -0.5),
}
"""Of two components, on the scale of the predictor; counts have the dispersion 5."""

SHARES = np.array([0.6, 0.4])

LEFT = {"binomial": f"y | trials({TRIALS})"}


def information(family, u, further):
    """Of the predictor, in one row: approximate, as it only sets the size of the effect."""
    rate, spread = np.exp(u), expit(u) * expit(-u)
    return {
        "bernoulli": spread,
        "binomial": TRIALS * spread,
        "poisson": rate,
        "negbinomial": rate / (1.0 + rate / further),
        "gamma": further + 0.0 * u,
        "weibull": further**2 + 0.0 * u,
        "ordinal": 0.3 + 0.0 * u,
    }[family]


def response(family, u, further, rng):
    n, rate = len(u), np.exp(u)
    if family == "bernoulli":
        return (rng.random(n) < expit(u)).astype(float)
    if family == "binomial":
        return rng.binomial(TRIALS, expit(u)).astype(float)
    if family == "poisson":
        return rng.poisson(rate).astype(float)
    if family == "negbinomial":
        return rng.poisson(rate * rng.gamma(further, 1.0 / further, n)).astype(float)
    if family == "gamma":
        return rate * rng.gamma(further, 1.0 / further, n)
    if family == "weibull":
        return rate * rng.weibull(further, n)
    return 1.0 + np.digitize(u + rng.logistic(size=n), CUTS)


def inside(table, truth):
    return (table["lower"] < truth) & (truth < table["upper"])


def one_component(family, n, effect, seed):
    """Whether the interval by default, Wald's, and that of the further parameter have the truth."""
    rng = np.random.default_rng([seed, n, round(10 * effect)])
    x, z = rng.normal(size=(2, n))
    further, base = FURTHER.get(family, 1.0), 0.0 if family == "ordinal" else 0.3
    slope = effect / np.sqrt(n * information(family, np.array(base), further))
    y = response(family, base + slope * x + 0.5 * z, further, rng)
    data, left = pd.DataFrame({"y": y, "x": x, "z": z}), LEFT.get(family, "y")
    if family == "weibull":
        limit, left = rng.exponential(3.0, n), "Surv(y, seen)"
        data = data.assign(y=np.minimum(y, limit), seen=(y <= limit).astype(int))
    model = bvb.DensityRegression(f"{left} ~ x + z", data, n_components=1, family=family)
    fits = model.fit(seed=1, n_jobs=1), model.fit("em", prior=False, seed=1, n_jobs=1)
    first, wald = (inside(fit.summary(PROB).loc[("mean", 1, "x")], slope) for fit in fits)
    last = fits[0].summary(PROB)
    if family == "ordinal":
        return first, wald, inside(last.loc["threshold"].iloc[1], CUTS[1])
    name = "dispersion" if family == "negbinomial" else "shape"
    return first, wald, inside(last.loc[name].iloc[0], further) if family in FURTHER else np.nan


def rows_of_two(family, n, effect, seed):
    """Rows of two components, and their slopes."""
    rng = np.random.default_rng([seed, n, round(10 * effect), 2])
    x, kind = rng.normal(size=n), (rng.random(n) < SHARES[1]).astype(int)
    further = 5.0 if family == "negbinomial" else FURTHER.get(family, 1.0)
    base = np.array(INTERCEPTS[family])
    size = effect / np.sqrt(n * SHARES * information(family, base, further))
    slopes = size * np.array([1.0, -1.0])
    y = response(family, base[kind] + slopes[kind] * x, further, rng)
    return pd.DataFrame({"y": y, "x": x}), slopes


def two_components(family, n, effect, seed, **options):
    """Whether the intervals of both slopes have the truth; components by their intercepts."""
    data, slopes = rows_of_two(family, n, effect, seed)
    formula = f"{LEFT.get(family, 'y')} ~ x | 1"
    model = bvb.DensityRegression(formula, data, n_components=2, family=family, **options)
    found = model.fit(seed=1, n_jobs=1).summary(PROB).loc["mean"]
    order = found.xs("Intercept", level="term")["mean"].sort_values(ascending=False).index
    return inside(found.xs("x", level="term").loc[order], slopes).to_numpy()


def row(family, components, n, effect, seeds):
    case = {"family": family, "components": components, "rows": n, "effect in se": effect}
    covered = one_component if components == 1 else two_components
    found = np.array([covered(family, n, effect, seed) for seed in seeds], dtype=float)
    case |= {"sets": len(found)}
    if components == 2:
        share = found.mean()
        return {**case, "coverage": share, "se": found.mean(axis=1).std() / len(found) ** 0.5}
    share, wald, further = found.mean(axis=0)
    error = np.sqrt(share * (1.0 - share) / len(found))
    return {**case, "coverage": share, "se": error, "wald": wald, "further": further}


def repeated(seeds=range(1001, 1061)):
    """Coverage of the slopes of both components in the cells of lowest coverage."""
    lowest = [("poisson", 100, 3.0), ("negbinomial", 400, 5.0), ("gamma", 400, 3.0)]
    lowest += [("gamma", 400, 5.0), ("binomial", 400, 1.0), ("weibull", 400, 1.0)]
    cells = [(*cell, {}) for cell in lowest]
    fixed = {"priors": bvb.Priors(scales="fixed")}
    cells += [("poisson", 100, effect, fixed) for effect in EFFECTS]
    for family, n, effect, options in cells:
        found = np.array([two_components(family, n, effect, s, **options) for s in seeds])
        case = {"family": family, "components": 2, "rows": n, "effect in se": effect}
        case |= {"scales": "fixed" if options else "default", "sets": len(found)}
        error = found.mean(axis=1).std() / len(found) ** 0.5
        larger, smaller = found.mean(axis=0)
        each = {"of the larger": larger, "of the smaller": smaller}
        yield {**case, "coverage": found.mean(), "se": error, **each}


def main():
    if "repeat" in sys.argv:
        warnings.simplefilter("ignore")
        path = OUT.with_name("effect_sizes_repeated.csv")
        pd.DataFrame(list(repeated())).round(3).to_csv(path, index=False)
        return
    given = [int(a) for a in sys.argv[1:4]]
    sets, first, components = given + [40, 1, 1][len(given) :]
    warnings.simplefilter("ignore")
    every = ["bernoulli", "binomial", "poisson", "negbinomial", "gamma", "weibull", "ordinal"]
    for family in sys.argv[4:] or (every if components == 1 else INTERCEPTS):
        seeds = range(first, first + sets)
        rows = []
        for n in (100, 400):
            for effect in EFFECTS:
                rows.append(row(family, components, n, effect, seeds))
                print(rows[-1], flush=True)
        # Read late: two runs, of one component and of two, may write in turn.
        known = pd.read_csv(OUT) if OUT.exists() else pd.DataFrame({"family": [], "components": []})
        other = (known["family"] != family) | (known["components"] != components)
        pd.concat([known[other], pd.DataFrame(rows)]).round(3).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
