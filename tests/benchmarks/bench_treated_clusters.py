"""Coverage of a treatment of clusters with two components, by the size of its effect.

`y ~ x + treated + (1 | g)` with two components, whose intercepts are three apart; half of the
groups are treated, and components share the effects of groups (sd 0.5). An effect of one standard
error is that of the groups' means with everything else known. Coverage of 90% intervals of the
slope in each component, and of its average by share; the same data sets for every size and prior.

    python tests/benchmarks/bench_treated_clusters.py [sets] [first seed]

writes docs/benchmarks/treated_clusters.csv, and

    python tests/benchmarks/bench_treated_clusters.py --held-out

docs/benchmarks/group_scales_loo.csv: leave-one-out log density per row of `"between"` less
`"learned"`, with its standard error, where components share the effects of groups, where each has
effects of its own, where there are none, and on wages (cps1985).
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd

DESIGNS = ((8, 16), (20, 10))
"""Groups, and rows of each."""

SIZES, PROB, GROUP_SD = (0, 1, 2, 3, 5), 0.9, 0.5
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"


def simulate(seed, n_groups, n_rows, size):
    """Rows of one data set, and the effect of the treatment."""
    rng = np.random.default_rng([seed, n_groups, n_rows])
    g = np.repeat(np.arange(n_groups), n_rows)
    treated = (np.arange(n_groups) % 2)[rng.permutation(n_groups)][g]
    x, second = rng.normal(size=len(g)), rng.random(len(g)) < 0.4
    sigma = np.where(second, 0.8, 0.5)
    effect = size * np.sqrt(4.0 / n_groups * (GROUP_SD**2 + 0.62**2 / n_rows))
    y = 3.0 * second + effect * treated + 0.5 * x + GROUP_SD * rng.normal(size=n_groups)[g]
    y += sigma * rng.normal(size=len(g))
    frame = pd.DataFrame({"y": y, "x": x, "treated": treated, "g": g.astype(str)})
    return frame, effect


def estimates(frame, scales):
    """Draws of the slope by component, and of its average."""
    model = bvb.DensityRegression(
        "y ~ x + treated + (1 | g)", frame, n_components=2, priors=bvb.Priors(scales=scales)
    )
    fit = model.fit(seed=1, restarts=2, covariance="linear-response")
    slopes = fit.posterior["beta"].sel(term_mean="treated").to_numpy().reshape(-1, 2)
    share = fit.responsibilities().to_numpy().mean(axis=0)
    yield from (("slope", draws) for draws in slopes.T)
    yield "average slope", slopes @ share


def main(sets=12, first=9000):
    """Fit all data sets and write the table."""
    records = []
    for scales in ("learned", "between"):
        for n_groups, n_rows in DESIGNS:
            for seed in range(first, first + sets):
                for size in SIZES:
                    frame, effect = simulate(seed, n_groups, n_rows, size)
                    for quantity, draws in estimates(frame, scales):
                        low, high = np.quantile(draws, [0.5 - PROB / 2, 0.5 + PROB / 2])
                        error = draws.mean() - effect
                        numbers = (low < effect < high, error, error**2, high - low)
                        records.append((scales, n_groups, n_rows, quantity, size, effect, *numbers))
    keys = ["scales", "groups", "rows", "quantity", "size"]
    names = [*keys, "effect", "covered", "bias", "rmse", "width"]
    table = pd.DataFrame(records, columns=names)
    summary = table.groupby(keys, sort=False).mean()
    summary["rmse"] **= 0.5
    summary["sets"] = sets
    summary.round(3).to_csv(FOLDER / "treated_clusters.csv")
    print(summary.round(3).to_string())


def held_out_sets():
    """Name, formula and rows of each data set."""
    text = "y ~ x + treated + (1 | g)"
    yield "common effects of groups", text, simulate(77, 12, 20, 2)[0]
    rng = np.random.default_rng(5)
    g, second, x = np.repeat(np.arange(12), 20), rng.random(240) < 0.4, rng.normal(size=240)
    frame = pd.DataFrame({"x": x, "treated": g % 2, "g": g.astype(str)})
    y = 3.0 * second + 0.5 * x + np.where(second, 0.8, 0.5) * rng.normal(size=240)
    own = GROUP_SD * rng.normal(size=(2, 12))[second.astype(int), g]
    yield "effects of each component", text, frame.assign(y=y + own)
    yield "no effects of groups", text, frame.assign(y=y)
    wages = bvb.datasets.load("cps1985")
    for group in ("occupation", "sector"):
        yield f"cps1985, {group}", f"wage ~ education + experience + (1 | {group})", wages


def held_out():
    """Compare leave-one-out log densities and write the table."""
    records = []
    for name, text, frame in held_out_sets():
        pointwise = []
        for scales in ("between", "learned"):
            priors = bvb.Priors(scales=scales)
            model = bvb.DensityRegression(text, frame, n_components=2, priors=priors)
            fit = model.fit(seed=1, restarts=4, covariance="mean-field")
            pointwise.append(read_elpd(fit.loo()).pointwise)
        change = pointwise[0] - pointwise[1]
        records.append((name, len(change), change.mean(), change.std() / len(change) ** 0.5))
    table = pd.DataFrame(records, columns=["data", "rows", "difference", "se"])
    table.round(4).to_csv(FOLDER / "group_scales_loo.csv", index=False)
    print(table.round(4).to_string())


if __name__ == "__main__":
    if sys.argv[1:] == ["--held-out"]:
        held_out()
    else:
        main(*map(int, sys.argv[1:]))
