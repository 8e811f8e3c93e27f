"""CPU time of a whole fit with effects of groups as columns, and with the group of each row.

2,000 rows, random intercepts, intervals included, processes of restarts too. By hand: minutes.
"""

import os

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.linear.structure import LIMITS

CASES = {1: (10, 50, 100, 500), 2: (10, 50, 100)}
"""Levels by number of components; 500 columns of two components take minutes."""


def simulated(n_groups: int, n_components: int, n_rows: int = 2_000) -> pd.DataFrame:
    """Lines of components, and a level of each group."""
    rng = np.random.default_rng(0)
    g, x = rng.integers(0, n_groups, n_rows), rng.normal(size=n_rows)
    z = rng.integers(0, n_components, n_rows)
    y = x * (1 - 3 * z) + 4 * z + 0.7 * rng.normal(size=n_groups)[g]
    return pd.DataFrame({"y": y + 0.5 * rng.normal(size=n_rows), "x": x, "g": g.astype(str)})


def seconds_of(data: pd.DataFrame, n_components: int, most: int) -> float:
    """CPU time of a fit with at most so many effects as columns."""
    vars(LIMITS).update(columns=most, groups=max(most, 500))
    began = sum(os.times()[:4])
    bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=n_components).fit(seed=1)
    return sum(os.times()[:4]) - began


if __name__ == "__main__":
    seconds_of(simulated(10, 1), 1, 0)  # imports
    records = []
    for k, levels in CASES.items():
        for n_groups in levels:
            pairs = [[seconds_of(simulated(n_groups, k), k, m) for m in (10**6, 0)]
                     for _ in range(3 if k == 1 else 1)]  # fmt: skip
            columns, grouped = np.min(pairs, axis=0)
            records.append({"components": k, "levels": n_groups, "columns": columns,
                            "grouped": grouped, "ratio": grouped / columns})  # fmt: skip
    keep(pd.DataFrame(records), "structures")
