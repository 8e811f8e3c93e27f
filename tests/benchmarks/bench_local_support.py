"""How often predictions are marked as without support: rows like those of the fit, and others.

``chosen`` on are the simulated designs on which the constants of ``local_support`` were chosen,
``judged`` others: simulated laws and data sets, five folds each. ``alarms`` is the share of
held-out rows of the same population that are marked, ``shifted`` that of the same rows moved by
four (eight) standard deviations along the first covariate, ``gap`` that of rows in the middle of
the first covariate, where the fit had none.
``loss`` is by how many nats per row held-out rows that are marked are predicted worse than others.
"""

import sys
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb

SEEDS = range(4)
FIXED = bvb.Priors(scales="fixed")
MOVED = (4.0, 8.0)
Draw = Callable[[np.random.Generator, int], pd.DataFrame]


def two_lines(n_covariates: int) -> Draw:
    """Two planes on both sides of a soft border."""

    def draw(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
        x = rng.normal(size=(n_rows, n_covariates))
        first = x[:, 0] + 0.5 * rng.normal(size=n_rows) > 0.0
        slope = x.sum(axis=1) / n_covariates**0.5
        y = np.where(first, 1.0 + slope, -1.0 - slope) + 0.4 * rng.normal(size=n_rows)
        return pd.DataFrame(x, columns=[f"x{j}" for j in range(n_covariates)]).assign(y=y)

    return draw


def waves(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """A wave whose noise grows, uniform and exponential covariates."""
    u, v = rng.uniform(0.0, 6.0, n_rows), rng.exponential(size=n_rows)
    y = np.sin(u) + 0.5 * v + (0.1 + 0.1 * u) * rng.standard_t(4, n_rows)
    return pd.DataFrame({"u": u, "v": v, "y": y})


def halves(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Two branches for all covariates, one of them with a factor of three levels."""
    x, g = rng.normal(size=n_rows), rng.choice(list("abc"), n_rows, p=[0.5, 0.3, 0.2])
    up = rng.random(n_rows) < 0.5
    y = np.where(up, x + (g == "b"), -x) + 0.3 * rng.normal(size=n_rows)
    return pd.DataFrame({"x": x, "g": g, "y": y})


CHOSEN = {
    "two lines, 2 covariates": ("y ~ .", two_lines(2)),
    "two lines, 6 covariates": ("y ~ .", two_lines(6)),
    "two lines, bs(x0)": ("y ~ bs(x0, df=5, extrapolation='extend')", two_lines(2)),
}
JUDGED = {
    "wave": ("y ~ bs(u, df=5, extrapolation='extend') + v", waves),
    "branches with a factor": ("y ~ x + g", halves),
}
DATA = {
    "faithful": ("waiting ~ eruptions", "faithful"),
    "engel": ("foodexp ~ income", "engel"),
    "cps1985": ("wage ~ education + experience + age", "cps1985"),
    "concrete": ("compressive_strength ~ age + cement + water + blast_furnace_slag", "concrete"),
}


def marked(fit: bvb.Fit, rows: pd.DataFrame) -> np.ndarray:
    """Rows whose predictions have no support."""
    return ~fit.predict(rows, supported=True)["supported"].to_numpy()


def record(
    formula: str, training: pd.DataFrame, test: pd.DataFrame, k: int, along: str
) -> dict[str, float]:
    """Shares of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = bvb.DensityRegression(formula, training, n_components=k, priors=FIXED).fit(
            seed=1, restarts=3, covariance="mean-field"
        )
        alone, density = marked(fit, test), fit.log_density(test).to_numpy()
        middle = test[along].between(*np.quantile(training[along], [0.4, 0.6]))
        low, high = np.quantile(training[along], [0.25, 0.75])
        outside = training[(training[along] < low) | (training[along] > high)]
        without = bvb.DensityRegression(formula, outside, n_components=k, priors=FIXED).fit(
            seed=1, restarts=3, covariance="mean-field"
        )
        found = {"alarms": float(alone.mean())}
        for by in MOVED:
            moved = test.assign(**{along: test[along] + by * training[along].std()})
            found[f"shifted_{by:.0f}"] = float(marked(fit, moved).mean())
        found["gap"] = float(marked(without, test[middle]).mean())
        found["loss"] = density[~alone].mean() - density[alone].mean() if alone.any() else np.nan
    return found


def simulated(cases: dict[str, tuple[str, Draw]], stage: str) -> list[dict[str, object]]:
    """Fits to simulated rows."""
    records = []
    for name, (formula, draw) in cases.items():
        for n_rows in (60, 200, 1000):
            for k in (2, 5):
                each = []
                for seed in SEEDS:
                    rng = np.random.default_rng(seed)
                    training, test = draw(rng, n_rows), draw(rng, 2000)
                    each.append(record(formula, training, test, k, str(training.columns[0])))
                found = {"stage": stage, "data": name, "rows": n_rows, "components": k}
                records.append(found | pd.DataFrame(each).mean().to_dict())
    return records


def shipped() -> list[dict[str, object]]:
    """Fits to data sets, five folds each."""
    records = []
    for name, (formula, source) in DATA.items():
        frame = bvb.datasets.load(source)
        along = formula.split("~")[1].split("+")[0].strip()
        frame = frame.assign(**{along: frame[along].astype(float)})
        fold = np.random.default_rng(0).permutation(len(frame)) % 5
        for k in (2, 5):
            each = [record(formula, frame[fold != f], frame[fold == f], k, along) for f in range(5)]
            found = {
                "stage": "judged",
                "data": name,
                "rows": int(0.8 * len(frame)),
                "components": k,
            }
            records.append(found | pd.DataFrame(each).mean().to_dict())
    return records


def main() -> None:
    """One row per design, number of rows and of components."""
    records = [*simulated(CHOSEN, "chosen"), *simulated(JUDGED, "judged"), *shipped()]
    keep(pd.DataFrame(records).round(3), "local_support")


if __name__ == "__main__":
    sys.exit(main())
