"""Surfaces ``te(x, z)`` and periodic curves beside mgcv: error, coverage and CPU time.

Laws, noise and sizes are those with which the equations were chosen, the seeds are others. Surfaces
of 300 rows, noise 0.5, ``k=8`` for each covariate: "hills" are the two bumps of Wood's ``gam``
examples, "wave" is ``sin(7 x) (0.4 + z) + z / 2``, a straight line in z. Periodic curves of 120
rows, noise 0.6, ``k=11``: one bump, and two frequencies. Root mean square errors of the mean at the
rows, pointwise coverage of 90% intervals (standard error over data sets in brackets), and median
CPU seconds of a fit with its draws. mgcv fits by REML; its intervals are its default. Run by hand.

=============== ======= ====== =========== =======
law             package  error coverage    seconds
=============== ======= ====== =========== =======
hills           bayesvb 0.1235 .903 (.013)   0.104
hills           mgcv    0.1218 .916 (.013)   0.080
wave            bayesvb 0.1104 .917 (.011)   0.119
wave            mgcv    0.1038 .910 (.014)   0.150
bump            bayesvb 0.1584 .870 (.024)   0.038
bump            mgcv    0.1612 .842 (.027)   0.012
two frequencies bayesvb 0.1962 .816 (.039)   0.038
two frequencies mgcv    0.2099 .758 (.038)   0.019
=============== ======= ====== =========== =======

20 data sets of each law; ``python tests/benchmarks/bench_surfaces.py 20``. mgcv 1.8.41.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.numerics.runtime import single_threaded_blas

R_SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(mgcv))
data <- read.csv(arguments[1])
for (one in split(data, data$set)) {
  cpu <- sum(system.time(m <- gam(as.formula(arguments[2]), data = one, method = "REML",
                                  knots = list(h = c(0, 1))))[1:2])
  p <- predict(m, se.fit = TRUE)
  off <- p$fit - one$truth
  cat(sqrt(mean(off^2)), mean(abs(off) < qnorm(.95) * p$se.fit), cpu, "\\n")
}
"""
"""Prints error, coverage and CPU time of each data set."""


def hills(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Two bumps, of heights 0.75 and 0.45 over products of standard deviations."""
    first = 0.75 / (np.pi * 0.3 * 0.4) * np.exp(-((x - 0.2) ** 2) / 0.09 - (z - 0.3) ** 2 / 0.16)
    second = 0.45 / (np.pi * 0.3 * 0.4) * np.exp(-((x - 0.7) ** 2) / 0.09 - (z - 0.8) ** 2 / 0.16)
    return first + second


SURFACES = {"hills": hills, "wave": lambda x, z: np.sin(7.0 * x) * (0.4 + z) + 0.5 * z}
CURVES = {
    "bump": lambda h: 2.0 * np.exp(-8.0 * np.sin(np.pi * (h - 0.3)) ** 2),
    "two frequencies": lambda h: np.sin(2.0 * np.pi * h) + 0.5 * np.cos(8.0 * np.pi * h),
}


def simulated(law: str, rng: np.random.Generator) -> pd.DataFrame:
    """One data set with the true mean."""
    n = 300 if law in SURFACES else 120
    data = pd.DataFrame(rng.uniform(size=(n, 3)), columns=["x", "z", "h"])
    if law in SURFACES:
        truth, noise = SURFACES[law](data["x"].to_numpy(), data["z"].to_numpy()), 0.5
    else:
        truth, noise = CURVES[law](data["h"].to_numpy()), 0.6
    return data.assign(truth=truth, y=truth + noise * rng.normal(size=n))


def by_bayesvb(term: str, data: pd.DataFrame) -> list[float]:
    """Error, coverage and seconds of one data set."""
    began = time.process_time()
    fit = bvb.DensityRegression(f"y ~ {term}", data, n_components=1).fit(seed=1, draws=500)
    seconds = time.process_time() - began
    means = fit.named_draws.values["beta"][:, 0] @ fit.model.design.matrices["mean"].T
    low, high = np.quantile(means, [0.05, 0.95], axis=0)
    truth = data["truth"].to_numpy()
    error = float(np.sqrt(((means.mean(axis=0) - truth) ** 2).mean()))
    return [error, float(((low < truth) & (truth < high)).mean()), seconds]


def by_mgcv(term: str, sets: list[pd.DataFrame]) -> np.ndarray:
    """The same of all data sets."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        pd.concat([one.assign(set=i) for i, one in enumerate(sets)]).to_csv(path, index=False)
        command = ["Rscript", "-e", R_SCRIPT, str(path), f"y ~ {term}"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return np.array([line.split() for line in done.stdout.splitlines()], dtype=float)


def told(law: str, term: str, package: str, each: np.ndarray) -> dict[str, object]:
    """A row of the table."""
    error, coverage = each[:, 0], each[:, 1]
    spread = coverage.std(ddof=1) / np.sqrt(len(coverage))
    return {
        "law": law, "term": term, "package": package, "error": round(error.mean(), 4),
        "coverage": round(coverage.mean(), 3), "coverage_se": round(spread, 3),
        "seconds": round(float(np.median(each[:, 2])), 4),
    }  # fmt: skip


def main(n_sets: int) -> None:
    """Print and keep the table."""
    rows = []
    for law in (*SURFACES, *CURVES):
        ours = "te(x, z, k=8)" if law in SURFACES else "s(h, bs='cc', period=(0, 1))"
        theirs = "te(x, z, k=8)" if law in SURFACES else "s(h, bs='cc', k=11)"
        rng = np.random.default_rng([7, len(rows)])
        sets = [simulated(law, rng) for _ in range(n_sets)]
        with single_threaded_blas():
            found = np.array([by_bayesvb(ours, one) for one in sets])
        rows.append(told(law, ours, "bayesvb", found))
        if shutil.which("Rscript"):
            rows.append(told(law, theirs, "mgcv", by_mgcv(theirs, sets)))
    keep(pd.DataFrame(rows), "surfaces")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
