"""Time of a sweep, and sweeps saved by acceleration, on a fit with many components.

The gestation data of the stick-breaking literature (2312 rows) are used if BAYESVB_DATA names a
folder with dde.csv (columns dde, gestational_age_days); otherwise simulated rows of the same size.
"""

import time

import numpy as np
import pandas as pd
from tables import data_folder, keep

import bayesvb as bvb
from bayesvb.engines.cavi import cavi
from bayesvb.engines.partitions import SAMPLE_ROWS, STARTS
from bayesvb.numerics.runtime import single_threaded_blas

FORMULA = "gestational_age_days ~ dde | gating(cr(dde, df=5, constraints='center'))"
COMPONENTS = 20
TIMED_SWEEPS = 100
CLOSE = 0.1
"""Nats from the better end at which both runs count as arrived."""


def gestation() -> tuple[str, pd.DataFrame]:
    """The data, or a stand-in of the same size."""
    folder = data_folder()
    if folder is not None and (folder / "dde.csv").exists():
        return "dde", pd.read_csv(folder / "dde.csv")
    rng = np.random.default_rng(1)
    dde = rng.gamma(2.3, 13.0, 2312)
    early = rng.random(2312) < 0.1 + 0.15 * dde / 100
    days = np.where(early, rng.normal(255, 18, 2312), rng.normal(280, 11, 2312))
    return "simulated", pd.DataFrame({"dde": dde, "gestational_age_days": days})


def start(model: bvb.DensityRegression, kind: str, seed: int) -> object:
    """Statistics of a start."""
    rng = np.random.default_rng(seed)
    sample = model.source.sample(SAMPLE_ROWS, rng)
    begin = STARTS[kind](sample, COMPONENTS, rng)
    mixture = model.core
    stats = model.source.map_reduce(lambda b: mixture.partition_stats(b, begin.responsibilities(b)))
    return mixture.first_stats(stats)


def passes_to(trace: np.ndarray, n_iter: int, bound: float) -> float:
    """Passes until the bound is reached: accepted sweeps, scaled by the passes they cost."""
    reached = np.flatnonzero(trace >= bound)
    return float("nan") if not len(reached) else (reached[0] + 1) * n_iter / len(trace)


def milliseconds(model: bvb.DensityRegression, stats: object) -> float:
    """Median time of one sweep after the first ones."""
    mixture, source = model.core, model.source
    times = []
    with single_threaded_blas():
        for _ in range(TIMED_SWEEPS):
            began = time.perf_counter()
            posterior = mixture.update(stats)
            sweep = source.map_reduce(lambda b, q=posterior: mixture.e_step(q, b))
            mixture.kl(posterior)
            stats = mixture.global_step(posterior, sweep.stats)
            times.append(time.perf_counter() - began)
    return 1e3 * float(np.median(times[TIMED_SWEEPS // 4 :]))


def compare(model: bvb.DensityRegression, gate: str, kind: str, seed: int) -> dict[str, object]:
    """Plain and accelerated ascent from one start."""
    stats = start(model, kind, seed)
    options = {"tol": 1e-7, "max_iter": 10_000}
    plain = cavi(model.core, model.source, stats, accelerate=False, **options)
    fast = cavi(model.core, model.source, stats, **options)
    bound = min(plain.bound, fast.bound) - CLOSE
    mine = passes_to(plain.trace, plain.n_iter, bound)
    theirs = passes_to(fast.trace, fast.n_iter, bound)
    return {
        "gate": gate,
        "start": f"{kind} {seed}",
        "ms per sweep": milliseconds(model, stats),
        "bound plain": plain.bound,
        "bound accelerated": fast.bound,
        "passes plain": mine,
        "passes accelerated": theirs,
        "ratio": theirs / mine,
    }


def early_births(model: bvb.DensityRegression, data: pd.DataFrame) -> list[float]:
    """P(y < 259 days) at the 10, 60, 90 and 99 % points of dde, from the best of 8 restarts."""
    at = np.quantile(data["dde"], [0.1, 0.6, 0.9, 0.99])
    return model.fit(seed=1).predict({"dde": at}, kind="cdf", at=259.0).round(4).tolist()


def main() -> None:
    name, data = gestation()
    rows = []
    for gate in ("softmax", "stick-breaking"):
        model = bvb.DensityRegression(FORMULA, data, n_components=COMPONENTS, gate=gate)
        rows += [
            compare(model, gate, kind, seed)
            for kind, seed in (("k-means", 0), ("k-means", 1), ("residuals", 0), ("random", 0))
        ]
        print(name, gate, "P(y < 259):", early_births(model, data))
    print("Gibbs sampling of the stick-breaking model: [0.1157, 0.166, 0.2139, 0.2776]")
    table = pd.DataFrame(rows)
    keep(table, f"sweeps_{name}")
    print(table.groupby("gate")[["ms per sweep", "ratio"]].median())


if __name__ == "__main__":
    main()
