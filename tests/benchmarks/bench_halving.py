"""Would fewer starts have to run to the end? Successive halving of eight starts, replayed.

All eight starts of each problem run as they do in a fit. A rule stops those with the lowest ELBO
after some sweeps; what it would have cost, and the ELBO that it would have lost, is read off the
traces. Results: docs/benchmarks/halving.csv.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from bench_convergence import DESIGNS
from tables import keep

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.restarts import search
from bayesvb.numerics.streams import Streams

FIRST_SEED, RESTARTS, LEAST_ROWS, MOST_ROWS = 900, 8, 2000, 3000
RULES = (((10, 4), (20, 2), (40, 1)), ((20, 4), (40, 2), (80, 1)), ((40, 4), (80, 2)), ((80, 4),))
"""Sweeps after which so many starts remain."""


def mixture(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, str]:
    """Two to six regressions on one to three covariates, some of them close to one another."""
    p, k = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    x = rng.normal(size=(n, p))
    weights = rng.normal(size=(k, p)) * rng.choice([0.5, 1.5, 3.0])
    member = np.argmax(x @ weights.T + rng.gumbel(size=(n, k)), axis=1)
    slopes, sd = rng.normal(size=(k, p + 1)), rng.choice([0.1, 0.3, 1.0])
    y = slopes[member, 0] + (x * slopes[member, 1:]).sum(axis=1) + sd * rng.normal(size=n)
    names = [f"x{i}" for i in range(p)]
    right = " + ".join(names)
    return pd.DataFrame(x, columns=names).assign(y=y), f"y ~ {right} | gating({right})"


def traces(seed: int) -> list[np.ndarray]:
    """ELBO by sweep of all starts of a random problem."""
    rng = np.random.default_rng(seed)
    designs = [*DESIGNS.values(), mixture, mixture]
    data, formula = designs[seed % len(designs)](int(rng.integers(LEAST_ROWS, MOST_ROWS)), rng)
    gate = ("softmax", "stick-breaking")[int(rng.integers(2))]
    size = int(rng.integers(2, 6))
    model = bvb.DensityRegression(formula, data, n_components=size, gate=gate)
    streams, budget = Streams(seed, RESTARTS), Budget()
    found = search(
        model.core, model.source, Cavi(), restarts=RESTARTS, budget=budget, streams=streams,
        rough=True,
    )  # fmt: skip
    return [run.ascent.trace for run in found.runs]


def replayed(runs: list[np.ndarray], rule: tuple[tuple[int, int], ...]) -> tuple[float, float]:
    """Share of the sweeps that the rule needs, and the ELBO that it loses."""
    needed, alive = np.array([len(run) for run in runs], dtype=float), list(range(len(runs)))
    for sweeps, remain in rule:
        reached = {number: runs[number][: sweeps + 1][-1] for number in alive}
        order = sorted(alive, key=lambda number: -reached[number])
        for number in order[remain:]:
            needed[number] = min(len(runs[number]), sweeps)
        alive = order[:remain]
    last = np.array([run[-1] for run in runs])
    return needed.sum() / sum(map(len, runs)), float(last.max() - last[alive].max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=60)
    warnings.simplefilter("ignore")
    each = [traces(FIRST_SEED + i) for i in range(parser.parse_args().problems)]
    lines = []
    for rule in RULES:
        cost, loss = map(np.array, zip(*(replayed(runs, rule) for runs in each), strict=True))
        lines.append(
            {
                "starts after sweeps": ", ".join(f"{left} after {n}" for n, left in rule),
                "problems": len(each),
                "share of sweeps": cost.mean(),
                "lost > 0.1 nats": (loss > 0.1).mean(),
                "lost > 1 nat": (loss > 1.0).mean(),
                "largest loss": loss.max(),
            }
        )
    keep(pd.DataFrame(lines), "halving")


if __name__ == "__main__":
    main()
