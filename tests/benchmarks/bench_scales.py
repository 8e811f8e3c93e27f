"""Scales of terms, learned, fixed or between components: held-out log density in ten folds.

Beside real data stand nulls whose truth is known: no covariate matters, two do in one line, and a
factor with 120 levels of which none does. ``gain`` is the mean difference of the log density per
row, learned less fixed, ``se`` its standard error, ``behind`` what learned scales lose against
least squares, whose predictive distribution is a Student t, and ``covered`` the share of the rows
inside their 90 % predictive interval. Sets of more than ``ROWS`` rows are cut to a sample of as
many; counts and grades are spread evenly over one unit, lest spikes on integers win.
``--between`` compares the default with ``"learned"`` as it was the default before, in five folds.
``--divisions`` has coverage by other divisions of all rows into folds, with learned scales.
``--intervals`` has coverage of intervals of parameters in their place, on two lines whose slopes
have scales of about one, by the default prior of scales and by the law that they are drawn from;
``slopes_known`` is the coverage of exact intervals of a scale whose two slopes are known.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from tables import data_folder, keep

import bayesvb as bvb

ROWS, FOLDS, FEW_FOLDS, RESTARTS = 400, 10, 5, 4
COMPONENTS = (1, 2, 5, 10)
SCALES = {
    "fixed": bvb.Priors(scales="fixed"),
    "learned": bvb.Priors(scales="learned", gating_scale_rate=0.005),
    "between": bvb.Priors(),
}
LEVELS = 120

Rng = np.random.Generator


@dataclass(frozen=True)
class DataSet:
    """Rows and a formula; ``line`` where least squares is right."""

    formula: str
    rows: Callable[[], pd.DataFrame]
    line: bool = False


def noise(beta: float = 0.0, n: int = 200) -> pd.DataFrame:
    """Eight covariates, of which the first two matter by so much."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(n, 8))
    y = beta * (x[:, 0] - 0.5 * x[:, 1]) + rng.normal(size=n)
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(8)]).assign(y=y)


def levels(n: int = 400) -> pd.DataFrame:
    """A factor that does not matter: every level has rows, so that folds leave some of each."""
    rng = np.random.default_rng(8)
    x, g = rng.normal(size=n), rng.permutation(np.arange(n) % LEVELS)
    return pd.DataFrame({"x": x, "g": [f"level {i}" for i in g], "y": x + rng.normal(size=n)})


def shipped(name: str) -> Callable[[], pd.DataFrame]:
    return lambda: bvb.datasets.load(name)


def local(name: str, integer: str = "") -> Callable[[], pd.DataFrame]:
    """A table of the folder that BAYESVB_DATA names, and its response if that is an integer."""

    def read() -> pd.DataFrame:
        found = pd.read_csv(str(data_folder()) + f"/{name}.csv")
        if integer:
            spread = np.random.default_rng(0).uniform(-0.5, 0.5, len(found))
            found[integer] = found[integer] + spread
        return found

    return read


SETS = {
    "pure noise, 8 covariates": DataSet("y ~ .", noise, line=True),
    "one line, 8 covariates": DataSet("y ~ .", lambda: noise(1.0), line=True),
    "120 useless levels": DataSet("y ~ x + g | gating(x)", levels),
    "mcycle": DataSet("accel ~ bs(times, df=6, extrapolation='clip')", shipped("mcycle")),
    "faithful": DataSet("waiting ~ eruptions", shipped("faithful")),
    "geyser": DataSet("duration ~ waiting", shipped("geyser")),
    "engel": DataSet("foodexp ~ income", shipped("engel")),
    "cps1985": DataSet("log(wage) ~ education + experience + gender", shipped("cps1985")),
    "concrete": DataSet("compressive_strength ~ .", shipped("concrete")),
}
ELSEWHERE = {
    "boston": DataSet("medv ~ .", local("boston")),
    "abalone": DataSet("rings ~ .", local("abalone", "rings")),
    "lidar": DataSet("logratio ~ bs(range, df=6, extrapolation='clip')", local("lidar")),
    "wine_quality_red": DataSet("quality ~ .", local("wine_quality_red", "quality")),
}


def folds(
    data: DataSet, division: int = 1, most: int = ROWS, n_folds: int = FOLDS
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Rows to fit and rows left out, ten times, of the division with this number."""
    rng, whole = np.random.default_rng(division), data.rows()
    chosen = rng.permutation(len(whole))[:most]
    whole = whole.iloc[np.sort(chosen)].reset_index(drop=True)
    part = rng.permutation(len(whole)) % n_folds
    for fold in range(n_folds):
        left = whole[part == fold]
        if "g" in whole:
            left = left[left["g"].isin(whole.loc[part != fold, "g"])]
        yield whole[part != fold], left


def least_squares(model: bvb.DensityRegression, rest: pd.DataFrame) -> np.ndarray:
    """Log predictive density of least squares: Student t with the degrees of freedom left."""
    x, y = model.design.matrices["mean"], model.design.response[:, 0]
    new = model.design.new(rest, response=True)
    beta, *_ = np.linalg.lstsq(x, y, rcond=None)
    dof = len(y) - x.shape[1]
    variance = ((y - x @ beta) ** 2).sum() / dof
    z = new.matrices["mean"]
    spread = 1.0 + np.einsum("ni,ij,nj->n", z, np.linalg.pinv(x.T @ x), z)
    law = stats.t(dof, z @ beta, np.sqrt(variance * spread))
    return np.asarray(law.logpdf(new.response[:, 0]))


def fitted(model: bvb.DensityRegression) -> Any:
    return model.fit(seed=1, restarts=RESTARTS, covariance="mean-field", draws=25, n_jobs=1)


def is_inside(fit: Any, rest: pd.DataFrame) -> np.ndarray:
    """Which rows are inside their 90 % predictive interval."""
    observed = fit.model.design.new(rest, response=True).response[:, 0]
    return np.asarray(np.abs(fit.predictive(rest).cdf(observed) - 0.5) < 0.45)


def divided(name: str, data: DataSet, n_components: int, n_divisions: int) -> pd.DataFrame:
    """Coverage with learned scales by other divisions of all rows into ten folds."""
    rows = []
    for division in range(2, n_divisions + 2):
        inside: list[bool] = []
        for train, rest in folds(data, division, most=10**9):
            model = bvb.DensityRegression(
                data.formula, train, n_components=n_components, priors=SCALES["learned"]
            )
            inside += is_inside(fitted(model), rest).tolist()
        found = {"division": division, "rows": len(inside), "covered": np.mean(inside)}
        rows.append({"data": name, "components": n_components, **found})
    return pd.DataFrame(rows)


def compared(
    name: str, data: DataSet, n_components: int, first: str = "fixed", second: str = "learned"
) -> dict[str, object]:
    """One row of the table: the second prior beside the first."""
    each: dict[str, list[float]] = {first: [], second: []}
    inside: dict[str, list[float]] = {first: [], second: []}
    lines: list[float] = []
    n_folds = FOLDS if first == "fixed" else FEW_FOLDS
    for train, rest in folds(data, n_folds=n_folds):
        for scales in each:
            priors = SCALES[scales]
            model = bvb.DensityRegression(
                data.formula, train, n_components=n_components, priors=priors
            )
            fit = fitted(model)
            each[scales] += fit.log_density(rest).tolist()
            inside[scales] += is_inside(fit, rest).tolist()
        if data.line:
            lines += least_squares(model, rest).tolist()
    gain = np.array(each[second]) - np.array(each[first])
    behind = np.mean(np.array(lines) - np.array(each[second])) if data.line else np.nan
    return {
        "data": name,
        "components": n_components,
        "rows": len(gain),
        first: np.mean(each[first]),
        second: np.mean(each[second]),
        "gain": gain.mean(),
        "se": gain.std(ddof=1) / np.sqrt(len(gain)),
        "behind": behind,
        f"covered {first}": np.mean(inside[first]),
        f"covered {second}": np.mean(inside[second]),
    }


def drawn(rng: Rng, n: int) -> tuple[pd.DataFrame, dict[str, float]]:
    """Two lines with two covariates, each with a scale whose precision is Gamma(2, 2)."""
    scale = 1.0 / np.sqrt(rng.gamma(2.0, 0.5, size=3))
    x = rng.normal(size=(n, 2))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    slopes, gate = scale[:2] * rng.normal(size=(2, 2)), scale[2] * rng.normal()
    second = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-gate * x[:, 0]))
    y = np.where(second, 2.0 + x @ slopes[1], x @ slopes[0] - 2.0) + rng.normal(size=n)
    truth = {f"mean {k + 1} {j}": slopes[k, j] for k in range(2) for j in range(2)}
    return pd.DataFrame({"y": y, "a": x[:, 0], "b": x[:, 1]}), truth | {
        "scale a": scale[0], "scale b": scale[1], "gate": gate,
    }  # fmt: skip


def exact_coverage(prior: bvb.Priors, n: int = 100_000) -> float:
    """Coverage of 90 % intervals of a scale by its exact posterior given two slopes that are known.

    Its precision is drawn from Gamma(2, 2), and its posterior a gamma distribution too: what the
    prior alone makes of the interval.
    """
    rng = np.random.default_rng(13)
    precision = rng.gamma(2.0, 0.5, size=n)
    squares = (rng.normal(size=(n, 2)) ** 2).sum(axis=1) / precision
    rate = prior.scale_rate + 0.5 * squares
    place = stats.gamma.cdf(precision, prior.scale_shape + 1.0, scale=1.0 / rate)
    return float(np.mean((place > 0.05) & (place < 0.95)))


def intervals(n_sets: int, prior: bvb.Priors, of_prior: str, n_rows: int = 300) -> pd.DataFrame:
    """Coverage of 90 % intervals of coefficients and scales, by linear response."""
    hits: dict[str, list[bool]] = {"coefficients": [], "scales": [], "slope of the gate": []}
    for seed in range(n_sets):
        data, truth = drawn(np.random.default_rng([seed, 11]), n_rows)
        model = bvb.DensityRegression("y ~ a + b | gating(a)", data, n_components=2, priors=prior)
        table = model.fit(seed=seed, restarts=4, n_jobs=1).summary(0.9)
        upper = table.loc["mean", "mean"].xs("Intercept", level="term").idxmax()
        sign = 1.0 if upper == 2 else -1.0
        for k, component in ((1, 3 - upper), (2, upper)):
            for j, term in enumerate(("a", "b")):
                row = table.loc[("mean", component, term)]
                hits["coefficients"].append(row["lower"] < truth[f"mean {k} {j}"] < row["upper"])
        for term in ("a", "b"):
            row = table.loc[("scale", "", term)]
            hits["scales"].append(row["lower"] < truth[f"scale {term}"] < row["upper"])
        row = table.loc[("gating", 2, "a")]
        hits["slope of the gate"].append(row["lower"] < sign * truth["gate"] < row["upper"])
    return pd.DataFrame(
        {
            "prior": of_prior,
            "parameters": list(hits),
            "intervals": [len(found) for found in hits.values()],
            "covered": [np.mean(found) for found in hits.values()],
            "se": [np.std(found) / len(found) ** 0.5 for found in hits.values()],
            "slopes_known": [np.nan, exact_coverage(prior), np.nan],
        }
    )


def main() -> None:
    known = SETS | (ELSEWHERE if data_folder() else {})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(known), choices=list(known))
    parser.add_argument("--components", nargs="+", type=int, default=list(COMPONENTS))
    parser.add_argument("--between", action="store_true", help="the default beside learned scales")
    parser.add_argument("--divisions", type=int, default=0, help="other divisions, for coverage")
    parser.add_argument("--intervals", type=int, default=0, help="data sets for coverage")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    if asked.intervals:
        learned = bvb.Priors(scales="learned")
        laws = {"default": learned, "that of the truth": replace(
            learned, scale_shape=2.0, scale_rate=2.0)}  # fmt: skip
        each = [intervals(asked.intervals, law, name) for name, law in laws.items()]
        keep(pd.concat(each, ignore_index=True), "scales_intervals")
        return
    for name in asked.data:
        if asked.divisions:
            parts = [divided(name, known[name], k, asked.divisions) for k in asked.components]
            keep(pd.concat(parts, ignore_index=True), "scales_divisions", by="data")
            continue
        if asked.between:
            each = [compared(name, known[name], k, "learned", "between") for k in asked.components]
            keep(pd.DataFrame(each), "scales_between", by="data")
            continue
        each = [compared(name, known[name], k) for k in asked.components]
        keep(pd.DataFrame(each), "scales", by="data")


if __name__ == "__main__":
    main()
