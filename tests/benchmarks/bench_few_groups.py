"""Coverage of intervals of a mixed model with few groups: exact, linear response, and REML.

Of one component, `y ~ x + w + (1 | g)`, 8 rows a group, sd of groups and noise 1. `w` is constant
within groups. Coverage of 90% intervals: of the slope of `w`, of the sd of groups, of the mean of a
new group and of a new row of it (probabilities of the truth between the ends, exact); then of 89%
intervals of a treatment of 20 clusters of 8 rows, whose effect is 2.2 standard errors.

    python tests/benchmarks/bench_few_groups.py [sets] [first seed]

writes docs/benchmarks/few_groups.csv: coverage, standard error, mean width, mean estimate / truth.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy.stats import norm

import bayesvb as bvb

ROWS, GROUPS, PROB = 8, (6, 8, 12, 20), 0.9
SLOPE = 0.5
OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "few_groups.csv"


def data_of(seed, n_groups, effect=SLOPE, treated=False):
    """Rows of one data set, effects of groups included."""
    rng = np.random.default_rng([seed, n_groups])
    g = np.repeat(np.arange(n_groups), ROWS)
    w = np.arange(n_groups) % 2 - 0.5 if treated else rng.normal(size=n_groups)
    frame = pd.DataFrame({"x": rng.normal(size=len(g)), "w": w[g], "g": g})
    noise = rng.normal(size=n_groups)[g] + rng.normal(size=len(g))
    frame["y"] = SLOPE * frame.x + effect * frame.w + noise
    return frame


def group_sd(fit):
    """Draws of the standard deviation of groups, in units of the response."""
    scales = fit.model.scales
    column = fit.model.design.term_blocks["mean"][-1].columns[0]
    unit = scales.response.scale[0] / scales.parts["mean"].scale[column]
    noise = fit.draws["precision"][:, 0, 0]
    return unit / np.sqrt(fit.draws["term_precision"][:, -1] * noise)


def ends(draws, prob):
    return np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2])


def of_new_group(fit):
    """Probabilities of mean and row of a new group, x and w zero, in their 90% intervals."""
    sd = group_sd(fit)
    mean = fit.named_draws.values["beta"][:, 0, 0] + sd * np.random.default_rng(0).normal(
        size=len(sd)
    )
    new = {"x": [0.0], "w": [0.0], "g": [99]}
    row = fit.predict(new, "interval", prob=PROB, new_groups="marginal").to_numpy()[0]
    found = []
    for (low, high), spread in ((ends(mean, PROB), 1.0), (row, 2.0**0.5)):
        found.append((norm.cdf(high / spread) - norm.cdf(low / spread), high - low, np.nan))
    return found


def covered(low, high, truth, estimate):
    return float(low < truth < high), high - low, estimate / truth


def bayes(frame, covariance, prob, truth):
    model = bvb.DensityRegression("y ~ x + w + (1 | g)", frame, n_components=1)
    fit = model.fit(seed=1)
    if covariance != fit.covariance:
        fit = fit.with_covariance(covariance)
    slope = fit.named_draws.values["beta"][:, 0, 2]
    yield "slope of w", covered(*ends(slope, prob), truth, slope.mean())
    if truth == SLOPE:
        sd = group_sd(fit)
        yield "sd of groups", covered(*ends(sd, prob), 1.0, np.median(sd))
        yield from zip(("new group, mean", "new group, row"), of_new_group(fit), strict=True)


def reml(frame, prob, truth):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = smf.mixedlm("y ~ x + w", frame, groups="g").fit()
    reach = norm.ppf((1 + prob) / 2) * found.bse["w"]
    slope = found.params["w"]
    yield "slope of w", covered(slope - reach, slope + reach, truth, slope)


def studies():
    """Name of each study, groups, effect, probability, and whether it is of treated clusters."""
    for n_groups in GROUPS:
        yield f"{n_groups} groups", n_groups, SLOPE, PROB, False
    se = np.sqrt((1.0 + 1.0 / ROWS) / 20 / 0.25)
    yield "treatment of 20 clusters, 2.2 se", 20, 2.2 * se, 0.89, True


def main(sets=100, first=5000):
    records = []
    for study, n_groups, effect, prob, treated in studies():
        for seed in range(first, first + sets):
            frame = data_of(seed, n_groups, effect, treated)
            for method in ("exact", "linear-response", "REML"):
                if method == "REML":
                    found = reml(frame, prob, effect)
                else:
                    found = bayes(frame, method, prob, effect)
                for quantity, numbers in found:
                    records.append((study, quantity, method, *numbers))
    names = ["study", "quantity", "method", "covered", "width", "estimate / truth"]
    table = pd.DataFrame(records, columns=names)
    groups = table.groupby(["study", "quantity", "method"], sort=False)
    found = groups.mean()
    found.insert(1, "se", groups["covered"].sem())
    found["sets"] = groups.size()
    found.round(3).to_csv(OUT)
    print(found.round(3).to_string())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
