"""Error rates of the remedies ``(f | g)`` and ``(x | g)`` of ``fit.check()``.

Twenty groups, a covariate x, and a factor f of three levels, fitted by ``y ~ x + f + (1 | g)``.
In right designs only levels differ between groups; in wrong ones the effects of f, or of x, too,
with a standard deviation of 0.5 or 1, where the noise has 1. Counted is a remedy of *Interactions*
that names effects of f, or of x, that differ between groups.
"""

import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb

FIRST_SEED, DATA_SETS, GROUPS = 9000, 40, 20


def draw(seed: int, n: int, effect: str, sd: float) -> pd.DataFrame:
    rng = np.random.default_rng([seed, n, round(10 * sd)])
    g, f, x = rng.integers(0, GROUPS, n), rng.integers(0, 3, n), rng.normal(size=n)
    slopes = sd * rng.normal(size=(GROUPS, 3))
    differing = slopes[g, 0] * x if effect == "x" else slopes[g, f] * (f > 0)
    y = 1.0 + 0.5 * x + 0.8 * (f == 1) + rng.normal(size=GROUPS)[g] + differing
    y += rng.normal(size=n)
    return pd.DataFrame({"y": y, "x": x, "f": np.array(list("abc"))[f], "g": [f"g{i}" for i in g]})


def remedies(data: pd.DataFrame, seed: int) -> tuple[str, str]:
    """Grade and remedy of *Interactions*."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = bvb.DensityRegression("y ~ x + f + (1 | g)", data, n_components=1)
        row = model.fit(seed=seed, draws=200).check(only="fit").loc["Interactions"]
    return row["grade"], row["remedy"]


def main() -> None:
    rows = []
    for effect, sd in (("", 0.0), ("f", 0.5), ("f", 1.0), ("x", 0.5), ("x", 1.0)):
        for n in (200, 600):
            seeds = range(FIRST_SEED, FIRST_SEED + DATA_SETS)
            results = [remedies(draw(seed, n, effect, sd), seed) for seed in seeds]
            shares = {
                f"({name} | g)": sum(f"{name} | g)" in remedy for _, remedy in results)
                for name in ("f", "x")
            }
            problems = sum(grade == "problem" for grade, _ in results)
            case = {"differs": effect or "levels only", "sd": sd, "rows": n}
            rows.append({**case, "data sets": DATA_SETS, **shares, "problem": problems})
            print(rows[-1], flush=True)
    keep(pd.DataFrame(rows), "group_slopes")


if __name__ == "__main__":
    main()
