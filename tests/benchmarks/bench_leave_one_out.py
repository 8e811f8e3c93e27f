"""Leave-one-out by linear response and by PSIS against refits without every row.

And which predictive density is better on rows that were never seen: that of the variational
posterior, in closed form, or that of draws with the linear-response covariance.
"""

import time
import warnings

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from tables import keep

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.named_draws import log_lik_blocks


def two_experts(n_rows: int, seed: int = 0) -> pd.DataFrame:
    """Two lines with even weights."""
    rng = np.random.default_rng(seed)
    x, first = rng.uniform(-2.0, 2.0, n_rows), rng.uniform(size=n_rows) < 0.5
    noise = 0.5 * rng.normal(size=n_rows)
    return pd.DataFrame({"x": x, "y": np.where(first, 1.0 + 1.5 * x, -1.0 - x) + noise})


def problems() -> list[tuple[str, bvb.DensityRegression]]:
    """Fits of which every row is left out."""
    load, spline = bvb.datasets.load, "accel ~ bs(times, df=5)"
    named = [
        ("faithful", "eruptions ~ waiting", 3, {}),
        ("geyser", "duration ~ waiting", 4, {}),
        ("engel", "foodexp ~ income", 3, {}),
        ("cps1985", "wage ~ education + experience", 4, {}),
    ]
    found = [
        (f"{name} K {k}", bvb.DensityRegression(formula, load(name), n_components=k, **options))
        for name, formula, k, options in named
    ]
    data = two_experts(300)
    found += [
        (f"two experts K {k}", bvb.DensityRegression("y ~ x", data, n_components=k))
        for k in (2, 5, 8)
    ]
    sticks = bvb.DensityRegression("y ~ x", data, n_components=3, gate="stick-breaking")
    found.append(("two experts, sticks, K 3", sticks))
    student = bvb.DensityRegression("y ~ x", data, n_components=2, family="student")
    found.append(("two experts, Student, K 2", student))
    mcycle = load("mcycle")
    found += [
        (f"mcycle splines K {k}", bvb.DensityRegression(spline, mcycle, n_components=k))
        for k in (2, 3, 6)
    ]
    return found


def accuracy() -> pd.DataFrame:
    """Root mean square error per row and error of the sum, in nats, and seconds."""
    rows = []
    for name, model in problems():
        fit = model.fit(seed=1)
        began = time.perf_counter()
        near = read_elpd(fit.loo())
        seconds = time.perf_counter() - began
        draws = read_elpd(fit.loo("psis"))
        exact = read_elpd(fit.loo("exact"))
        error = near.pointwise - exact.pointwise
        rows.append({
            "fit": name, "rows": model.design.n_rows, "exact": exact.elpd, "loo": near.elpd,
            "psis": draws.elpd, "rms": np.sqrt(np.mean(error**2)), "largest": np.abs(error).max(),
            "rms psis": np.sqrt(np.mean((draws.pointwise - exact.pointwise) ** 2)),
            "refitted": near.n_refitted, "fit seconds": fit.seconds, "loo seconds": seconds,
        })  # fmt: skip
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


SPLITS = 4


def held_out(fit: bvb.Fit, rows: pd.DataFrame, covariance: str) -> np.ndarray:
    """Log of the mean density over draws with this covariance."""
    drawn = fit.with_covariance(covariance)
    source = InMemorySource((fit.model.block(fit.model.design.new(rows, response=True)),))
    blocks = log_lik_blocks(drawn.core, source, drawn.draws, fit.model.log_jacobian)
    values = np.concatenate(list(blocks), axis=1)
    return logsumexp(values, axis=0) - np.log(len(values))


def predictives() -> pd.DataFrame:
    """Mean log density of new rows, a quarter of each data set, by both predictives."""
    sets = [("two experts, 60 rows", "y ~ x", two_experts(60, 5)),
            ("two experts, 300 rows", "y ~ x", two_experts(300, 5))]  # fmt: skip
    for name, formula in [("faithful", "eruptions ~ waiting"), ("geyser", "duration ~ waiting"),
                          ("engel", "foodexp ~ income"), ("mcycle", "accel ~ bs(times, df=5)"),
                          ("cps1985", "wage ~ education + experience")]:  # fmt: skip
        sets.append((name, formula, bvb.datasets.load(name)))
    rows = []
    for name, formula, data in sets:
        for k in (2, 4, 6):
            gaps = [split(formula, data, k, seed) for seed in range(SPLITS)]
            closed, drawn, moved = np.nanmean(gaps, axis=0)
            rows.append({"data": name, "components": k, "closed form": closed,
                         "mean-field draws": drawn - closed,
                         "linear-response draws": moved - closed})  # fmt: skip
    return pd.DataFrame(rows)


def split(formula: str, data: pd.DataFrame, k: int, seed: int) -> tuple[float, float, float]:
    """The three on one quarter of the rows, fitted to the others."""
    order = np.random.default_rng(seed).permutation(len(data))
    new, rest = data.iloc[order[: len(data) // 4]], data.iloc[order[len(data) // 4 :]]
    low, high = rest.iloc[:, 0].min(), rest.iloc[:, 0].max()
    new = new[(new.iloc[:, 0] >= low) & (new.iloc[:, 0] <= high)]  # no spline beyond its ends
    fit = bvb.DensityRegression(formula, rest, n_components=k).fit(seed=seed)
    moved = np.nan
    if fit.response.failure is None:
        moved = held_out(fit, new, "linear-response").mean()
    return fit.log_density(new).mean(), held_out(fit, new, "mean-field").mean(), moved


def main() -> None:
    warnings.simplefilter("ignore")
    keep(accuracy(), "leave_one_out")
    keep(predictives(), "predictives")


if __name__ == "__main__":
    main()
