"""Passes over many rows from the posterior of a sample: sweeps alone, or a stochastic pass first.

Nats per row below the end of a long ascent, after so many passes over all rows, those of the
stochastic steps among them. ``BAYESVB_WARM_ROWS`` is the number of rows, of which lines of other
numbers stay; ``BAYESVB_WARM_LAWS``, ``BAYESVB_WARM_SEEDS`` and ``BAYESVB_WARM_STARTS`` choose some
of these, as numbers from 0 of laws and starts, and ``BAYESVB_WARM_PASSES`` is the length of the
long ascents.
"""

import os
import time

import numpy as np
import pandas as pd
from bench_far import CLOSE, rows
from tables import RESULTS, keep

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.restarts import enlarged
from bayesvb.engines.svi import Svi
from bayesvb.numerics.streams import Streams

N_ROWS = int(os.environ.get("BAYESVB_WARM_ROWS", "100000"))
SEEDS = [int(n) for n in os.environ.get("BAYESVB_WARM_SEEDS", "1,2").split(",")]
LONG = int(os.environ.get("BAYESVB_WARM_PASSES", "150"))
SHOWN = (1, 2, 3, 5, 10)
SAMPLE = 10_000


def overlapping(number: int, size: int) -> pd.DataFrame:
    """Four lines of which two are near each other and one is rare."""
    rng = np.random.default_rng(number)
    x1, x2, noise = rng.normal(size=(3, size))
    which = rng.choice(4, size, p=[0.4, 0.35, 0.2, 0.05])
    line = np.choose(which, [x1, 1.0 - x1, 0.5 + x2, 3.0 + 0.0 * x1])
    return pd.DataFrame({"y": line + noise * np.choose(which, [0.5, 0.6, 1.0, 0.4]),
                         "x1": x1, "x2": x2})  # fmt: skip


def curved(number: int, size: int) -> pd.DataFrame:
    """A curve with noise that grows: no mixture of lines."""
    rng = np.random.default_rng(number)
    x1, x2, noise = rng.normal(size=(3, size))
    y = np.sin(2.0 * x1) + 0.3 * x2 + np.exp(0.5 * x1 - 1.0) * noise
    return pd.DataFrame({"y": y, "x1": x1, "x2": x2})


def heavy_tailed(number: int, size: int) -> pd.DataFrame:
    """Two planes with Student noise, which five components share among them."""
    rng = np.random.default_rng(number)
    x1, x2 = rng.normal(size=(2, size))
    first = rng.uniform(size=size) < 1.0 / (1.0 + np.exp(-x1))
    y = np.where(first, 2.0 + x1 - x2, -1.0 + 0.5 * x2) + 0.5 * rng.standard_t(3, size)
    return pd.DataFrame({"y": y, "x1": x1, "x2": x2})


def skewed(number: int, size: int) -> pd.DataFrame:
    """One line with exponential noise, whose scale depends on a covariate."""
    rng = np.random.default_rng(number)
    x1, x2 = rng.normal(size=(2, size))
    y = x1 + x2 + np.exp(0.4 * x2) * rng.exponential(size=size)
    return pd.DataFrame({"y": y, "x1": x1, "x2": x2})


LAWS = {
    "three lines": rows,
    "overlapping lines": overlapping,
    "curve": curved,
    "heavy tails": heavy_tailed,
    "skewed": skewed,
}
STARTS = {
    "sweeps": None,
    "stochastic pass, 1000 rows": Svi(batch=1000, passes=1),
    "stochastic pass, 1000 rows, delay 100": Svi(batch=1000, passes=1, delay=100.0),
    "stochastic pass, 10000 rows": Svi(batch=10_000, passes=1),
}


def chosen(name: str, every: dict) -> dict:
    """Those of which the numbers are in the environment; all if none are."""
    given, names = os.environ.get(name), list(every)
    if given is None:
        return every
    return {names[int(n)]: every[names[int(n)]] for n in given.split(",")}


def first_above(trace: np.ndarray, bound: float) -> float:
    """Pass after which the bound is that large; not a number if none is."""
    there = np.flatnonzero(trace >= bound)
    return float(there[0] + 1) if len(there) else np.nan


def below_the_end(law: str, seed: int) -> list[dict[str, float]]:
    """Nats per row below the end, by start, after so many passes over all rows."""
    model = bvb.DensityRegression("y ~ x1 + x2 | gating(x1)", LAWS[law](seed, N_ROWS))
    source = model.source.with_workers(2)
    sample = model.over(model.source.standing_for_all(SAMPLE, np.random.default_rng(seed)))
    few = {"seed": seed, "restarts": 4, "draws": 25, "covariance": "mean-field"}
    fit = sample.fit(tol=1e-6 * N_ROWS, **few)
    start, place = enlarged(fit.core, source, fit.stats), Streams(seed).branch("warm start")
    traces, costs = {}, {}
    for name, svi in chosen("BAYESVB_WARM_STARTS", STARTS).items():
        first, before, began = start, 0, time.process_time()
        if svi is not None:
            first = svi.run(fit.core, source, start, Budget(1.0, 2), place).stats
            before = 1
        between = time.process_time()
        ascent = Cavi().run(fit.core, source, first, Budget(0.0, LONG), place)
        each = (time.process_time() - between) / ascent.n_iter
        costs[name] = (between - began) / each
        traces[name] = np.concatenate([np.full(before, -np.inf), ascent.trace])
    end = max(trace.max() for trace in traces.values())
    found = []
    for name, trace in traces.items():
        after = {f"after {n}": (end - trace[n - 1]) / N_ROWS for n in SHOWN}
        there = {
            f"passes until within {near:g}": first_above(trace, end - near * N_ROWS)
            for near in (CLOSE, 0.1 * CLOSE, 0.01 * CLOSE)
        }
        one = {"rows": N_ROWS, "long": LONG, "law": law, "seed": seed, "start": name}
        found.append({**one, **after, **there, "sweeps that it costs": costs[name]})
    return found


def kept(found: list[dict[str, float]]) -> None:
    """Write these lines in place of those of the same rows, laws, seeds and starts."""
    table, path = pd.DataFrame(found), RESULTS / "warm_start.csv"
    key = ["rows", "law", "seed", "start"]
    if path.exists():
        table = pd.concat([pd.read_csv(path), table]).drop_duplicates(key, keep="last")
    keep(table.sort_values(key[:3], kind="stable"), "warm_start")


def main() -> None:
    """Every law, seed and start."""
    found = []
    for law in chosen("BAYESVB_WARM_LAWS", LAWS):
        for seed in SEEDS:
            found += below_the_end(law, seed)
            kept(found)


if __name__ == "__main__":
    main()
