"""90% intervals of one-component regressions beside those of least squares, in small samples.

Two to ten coefficients, Gaussian noise, 30 to 200 rows, 200 data sets each. The first slope is 0 to
5 standard errors. Coefficients have their prior in units of the noise, or of the response
(the default).
"""

from itertools import product

import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import OLS
from tables import keep

import bayesvb as bvb

PROB, DATA_SETS, SIZES = 0.9, 200, (0, 1, 2, 3, 5)


def compare(units: str, n_terms: int, n_rows: int, seed: int) -> dict[str, float | str]:
    """Ratios of the noise, the standard deviation, and the width of the interval of a slope."""
    names = [f"x{i}" for i in range(n_terms - 1)]
    values = np.random.default_rng(seed).standard_normal((n_rows, n_terms))
    data = pd.DataFrame(values, columns=["y", *names])
    truth = SIZES[seed % len(SIZES)] / np.sqrt(n_rows)
    data["y"] += truth * data["x0"]
    formula = "y ~ " + " + ".join(names)
    known = OLS.from_formula(formula, data).fit()
    priors = bvb.Priors(coefficient_units=units)
    fit = bvb.DensityRegression(formula, data, n_components=1, priors=priors).fit(seed=seed)
    table = fit.summary(prob=PROB)
    own, sigma = table.loc[("mean", 1, "x0")], table.loc[("sigma", 1)].iloc[0]
    lower, upper = known.conf_int(1.0 - PROB).loc["x0"]
    return {
        "units": units,
        "coefficients": n_terms,
        "rows": n_rows,
        "size": SIZES[seed % len(SIZES)],
        "sigma": sigma["mean"] / np.sqrt(known.scale),
        "sd": own["sd"] / known.bse["x0"],
        "width": (own["upper"] - own["lower"]) / (upper - lower),
        "coverage": float(own["lower"] < truth < own["upper"]),
        "least_squares": float(lower < truth < upper),
    }


def main() -> None:
    cells = product(("noise", "response"), (2, 5, 10), (30, 50, 100, 200), range(DATA_SETS))
    each = pd.DataFrame([compare(*cell) for cell in cells])
    by_size = each.groupby(["units", "size"])[["coverage"]].mean()
    print(by_size.unstack().round(3))
    table = each.drop(columns="size").groupby(["units", "coefficients", "rows"]).mean()
    keep(table.round(3).reset_index(), "small_samples")


if __name__ == "__main__":
    main()
