"""Smooth curves and group-level effects of one component, by their size and the rate of the prior.

    python tests/benchmarks/bench_scale_rates.py curves|groups [sets] [first seed] [family ...]

``curves``: `y ~ s(x)` with the curve `a sin(2 pi x)`. `a` has a standard error if the shape of the
curve is known; it is 0, 1, 2, 3 or 5 of them. The effect is the difference between x =
0.75 and 0.25 on the scale of the predictor, with a 90% interval: by default, with a smaller rate,
and by `gam(..., method = "REML")` of R's mgcv with normal intervals of its corrected covariance.
``groups``: `y ~ x + (1 | g)`, the standard deviation of groups and its 90% interval.
``log_density`` is the mean of 400 new rows (of the same groups).

Rates were chosen on Poisson counts, of seeds 1-12 (curves) and 1-6 (groups), and the prior of
Gaussian curves on seeds 1-42. Results:
docs/benchmarks/smooth_sizes.csv and group_sizes.csv.
"""

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm
from tables import keep

import bayesvb as bvb

ROWS, EFFECTS, PROB = (40, 100, 400), (0.0, 1.0, 2.0, 3.0, 5.0), 0.9
NEW_ROWS = 400
GROUPS, GROUP_SDS = ((8, 5), (8, 20), (30, 5)), (0.0, 0.2, 0.5, 1.0)
CURVE_PRIORS = {"default": bvb.Priors(), "scale_rate=0.005": bvb.Priors(scale_rate=0.005)}
GROUP_PRIORS = {"default": bvb.Priors()} | {
    f"group_scale_rate={rate}": bvb.Priors(group_scale_rate=rate) for rate in (0.005, 0.1)
}
POINTS = np.array([0.75, 0.25])
INFORMATION = {"gaussian": 1.0, "student": 0.75, "poisson": np.e, "bernoulli": 0.25, "gamma": 4.0}
"""Of the predictor, in one row, without an effect."""

REFEREES = {
    "gaussian": "gaussian()",
    "poisson": "poisson()",
    "bernoulli": "binomial()",
    "gamma": "Gamma(link = 'log')",
}
R_SCRIPT = """
suppressMessages(library(mgcv))
d <- read.csv(commandArgs(TRUE)[1])
for (one in split(d, d$set)) {
  m <- gam(y ~ s(x), data = one, family = FAMILY, method = "REML")
  X <- predict(m, data.frame(x = c(0.25, 0.75)), type = "lpmatrix")
  v <- X[1, ] - X[2, ]
  se <- sqrt(sum(v * (vcov(m, unconditional = TRUE) %*% v)))
  cat(one$set[1], sum(v * coef(m)), se, "\\n", sep = ",")
}
"""


def drawn(family: str, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Responses with this predictor."""
    if family == "poisson":
        return rng.poisson(np.exp(1.0 + eta))
    if family == "bernoulli":
        return (rng.random(len(eta)) < expit(eta)).astype(int)
    if family == "gamma":
        return rng.gamma(4.0, np.exp(eta) / 4.0)
    noise = rng.standard_t(5, len(eta)) if family == "student" else rng.standard_normal(len(eta))
    return eta + noise


def curve_sets(family: str, seeds: range) -> Iterator[tuple[dict, pd.DataFrame, pd.DataFrame]]:
    """Size, standard error, and true difference of each set, its rows, and new rows."""
    for n in ROWS:
        for size in EFFECTS:
            for seed in seeds:
                rng = np.random.default_rng([seed, n])
                x = rng.uniform(size=n + NEW_ROWS)
                shape = np.sin(2.0 * np.pi * x)
                se = (INFORMATION[family] * n * shape[:n].var()) ** -0.5
                truth = size * se * np.diff(np.sin(2.0 * np.pi * POINTS))[0]
                table = pd.DataFrame({"x": x, "y": drawn(family, size * se * shape, rng)})
                if table["y"][:n].nunique() > 1:
                    labels = {"n": n, "size": size, "se": 2.0 * se, "truth": truth}
                    yield labels, table[:n], table[n:]


def curve_effect(
    family: str, table: pd.DataFrame, new: pd.DataFrame, priors: bvb.Priors
) -> tuple[float, ...]:
    """Estimate, standard deviation, interval, and log density of new rows."""
    model = bvb.DensityRegression("y ~ s(x)", table, family=family, n_components=1, priors=priors)
    target = "mean" if family in ("gaussian", "student") else "link"
    fit = model.fit(seed=1)
    effect = bvb.effects.comparisons(fit, {"x": POINTS.tolist()}, {}, target=target, prob=PROB)
    numbers = effect.summary.iloc[0][["estimate", "sd", "lower", "upper"]]
    return *numbers, fit.log_density(new).mean()


def by_mgcv(family: str, tables: list[pd.DataFrame]) -> Iterator[tuple[float, ...]]:
    """Estimate, standard error, and interval of each set."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        pd.concat([one.assign(set=i) for i, one in enumerate(tables)]).to_csv(path, index=False)
        script = R_SCRIPT.replace("FAMILY", REFEREES[family])
        command = ["Rscript", "-e", script, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    z = norm.ppf(0.5 + PROB / 2.0)
    for line in done.stdout.splitlines():
        estimate, se = (float(value) for value in line.split(",")[1:3])
        yield estimate, se, estimate - z * se, estimate + z * se, np.nan


def group_sets(family: str, seeds: range) -> Iterator[tuple[dict, pd.DataFrame, pd.DataFrame]]:
    """Labels of each set, its rows, and new rows of the same groups."""
    for n_groups, n_rows in GROUPS:
        for sd in GROUP_SDS:
            for seed in seeds:
                rng = np.random.default_rng([seed, n_groups, n_rows])
                g = np.repeat(np.arange(n_groups), n_rows)
                g = np.concatenate([g, np.resize(np.arange(n_groups), NEW_ROWS)])
                x, effects = rng.standard_normal(len(g)), sd * rng.standard_normal(n_groups)
                y = drawn(family, 0.3 * x + effects[g], rng)
                table, n = pd.DataFrame({"x": x, "g": g.astype(str), "y": y}), n_groups * n_rows
                labels = {"n": f"{n_groups} groups of {n_rows}", "size": sd, "se": 1.0, "truth": sd}
                yield labels, table[:n], table[n:]


def group_sd(
    family: str, table: pd.DataFrame, new: pd.DataFrame, priors: bvb.Priors
) -> tuple[float, ...]:
    """Estimate of the standard deviation of groups, its interval, log density of new rows."""
    model = bvb.DensityRegression(
        "y ~ x + (1 | g)", table, family=family, n_components=1, priors=priors
    )
    fit = model.fit(seed=1)
    estimate, lower, upper = fit.variance_components(prob=PROB).iloc[0]
    return estimate, np.nan, lower, upper, fit.log_density(new).mean()


def summarised(family: str, sets: list[dict], results: dict[str, list]) -> pd.DataFrame:
    """Bias and standard deviation in standard errors, and coverage, by rows, size and method."""
    columns = ["estimate", "sd", "lower", "upper", "log_density"]
    table = pd.concat(
        pd.DataFrame(sets).join(pd.DataFrame(rows, columns=columns)).assign(method=method)
        for method, rows in results.items()
    ).reset_index(drop=True)
    table["bias"] = (table["estimate"] - table["truth"]) / table["se"]
    table["coverage"] = (table["lower"] <= table["truth"]) & (table["truth"] <= table["upper"])
    table["sd"] /= table["se"]
    groups = table.groupby(["method", "n", "size"], sort=False)
    means = groups[["bias", "coverage", "sd", "log_density"]].mean().round(4)
    return means.assign(sets=groups.size(), family=family).reset_index()


def curves(family: str, seeds: range) -> pd.DataFrame:
    """Contrasts of smooth curves, by this package and by mgcv."""
    sets = list(curve_sets(family, seeds))
    results = {
        name: [curve_effect(family, table, new, priors) for _, table, new in sets]
        for name, priors in CURVE_PRIORS.items()
    }
    if family in REFEREES:
        results["mgcv"] = list(by_mgcv(family, [table for _, table, _ in sets]))
    return summarised(family, [labels for labels, *_ in sets], results)


def groups(family: str, seeds: range) -> pd.DataFrame:
    """Standard deviations of groups; no interval contains the truth if that is zero."""
    sets = list(group_sets(family, seeds))
    results = {
        name: [group_sd(family, table, new, priors) for _, table, new in sets]
        for name, priors in GROUP_PRIORS.items()
    }
    return summarised(family, [labels for labels, *_ in sets], results).drop(columns="sd")


STUDIES = {"curves": (curves, "smooth_sizes"), "groups": (groups, "group_sizes")}


def main() -> None:
    """Rows of a family, kept as soon as they are there."""
    warnings.simplefilter("ignore")
    study, name = STUDIES[sys.argv[1]]
    n_sets, first = (int(value) for value in (sys.argv[2:4] or (40, 101)))
    for family in sys.argv[4:] or INFORMATION:
        keep(study(family, range(first, first + n_sets)), name, by="family")


if __name__ == "__main__":
    main()
