"""CPU time of whole fits with group-level terms and smooths, one component.

Random intercepts beside one covariate, both families, and a smooth. Least of five runs of model and
fit in one process, seconds of CPU time. Run by hand.
"""

import time
import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb

CASES = (
    ("y ~ x + (1 | g)", "gaussian", 2_000, 50),
    ("y ~ x + (1 | g)", "gaussian", 20_000, 5_000),
    ("y ~ x + (1 | g)", "student", 4_000, 1_000),
    ("y ~ s(x)", "gaussian", 1_000, 50),
)
REPEATS = 5


def simulated(n_rows: int, n_groups: int) -> pd.DataFrame:
    """A sine with a level of each group and heavy tails."""
    rng = np.random.default_rng(1)
    g = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n_rows - n_groups)])
    x = rng.normal(size=n_rows)
    y = np.sin(2.0 * x) + rng.normal(size=n_groups)[g] + 0.7 * rng.standard_t(4.0, size=n_rows)
    return pd.DataFrame({"y": y, "x": x, "g": g})


def measured(text: str, family: str, n_rows: int, n_groups: int) -> dict[str, object]:
    """Seconds of model and fit, iterations, and how intervals were made."""
    data, seconds = simulated(n_rows, n_groups), []
    for _ in range(REPEATS):
        began = time.process_time()
        fit = bvb.DensityRegression(text, data, n_components=1, family=family).fit(seed=1)
        seconds.append(time.process_time() - began)
    return {
        "formula": text, "family": family, "rows": n_rows,
        "groups": n_groups if "g" in text else 0, "cpu_seconds": min(seconds),
        "iterations": fit.n_iter, "covariance": fit.covariance,
    }  # fmt: skip


def main() -> None:
    """One row for each case."""
    warnings.simplefilter("ignore")
    keep(pd.DataFrame([measured(*case) for case in CASES]), "structured_terms")


if __name__ == "__main__":
    main()
