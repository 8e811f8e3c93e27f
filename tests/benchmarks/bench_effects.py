"""Coverage, bias and error of effects by their size, for several ways of making intervals.

Effects have 0, 1, 2, 3 or 5 standard errors; intervals are of 90%. Bias and root mean square error
are in standard errors. ``bench_effects.py 200`` sets the number of data sets of each cell,
``bench_effects.py 200 line gate`` runs some designs only.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import statsmodels.api as sm
from tables import keep

import bayesvb as bvb

PROB, N_SETS, SIZES = 0.9, 100, (0.0, 1.0, 2.0, 3.0, 5.0)
FIRST_SEED = 5000  # the prior was chosen on other designs and other seeds

Estimates = Mapping[str, tuple[float, float, float]]
"""Estimate and interval of each quantity."""


@dataclass(frozen=True)
class Sample:
    """Rows, true values of the quantities, and a standard error of each."""

    rows: pd.DataFrame
    truth: Mapping[str, float]
    error: Mapping[str, float]


def line(size: float, n: int, rng: np.random.Generator) -> Sample:
    """One line, one covariate."""
    x = rng.standard_normal(n)
    se = 1.0 / (np.sqrt(n) * x.std())
    rows = pd.DataFrame({"x": x, "y": size * se * x + rng.standard_normal(n)})
    return Sample(rows, {"slope": size * se}, {"slope": se})


def groups(size: float, n: int, rng: np.random.Generator) -> Sample:
    """Two groups of a factor and a covariate that does not matter."""
    treated, se = np.arange(n) % 2, 2.0 / np.sqrt(n)
    y = size * se * treated + rng.standard_normal(n)
    arm = np.where(treated == 1, "b", "a")
    rows = pd.DataFrame({"arm": arm, "z": rng.standard_normal(n), "y": y})
    return Sample(rows, {"arm": size * se}, {"arm": se})


def apart(size: float, n: int, rng: np.random.Generator) -> Sample:
    """Two components far apart; the second slope is larger by as many standard errors."""
    x, second = rng.standard_normal(n), rng.random(n) < 0.5
    se = np.sqrt(2.0 / n)
    slopes = np.where(second, 2.0 * size * se, size * se)
    y = np.where(second, 3.0, -3.0) + slopes * x + rng.standard_normal(n)
    truth = {"slope 1": size * se, "slope 2": 2.0 * size * se, "difference": size * se}
    truth["average slope"] = 1.5 * size * se
    error = {"slope 1": se, "slope 2": se, "difference": se * 2**0.5, "average slope": se / 2**0.5}
    return Sample(pd.DataFrame({"x": x, "y": y}), truth, error)


def overlap(size: float, n: int, rng: np.random.Generator) -> Sample:
    """Two lines that overlap, with the same slope and weights that change with ``g``."""
    x, g = rng.standard_normal((2, n))
    second = rng.random(n) < 1.0 / (1.0 + np.exp(-1.2 * g))
    se = 1.3 / np.sqrt(n)
    noise = np.where(second, 0.9, 0.6) * rng.standard_normal(n)
    y = np.where(second, 1.5, 0.0) + size * se * x + noise
    truth = {"average slope": size * se, "mean at 1": 0.75 + size * se}
    return Sample(pd.DataFrame({"x": x, "g": g, "y": y}), truth, dict.fromkeys(truth, se))


def gate(size: float, n: int, rng: np.random.Generator) -> Sample:
    """Two components far apart, whose log odds change with a covariate."""
    z, se = rng.standard_normal(n), 2.0 / np.sqrt(n)
    second = rng.random(n) < 1.0 / (1.0 + np.exp(-size * se * z))
    y = np.where(second, 3.0, -3.0) + rng.standard_normal(n)
    return Sample(pd.DataFrame({"z": z, "y": y}), {"log odds": size * se}, {"log odds": se})


def line_of(fit: bvb.Fit) -> Estimates:
    """Slope of the only component."""
    return {"slope": row_of(fit, ("mean", 1, "x"))}


def groups_of(fit: bvb.Fit) -> Estimates:
    """Effect of the second level."""
    return {"arm": row_of(fit, ("mean", 1, "arm[T.b]"))}


def apart_of(fit: bvb.Fit) -> Estimates:
    """Slopes of the lower and the upper component, their difference, the average slope."""
    beta = fit.posterior["beta"].to_numpy()[0]
    order = np.argsort(np.median(beta[:, :, 0], axis=0))
    slopes = beta[:, order, 1]
    draws = {"slope 1": slopes[:, 0], "slope 2": slopes[:, 1]}
    draws["difference"] = slopes[:, 1] - slopes[:, 0]
    found = {name: central(values) for name, values in draws.items()}
    return found | {"average slope": average_slope(fit, "x")}


def overlap_of(fit: bvb.Fit) -> Estimates:
    """Average slope of the mean, and the mean at ``x = 1, g = 0``."""
    at = bvb.effects.predictions(fit, {"x": [1.0], "g": [0.0]}, prob=PROB).summary.iloc[0]
    mean = (at["estimate"], at["lower"], at["upper"])
    return {"average slope": average_slope(fit, "x"), "mean at 1": mean}


def gate_of(fit: bvb.Fit) -> Estimates:
    """Slope of the log odds of the upper component."""
    means = fit.summary(prob=PROB)["mean"]
    upper = 2 if means[("mean", 2, "Intercept")] > means[("mean", 1, "Intercept")] else 1
    estimate, low, high = row_of(fit, ("gating", 2, "z"))
    return {"log odds": (estimate, low, high) if upper == 2 else (-estimate, -high, -low)}


def row_of(fit: bvb.Fit, key: tuple[str, int, str]) -> tuple[float, float, float]:
    """A row of the summary."""
    row = fit.summary(prob=PROB).loc[key]
    return float(row["mean"]), float(row["lower"]), float(row["upper"])


def average_slope(fit: bvb.Fit, name: str) -> tuple[float, float, float]:
    """Of the mean of the response, over the rows."""
    row = bvb.effects.slopes(fit, name, average_by=True, prob=PROB).summary.iloc[0]
    return float(row["estimate"]), float(row["lower"]), float(row["upper"])


def central(draws: np.ndarray) -> tuple[float, float, float]:
    """Median and central interval."""
    low, middle, high = np.quantile(draws, [0.5 - PROB / 2, 0.5, 0.5 + PROB / 2])
    return float(middle), float(low), float(high)


Design = tuple[
    Callable[[float, int, np.random.Generator], Sample],
    Callable[[bvb.Fit], Estimates],
    str,
    int,
    tuple[int, ...],
]

DESIGNS: dict[str, Design] = {
    "line": (line, line_of, "y ~ x", 1, (40, 100, 400, 2000)),
    "two groups": (groups, groups_of, "y ~ arm + z", 1, (40, 100, 400)),
    "apart": (apart, apart_of, "y ~ x | 1", 2, (100, 200, 400)),
    "overlap": (overlap, overlap_of, "y ~ x | gating(g)", 2, (100, 200, 400)),
    "gate": (gate, gate_of, "y ~ 1 | gating(z)", 2, (100, 200, 400)),
}
"""Sample, estimates, formula, components and numbers of rows of every design."""


def estimates(design: Design, sample: Sample, family: str) -> Iterator[tuple[str, Estimates]]:
    """Estimates of one data set by every method."""
    _, read, formula, n_components, _ = design
    options = {"n_components": n_components, "family": family}
    fit = bvb.DensityRegression(formula, sample.rows, **options).fit(seed=1)
    yield "default", read(fit)
    for covariance in ("exact", "linear-response", "mean-field"):
        yield covariance, read(fit.with_covariance(covariance))
    learned = bvb.Priors(scales="learned", gating_scale_rate=0.005)
    model = bvb.DensityRegression(formula, sample.rows, **options, priors=learned)
    yield "scales learned", read(model.fit(seed=1).with_covariance("linear-response"))
    if n_components == 1:
        yield "least squares", least_squares(formula, sample.rows)


def least_squares(formula: str, rows: pd.DataFrame) -> Estimates:
    """The same by least squares, whose intervals are those of Student's t."""
    found = sm.OLS.from_formula(formula, rows).fit()
    name, key = ("slope", "x") if "x" in rows else ("arm", "arm[T.b]")
    low, high = found.conf_int(1.0 - PROB).loc[key]
    return {name: (float(found.params[key]), float(low), float(high))}


def one_set(name: str, family: str, size: float, n: int, seed: int) -> list[dict[str, object]]:
    """Rows of the long table of one data set."""
    warnings.simplefilter("ignore")
    design = DESIGNS[name]
    sample = design[0](size, n, np.random.default_rng([seed, n, int(size)]))
    rows = []
    for method, found in estimates(design, sample, family):
        for quantity, (estimate, low, high) in found.items():
            truth, error = sample.truth[quantity], sample.error[quantity]
            rows.append({
                "design": name, "family": family, "rows": n, "size": size, "quantity": quantity,
                "method": method, "covered": low <= truth <= high,
                "error": (estimate - truth) / error, "width": (high - low) / error,
            })  # fmt: skip
    return rows


def main() -> None:
    given = sys.argv[1:]
    n_sets = int(given[0]) if given else N_SETS
    chosen = given[1:] or list(DESIGNS)
    tasks = [
        partial(one_set, name, family, size, n)
        for name in chosen
        for family in (("gaussian", "student") if name == "line" else ("gaussian",))
        for n in DESIGNS[name][4]
        for size in SIZES
    ]
    with ProcessPoolExecutor(2) as pool:
        seeds = range(FIRST_SEED, FIRST_SEED + n_sets)
        jobs = [pool.submit(task, seed) for task in tasks for seed in seeds]
        long = pd.DataFrame([row for job in jobs for row in job.result()])
    keys = ["design", "family", "rows", "size", "quantity", "method"]
    groups_ = long.groupby(keys, sort=False)
    table = groups_.agg(
        coverage=("covered", "mean"), bias=("error", "mean"), width=("width", "median")
    )
    table["rmse"] = groups_["error"].apply(lambda e: float(np.sqrt((e**2).mean())))
    table["sets"] = groups_.size()
    keep(table.reset_index(), "effects", by="design")


if __name__ == "__main__":
    main()
