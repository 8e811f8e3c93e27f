"""Widths of 90% intervals of one-component regressions, relative to those of least squares.

Four covariates, Gaussian noise, 30 to 200 rows, 40 data sets each.
"""

import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import OLS
from tables import keep

import bayesvb as bvb

FORMULA, PROB, DATA_SETS = "y ~ a + b + c + d", 0.9, 40


def compare(n_rows: int, seed: int) -> dict[str, float]:
    """Ratios of the noise, the standard deviations, and the widths of intervals."""
    columns = list("yabcd")
    values = np.random.default_rng(seed).standard_normal((n_rows, len(columns)))
    data = pd.DataFrame(values, columns=columns)
    known = OLS.from_formula(FORMULA, data).fit()
    fit = bvb.DensityRegression(FORMULA, data, n_components=1).fit(seed=seed)
    table = fit.summary(prob=PROB)
    own, ends = table.loc[("mean", 1)], known.conf_int(1.0 - PROB)
    return {
        "rows": n_rows,
        "sigma": table.loc["sigma", "mean"].iloc[0] / np.sqrt(known.scale),
        "sd": (own["sd"].to_numpy() / known.bse.to_numpy()).mean(),
        "width": ((own["upper"] - own["lower"]).to_numpy() / (ends[1] - ends[0]).to_numpy()).mean(),
    }


def main() -> None:
    each = [compare(n, seed) for n in (30, 50, 100, 200) for seed in range(DATA_SETS)]
    keep(pd.DataFrame(each).groupby("rows").mean().round(3).reset_index(), "small_samples")


if __name__ == "__main__":
    main()
