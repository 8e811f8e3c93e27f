"""Coverage of intervals beside structural zeros (counts), and of hurdles (amounts).

``y ~ x | zero(z)``, one component and two: effects of x on the log mean and of z on the log odds
of a structural zero of 1, 2 and 3 standard errors, 100 and 400 rows, four in ten zeros structural.
Two components have slopes of opposite signs. Coverage of 90% intervals by default of both effects
(of two components: of both slopes), of the probability of a structural zero where covariates are
0, and of the probability of any zero, averaged over the rows. ``exact`` is the share of fits whose
intervals are of exact draws. The seeds chose no rule of the package.

    python tests/benchmarks/bench_zero.py [sets] [first seed] [components] [family ...]

writes docs/benchmarks/zero.csv; rows of other families or numbers of components stay. There, rows
with first seed 0 are of 150 and 600 rows, by an earlier version, and the row "along the tail" is of
effects of 2 standard errors alone, with proposals along the tail of structural zeros.

    python tests/benchmarks/bench_zero.py nuts [sets] [first seed]

compares intervals of two negative binomial components, 400 rows, effects of 2 standard errors, with
NUTS of the same model (NumPyro, two chains of 500 draws): means, standard deviations, and coverage
of each set, with the prior rate 0.05 of the scales. Writes docs/benchmarks/zero_nuts.csv.

    python tests/benchmarks/bench_zero.py truths [sets] [first seed] [sets drawn] [first seed]

writes intervals of the log odds of a structural zero of each set, and the posterior probability of
log odds below the truth, to docs/benchmarks/zero_truths.csv: two negative binomial components, 400
rows, effects of 2 standard errors. First the truth is the same in all sets; of further sets the log
odds and both dispersions are drawn from their priors, and sets of zeros only are omitted.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from bench_effect_sizes import INTERCEPTS, SHARES, rows_of_two
from scipy.special import expit
from tables import keep

import bayesvb as bvb

LEVEL, LOG_MEAN, DISPERSION = -0.4, 1.2, 3.0

INFORMATION = {
    "poisson": (1.8, 0.20),
    "negbinomial": (0.75, 0.14),
    "gamma": (1.8, 0.24),
    "weibull": (1.35, 0.24),
}
"""Of the log mean and of the log odds, in one row: approximate, as they set the size of effects."""

WEIBULL = 1.5

TERMS = ("z", "Intercept")


def none_of(family, mean, dispersion=DISPERSION):
    """Probability of 0 without structural zeros."""
    if family == "poisson":
        return np.exp(-mean)
    return (1.0 + mean / dispersion) ** -dispersion if family == "negbinomial" else 0.0 * mean


def table(family, n, effect, rng):
    x, z = rng.normal(size=(2, n))
    slopes = effect / np.sqrt(n * np.array(INFORMATION[family]))
    mean, structural = np.exp(LOG_MEAN + slopes[0] * x), expit(LEVEL + slopes[1] * z)
    varied = mean * rng.gamma(DISPERSION, 1.0 / DISPERSION, n)  # the shape of gamma amounts, too
    if family == "weibull":
        varied = mean * rng.weibull(WEIBULL, n)
    some = mean if family == "poisson" else varied
    zero = rng.random(n) < structural
    y = np.where(zero, 0.0, rng.poisson(some) if family in ("poisson", "negbinomial") else some)
    any_zero = np.mean(structural + (1.0 - structural) * none_of(family, mean))
    return pd.DataFrame({"y": y, "x": x, "z": z}), (*slopes, expit(LEVEL), any_zero)


def table_of_two(family, n, effect, seed):
    """Rows of two components, and the truth."""
    rng = np.random.default_rng([seed, n, round(10 * effect), 9])
    data, slopes = rows_of_two(family, n, effect / np.sqrt(1.0 - expit(LEVEL)), seed)
    z, slope = rng.normal(size=n), effect / np.sqrt(n * INFORMATION[family][1])
    structural = expit(LEVEL + slope * z)
    data = data.assign(y=np.where(rng.random(n) < structural, 0.0, data["y"]), z=z)
    means = np.exp(np.array(INTERCEPTS[family]) + slopes * data["x"].to_numpy()[:, None])
    some = structural + (1.0 - structural) * (none_of(family, means, 5.0) @ SHARES)
    return data, (*slopes, slope, expit(LEVEL), np.mean(some))


def table_of_prior(seed, n=400, effect=2.0):
    """Rows of two negative binomial components, and log odds drawn from the prior."""
    rng = np.random.default_rng([seed, 77])
    level, dispersions = 2.5 * rng.standard_normal(), np.exp(1.6 + 2.0 * rng.standard_normal(2))
    x, z = rng.normal(size=(2, n))
    kind = (rng.random(n) < SHARES[1]).astype(int)
    base = np.array(INTERCEPTS["negbinomial"])
    each = n * (1.0 - expit(LEVEL)) * SHARES * np.exp(base) / (1.0 + np.exp(base) / 5.0)
    slopes = effect / np.sqrt(each) * np.array([1.0, -1.0])
    mean = np.exp(base[kind] + slopes[kind] * x)
    y = rng.poisson(mean * rng.gamma(dispersions[kind], 1.0 / dispersions[kind])).astype(float)
    slope = effect / np.sqrt(n * INFORMATION["negbinomial"][1])
    zero = rng.random(n) < expit(level + slope * z)
    return pd.DataFrame({"y": np.where(zero, 0.0, y), "x": x, "z": z}), level


def truths(sets, first, n_drawn, first_drawn):
    """Intervals of the log odds of a structural zero, of one truth and of truths of the prior."""
    fixed = [
        (s, table_of_two("negbinomial", 400, 2.0, s)[0], LEVEL) for s in range(first, first + sets)
    ]
    drawn = [(s, *table_of_prior(s)) for s in range(first_drawn, first_drawn + n_drawn)]
    lines = []
    for truth, cases in (("fixed", fixed), ("of the prior", drawn)):
        for seed, data, level in cases:
            if not data["y"].any():
                continue
            options = {"n_components": 2, "family": "negbinomial"}
            fit = bvb.DensityRegression("y ~ x | zero(z)", data, **options).fit(seed=1, n_jobs=1)
            odds = np.ravel(fit.posterior["beta_zero"].sel(term_zero="Intercept"))
            line = {"truth": truth, "seed": seed, "covariance": fit.covariance}
            line |= {"log odds": level, "mean": odds.mean(), "sd": odds.std()}
            line |= dict(zip(("lower", "upper"), np.quantile(odds, [0.05, 0.95]), strict=True))
            lines.append({**line, "below": np.mean(odds < level)})
    keep(pd.DataFrame(lines), "zero_truths")


def one_set(family, components, n, effect, seed):
    """Whether each interval has the truth, and whether draws are exact."""
    if components == 2:
        data, truth = table_of_two(family, n, effect, seed)
    else:
        data, truth = table(family, n, effect, np.random.default_rng([seed, n, int(effect)]))
    model = bvb.DensityRegression("y ~ x | zero(z)", data, n_components=components, family=family)
    fit = model.fit(seed=1, n_jobs=1)
    level = fit.summary().loc["mean"].xs("Intercept", level="term")["mean"]
    order = level.sort_values(ascending=False).index
    beta, zeta = fit.posterior["beta"].sel(term_mean="x"), fit.posterior["beta_zero"]
    any_zero = bvb.effects.predictions(fit, target="density", at=0.0, average_by=True)
    draws = [*(beta.sel(component=k) for k in order), zeta.sel(term_zero="z"),
             expit(zeta.sel(term_zero="Intercept")), any_zero.draws]  # fmt: skip
    ends = [np.quantile(np.ravel(draw), [0.05, 0.95]) for draw in draws]
    inside = [low <= value <= high for (low, high), value in zip(ends, truth, strict=True)]
    return np.mean(inside[:components]), *inside[components:], fit.covariance == "exact"


def numbers(fit):
    """Draws of both slopes, of the effect of z, and of the log odds of a structural zero."""
    level = fit.summary().loc["mean"].xs("Intercept", level="term")["mean"]
    order = level.sort_values(ascending=False).index
    beta, zeta = fit.posterior["beta"].sel(term_mean="x"), fit.posterior["beta_zero"]
    found = [*(beta.sel(component=k) for k in order), *(zeta.sel(term_zero=t) for t in TERMS)]
    return [np.ravel(one) for one in found]


def against_nuts(sets, first):
    """Intervals of each set by default and by NUTS."""
    lines = []
    for seed in range(first, first + sets):
        data, truth = table_of_two("negbinomial", 400, 2.0, seed)
        options = {"n_components": 2, "family": "negbinomial"}
        options |= {"priors": bvb.Priors(scale_rate=0.05)}
        model = bvb.DensityRegression("y ~ x | zero(z)", data, **options)
        fit = model.fit(seed=1, n_jobs=1)
        nuts = model.fit("nuts", seed=1, n_jobs=1, draws=500, chains=2)
        names = "larger slope", "smaller slope", "log odds, z", "log odds"
        given = numbers(fit), numbers(nuts), (*truth[:3], LEVEL), names
        for own, other, value, name in zip(*given, strict=True):
            line = {"seed": seed, "covariance": fit.covariance, "parameter": name}
            line["difference"] = (own.mean() - other.mean()) / other.std()
            line["sd ratio"] = own.std() / other.std()
            for engine, draws in (("covered", own), ("covered by NUTS", other)):
                low, high = np.quantile(draws, [0.05, 0.95])
                line[engine] = int(low < value < high)
            lines.append(line)
    keep(pd.DataFrame(lines), "zero_nuts")


def main(sets, first, components, *families):
    warnings.simplefilter("ignore")
    names = ["family", "components", "rows", "effect in se", "sets", "first seed",
             "effect on the mean", "effect on zeros", "structural zero", "any zero",
             "exact"]  # fmt: skip
    for family in families or INFORMATION:
        rows = []
        for n in (100, 400):
            for effect in (1.0, 2.0, 3.0):
                seeds = range(first, first + sets)
                share = np.mean([one_set(family, components, n, effect, s) for s in seeds], axis=0)
                rows.append((family, components, n, effect, sets, first, *share.round(3)))
        covered = pd.DataFrame(rows, columns=names)
        covered.insert(0, "case", f"{family} {components}")
        keep(covered.assign(se=np.sqrt(0.09 / sets).round(3)), "zero", by="case")


if __name__ == "__main__":
    if "truths" in sys.argv:
        warnings.simplefilter("ignore")
        given = [int(a) for a in sys.argv[2:6]]
        sys.exit(truths(*given, *[60, 6001, 43, 7001][len(given) :]))
    if "nuts" in sys.argv:
        warnings.simplefilter("ignore")
        sys.exit(
            against_nuts(*([int(a) for a in sys.argv[2:4]] + [11, 5001][len(sys.argv[2:4]) :]))
        )
    given = [int(a) for a in sys.argv[1:4]]
    main(*given, *[60, 5001, 1][len(given) :], *sys.argv[4:])
