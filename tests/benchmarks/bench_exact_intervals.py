"""Coverage and interval score of automatic intervals and of linear response on the same data sets.

Components that overlap, 90% intervals of means, quantiles, one slope and one average contrast. The
sampler runs whatever the number of rows, so that the table shows from how many rows on it is no
longer needed. ``bench_exact_intervals.py 20 100 200`` sets the number of data sets of each design
and the numbers of rows.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr, softmax
from tables import keep

import bayesvb as bvb
from bayesvb.results import exact_draws

PROB, FIRST_SEED = 0.9, 31_000  # rules were chosen on other designs and other seeds
LEVELS = (0.1, 0.5, 0.9)
PLACES = pd.DataFrame({"x": [-1.0, 0.0, 1.0, 1.5], "g": [0.0, 1.0, 1.0, 0.0]})

Line = tuple[float, float, float]
"""Intercept and slopes in x and g."""


@dataclass(frozen=True)
class Law:
    """Lines in ``x`` and ``g``, and the log odds of each against the first.

    Attributes
    ----------
    lines, odds : tuple of tuple of float
    sigma : tuple of float
    """

    lines: tuple[Line, ...]
    odds: tuple[Line, ...]
    sigma: tuple[float, ...]

    def parts(self, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Weights and means of the components at these rows."""
        design = np.column_stack([np.ones(len(rows)), rows["x"], rows["g"]])
        logits = design @ np.array([(0.0, 0.0, 0.0), *self.odds]).T
        return softmax(logits, axis=1), design @ np.array(self.lines).T

    def mean(self, rows: pd.DataFrame) -> np.ndarray:
        """Conditional mean."""
        weights, means = self.parts(rows)
        return (weights * means).sum(axis=1)

    def quantile(self, rows: pd.DataFrame, level: float) -> np.ndarray:
        """Conditional quantile, by bisection."""
        weights, means = self.parts(rows)
        low, high = np.full(len(rows), -20.0), np.full(len(rows), 20.0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = ndtr((middle[:, None] - means) / np.array(self.sigma))
            under = (weights * below).sum(axis=1) < level
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return 0.5 * (low + high)

    def sample(self, n: int, seed: int) -> pd.DataFrame:
        """Rows of a data set."""
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({"x": rng.normal(size=n), "g": (rng.random(n) < 0.5).astype(float)})
        weights, means = self.parts(rows)
        chosen = (rng.random((n, 1)) > weights.cumsum(axis=1)).sum(axis=1)
        chosen = np.minimum(chosen, len(self.lines) - 1)
        noise = np.array(self.sigma)[chosen] * rng.normal(size=n)
        return rows.assign(y=means[np.arange(n), chosen] + noise)


LAWS: Mapping[str, Law] = {
    "fan": Law(((0.0, 0.2, 0.4), (1.5, 1.0, 0.4)), ((0.0, 0.8, 0.0),), (0.4, 0.6)),
    "crossing": Law(((0.3, 0.8, 0.0), (0.8, -0.6, 0.0)), ((-0.3, 0.0, 1.0),), (0.5, 0.5)),
    "parallel": Law(((-0.7, 0.4, 0.3), (0.7, 0.4, 0.3)), ((0.4, 0.0, 0.0),), (0.5, 0.5)),
    "outer": Law(((0.0, 0.5, 0.2), (0.0, 0.5, -0.4)), ((-1.0, 0.7, 0.0),), (0.4, 1.2)),
    "three": Law(
        ((-1.2, 0.5, 0.4), (0.3, 0.5, 0.4), (1.5, -0.4, 0.4)),
        ((0.3, 0.6, 0.0), (0.0, 1.2, 0.0)),
        (0.4, 0.5, 0.4),
    ),
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


def one_set(name: str, n: int, gate: str, seed: int) -> list[dict]:
    """Coverage and score of every kind of quantity, both ways, of one data set."""
    law, found = LAWS[name], []
    rows = law.sample(n, seed)
    model = bvb.DensityRegression("y ~ x + g", rows, n_components=len(law.lines), gate=gate)
    fit = model.fit(seed=1)
    plain = fit.plain
    for how, one in {"linear response": plain, "automatic": fit}.items():
        for kind, ends in intervals(one, law, rows).items():
            truth, lower, upper = ends
            inside = float(((lower <= truth) & (truth <= upper)).mean())
            found.append(
                {"design": name, "n": n, "gate": gate, "seed": seed, "intervals": how,
                 "kind": kind, "exact": fit.covariance == "exact", "coverage": inside,
                 "score": float(score(*ends).mean())}
            )  # fmt: skip
    return found


def summarise(found: pd.DataFrame) -> pd.DataFrame:
    """Coverage, mean score and paired differences, by design, rows and kind of quantity."""
    cells = []
    for (design, n, kind), cell in found.groupby(["design", "n", "kind"], sort=False):
        by_set = cell.pivot_table(
            index=["gate", "seed"], columns="intervals", values=["coverage", "score", "exact"]
        )
        plain = by_set.xs("linear response", axis=1, level="intervals")
        change = by_set.xs("automatic", axis=1, level="intervals") - plain
        relative = change["score"] / plain["score"].mean()
        root = np.sqrt(len(by_set))
        cells.append(
            {"design": design, "n": n, "quantity": kind, "sets": len(by_set),
             "share exact": plain["exact"].mean(),
             "coverage, linear response": plain["coverage"].mean(),
             "se": plain["coverage"].std(ddof=1) / root,
             "coverage, automatic less that": change["coverage"].mean(),
             "se of the change": change["coverage"].std(ddof=1) / root,
             "score, linear response": plain["score"].mean(),
             "score, automatic less that, share": relative.mean(),
             "se of the share": relative.std(ddof=1) / root}
        )  # fmt: skip
    return pd.DataFrame(cells).round(3)


def main(n_sets: int, sizes: list[int]) -> None:
    """Run all designs and keep the tables by design and over all designs."""
    exact_draws.has_few_rows = lambda fit, space: True
    found = []
    for number, name in enumerate(LAWS):
        for n in sizes:
            for own in range(n_sets):
                gate = ("softmax", "stick-breaking")[own % 2]
                found += one_set(name, n, gate, FIRST_SEED + 1000 * number + own)
    whole = pd.DataFrame(found)
    every = whole.assign(design="all", gate=whole["design"] + whole["gate"])
    keep(summarise(pd.concat([whole, every])), "exact_intervals")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]] or [20, 100, 150, 200, 300]
    main(given[0], given[1:])
