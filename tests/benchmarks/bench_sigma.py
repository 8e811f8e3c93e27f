"""Spread that depends on covariates: coverage, held-out density, growth chart, motorcycle, ascent.

    python tests/benchmarks/bench_sigma.py ascent|coverage|held-out|growth|mcycle

The growth chart is ``dutch_boys_bmi.csv`` in the folder BAYESVB_DATA.

Coverage of 90% intervals of a slope and of a coefficient of the log standard deviation, whose
truths are 0 to 3 standard errors. Held-out log densities are nats per row: below the true law, or
less those of the first model on the same rows, with the standard error of the difference.
"""

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from scipy.stats import norm
from tables import data_folder, keep

import bayesvb as bvb
from bayesvb.engines.cavi import cavi

PROB, SETS, NEW = 0.9, 150, 4000
LEVEL = -0.4

Row = dict[str, object]


def ascent() -> Iterator[Row]:
    """Runs from random partitions, components without rows among them; falls of the bound."""
    for family in ("gaussian", "student"):
        falls, n_passes = 0, 0
        for seed in range(100):
            rng = np.random.default_rng(seed)
            n, k = int(rng.integers(15, 200)), int(rng.integers(1, 4))
            x, z = rng.normal(size=(2, n))
            noise = np.exp(0.7 * rng.normal() * z) * rng.normal(size=n)
            data = pd.DataFrame({"x": x, "z": z, "y": 3.0 * rng.normal() * x + noise})
            model = bvb.DensityRegression(
                "y ~ x | gating(z) | sigma(x + s(z, k=5))", data, n_components=k, family=family
            )
            core, source = model.core, model.source
            share = rng.dirichlet(np.full(k, 0.3), n).T.copy()
            start = core.first_stats(core.partition_stats(source.whole(), share))
            trace = cavi(core, source, start, max_iter=25).trace
            falls += bool((np.diff(trace) < -1e-9 * np.abs(trace[1:])).any())
            n_passes += len(trace)
        yield {"family": family, "problems": 100, "passes": n_passes, "falls": falls}


def coverage() -> Iterator[Row]:
    """Share of intervals that contain the truth."""
    for n in (100, 400):
        for size in range(4):
            hits, seconds = np.zeros((SETS, 2)), time.process_time()
            for seed in range(SETS):
                rng = np.random.default_rng(1000 * size + seed)
                x, z = rng.normal(size=(2, n))
                slope, spread = size * np.exp(LEVEL) / n**0.5, size / (2.0 * n) ** 0.5
                y = 1.0 + slope * x + np.exp(LEVEL + spread * z) * rng.normal(size=n)
                data = pd.DataFrame({"x": x, "z": z, "y": y})
                model = bvb.DensityRegression("y ~ x | sigma(z)", data, n_components=1)
                found = model.fit(seed=seed, n_jobs=1).summary(prob=PROB)
                for i, (label, truth) in enumerate(
                    ((("mean", 1, "x"), slope), (("log sigma", 1, "z"), spread))
                ):
                    hits[seed, i] = found.loc[label, "lower"] < truth < found.loc[label, "upper"]
            share = hits.mean(axis=0)
            yield {
                "rows": n, "standard errors": size, "slope": share[0], "log sd": share[1],
                "se": (PROB * (1.0 - PROB) / SETS) ** 0.5,
                "cpu_s": (time.process_time() - seconds) / SETS,
            }  # fmt: skip


def growing(x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and standard deviations (components, rows), and weights, of one curve."""
    return np.sin(1.5 * x)[None], np.exp(-1.0 + 0.7 * x)[None], np.ones(1)


def two_lines(x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two lines, one with a growing, one with a shrinking spread."""
    mean = np.stack([2.0 + x, -2.0 - x])
    return mean, np.exp(np.stack([-1.0 + 0.7 * x, -1.0 - 0.7 * x])), np.full(2, 0.5)


def constant(x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The curve with the same spread everywhere: the price of an idle part."""
    return np.sin(1.5 * x)[None], np.full((1, len(x)), 0.4), np.ones(1)


LAWS: dict[str, Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]] = {
    "growing spread": growing,
    "two lines": two_lines,
    "constant spread": constant,
}

MODELS = {
    "1": ("y ~ s(x) | 1", 1),
    "1, sigma": ("y ~ s(x) | sigma(s(x))", 1),
    "2": ("y ~ s(x)", 2),
    "2, sigma": ("y ~ s(x) | sigma(s(x))", 2),
    "3": ("y ~ s(x)", 3),
}


def held_out() -> Iterator[Row]:
    """Mean log density of new rows, below that of the true law."""
    for name, law in LAWS.items():
        lost = {model: [] for model in MODELS}
        seconds = dict.fromkeys(MODELS, 0.0)
        for seed in range(3):
            rng = np.random.default_rng(seed)
            rows = []
            for n in (400, NEW):
                x = rng.uniform(-2.0, 2.0, n)
                mean, sd, weight = law(x, rng)
                which = rng.choice(len(weight), n), np.arange(n)
                y = mean[which] + sd[which] * rng.normal(size=n)
                density = logsumexp(norm.logpdf(y, mean, sd), axis=0, b=weight[:, None])
                rows.append(pd.DataFrame({"x": x, "y": y, "true": density}))
            for model, (formula, k) in MODELS.items():
                began = time.process_time()
                fit = bvb.DensityRegression(formula, rows[0], n_components=k).fit(
                    seed=seed, n_jobs=1, covariance="mean-field"
                )
                seconds[model] += (time.process_time() - began) / 3.0
                lost[model].append((rows[1]["true"] - fit.log_density(rows[1])).mean())
        for model in MODELS:
            yield {"law": name, "model": model, "nats": np.mean(lost[model]),
                   "se": np.std(lost[model], ddof=1) / 3**0.5, "cpu_s": seconds[model]}  # fmt: skip


def differences(
    models: dict[str, tuple[str, int, dict[str, object]]],
    data: pd.DataFrame,
    folds: int,
    of: int,
) -> Iterator[Row]:
    """Log densities of the same held-out rows, less those of the first model."""
    fold = np.random.default_rng(0).permutation(len(data)) % of
    density = {model: [] for model in models}
    seconds = dict.fromkeys(models, 0.0)
    for number in range(folds):
        train, test = data[fold != number], data[fold == number]
        for model, (formula, k, options) in models.items():
            began = time.process_time()
            fit = bvb.DensityRegression(formula, train, n_components=k, **options).fit(
                seed=number, n_jobs=1, covariance="mean-field"
            )
            seconds[model] += (time.process_time() - began) / folds
            unit = np.log(test["bmi"]) if formula.startswith("log(") else 0.0
            density[model].append(fit.log_density(test) - unit)
    first = np.concatenate(next(iter(density.values())))
    for model in models:
        change = np.concatenate(density[model]) - first
        yield {"model": f"{models[model][0]}, {model}", "rows": len(change),
               "log density": first.mean() + change.mean(), "difference": change.mean(),
               "se": change.std() / len(change) ** 0.5, "cpu_s": seconds[model]}  # fmt: skip


def growth() -> Iterator[Row]:
    """Body mass index of Dutch boys given age, two of ten folds."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("BAYESVB_DATA is not set")
    data = pd.read_csv(folder / "dutch_boys_bmi.csv").dropna()
    data["t"] = data["age"] ** 0.4
    models: dict[str, tuple[str, int, dict[str, object]]] = {
        "K = 3": ("bmi ~ s(t, k=15)", 3, {}),
        "K = 1": ("log(bmi) ~ s(t, k=15) | sigma(s(t))", 1, {}),
        "K = 2": ("log(bmi) ~ s(t, k=15) | sigma(s(t))", 2, {}),
    }
    return differences(models, data, 2, 10)


def mcycle() -> Iterator[Row]:
    """Acceleration of the head after a motorcycle crash, ten folds."""
    data = bvb.datasets.load("mcycle")
    models: dict[str, tuple[str, int, dict[str, object]]] = {
        "K = 3": ("accel ~ s(times)", 3, {}),
        "K = 1": ("accel ~ s(times)", 1, {}),
        "K = 1, sigma": ("accel ~ s(times) | sigma(s(times))", 1, {}),
        "K = 1, sigma, student": ("accel ~ s(times) | sigma(s(times))", 1, {"family": "student"}),
    }
    return differences(models, data, 10, 10)


STUDIES = {
    "ascent": ascent,
    "coverage": coverage,
    "held-out": held_out,
    "growth": growth,
    "mcycle": mcycle,
}

if __name__ == "__main__":
    study = sys.argv[1]
    found = pd.DataFrame(STUDIES[study]())
    keep(found, f"sigma_{study.replace('-', '_')}")
