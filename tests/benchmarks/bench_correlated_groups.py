"""Coverage of 90% intervals of `y ~ x + w + (x | g)`, one component, 8 rows a group, noise 1.

`x` varies within groups, `w` between them; their coefficients are 1 and 0.5. Standard deviations of
intercepts and slopes 1 and 0.5 (big) or 0.4 and 0.15 (small), correlation 0.4. Of the effects of
all groups the share covered; of a new group the probabilities of its mean and of a row, x = 1.

    python tests/benchmarks/bench_correlated_groups.py [sets] [first seed]

writes docs/benchmarks/correlated_groups.csv: coverage, standard error, mean width, median estimate
over truth.

    python tests/benchmarks/bench_correlated_groups.py crossed|levels|four [sets] [first seed]

crossed: `y ~ x + z + (x + z | g) + (x | i)`: five standard deviations and four correlations, 30
groups of ten rows, one in each of ten crossed groups. levels: `y ~ f + (f | g)`, three levels of a
factor, 12 groups of nine rows; four: four levels, twelve rows. Writes docs/benchmarks/
correlated_crossed.csv (_levels, _four), with the share of fits whose intervals are exact.
"""

import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

import bayesvb as bvb

ROWS, GROUPS, PROB = 8, (6, 12, 40), 0.9
SDS, CORRELATION = {"big": (1.0, 0.5), "small": (0.4, 0.15)}, 0.4
OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "correlated_groups.csv"


def data_of(seed, n_groups, sds):
    """Rows of one data set, and the effects of its groups."""
    rng = np.random.default_rng([seed, n_groups])
    g, w = np.repeat(np.arange(n_groups), ROWS), rng.normal(size=n_groups)
    x, unit = rng.normal(size=len(g)), rng.normal(size=(n_groups, 2))
    unit[:, 1] = CORRELATION * unit[:, 0] + np.sqrt(1.0 - CORRELATION**2) * unit[:, 1]
    effects = unit * sds
    y = x + 0.5 * w[g] + effects[g, 0] + effects[g, 1] * x + rng.normal(size=len(g))
    return pd.DataFrame({"y": y, "x": x, "w": w[g], "g": g}), effects


def interval(draws):
    return np.quantile(draws, [(1.0 - PROB) / 2.0, (1.0 + PROB) / 2.0], axis=0)


def covered(draws, truth):
    low, high = interval(draws)
    inside = ((low < truth) & (truth < high)).mean()
    ratio = np.median(draws) / truth if np.ndim(truth) == 0 else np.nan
    return float(inside), float(np.mean(high - low)), ratio


def new_group(fit, sds):
    """Probabilities of the mean and of a row of a new group in their intervals, x = 1 and w = 0."""
    variance = sds[0] ** 2 + sds[1] ** 2 + 2.0 * CORRELATION * sds[0] * sds[1]
    named, rng = fit.named_draws.values, np.random.default_rng(0)
    sd, r = named["group_sd"], named["group_correlation"][:, 0]
    own = np.sqrt(sd[:, 0] ** 2 + sd[:, 1] ** 2 + 2.0 * r * sd[:, 0] * sd[:, 1])
    mean = named["beta"][:, 0, :2].sum(axis=1) + own * rng.normal(size=len(own))
    new = {"x": [1.0], "w": [0.0], "g": [999]}
    row = fit.predict(new, "interval", prob=PROB, new_groups="marginal").to_numpy()[0]
    for (low, high), total in ((interval(mean), variance), (row, variance + 1.0)):
        spread = np.sqrt(total)
        yield norm.cdf((high - 1.0) / spread) - norm.cdf((low - 1.0) / spread), high - low, np.nan


def quantities(frame, effects, sds):
    fit = bvb.DensityRegression("y ~ x + w + (x | g)", frame, n_components=1).fit(seed=1)
    named, terms = fit.named_draws.values, fit.model.design.terms["mean"]
    beta = dict(zip(terms, named["beta"][:, 0].T, strict=True))
    yield "x", covered(beta["x"], 1.0)
    yield "w", covered(beta["w"], 0.5)
    for j, name in enumerate(("sd of intercepts", "sd of slopes")):
        yield name, covered(named["group_sd"][:, j], sds[j])
    yield "correlation", covered(named["group_correlation"][:, 0], CORRELATION)
    own = [[beta[f"({e} | g)[{k}]"] for k in range(len(effects))] for e in ("1", "x")]
    yield "effects of groups", covered(np.moveaxis(own, -1, 0), effects.T)
    yield from zip(("new group, mean", "new group, row"), new_group(fit, sds), strict=True)


def main(sets=150, first=7000):
    records = []
    for size, sds in SDS.items():
        for n_groups in GROUPS:
            for seed in range(first, first + sets):
                frame, effects = data_of(seed, n_groups, sds)
                for name, numbers in quantities(frame, effects, sds):
                    records.append((size, n_groups, name, *numbers))
    names = ["sds", "groups", "quantity", "covered", "width", "estimate / truth"]
    groups = pd.DataFrame(records, columns=names).groupby(names[:3], sort=False)
    found = groups.mean()
    found.insert(1, "se", groups["covered"].sem())
    found["sets"] = groups.size()
    found.round(3).to_csv(OUT)
    print(found.round(3).to_string())


LARGE = {"big": 0.5, "small": 0.15}
"""Standard deviations of slopes; of intercepts 0.8 in the 30 groups, 0.5 in the ten."""

OF_EFFECTS = np.array(
    [[1.0, 0.4, 0.2, 0.0], [0.4, 1.0, -0.3, 0.3], [0.2, -0.3, 1.0, 0.2], [0.0, 0.3, 0.2, 1.0]]
)
"""Correlations of the effects of a group."""


def crossed(seed, sd):
    """Formula, rows of one data set, and the truth of each quantity."""
    rng = np.random.default_rng([seed, 30])
    g, i = np.repeat(np.arange(30), 10), np.tile(np.arange(10), 30)
    x, z, noise = rng.normal(size=(3, len(g)))
    u = rng.normal(size=(30, 3)) @ np.linalg.cholesky(OF_EFFECTS[:3, :3]).T * [0.8, sd, sd]
    v = rng.normal(size=(10, 2)) @ np.linalg.cholesky(OF_EFFECTS[:2, :2]).T * [0.5, sd]
    y = 1.0 + 0.5 * x - 0.3 * z + (u[g] * np.c_[np.ones(len(g)), x, z]).sum(axis=1)
    y += v[i, 0] + v[i, 1] * x + noise
    truth = {"slopes": [0.5, -0.3], "sds": [0.8, sd, sd, 0.5, sd]}
    truth["correlations"] = [0.4, 0.2, -0.3, 0.4]
    frame = pd.DataFrame({"y": y, "x": x, "z": z, "g": g, "i": i})
    return "y ~ x + z + (x + z | g) + (x | i)", frame, truth


def levels(seed, sd, n=3):
    """Formula, rows of one data set with a factor of n levels, and the truth of each quantity."""
    rng = np.random.default_rng([seed, 12])
    g, f = np.repeat(np.arange(12), 3 * n), np.tile(np.repeat(range(n), 3), 12)
    sds, of_effects = [0.8, *[sd] * (n - 1)], OF_EFFECTS[:n, :n]
    u = rng.normal(size=(12, n)) @ np.linalg.cholesky(of_effects).T * sds
    columns = np.c_[np.ones(len(g)), np.eye(n)[f, 1:]]
    beta = np.array([1.0, 0.5, -0.3, 0.0])[:n]
    y = columns @ beta + (columns * u[g]).sum(axis=1) + rng.normal(size=len(g))
    truth = {"slopes": beta[1:], "sds": sds, "correlations": of_effects[np.tril_indices(n, -1)]}
    return "y ~ f + (f | g)", pd.DataFrame({"y": y, "f": np.array(list("abcd"))[f], "g": g}), truth


DESIGNS = {"crossed": crossed, "levels": levels, "four": partial(levels, n=4)}


def several(design, sets=21, first=8001):
    """Coverage of more standard deviations and correlations."""
    records = []
    for size, sd in LARGE.items():
        for seed in range(first, first + sets):
            formula, frame, truth = DESIGNS[design](seed, sd)
            fit = bvb.DensityRegression(formula, frame, n_components=1).fit(seed=1, n_jobs=1)
            named = fit.named_draws.values
            draws = {
                "slopes": named["beta"][:, 0, 1 : 1 + len(truth["slopes"])],
                "sds": named["group_sd"],
            }
            exact = fit.covariance == "exact"
            draws |= {"correlations": named["group_correlation"]} if exact else {}
            for name, values in draws.items():
                inside, width, _ = covered(values, np.array(truth[name]))
                records.append((size, name, inside, width, float(exact)))
    names = ["sds", "quantity", "covered", "width", "exact"]
    groups = pd.DataFrame(records, columns=names).groupby(names[:2], sort=False)
    found = groups.mean()
    found.insert(1, "se", groups["covered"].sem())
    found["sets"] = groups.size()
    found.round(3).to_csv(OUT.with_name(f"correlated_{design}.csv"))
    print(found.round(3).to_string())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] and sys.argv[1] in DESIGNS:
        several(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
