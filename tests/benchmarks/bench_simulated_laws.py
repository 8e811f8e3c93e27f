"""Simulated laws of a published comparison: nats per row from the truth.

    python tests/benchmarks/bench_simulated_laws.py [bimodal skewed ...] [--rows 750]

Izbicki et al. (2026), arXiv:2603.26611: ten standard normal covariates (uniform ones, or four, for
the two laws of Friedman 1991), 1000 and 4000 rows of which a quarter is for testing. Here as many
training rows, 20 000 test rows and five data sets of each law; the coefficients of linear parts are
drawn anew for each; the noise of the laws of Friedman has sds 1 and 50. Everything but the number
of components is at its default; ``chosen`` is the number with the largest leave-one-out estimate of
the training rows. ``short`` is the log density of the truth less that of the fit. Results:
docs/benchmarks/simulated_laws.csv.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from scipy import stats
from tables import keep

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd

ROWS = (750, 3000)
SEEDS, TEST_ROWS = 5, 20_000
COMPONENTS = (1, 2, 5, 10)


class Law:
    """One law: covariates, response given them, and its log density, for given coefficients."""

    n_covariates = 10

    def __init__(self, rng):
        self.slopes = rng.standard_normal(self.n_covariates)

    def covariates(self, n, rng):
        return rng.standard_normal((n, self.n_covariates))

    def mean(self, x):
        return x @ self.slopes

    def sd(self, x):
        return np.ones(len(x))

    def response(self, x, rng):
        return self.mean(x) + self.sd(x) * rng.standard_normal(len(x))

    def log_density(self, y, x):
        return stats.norm.logpdf(y, self.mean(x), self.sd(x))


class Linear(Law):
    pass


class Heteroscedastic(Law):
    def mean(self, x):
        return x @ self.slopes / 2.0

    def sd(self, x):
        return 0.5 + np.abs(x[:, 0])


class Bimodal(Law):
    def response(self, x, rng):
        side = rng.choice([-1.0, 1.0], len(x))
        return side * x[:, 0] + x[:, 1] + 0.5 * rng.standard_normal(len(x))

    def log_density(self, y, x):
        each = [stats.norm.logpdf(y, side * x[:, 0] + x[:, 1], 0.5) for side in (-1.0, 1.0)]
        return np.logaddexp(*each) - np.log(2.0)


class Skewed(Law):
    def shape(self, x):
        return 2.0 + np.abs(x[:, 0])

    def response(self, x, rng):
        return x[:, 1] + rng.gamma(self.shape(x), 0.5)

    def log_density(self, y, x):
        return stats.gamma.logpdf(y - x[:, 1], self.shape(x), scale=0.5)


class Nonlinear(Law):
    def mean(self, x):
        return np.sin(2.0 * x[:, 0]) + x[:, 1] ** 2 + 0.5 * x[:, 2]

    def sd(self, x):
        return 0.3 + 0.3 * np.abs(np.cos(x[:, 0]))


class Interaction(Law):
    def mean(self, x):
        return x[:, 0] * x[:, 1] + 0.5 * x[:, 1] * x[:, 2] + 0.3 * x[:, 0]

    def sd(self, x):
        return 0.3 + 0.5 * np.abs(x[:, 0] * x[:, 1])


class Friedman1(Law):
    def covariates(self, n, rng):
        return rng.uniform(size=(n, self.n_covariates))

    def mean(self, x):
        wave = 10.0 * np.sin(np.pi * x[:, 0] * x[:, 1])
        return wave + 20.0 * (x[:, 2] - 0.5) ** 2 + 10.0 * x[:, 3] + 5.0 * x[:, 4]


class Friedman2(Law):
    n_covariates = 4

    def covariates(self, n, rng):
        low, high = np.array([0.0, 40.0 * np.pi, 0.0, 1.0]), [100.0, 560.0 * np.pi, 1.0, 11.0]
        return rng.uniform(low, high, (n, 4))

    def mean(self, x):
        return np.hypot(x[:, 0], x[:, 1] * x[:, 2] - 1.0 / (x[:, 1] * x[:, 3]))

    def sd(self, x):
        return np.full(len(x), 50.0)


LAWS = {
    "linear": Linear,
    "heteroscedastic": Heteroscedastic,
    "bimodal": Bimodal,
    "skewed": Skewed,
    "nonlinear": Nonlinear,
    "interaction": Interaction,
    "friedman 1": Friedman1,
    "friedman 2": Friedman2,
}


def sample(law: Law, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, float]:
    """Rows, and the mean log density of their responses under the law."""
    x = law.covariates(n, rng)
    y = law.response(x, rng)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(y=y)
    return frame, float(law.log_density(y, x).mean())


def record(name: str, n_rows: int, seed: int) -> pd.DataFrame:
    """Shortfall and seconds of each number of components on one data set."""
    rng = np.random.default_rng([seed, n_rows, list(LAWS).index(name)])
    law = LAWS[name](rng)
    train, _ = sample(law, n_rows, rng)
    test, truth = sample(law, TEST_ROWS, rng)
    rows = []
    for n_components in COMPONENTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            model = bvb.DensityRegression("y ~ .", train, n_components=n_components)
            fit = model.fit(seed=seed)
            seconds = time.perf_counter() - began
            short = truth - float(fit.log_density(test).mean())
            estimate = read_elpd(fit.loo()).elpd
        rows.append({"components": str(n_components), "short": short, "seconds": seconds,
                     "loo": estimate})  # fmt: skip
    table = pd.DataFrame(rows)
    chosen = table.loc[[table["loo"].idxmax()]].assign(components="chosen")
    return pd.concat([table, chosen]).assign(law=name, rows=n_rows, truth=truth)


def main() -> None:
    """Means over data sets, with standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("laws", nargs="*", default=list(LAWS), help=", ".join(LAWS))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    asked = parser.parse_args()
    for name in asked.laws:
        for n_rows in asked.rows:
            tables = pd.concat([record(name, n_rows, seed) for seed in range(SEEDS)])
            groups = tables.groupby(["law", "rows", "components"], sort=False)
            found = groups[["truth", "short", "seconds"]].mean()
            found.insert(2, "short_se", groups["short"].sem())
            found = found.reset_index()
            found.insert(0, "run", found["law"] + f", {n_rows}")
            keep(found, "simulated_laws", by="run")


if __name__ == "__main__":
    main()
