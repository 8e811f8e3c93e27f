"""Student-t beside Gaussian noise: clean rows, gross errors, heavy tails; one line and two.

300 rows, 60 data sets; the number of data sets can be given: bench_student.py 10. A gross error
moves a response by 10 to 30 noise scales, up or down. Test rows have none: they are what the
lines and their noise are.
"""

import sys
import time
from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb import Priors

N_ROWS, N_TEST, N_SETS, PROB = 300, 1000, 60, 0.9
NOISE = 0.5
LINES = {1: [(1.0, 2.0)], 2: [(-3.0, -1.0), (4.0, 2.0)]}
"""Intercepts and slopes, the smaller slope first."""

ERRORS = {"clean": 0.0, "5 % errors": 0.05, "10 % errors": 0.1, "t3 noise": 0.0}
FAMILIES: dict[str, dict[str, object]] = {
    "gaussian": {},
    "student": {"family": "student"},
    "student, dof 4": {"family": "student", "priors": Priors(dof=4.0)},
}


def sample(setting: str, n_components: int, n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows without gross errors."""
    x = rng.uniform(-2.0, 2.0, n_rows)
    second = rng.uniform(size=n_rows) < (n_components - 1) / (1.0 + np.exp(-2.0 * x))
    lines = np.array(LINES[n_components])[second.astype(int)]
    noise = rng.standard_t(3.0, n_rows) if setting == "t3 noise" else rng.standard_normal(n_rows)
    return pd.DataFrame({"x": x, "y": lines[:, 0] + lines[:, 1] * x + NOISE * noise})


def spoilt(data: pd.DataFrame, share: float, rng: np.random.Generator) -> pd.DataFrame:
    """The same rows, so many of their responses moved."""
    size = NOISE * rng.uniform(10.0, 30.0, len(data)) * rng.choice([-1.0, 1.0], len(data))
    return data.assign(y=data["y"] + size * (rng.permutation(len(data)) < share * len(data)))


def slopes(fit: bvb.Fit) -> tuple[np.ndarray, np.ndarray]:
    """Draws of the slopes, the smaller one first, and their standard deviations."""
    drawn = fit.posterior["beta"].to_numpy()[0, :, :, 1]
    drawn = drawn[:, np.argsort(drawn.mean(axis=0))]
    return drawn, drawn.std(axis=0)


def fitted(
    data: pd.DataFrame, n_components: int, seed: int, options: Mapping[str, object]
) -> tuple[bvb.Fit, float]:
    """Fit of one family, and its seconds."""
    model = bvb.DensityRegression("y ~ x", data, n_components=n_components, **options)
    began = time.perf_counter()
    fit = model.fit(seed=seed, restarts=4 if n_components > 1 else 1, n_jobs=1)
    return fit, time.perf_counter() - began


def measured(fit: bvb.Fit, test: pd.DataFrame, truth: np.ndarray) -> dict[str, object]:
    """Slopes beside the truth, and how test rows are predicted."""
    drawn, width = slopes(fit)
    low, high = np.quantile(drawn, (0.5 - PROB / 2.0, 0.5 + PROB / 2.0), axis=0)
    rows = fit.predict(test, "interval", prob=PROB).to_numpy()
    y = test["y"].to_numpy()
    return {
        "error": drawn.mean(axis=0) - truth,
        "se": width,
        "slopes covered": (low < truth) & (truth < high),
        "rows covered": np.mean((rows[:, 0] < y) & (y < rows[:, 1])),
        "log density": float(fit.log_density(test).mean()),
    }


def replication(setting: str, n_components: int, seed: int) -> dict[str, dict[str, object]]:
    """Measurements of every family on one data set."""
    rng = np.random.default_rng([seed, n_components])
    clean = sample(setting, n_components, N_ROWS, rng)
    data = spoilt(clean, ERRORS[setting], rng)
    test = sample(setting, n_components, N_TEST, rng)
    truth = np.array(LINES[n_components])[:, 1]
    found = {}
    for family, options in FAMILIES.items():
        fit, seconds = fitted(data, n_components, seed, options)
        found[family] = measured(fit, test, truth) | {"seconds": seconds}
        if ERRORS[setting] > 0.0:
            drawn, width = slopes(fitted(clean, n_components, seed, options)[0])
            found[family]["shift"] = (slopes(fit)[0].mean(axis=0) - drawn.mean(axis=0)) / width
    return found


def summary(results: list[dict[str, object]]) -> dict[str, float]:
    """What the data sets say of one family: errors of slopes, standard errors, coverage."""
    gathered = {name: np.array([one[name] for one in results]) for name in results[0]}
    shift = np.abs(gathered.get("shift", np.full(1, np.nan)))
    return {
        "slope_rmse": float(np.sqrt(np.mean(gathered["error"] ** 2))),
        "slope_error_median": float(np.median(np.abs(gathered["error"]))),
        "slope_se": float(np.median(gathered["se"])),
        "shift_median": float(np.median(shift)),
        "shift_within_se": float(np.mean(shift < 1.0)) if "shift" in gathered else np.nan,
        "slope_coverage": float(np.mean(gathered["slopes covered"])),
        "row_coverage": float(np.mean(gathered["rows covered"])),
        "log_density": float(np.mean(gathered["log density"])),
        "seconds": float(np.median(gathered["seconds"])),
    }


def main() -> None:
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else N_SETS
    replication("clean", 1, 0)  # what is imported at the first fit is not of its time
    rows = []
    for setting, n_components in product(ERRORS, LINES):
        found = [replication(setting, n_components, seed) for seed in range(n_sets)]
        own = {family: summary([one[family] for one in found]) for family in FAMILIES}
        for family, numbers in own.items():
            ratio = numbers["seconds"] / own["gaussian"]["seconds"]
            named = {"noise": setting, "components": n_components, "family": family}
            rows.append(named | numbers | {"time_ratio": ratio, "data_sets": n_sets})
        print(pd.DataFrame(rows[-len(FAMILIES) :]).to_string(index=False), flush=True)
    keep(pd.DataFrame(rows), "student")


if __name__ == "__main__":
    main()
