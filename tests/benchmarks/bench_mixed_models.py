"""One component with groups or a curve, beside lme4, mgcv and statsmodels: CPU time and estimates.

Single-threaded CPU seconds of model and fit with default options, the median of several fits in one
process for each package, after one that is not counted; all packages in one run, so that ratios
hold on any machine. bayesvb makes 1,000 draws and intervals besides. lme4 and mgcv fit by REML.
``slope`` is the coefficient of ``x1``, ``sd`` the standard deviation between groups or, of the
curve, the root mean square difference from the curve of mgcv; ``sigma`` that of the noise.
Without R, lme4 and mgcv are left out with a message. Run by hand.

=========== ====== =========== ======= ===== ====== ====== ======
case          rows package     seconds ratio  slope     sd  sigma
=========== ====== =========== ======= ===== ====== ====== ======
groups       2,000 bayesvb       0.041  1.00 0.5221 0.7831 1.0016
groups       2,000 lme4          0.022  1.85 0.5221 0.7660 1.0016
groups       2,000 statsmodels   0.066  0.61 0.5221 0.7660 1.0016
many groups 20,000 bayesvb       0.157  1.00 0.4972 0.7043 0.9967
many groups 20,000 lme4          0.121  1.30 0.4970 0.7051 0.9965
many groups 20,000 statsmodels   3.850  0.04 0.4970 0.7051 0.9965
curve        1,000 bayesvb       0.032  1.00        0.0024 0.4900
curve        1,000 mgcv          0.057  0.56               0.4900
=========== ====== =========== ======= ===== ====== ====== ======

``ratio`` is the time of bayesvb over that of the package. 50 and 5,000 groups; lme4 1.1.31, mgcv
1.8.41, statsmodels 0.15.0. Of the posterior standard deviation between groups the mean is given,
which is above the mode that REML has where groups are few.
"""

import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from tables import keep

import bayesvb as bvb
from bayesvb.numerics.runtime import single_threaded_blas

REPEATS = 5

R_SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
suppressMessages({library(lme4); library(mgcv)})
data <- read.csv(arguments[1]); repeats <- as.integer(arguments[3])
if (arguments[2] == "lme4") {
  data$g <- factor(data$g)
  fit <- function() lmer(y ~ x1 + (1 | g), data)
  told <- function(m) c(fixef(m)[[2]], as.data.frame(VarCorr(m))$sdcor)
} else {
  fit <- function() gam(y ~ s(x1), data = data, method = "REML")
  told <- function(m) c(NaN, NaN, sqrt(m$sig2), fitted(m))
}
last <- fit()
cpu <- replicate(repeats, sum(system.time(last <<- fit())[1:2]))
cat(format(c(median(cpu), told(last)), digits = 12), sep = "\\n")
"""
"""Prints median CPU time, slope, standard deviations of groups and noise, and the curve."""


def grouped(n_rows: int, n_groups: int) -> pd.DataFrame:
    """One covariate and a random intercept."""
    rng = np.random.default_rng(1)
    g, x = rng.permutation(np.arange(n_rows) % n_groups), rng.normal(size=n_rows)
    y = 1.0 + 0.5 * x + 0.7 * rng.normal(size=n_groups)[g] + rng.normal(size=n_rows)
    return pd.DataFrame({"y": y, "x1": x, "g": [f"g{k}" for k in g]})


def curved(n_rows: int) -> pd.DataFrame:
    """A sine with noise."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=n_rows)
    return pd.DataFrame({"y": np.sin(6.0 * x) + 0.5 * rng.normal(size=n_rows), "x1": x})


CASES = {
    "groups": ("y ~ x1 + (1 | g)", grouped(2_000, 50), "lme4"),
    "many groups": ("y ~ x1 + (1 | g)", grouped(20_000, 5_000), "lme4"),
    "curve": ("y ~ s(x1)", curved(1_000), "mgcv"),
}


def timed(fit: Callable[[], object]) -> tuple[float, object]:
    """Median CPU seconds of some fits after the first, and the last fit."""
    seconds = []
    with single_threaded_blas():
        fit()
        for _ in range(REPEATS):
            began = time.process_time()
            found = fit()
            seconds.append(time.process_time() - began)
    return float(np.median(seconds)), found


def by_bayesvb(formula: str, data: pd.DataFrame) -> tuple[dict[str, float], np.ndarray]:
    """Seconds and posterior means of a fit with default options."""
    seconds, fit = timed(lambda: bvb.DensityRegression(formula, data, n_components=1).fit(seed=1))
    table = fit.summary()["mean"]
    slope = table.get(("mean", 1, "x1"), np.nan)
    sigma = float(table.xs("sigma", level="part").iloc[0])
    sd = table.get(("sd of groups", "", "(1 | g)"), np.nan)
    row = {"seconds": seconds, "slope": slope, "sd": sd, "sigma": sigma}
    return row, fit.predict().to_numpy()


def by_r(package: str, data: pd.DataFrame) -> tuple[dict[str, float], np.ndarray]:
    """The same by REML."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        data.to_csv(path, index=False)
        command = ["Rscript", "-e", R_SCRIPT, str(path), package, str(REPEATS)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, slope, sd, sigma, *curve = (float(line) for line in done.stdout.split())
    return {"seconds": seconds, "slope": slope, "sd": sd, "sigma": sigma}, np.array(curve)


def by_statsmodels(data: pd.DataFrame) -> dict[str, float]:
    """The same by MixedLM, REML."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, fit = timed(lambda: smf.mixedlm("y ~ x1", data, groups=data["g"]).fit())
    sd, sigma = np.sqrt([fit.cov_re.iloc[0, 0], fit.scale])
    return {"seconds": seconds, "slope": fit.params["x1"], "sd": sd, "sigma": sigma}


def compared(formula: str, data: pd.DataFrame, package: str, has_r: bool) -> pd.DataFrame:
    """One row for each package."""
    rows = {}
    rows["bayesvb"], ours = by_bayesvb(formula, data)
    if has_r:
        rows[package], theirs = by_r(package, data)
        if len(theirs):
            rows["bayesvb"]["sd"] = float(np.sqrt(np.mean((ours - theirs) ** 2)))
    if "g" in data:
        rows["statsmodels"] = by_statsmodels(data)
    table = pd.DataFrame(rows).T.rename_axis("package").reset_index()
    return table.assign(ratio=rows["bayesvb"]["seconds"] / table["seconds"])


def main() -> None:
    """Print and keep the table."""
    has_r = shutil.which("Rscript") is not None
    if not has_r:
        print("Rscript is absent: lme4 and mgcv are left out (Debian: r-cran-lme4, r-cran-mgcv)")
    each = [
        compared(*case, has_r).assign(case=name, rows=len(case[1])) for name, case in CASES.items()
    ]
    table = pd.concat(each)
    keep(table[["case", "rows", "package", "seconds", "ratio", "slope", "sd", "sigma"]].round(4),
         "mixed_models")  # fmt: skip


if __name__ == "__main__":
    main()
