"""Coverage of 90% intervals with missing covariates: imputation, complete rows, R's mice, smcfcs.

100 rows; two correlated covariates are missing more often where the response is large. The first
has an effect of 0, 1, 2, 3 or 5 standard errors of the full data. R's mice has its defaults
(predictive mean matching) and as many imputations, smcfcs normal covariates and 20 iterations;
without `Rscript` both are left out. The number of data sets of each effect, and one design with its
share and the first seed, can be given: bench_imputation.py 40 line 0.3 5000. Tables of other
designs stay as they are.
"""

import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm
from statsmodels.regression.linear_model import OLS
from tables import keep

import bayesvb as bvb

PROB, N_ROWS, N_SETS, IMPUTATIONS = 0.9, 100, 40, 20
DESIGNS = (("line", 0.1), ("line", 0.3), ("square", 0.3))
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


R_SCRIPT = """
suppressMessages(library(mice))
given <- commandArgs(TRUE)
tables <- read.csv(given[1], stringsAsFactors = TRUE)
for (number in unique(tables$number)) {
  rows <- tables[tables$number == number, c("x", "z", "g", "y")]
  tables_of <- FILL
  fits <- lapply(tables_of, function(full) lm(as.formula(given[2]), full))
  found <- summary(pool(as.mira(fits)), conf.int = TRUE, conf.level = as.numeric(given[4]))
  found <- found[found$term %in% c("x", "z"), c("term", "estimate", "5 %", "95 %")]
  write.table(cbind(number, found), sep = ",", row.names = FALSE, col.names = FALSE)
}
"""

FILLS = {
    "mice (R)": """complete(
    mice(rows, m = as.integer(given[3]), seed = number + 1, printFlag = FALSE), "all")""",
    "smcfcs (R)": """{ set.seed(number + 1); smcfcs::smcfcs(
    rows, smtype = "lm", smformula = given[2], method = c("norm", "norm", "", ""),
    m = as.integer(given[3]), numit = 20, rjlimit = 5000, noisy = FALSE)$impDatasets }""",
}


def chained(
    formula: str, tables: list[pd.DataFrame], fill: str
) -> list[dict[str, tuple[float, ...]]]:
    """The same of each table by a package of R, pooled by Rubin's rules; nothing without R."""
    if shutil.which("Rscript") is None:
        return [{} for _ in tables]
    each = pd.concat([table.assign(number=n) for n, table in enumerate(tables)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.csv"
        each.to_csv(path, index=False)
        formula = formula.replace("**", "^")
        script = R_SCRIPT.replace("FILL", fill)
        command = ["Rscript", "-e", script, str(path), formula, str(IMPUTATIONS), str(PROB)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: list[dict[str, tuple[float, ...]]] = [{} for _ in tables]
    results = [line.split(",") for line in done.stdout.splitlines()]
    for number, name, *values in (row for row in results if len(row) == 5):  # smcfcs prints others
        found[int(number)][name.strip('"')] = tuple(map(float, values))
    return found


def compare(design: str, share: float, n_sets: int, first: int) -> list[dict[str, object]]:
    """One row for each data set, method and coefficient."""
    rows, formula = [], FORMULAS[design]
    for effect in EFFECTS:
        drawn = [
            draw(design, effect, share, 1000 * seed + round(10 * effect))
            for seed in range(first, first + n_sets)
        ]
        lacking = [lacks for _, lacks in drawn]
        by_r = {name: chained(formula, lacking, fill) for name, fill in FILLS.items()}
        for seed, (full, lacks) in enumerate(drawn):
            found = {
                "full data": regression(formula, full),
                "complete rows": regression(formula, lacks),
                "missing='impute'": imputed(formula, lacks, seed),
                **{name: found_by[seed] for name, found_by in by_r.items()},
            }
            for method, each in found.items():
                for name, (estimate, lower, upper) in each.items():
                    truth = SE * (effect if name == "x" else 1.0)
                    rows.append({
                        "design": f"{design} {share:g}", "effect": effect, "method": method,
                        "coefficient": name, "covers": lower <= truth <= upper,
                        "error": (estimate - truth) / SE, "width": (upper - lower) / SE,
                    })  # fmt: skip
    return rows


def main() -> None:
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else N_SETS
    chosen = [(sys.argv[2], float(sys.argv[3]))] if len(sys.argv) > 3 else DESIGNS
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    warnings.simplefilter("ignore")
    names = {"covers": "coverage", "error": "bias", "squared": "mse", "width": "width"}
    for design, share in chosen:
        table = pd.DataFrame(compare(design, share, n_sets, first))
        table["squared"] = table["error"] ** 2
        of_x = table[table["coefficient"] == "x"]
        for name, rows, by in (("imputation", table, ["coefficient", "method"]),
                               ("imputation_effects", of_x, ["effect", "method"])):  # fmt: skip
            found = rows.groupby(["design", *by], sort=False)[list(names)].mean()
            found = found.rename(columns=names).round(3).reset_index()
            keep(found.assign(data_sets=n_sets), name, by="design")


if __name__ == "__main__":
    main()
