"""How often 90 % intervals cover where the model is wrong: robust covariance beside model-based.

Seven designs, 100 data sets each; the number of data sets can be given: bench_robust.py 50

What an interval should cover is what the same model finds in a sample of 200 000 rows of the
population: the truth where the model is right, and otherwise what comes nearest to it.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.estimators.fit import Fit

PROB, N_SETS, MANY = 0.9, 100, 200_000
GRID = pd.DataFrame({"x": [-1.0, 0.0, 1.0]})
Rows = dict[str, np.ndarray]


@dataclass(frozen=True)
class Design:
    """A population, the rows of a data set, and what is fitted to them."""

    draw: Callable[[np.random.Generator, int], Rows]
    n_rows: int
    n_components: int = 1
    clustered: bool = False
    weighted: bool = False


def clusters(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of each row's cluster of ten, a covariate and an effect that clusters share."""
    number = np.arange(n) // 10
    size = number[-1] + 1
    x = 0.8 * rng.standard_normal(size)[number] + 0.6 * rng.standard_normal(n)
    return number, x, rng.standard_normal(size)[number]


def line_of_clusters(rng: np.random.Generator, n: int) -> Rows:
    """One line, and rows of a cluster alike."""
    number, x, effect = clusters(rng, n)
    return {"x": x, "y": 1.0 + x + 0.7 * effect + 0.7 * rng.standard_normal(n), "g": number}


def two(rng: np.random.Generator, x: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Responses of two lines, the first the more frequent the larger ``x``."""
    first = rng.uniform(size=len(x)) < 1.0 / (1.0 + np.exp(-x))
    return np.where(first, 1.5 + 1.5 * x, -1.5 - x) + noise


def two_of_clusters(rng: np.random.Generator, n: int) -> Rows:
    """Two lines, and rows of a cluster alike."""
    number, x, effect = clusters(rng, n)
    noise = 0.35 * effect + 0.5 * rng.standard_normal(n)
    return {"x": x, "y": two(rng, x, noise), "g": number}


def growing(rng: np.random.Generator, n: int) -> Rows:
    """One line whose noise grows with the distance from the middle."""
    x = rng.standard_normal(n)
    return {"x": x, "y": 1.0 + x + (0.3 + 0.5 * np.abs(x)) * rng.standard_normal(n)}


def plain(rng: np.random.Generator, n: int) -> Rows:
    """One line as the model has it."""
    x = rng.standard_normal(n)
    return {"x": x, "y": 1.0 + x + 0.7 * rng.standard_normal(n)}


def skewed(rng: np.random.Generator, n: int) -> Rows:
    """Two lines with gamma noise."""
    x = rng.standard_normal(n)
    return {"x": x, "y": two(rng, x, 0.5 * (rng.gamma(1.5, size=n) - 1.5))}


def right(rng: np.random.Generator, n: int) -> Rows:
    """Two lines as the model has them."""
    x = rng.standard_normal(n)
    return {"x": x, "y": two(rng, x, 0.5 * rng.standard_normal(n))}


def sampled(rng: np.random.Generator, n: int) -> Rows:
    """A line through a curve; rows with a large response are taken more often."""
    many = 8 * n
    x = rng.standard_normal(many)
    y = 1.0 + x + 0.3 * x**2 + rng.standard_normal(many)
    share = 1.0 / (1.0 + np.exp(1.0 - 1.5 * y))
    taken = rng.choice(many, size=n, replace=False, p=share / share.sum())
    return {"x": x[taken], "y": y[taken], "w": 1.0 / share[taken]}


DESIGNS = {
    "clusters, one line": Design(line_of_clusters, 250, clustered=True),
    "clusters, two lines": Design(two_of_clusters, 400, 2, clustered=True),
    "noise grows with x": Design(growing, 200),
    "gamma noise, two lines": Design(skewed, 300, 2),
    "right model, one line": Design(plain, 200),
    "right model, two lines": Design(right, 300, 2),
    "unequal sampling": Design(sampled, 300, weighted=True),
}


def fitted(design: Design, data: pd.DataFrame, seed: int, *, sampling: bool) -> Fit:
    """Fit of the design's model, its weights those of the sample or numbers of rows."""
    options: dict[str, object] = {}
    if design.weighted:
        weights = data["w"] / data["w"].mean()
        options = {"weights": weights, "weight_type": "sampling" if sampling else "frequency"}
    model = bvb.DensityRegression("y ~ x", data, n_components=design.n_components, **options)
    return model.fit(seed=seed, restarts=4 if design.n_components > 1 else 1, draws=2000)


def quantities(fit: Fit) -> np.ndarray:
    """Draws of the slopes, the steepest first, and of conditional means on the grid."""
    slopes = fit.posterior["beta"].to_numpy()[0][:, :, -1]
    slopes = slopes[:, np.argsort(-slopes.mean(axis=0))]
    block = fit.model.block(fit.model.rows(GRID))
    means = fit.model.drawn_mixture(fit, block, 0).mean()
    return np.concatenate([slopes, means], axis=1)


def coverage(name: str, n_sets: int) -> pd.DataFrame:
    """Shares covered and mean widths of both kinds of interval."""
    design, rows = DESIGNS[name], []
    large = pd.DataFrame(design.draw(np.random.default_rng(10_000), MANY))
    truth = quantities(fitted(design, large, 1, sampling=False)).mean(axis=0)
    for seed in range(n_sets):
        data = pd.DataFrame(design.draw(np.random.default_rng(seed), design.n_rows))
        fit = fitted(design, data, seed, sampling=True)
        cluster = data["g"] if design.clustered else None
        both = {
            "model-based": fit.with_covariance("linear-response"),
            "robust": fit.with_covariance("robust", cluster=cluster),
        }
        for covariance, one in both.items():
            low, high = np.quantile(quantities(one), (0.5 - PROB / 2, 0.5 + PROB / 2), axis=0)
            inside = (low < truth) & (truth < high)
            for what, part in (("slopes", slice(None, -3)), ("means", slice(-3, None))):
                width = float((high - low)[part].mean())
                rows.append((what, covariance, float(inside[part].mean()), width))
    table = pd.DataFrame(rows, columns=["of", "covariance", "covered", "width"])
    found = table.groupby(["of", "covariance"]).mean().unstack("covariance")
    found.columns = [f"{covariance}, {what}" for what, covariance in found.columns]
    return found.reset_index().assign(design=name, nominal=PROB, data_sets=n_sets)


def main() -> None:
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else N_SETS
    each = [coverage(name, n_sets) for name in DESIGNS]
    whole = pd.concat(each, ignore_index=True)
    keep(whole[["design", *whole.columns.drop("design")]], "robust")


if __name__ == "__main__":
    main()
