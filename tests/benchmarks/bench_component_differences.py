"""Bias and coverage of differences between two Gaussian components, by their size in SEs.

Five coefficients in each component, of which one slope differs by 0 to 5 standard errors. The
intercepts are six (good separation) or three (moderate) noise standard deviations apart, and 40,
100, or 400 rows have default priors, or a smaller ``scale_rate``; intervals are of 90%. The t
intervals relative to which widths are reported are of least squares within the true components.
The standard error of a difference is ``2 / sqrt(rows)``, and the bias is of posterior medians.
``bench_component_differences.py held-out [sets]`` compares the rates by log densities of new rows:
simulated ones with 4 or 20 columns, of which one slope differs by one noise standard deviation,
and rows of real data that are left out.
"""

import sys
import warnings
from itertools import product

import numpy as np
import pandas as pd
from real_data import REAL_DATA
from statsmodels.regression.linear_model import OLS
from tables import keep

import bayesvb as bvb

PROB, SIZES, ROWS, APART = 0.9, (0, 1, 2, 3, 5), (40, 100, 400), (6.0, 3.0)
RATES = (0.1, 0.005)  # of the learned sd of a term's differences; the default first
SEEDS = (*range(6), *range(9, 12), *range(18, 21), *range(24, 30))
NAMES = ["x1", "x2", "x3", "x4"]
FIRST_SEED = 20_000


def simulate(n: int, apart: float, size: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of two equally frequent components, and the second component's indicator."""
    rng = np.random.default_rng([FIRST_SEED + seed, n])
    x, second = rng.standard_normal((n, len(NAMES))), rng.permutation(n) % 2
    slope = 0.3 + size * np.sqrt(4.0 / n) * (second - 0.5)
    line = apart * (second - 0.5) + slope * x[:, 0] + 0.3 * x[:, 1:].sum(axis=1)
    data = pd.DataFrame(x, columns=NAMES).assign(y=line + rng.standard_normal(n))
    return data, second


def known_interval(data: pd.DataFrame, second: np.ndarray) -> tuple[float, float, float]:
    """Estimate, lower and upper end of the difference of slopes where memberships are known."""
    design = np.column_stack([np.ones(len(data)), data[NAMES]])
    fit = OLS(data["y"].to_numpy(), np.hstack([design, design * second[:, None]])).fit()
    at = design.shape[1] + 1
    lower, upper = fit.conf_int(1.0 - PROB)[at]
    return float(fit.params[at]), float(lower), float(upper)


def compare(n: int, apart: float, size: float, seed: int, rate: float) -> dict[str, float]:
    """Error, width and coverage of the difference of slopes by the fit, and by known members."""
    data, second = simulate(n, apart, size, seed)
    truth, error = size * np.sqrt(4.0 / n), np.sqrt(4.0 / n)
    known, low, high = known_interval(data, second)
    formula = "y ~ " + " + ".join(NAMES) + " | gating(1)"
    priors = bvb.Priors(scale_rate=rate)
    fit = bvb.DensityRegression(formula, data, n_components=2, priors=priors).fit(seed=seed)
    beta = fit.posterior["beta"].to_numpy()[0]
    order = np.argsort(np.median(beta[:, :, 0], axis=0))
    draws = beta[:, order[1], 1] - beta[:, order[0], 1]
    lower, upper = np.quantile(draws, [0.5 - PROB / 2, 0.5 + PROB / 2])
    return {
        "scale_rate": rate,
        "rows": n,
        "apart": apart,
        "size": size,
        "bias": (np.median(draws) - truth) / error,
        "bias_known": (known - truth) / error,
        "width": (upper - lower) / (high - low),
        "coverage": float(lower < truth < upper),
        "coverage_known": float(low < truth < high),
    }


REAL = {
    one.name: one for one in REAL_DATA if one.name in ("concrete", "cps1985", "abalone", "wine")
}
NEW_ROWS, HELD_OUT_SEED = 1000, 30_000


def divided(design: str, n: int, seed: int) -> tuple[str, pd.DataFrame, pd.DataFrame]:
    """Formula, rows of the fit, and new rows."""
    rng = np.random.default_rng([HELD_OUT_SEED + seed, n])
    if design in REAL:
        rows = REAL[design].load()
        assert rows is not None, "set BAYESVB_DATA"
        order = rng.permutation(len(rows))
        return REAL[design].formula, rows.iloc[order[:n]], rows.iloc[order[n:][:NEW_ROWS]]
    names = [f"x{j}" for j in range(int(design.split()[0]))]
    x = rng.standard_normal((n + NEW_ROWS, len(names)))
    second = rng.permutation(len(x)) % 2 - 0.5
    y = 6.0 * second + 0.5 * x[:, 0] + second * x[:, 1] + rng.standard_normal(len(x))
    data = pd.DataFrame(x, columns=names).assign(y=y)
    return "y ~ " + " + ".join(names), data.iloc[:n], data.iloc[n:]


def held_out(n_sets: int) -> None:
    """Write the gain of the default over the smaller rate in log density per new row."""
    records = []
    for design, n in product(("4 columns", "20 columns", *REAL), (100, 400)):
        gains = []
        for seed in range(n_sets):
            formula, rows, new = divided(design, n, seed)
            densities = []
            for rate in RATES:
                priors = bvb.Priors(scale_rate=rate)
                model = bvb.DensityRegression(formula, rows, n_components=2, priors=priors)
                fit = model.fit(seed=seed, draws=50, covariance="mean-field")
                densities.append(fit.log_density(new).mean())
            gains.append(densities[0] - densities[1])
        se = np.std(gains, ddof=1) / np.sqrt(n_sets)
        records.append((design, n, np.mean(gains), np.median(gains), se, n_sets))
    names = ["design", "rows", "gain", "median gain", "se", "sets"]
    keep(pd.DataFrame(records, columns=names).round(4), "component_differences_held_out")


def main() -> None:
    """Write the table of all cells."""
    cells = product(ROWS, APART, SIZES, SEEDS, RATES)
    each = pd.DataFrame([compare(*cell) for cell in cells])
    table = each.groupby(["scale_rate", "apart", "rows", "size"]).mean().assign(sets=len(SEEDS))
    keep(table.round(3).reset_index(), "component_differences")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["held-out"]:
        held_out(int(sys.argv[2]) if len(sys.argv) > 2 else 10)
    else:
        main()
