"""Coverage and interval score of exact draws and of linear response on the same data sets.

Two components that overlap, 90% intervals of means, quantiles, one slope and one average contrast.
Rows of the table are split by the sampler that rule (a) to (c) of ``docs/intervals.md`` took.
``bench_exact_intervals.py 24 100 150`` sets the number of data sets of each design and the rows.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr
from tables import keep

import bayesvb as bvb

PROB, FIRST_SEED = 0.9, 7000  # samplers and priors were tried on other designs and other seeds
LEVELS = (0.1, 0.5, 0.9)
PLACES = pd.DataFrame({"x": [-1.0, 0.0, 1.0, 1.5], "g": [0.0, 1.0, 1.0, 0.0]})


@dataclass(frozen=True)
class Law:
    """Two lines in ``x`` and ``g``, and the log odds of the second.

    Attributes
    ----------
    first, second, odds : tuple of float
        Intercept and slopes.
    sigma : tuple of float
    """

    first: tuple[float, float, float]
    second: tuple[float, float, float]
    odds: tuple[float, float, float]
    sigma: tuple[float, float]

    def parts(self, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Weight of the second component and both means, at these rows."""
        design = np.column_stack([np.ones(len(rows)), rows["x"], rows["g"]])
        means = design @ np.array([self.first, self.second]).T
        return expit(design @ np.array(self.odds)), means

    def mean(self, rows: pd.DataFrame) -> np.ndarray:
        """Conditional mean."""
        weight, means = self.parts(rows)
        return (1.0 - weight) * means[:, 0] + weight * means[:, 1]

    def quantile(self, rows: pd.DataFrame, level: float) -> np.ndarray:
        """Conditional quantile, by bisection."""
        weight, means = self.parts(rows)
        low, high = np.full(len(rows), -20.0), np.full(len(rows), 20.0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = ndtr((middle[:, None] - means) / np.array(self.sigma))
            under = (1.0 - weight) * below[:, 0] + weight * below[:, 1] < level
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return 0.5 * (low + high)

    def sample(self, n: int, seed: int) -> pd.DataFrame:
        """Rows of a data set."""
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({"x": rng.normal(size=n), "g": (rng.random(n) < 0.5).astype(float)})
        weight, means = self.parts(rows)
        chosen = (rng.random(n) < weight).astype(int)
        noise = np.array(self.sigma)[chosen] * rng.normal(size=n)
        return rows.assign(y=means[np.arange(n), chosen] + noise)


LAWS: Mapping[str, Law] = {
    "fan": Law((0.0, 0.2, 0.4), (1.5, 1.0, 0.4), (0.0, 0.8, 0.0), (0.4, 0.6)),
    "crossing": Law((0.3, 0.8, 0.0), (0.8, -0.6, 0.0), (-0.3, 0.0, 1.0), (0.5, 0.5)),
    "levels": Law((-1.0, 0.3, 0.3), (1.2, 0.3, 0.3), (0.2, 0.5, -0.5), (0.6, 0.6)),
}

Ends = Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Truth and interval of every kind of quantity."""


def intervals(fit: bvb.Fit, law: Law, rows: pd.DataFrame) -> Ends:
    """Intervals of the quantities, with their true values."""
    means = bvb.effects.predictions(fit, data=PLACES, prob=PROB).summary
    quantiles = bvb.effects.predictions(
        fit, data=PLACES, target="quantile", q=list(LEVELS), prob=PROB
    ).summary
    slope = bvb.effects.slopes(fit, "x", data=PLACES.iloc[[1]], prob=PROB).summary
    contrast = bvb.effects.comparisons(fit, {"g": [0.0, 1.0]}, average_by=True, prob=PROB).summary
    step = 1e-5
    ends = [PLACES.iloc[[1]].assign(x=PLACES["x"].iloc[1] + sign * step) for sign in (-1.0, 1.0)]
    both = [law.mean(rows.assign(g=value)).mean() for value in (0.0, 1.0)]
    each = [law.quantile(PLACES, level) for level in LEVELS]
    ordered = np.stack(each, axis=1).ravel()  # place by place, as the table is
    truth = {
        "mean": (law.mean(PLACES), means),
        "quantile": (ordered, quantiles),
        "slope": ((law.mean(ends[1]) - law.mean(ends[0])) / (2.0 * step), slope),
        "contrast": (np.array([both[1] - both[0]]), contrast),
    }
    return {
        kind: (values, table["lower"].to_numpy(), table["upper"].to_numpy())
        for kind, (values, table) in truth.items()
    }


def score(truth: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Interval score: width, and a penalty of ``2 / alpha`` times the distance outside."""
    outside = np.maximum(lower - truth, 0.0) + np.maximum(truth - upper, 0.0)
    return upper - lower + outside * 2.0 / (1.0 - PROB)


def one_set(name: str, n: int, gate: str, seed: int, wrap: Callable[..., bvb.Fit]) -> list[dict]:
    """Coverage and score of every kind of quantity, both ways, of one data set."""
    law, found = LAWS[name], []
    rows = law.sample(n, seed)
    fit = bvb.DensityRegression("y ~ x + g", rows, n_components=2, gate=gate).fit(seed=1)
    exact = wrap(fit)
    made = {"linear response": fit.with_covariance("linear-response"), "exact": exact}
    sampler = exact.sampler.method if exact.sampler else "none"
    for how, one in made.items():
        for kind, ends in intervals(one, law, rows).items():
            truth, lower, upper = ends
            inside = float(((lower <= truth) & (truth <= upper)).mean())
            found.append(
                {"design": name, "n": n, "gate": gate, "seed": seed, "sampler": sampler,
                 "intervals": how, "kind": kind, "coverage": inside,
                 "score": float(score(*ends).mean())}
            )  # fmt: skip
    return found


def summarise(found: pd.DataFrame) -> pd.DataFrame:
    """Coverage, mean score and its paired difference, by rows, sampler and kind of quantity."""
    cells = []
    for (n, sampler, kind), cell in found.groupby(["n", "sampler", "kind"]):
        by_set = cell.pivot_table(
            index=["design", "gate", "seed"], columns="intervals", values=["coverage", "score"]
        )
        change = by_set["score"]["exact"] - by_set["score"]["linear response"]
        relative = change / by_set["score"]["linear response"].mean()
        own = by_set["coverage"]["linear response"].mean()
        cells.append(
            {"n": n, "sampler": sampler, "quantity": kind, "sets": len(by_set),
             "coverage, linear response": own,
             "coverage, exact": by_set["coverage"]["exact"].mean(),
             "se": float(np.sqrt(own * (1.0 - own) / len(by_set))),
             "score, linear response": by_set["score"]["linear response"].mean(),
             "score, exact less that, share": relative.mean(),
             "se of the share": relative.std(ddof=1) / np.sqrt(len(relative))}
        )  # fmt: skip
    return pd.DataFrame(cells).round(3)


def main(n_sets: int, sizes: list[int]) -> None:
    """Run all designs and keep the table."""
    found = []
    for n in sizes:
        for number, name in enumerate(LAWS):
            for own in range(n_sets):
                gate = ("softmax", "stick-breaking")[own % 2]
                seed = FIRST_SEED + 1000 * number + own
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # rough chains count as they are
                    found += one_set(name, n, gate, seed, lambda fit: fit.with_covariance("exact"))
    keep(summarise(pd.DataFrame(found)), "exact_intervals")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]] or [12, 100, 150]
    main(given[0], given[1:])
