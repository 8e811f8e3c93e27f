"""Coverage of intervals of an effect, and time, of families that are not Gaussian.

One component, `y ~ x + z`, effects of x of 1, 2 and 3 standard errors, 100 and 400 rows; then two
components with constant weights, 100 and 400 rows, both slopes of x, in all sets and in those whose
ELBO is more than 2 nats above that of one component (``preferred``), and with scales that are not
learned (``fixed scales``). Gamma and Weibull responses
have two components here, one in `bench_positive.py`. Coverage of 90% intervals by linear
response and of 90% Wald intervals by maximum likelihood; then CPU time of a fit of 10,000 and
100,000 rows and of statsmodels' GLM (of its `NegativeBinomial`, which learns the dispersion).

    python tests/benchmarks/bench_responses.py [sets] [first seed] [family ...]

writes docs/benchmarks/responses.csv: coverage, its standard error, mean estimate / truth; seconds.
Rows of families that are not named stay as they are.
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
TRIALS, DISPERSION = 10, 2.0
OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "responses.csv"

PREFERRED = 2.0

TWO = {
    ("binomial", "apart"): ([[1.0, 0.4], [-1.5, -0.6]], None),
    ("poisson", "apart"): ([[1.8, 0.4], [0.0, -0.6]], None),
    ("gamma", "apart"): ([[1.5, 0.4], [-0.5, -0.6]], 3.0),
    ("weibull", "apart"): ([[1.5, 0.4], [-0.5, -0.6]], 1.5),
    ("negbinomial", "overlapping"): ([[1.5, 0.4], [0.0, -0.6]], 2.0),
    ("negbinomial", "apart"): ([[2.5, 0.4], [0.3, -0.6]], 5.0),
}
"""Intercept and slope of two components on the scale of the predictor; dispersion or shape."""


def log_odds(u, rng):
    return (rng.random(len(u)) < expit(u)).astype(float)


def successes(u, rng):
    return rng.binomial(TRIALS, expit(u)).astype(float)


def log_means(u, rng):
    return rng.poisson(np.exp(u)).astype(float)


def overdispersed(u, rng, dispersion=DISPERSION):
    return log_means(u + np.log(rng.gamma(dispersion, 1.0 / dispersion, len(u))), rng)


def positive(u, rng, shape):
    return np.exp(u) * rng.gamma(shape, 1.0 / shape, len(u))


def durations(u, rng, shape):
    return np.exp(u) * rng.weibull(shape, len(u))


SPREAD, RATE = expit(INTERCEPT) * expit(-INTERCEPT), np.exp(INTERCEPT)

FAMILIES = {
    "bernoulli": (log_odds, sm.families.Binomial(), SPREAD),
    "binomial": (successes, sm.families.Binomial(), TRIALS * SPREAD),
    "poisson": (log_means, sm.families.Poisson(), RATE),
    "negbinomial": (overdispersed, None, RATE / (1.0 + RATE / DISPERSION)),
}
"""Family -> responses given the predictor, that of statsmodels, information per row."""

DRAWS_OF_TWO = {name: one[0] for name, one in FAMILIES.items()}
DRAWS_OF_TWO |= {"gamma": positive, "weibull": durations}

LEFT = {"binomial": f"y | trials({TRIALS})"}


def data_of(family, n, effect, seed):
    rng = np.random.default_rng([seed, n, round(10 * effect)])
    draw, _, information = FAMILIES[family]
    x, z = rng.normal(size=(2, n))
    slope = effect / np.sqrt(n * information)
    y = draw(INTERCEPT + slope * x + 0.5 * z, rng)
    return pd.DataFrame({"y": y, "x": x, "z": z}), slope


def fit_of(family, data, right="x + z", **options):
    formula = f"{LEFT.get(family, 'y')} ~ {right}"
    options = {"n_components": 1, **options}
    model = bvb.DensityRegression(formula, data, family=family, **options)
    return model.fit(seed=1, draws=1000, n_jobs=1)


def glm_of(family, data):
    columns = sm.add_constant(data[["x", "z"]])
    if family == "negbinomial":
        return sm.NegativeBinomial(data["y"], columns).fit(disp=0)
    y = data["y"]
    if family == "binomial":
        y = np.stack([y, TRIALS - y], axis=1)
    return sm.GLM(y, columns, FAMILIES[family][1]).fit()


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
    covered, wald, ratio = np.array(rows, dtype=float).mean(axis=0)
    return {**summary(covered, len(rows)), "wald": wald, "estimate / truth": ratio}


def summary(covered, number):
    error = np.sqrt(covered * (1.0 - covered) / number)
    return {"sets": number, "coverage": covered, "se": error}


def coverage_of_two(family, case, seeds, n):
    """Both slopes, the components in the order of their slopes."""
    lines, further = TWO[family, case]
    lines, rows, gains, fixed = np.array(lines), [], [], []
    for seed in seeds:
        rng = np.random.default_rng([seed, n])
        x, kind = rng.normal(size=n), (rng.random(n) < 0.4).astype(int)
        u = lines[kind, 0] + lines[kind, 1] * x
        y = DRAWS_OF_TWO[family](u, rng, *([] if further is None else [further]))
        data = pd.DataFrame({"y": y, "x": x})
        fit = fit_of(family, data, "x | 1", n_components=2)
        rows.append(both_covered(fit, lines[:, 1]))
        apart = fit_of(family, data, "x | 1", n_components=2, priors=bvb.Priors(scales="fixed"))
        fixed.append(both_covered(apart, lines[:, 1]))
        gains.append(fit.elbo - fit_of(family, data, "x").elbo)
    preferred = np.array(gains) > PREFERRED
    some = {"preferred": int(preferred.sum()), "of preferred": np.mean(np.array(rows)[preferred])}
    some["fixed scales"] = np.mean(fixed)
    return {**summary(float(np.mean(rows)), len(rows)), **some}


def both_covered(fit, slopes):
    found = fit.summary(PROB).loc["mean"].xs("x", level="term").sort_values("mean")
    truth = np.sort(slopes)
    return (found["lower"] < truth) & (truth < found["upper"])


def seconds(family, n):
    """CPU time of the second of two fits, and of two of statsmodels."""
    data, _ = data_of(family, n, 3.0, 0)
    found = {}
    for name, function in (("seconds", fit_of), ("glm seconds", glm_of)):
        function(family, data)
        start = time.process_time()
        function(family, data)
        found[name] = time.process_time() - start
    return found


def cases(family, seeds):
    yield from (cases_of_one(family, seeds) if family in FAMILIES else ())
    for name, case in TWO:
        for n in (100, 400) if name == family else ():
            two = {"family": family, "components": 2, "case": case, "rows": n}
            yield {**two, **coverage_of_two(family, case, seeds, n)}


def cases_of_one(family, seeds):
    for n in (100, 400):
        for effect in (1.0, 2.0, 3.0):
            case = {"family": family, "components": 1, "rows": n, "effect in se": effect}
            yield {**case, **coverage(family, n, effect, seeds)}
    for n in (10_000, 100_000):
        yield {"family": family, "components": 1, "rows": n, **seconds(family, n)}


def main():
    sets, first = ([int(a) for a in sys.argv[1:3]] + [400, 1][len(sys.argv[1:3]) :])[:2]
    warnings.simplefilter("ignore")
    known = pd.read_csv(OUT) if OUT.exists() else pd.DataFrame({"family": []})
    for family in sys.argv[3:] or DRAWS_OF_TWO:
        rows = []
        for row in cases(family, range(first, first + sets)):
            rows.append(row)
            print(row, flush=True)
        known = pd.concat([known[known["family"] != family], pd.DataFrame(rows)])
        known.round(3).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
