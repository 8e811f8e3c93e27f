"""Fits and passes with the compiled core and without it, in turns in one process.

Seconds and microseconds of processor, the least of some rounds. ``fits`` has whole fits by kind of
model, rows and components, starts and draws included; ``passes`` single sweeps by rows and columns.
``core, ns`` are of a row and component; ``floor, ns`` is the time of the exponentials and
multiply-adds without which no sweep does, by NumPy in the cache: two exponentials (weights and
responsibilities) and, of p terms of the mean and q of the weights,
``2 (p + p (p + 1) / 2 + q + q (q + 1) / 2)`` multiply-adds (predictors and their variances, and the
weighted sums of rows and products). ``counted, ns`` has the operations of the tilted bound as well,
whose three Newton steps and normaliser need four further exponentials and four divisions (without
its hard rows, operations by row, and what is added and multiplied in between).

``python bench_compiled.py Gaussian`` renews the rows of one kind, ``... passes`` the sweeps; all
are made without an argument.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import itertools
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.engines import side_by_side
from bayesvb.engines.base import one_pass
from bayesvb.numerics.compiled import SWITCH

side_by_side.can_fork = lambda: False  # time of other processes would not be counted

ROUNDS = 3

KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "Gaussian": ("y ~ x0 + x1 | gating(x0)", {}),
    "fixed scales": ("y ~ x0 + x1 | gating(x0)", {"priors": bvb.Priors(scales="fixed")}),
    "stick-breaking": ("y ~ x0 + x1 | gating(x0)", {"gate": "stick-breaking"}),
    "constant weights": ("y ~ x0 + x1 | gating(1)", {"gate": "dirichlet"}),
    "Student": ("y ~ x0 + x1 | gating(x0)", {"family": "student"}),
    "Poisson": ("count ~ x0 + x1 | gating(x0)", {"family": "poisson"}),
    "Gaussian mixture": ("~ x0 + y", {}),
}
"""Formula and arguments of each kind of model that the core covers."""


def table(n: int, n_columns: int = 2) -> pd.DataFrame:
    """Rows of two regressions, of which the first column decides."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_columns, n))
    first = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * x[0]))
    y = np.where(first, 1.0 + x[0] + 0.5 * x[1], -1.0 - 0.5 * x[0])
    y = y + rng.normal(size=n) * np.where(first, 0.3, 0.6)
    count = rng.poisson(np.exp(np.where(first, 0.5 + 0.8 * x[0], 2.0 - 0.5 * x[1])))
    columns = {f"x{j}": column for j, column in enumerate(x)}
    return pd.DataFrame({"y": y, "count": count, **columns})


def least(work: Callable[[], object], together: int = 1) -> float:
    """Seconds of processor that it takes."""
    found = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(together):
            work()
        found.append((time.process_time() - began) / together)
    return min(found)


def fits(kind: str, n: int, n_components: int) -> dict[str, object]:
    """A whole fit."""
    formula, more = KINDS[kind]
    public = bvb.GaussianMixture if formula.startswith("~") else bvb.DensityRegression
    model = public(formula, table(n), n_components=n_components, **more)
    row: dict[str, object] = {"kind": kind, "rows": n, "components": n_components}
    for way, switch in {"numpy": "0", "core": "1"}.items():
        os.environ[SWITCH] = switch
        row[f"passes, {way}"] = model.fit(seed=1).n_iter
        row[f"{way}, s"] = least(lambda: model.fit(seed=1))
    row["ratio"] = row["numpy, s"] / row["core, s"]
    return row


def passes(n: int, n_columns: int, n_components: int) -> dict[str, object]:
    """One sweep."""
    names = [f"x{j}" for j in range(n_columns)]
    data = table(n, n_columns)
    formula = f"y ~ {' + '.join(names)} | gating(x0)"
    model = bvb.DensityRegression(formula, data, n_components=n_components)
    fit = model.fit(seed=1, restarts=1, max_iter=30, draws=25, covariance="mean-field")
    stats, source = fit.stats, fit.model.source
    vector, sweep = stats.to_vector(), fit.core.compiled(source)
    found = [
        1e6 * least(work, 10)
        for work in (lambda: one_pass(fit.core, source, stats), lambda: sweep(vector))
    ]
    row = {"rows": n, "columns": n_columns, "components": n_components}
    row |= {"numpy, us": found[0], "core, us": found[1], "ratio": found[0] / found[1]}
    each = 1e3 * found[1] / (n * n_components)
    return {**row, "core, ns": each, **floors(n_columns + 1, 2)}


def floors(p: int, q: int) -> dict[str, float]:
    """Nanoseconds of the operations of a row and component: of any sweep, and of the core's."""
    values, left = 1.0 + np.random.default_rng(0).random((2, 256, 256))
    few, out, short = values[:8], np.empty_like(values), np.empty((8, 256))
    exponential = least(lambda: np.exp(few, out=short), 2_000) / few.size
    quotient = least(lambda: np.divide(few, left[:8], out=short), 2_000) / few.size
    product = least(lambda: np.matmul(left, values, out=out), 50) / 256.0**3
    sums = 2 * (p + p * (p + 1) / 2 + q + q * (q + 1) / 2) * product
    any_sweep = 2 * exponential + sums
    return {
        "floor, ns": 1e9 * any_sweep,
        "counted, ns": 1e9 * (any_sweep + 4 * exponential + 4 * quotient),
    }


def main() -> None:
    """Both tables, or the part that is named."""
    warnings.simplefilter("ignore")
    part = sys.argv[1] if sys.argv[1:] else None
    sizes = [*itertools.product((100, 200, 1_000, 2_000), (2, 3, 5))]
    for kind in KINDS if part is None else [kind for kind in KINDS if kind == part]:
        keep(pd.DataFrame([fits(kind, *size) for size in sizes]), "compiled", by="kind")
    if part not in (None, "passes"):
        return
    shapes = [(n, 3) for n in (1_000, 2_000, 8_000, 20_000, 100_000)] + [
        (2_000, p) for p in (12, 23, 40, 100, 200)
    ]
    found = pd.DataFrame([passes(*shape, 3) for shape in shapes])
    keep(found, "compiled_passes")


if __name__ == "__main__":
    main()
