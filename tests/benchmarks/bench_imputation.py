"""Coverage of 90% intervals with missing covariates: imputation, complete rows, statsmodels MICE.

100 rows; two correlated covariates are missing more often where the response is large. The first
has an effect of 0, 1, 2, 3 or 5 standard errors of the full data. The number of data sets of each
effect can be given: bench_imputation.py 40
"""

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.stats import norm
from statsmodels.imputation.mice import MICE, MICEData
from statsmodels.regression.linear_model import OLS
from tables import keep

import bayesvb as bvb

PROB, N_ROWS, N_SETS, IMPUTATIONS = 0.9, 100, 40, 20
EFFECTS = (0.0, 1.0, 2.0, 3.0, 5.0)
FORMULAS = {"line": "y ~ x + z + g", "square": "y ~ x + I(x**2) + z + g"}
SE = 1.0 / np.sqrt(0.75 * N_ROWS)
"""Of the slope of x: noise of one, and a correlation of one half with z."""


def draw(design: str, effect: float, share: float, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A full table, and the same with missing values at random."""
    rng = np.random.default_rng(seed)
    x, noise = rng.standard_normal((2, N_ROWS))
    z = 0.5 * x + np.sqrt(0.75) * rng.standard_normal(N_ROWS)
    g = rng.choice(["a", "b"], N_ROWS)
    mean = effect * SE * x + SE * z + 0.3 * (g == "b")
    if design == "square":
        mean = mean + 0.4 * x**2
    full = pd.DataFrame({"x": x, "z": z, "g": g, "y": mean + noise})
    large = (full["y"] - mean.mean()).to_numpy()
    lacks = full.copy()
    for name, score, rate in (("x", large, share), ("z", large, share / 3.0)):
        odds = norm.cdf(norm.ppf(rate) * np.sqrt(2.0) + score / score.std())
        lacks.loc[rng.random(N_ROWS) < odds, name] = np.nan
    return full, lacks


def regression(formula: str, data: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Estimates with intervals, by least squares."""
    fit = OLS.from_formula(formula, data.dropna()).fit()
    ends = fit.conf_int(1.0 - PROB)
    return {name: (fit.params[name], ends.loc[name, 0], ends.loc[name, 1]) for name in ("x", "z")}


def imputed(formula: str, data: pd.DataFrame, seed: int) -> dict[str, tuple[float, float, float]]:
    """The same by a pool of imputations."""
    model = bvb.DensityRegression(formula, data, n_components=1, missing="impute")
    table = model.fit(seed=seed).summary(prob=PROB).loc[("mean", 1)]
    return {name: tuple(table.loc[name, ["mean", "lower", "upper"]]) for name in ("x", "z")}


def chained(formula: str, data: pd.DataFrame, seed: int) -> dict[str, tuple[float, float, float]]:
    """The same by chained equations with predictive mean matching, normal quantiles."""
    np.random.seed(seed)  # noqa: NPY002 - statsmodels draws from the global generator
    table = MICEData(data.assign(g=(data["g"] == "b").astype(float)))
    fit = MICE(formula, OLS, table).fit(10, IMPUTATIONS)
    ends = pd.DataFrame(fit.conf_int(1.0 - PROB), index=fit.exog_names)
    each = pd.Series(fit.params, index=fit.exog_names)
    return {name: (each[name], ends.loc[name, 0], ends.loc[name, 1]) for name in ("x", "z")}


def compare(design: str, share: float, n_sets: int) -> list[dict[str, object]]:
    """One row for each data set, method and coefficient."""
    rows, formula = [], FORMULAS[design]
    for effect in EFFECTS:
        for seed in range(n_sets):
            full, lacks = draw(design, effect, share, 1000 * seed + round(10 * effect))
            found = {
                "full data": regression(formula, full),
                "complete rows": regression(formula, lacks),
                "missing='impute'": imputed(formula, lacks, seed),
                "statsmodels MICE": chained(formula, lacks, seed),
            }
            for method, each in found.items():
                for name, (estimate, lower, upper) in each.items():
                    truth = SE * (effect if name == "x" else 1.0)
                    rows.append({
                        "design": design, "share": share, "effect": effect, "method": method,
                        "coefficient": name, "covers": lower <= truth <= upper,
                        "error": (estimate - truth) / SE, "width": (upper - lower) / SE,
                    })  # fmt: skip
    return rows


def main() -> None:
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else N_SETS
    warnings.simplefilter("ignore")
    rows = [
        row
        for design, share in (("line", 0.1), ("line", 0.3), ("square", 0.3))
        for row in compare(design, share, n_sets)
    ]
    table = pd.DataFrame(rows).assign(squared=lambda one: one["error"] ** 2)
    names = {"covers": "coverage", "error": "bias", "squared": "mse", "width": "width"}
    for by, name in ((["design", "share", "coefficient", "method"], "imputation"),
                     (["effect", "method"], "imputation_effects")):  # fmt: skip
        chosen = table if name == "imputation" else table[table["coefficient"] == "x"]
        found = chosen.groupby(by, sort=False)[list(names)].mean().rename(columns=names)
        keep(found.round(3).reset_index(), name)
        print(found.round(2).to_string())


if __name__ == "__main__":
    main()
