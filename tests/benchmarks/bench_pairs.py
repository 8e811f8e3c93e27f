"""Familywise error of all pairwise comparisons of five groups: any of ten 95% intervals is wrong.

Simultaneous and separate intervals of ``Effects.pairs`` compared with Tukey's honest significant
differences (SciPy), 10 and 40 rows per group, Gaussian and Poisson responses (ratios); means of
the groups are equal, or 0, 1, 2, 3 and 5 standard errors of a difference apart from the first.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.stats import tukey_hsd
from tables import keep

import bayesvb as bvb

GROUPS, PROB, DATA_SETS, COUNT = 5, 0.95, 400, 8.0
APART = {"equal": np.zeros(GROUPS), "apart": np.array([0.0, 1.0, 2.0, 3.0, 5.0])}


def draw(family: str, means: np.ndarray, size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows of all groups."""
    g = np.repeat(np.arange(GROUPS), size)
    if family == "gaussian":
        y = means[g] + rng.standard_normal(len(g))
    else:
        y = rng.poisson(COUNT * np.exp(means[g]))
    return pd.DataFrame({"g": np.array(list("abcde"))[g], "y": y})


def errors(family: str, spacing: str, size: int, seed: int) -> dict[str, bool]:
    """Whether any interval misses the truth, by method."""
    rng = np.random.default_rng(seed)
    unit = np.sqrt(2.0 / size) * (1.0 if family == "gaussian" else COUNT**-0.5)
    means = APART[spacing] * unit
    data = draw(family, means, size, rng)
    model = bvb.DensityRegression("y ~ g", data, n_components=1, family=family)
    found = bvb.effects.predictions(model.fit(seed=seed), "g", prob=PROB)
    a, b = np.triu_indices(GROUPS, 1)
    truth = means[b] - means[a]
    truth = truth if family == "gaussian" else np.exp(truth)
    comparison = "difference" if family == "gaussian" else "ratio"
    missed = {}
    for method, simultaneous in (("simultaneous", True), ("separate", False)):
        table = found.pairs(comparison, simultaneous=simultaneous).summary
        wrong = (table["lower"] > truth) | (table["upper"] < truth)
        missed[method] = bool(wrong.any())
    if family == "gaussian":
        ends = tukey_hsd(*(rows for _, rows in data.groupby("g")["y"])).confidence_interval(PROB)
        missed["Tukey"] = bool(((-ends.high > truth_of(means)) | (-ends.low < truth_of(means)))[
            a, b
        ].any())  # fmt: skip
    return missed


def truth_of(means: np.ndarray) -> np.ndarray:
    """Column group less row group."""
    return means[None, :] - means[:, None]


def main() -> None:
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else DATA_SETS
    warnings.simplefilter("ignore")
    rows = []
    for family in ("gaussian", "poisson"):
        for size in (10, 40):
            for spacing in APART:
                each = pd.DataFrame([errors(family, spacing, size, seed) for seed in range(n_sets)])
                for method in each:
                    rate = each[method].mean()
                    rows.append({
                        "family": family, "rows_per_group": size, "means": spacing,
                        "method": method, "familywise_error": rate,
                        "se": np.sqrt(rate * (1.0 - rate) / n_sets),
                    })  # fmt: skip
    keep(pd.DataFrame(rows), "pairs")


if __name__ == "__main__":
    main()
