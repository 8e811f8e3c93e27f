"""Time of a report by model, rows and section: ``bench_report.py [MODEL ...] [--rows N ...]``.

Seconds are of one processor, sections in turn, and stand beside the same in multiples of a fixed
numpy workload of the same process; what has elapsed is of another page of the same fit, its
sections side by side on all processors. The fit before it is brief and not timed: what a page costs
does not hang on how long the ascent was, but for the refits of doubtful rows; ``--settled`` fits to
the end.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import resource
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.estimators.fit import Fit
from bayesvb.reports.page import html, page_summary
from bayesvb.reports.sections import SECTIONS, Section

ROWS = (1_000, 10_000, 100_000, 1_000_000)
SHOWN = 3
"""Dearest parts that are kept."""


def table(n_rows: int) -> pd.DataFrame:
    """Two lines whose weights depend on x, two more columns, classes, and 60 groups."""
    rng = np.random.default_rng(1)
    x, z, w = rng.uniform(-2.0, 2.0, n_rows), rng.normal(size=n_rows), rng.normal(size=n_rows)
    first = rng.uniform(size=n_rows) < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(first, 4.0 + 2.0 * x, -3.0 - x + 0.5 * z) + 0.4 * rng.normal(size=n_rows)
    group = rng.integers(0, 60, n_rows)
    y += rng.normal(size=60)[group]
    label = np.array(list("abc"))[1 * (y > 0.0) + (rng.uniform(size=n_rows) < 0.3)]
    return pd.DataFrame({"y": y, "x": x, "z": z, "w": w, "label": label, "group": group})


MODELS: dict[str, Callable[[pd.DataFrame], object]] = {
    "density, 3 components": lambda data: bvb.DensityRegression("y ~ x + z", data, n_components=3),
    "density, student": lambda data: bvb.DensityRegression(
        "y ~ x + z", data, n_components=2, family="student"
    ),
    "density, splines": lambda data: bvb.DensityRegression(
        "y ~ bs(x, df=6) + z | gating(x)", data, n_components=4
    ),
    "gaussians": lambda data: bvb.GaussianMixture("~ y + x + z", data, n_components=4),
    "network of numbers, 10 experts": lambda data: bvb.ConditionalMixtureNetwork(
        "y ~ x + z", data, n_experts=10
    ),
    "network of classes, 4 experts": lambda data: bvb.ConditionalMixtureNetwork(
        "label ~ x + z", data, n_experts=4
    ),
    "components of variance": lambda data: bvb.BayesianPCA("~ y + x + z + w", data, n_components=2),
    "normal": lambda data: bvb.Normal("y ~ 1", data),
    "60 groups": lambda data: bvb.DensityRegression(
        "y ~ x + (1 | group) | gating(x)", data, n_components=2
    ),
}


def workload() -> float:
    """Processor seconds of a fixed numpy workload."""
    rng = np.random.default_rng(0)
    left, right = rng.random((600, 600)), rng.random((600, 600))
    times = []
    for _ in range(15):
        began = time.process_time()
        np.exp(left @ right / 600.0).sum()
        times.append(time.process_time() - began)
    return float(np.median(times))


def timed(times: dict[str, float], name: str, section: Section) -> Section:
    """The same section, which notes how long it took."""

    def summary(fit: object) -> object:
        began = time.process_time()
        found = section.summary(fit)
        times[name] = time.process_time() - began
        return found

    return replace(section, summary=summary)


@contextmanager
def one_processor() -> Iterator[None]:
    """Nothing side by side: sections are then timed in this process."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def anew(fit: Fit) -> Fit:
    """The same fit, of which nothing has been asked yet, nor of its restarts."""
    members = tuple(replace(one, fit=replace(one.fit)) for one in fit.members)
    return replace(fit, members=members)


def measured(
    name: str, n_rows: int, *, settled: bool = False, restarts: int = 1
) -> dict[str, object]:
    """One row of the table: the whole page, and its dearest sections."""
    model = MODELS[name](table(n_rows))
    passes = 20 if "network" in name else 60
    brief = {"tol": 1e-4, "max_iter": passes if n_rows < 500_000 else 12}
    fit = model.fit(seed=1, restarts=restarts, **({} if settled else brief))
    plain, times = dict(SECTIONS), {}
    SECTIONS.update({key: timed(times, key, one) for key, one in plain.items()})
    unit = workload()
    try:
        with one_processor():
            began = time.process_time()
            html(page_summary({"": anew(fit)}))
            seconds = time.process_time() - began
    finally:
        SECTIONS.update(plain)
    clock = time.perf_counter()
    html(page_summary({"": anew(fit)}))
    elapsed = time.perf_counter() - clock
    times["other"] = seconds - sum(times.values())
    dearest = sorted(times.items(), key=lambda item: -item[1])[:SHOWN]
    return {
        "model": name,
        "rows": n_rows,
        "seconds": seconds,
        "elapsed": elapsed,
        "workloads": seconds / unit,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **{
            f"dearest {place}": f"{key} {spent:.2f}"
            for place, (key, spent) in enumerate(dearest, 1)
        },
    }


def main() -> None:
    """Measure what was asked for, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--rows", nargs="*", type=int, default=ROWS)
    parser.add_argument("--as", dest="when", default="now", help="what the rows are called")
    parser.add_argument("--dry", action="store_true", help="print only")
    parser.add_argument("--settled", action="store_true", help="fits with the default tolerance")
    parser.add_argument("--restarts", type=int, default=1, help="networks stack several")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    measured("density, 3 components", 200)  # what is loaded on first use
    found = []
    for name in asked.models:
        for n_rows in asked.rows:
            several = f", {asked.restarts} restarts" if asked.restarts > 1 else ""
            run = f"{asked.when}: {name}, {n_rows}{several}"
            options = {"settled": asked.settled, "restarts": asked.restarts}
            found.append({"run": run, "when": asked.when, **measured(name, n_rows, **options)})
            print(pd.DataFrame(found[-1:]).to_string(index=False, header=False), flush=True)
    if not asked.dry:
        keep(pd.DataFrame(found), "report", by="run")


if __name__ == "__main__":
    main()
