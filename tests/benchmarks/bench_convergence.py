"""Whether fits that say they converged have, and have a linear response; and what that takes.

    python tests/benchmarks/bench_convergence.py --rows 200 1000 5000 --seeds 3
    python tests/benchmarks/bench_convergence.py --rows 20000 --seeds 1 --against ../before

Four designs (two experts, a sine with growing spread, the shape of mcycle, one line with
superfluous components), two, three and five components, four restarts each, one thread. ``with
response`` counts fits that converged and have a linear response; ``rise`` is what the bound gains
when the fit is continued, for 500 passes, or 4e6 over the number of rows if these are fewer.
``seconds`` are those of the processor.
``--against`` measures another checkout of the package in the same run, called ``before``; the table
in docs has that of commit ea47969. Constants of bayesvb/engines/stopping.py and settled_response.py
were chosen on seeds below 40; these are seeds from 100 on. Results:
docs/benchmarks/convergence.csv.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.engines.cavi import cavi

FIRST_SEED, RESTARTS, SIZES, GATES = 100, 4, (2, 3, 5), ("softmax", "stick-breaking")

Frame = tuple[pd.DataFrame, str]


def two_experts(n: int, rng: np.random.Generator) -> Frame:
    """Two lines with different noise, the switch depending on x."""
    x, noise = rng.normal(size=(2, n))
    upper = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x))
    y = np.where(upper, 1.0 + x + 0.3 * noise, -1.0 - 0.5 * x + 0.6 * noise)
    return pd.DataFrame({"x": x, "y": y}), "y ~ x | gating(x)"


def sine(n: int, rng: np.random.Generator) -> Frame:
    """A sine whose spread grows with x."""
    x, noise = rng.uniform(-1.0, 1.0, n), rng.normal(size=n)
    y = np.sin(3.0 * x) + (0.25 + 0.15 * x) * noise
    return pd.DataFrame({"x": x, "y": y}), "y ~ x | gating(x)"


def impact(n: int, rng: np.random.Generator) -> Frame:
    """Flat and quiet at first, then a fall, a rise and much noise."""
    t, noise = rng.uniform(0.0, 60.0, n), rng.normal(size=n)
    fall = -120.0 * np.exp(-0.5 * ((t - 21.0) / 5.0) ** 2)
    rise = 45.0 * np.exp(-0.5 * ((t - 34.0) / 5.0) ** 2)
    y = np.where(t < 14.0, 2.0 * noise, fall + rise + 22.0 * noise)
    return pd.DataFrame({"t": t, "y": y}), "y ~ bs(t, df=4) | gating(t)"


def line(n: int, rng: np.random.Generator) -> Frame:
    """One line: all components but one are superfluous."""
    x, noise = rng.normal(size=(2, n))
    return pd.DataFrame({"x": x, "y": 1.0 + 2.0 * x + noise}), "y ~ x | gating(x)"


DESIGNS: dict[str, Callable[[int, np.random.Generator], Frame]] = {
    "two experts": two_experts,
    "sine": sine,
    "impact": impact,
    "line": line,
}


def measured(n_rows: int, seed: int, design: str, gate: str, size: int) -> dict[str, object]:
    """One fit, and what it still gains."""
    data, formula = DESIGNS[design](n_rows, np.random.default_rng(seed))
    model = bvb.DensityRegression(formula, data, n_components=size, gate=gate)
    began = time.process_time()
    fit = model.fit(seed=seed, restarts=RESTARTS, draws=100, n_jobs=1)
    seconds = time.process_time() - began
    passes = int(min(500, 4e6 / n_rows))
    on = cavi(fit.core, model.source, fit.stats, tol=1e-300, max_iter=passes).trace
    return {
        "rows": n_rows,
        "gate": gate,
        "design": design,
        "components": size,
        "converged": bool(fit.converged),
        "response": fit.response.failure is None,
        "elbo": fit.elbo,
        "rise": float(on[-1] - on[0]),
        "passes": int(fit.n_iter),
        "seconds": seconds,
    }


def all_fits(n_rows: int, seeds: int) -> list[dict[str, object]]:
    """Every fit with this number of rows."""
    warnings.simplefilter("ignore")
    model = bvb.DensityRegression("y ~ x", two_experts(100, np.random.default_rng(0))[0])
    model.fit(seed=1, restarts=1, draws=25)  # what is loaded once is not timed
    return [
        measured(n_rows, FIRST_SEED + seed, design, gate, size)
        for seed in range(seeds)
        for design in DESIGNS
        for gate in GATES
        for size in SIZES
    ]


def of_checkout(path: Path, n_rows: int, seeds: int) -> list[dict[str, object]]:
    """The same by the package of another checkout."""
    environment = {**os.environ, "PYTHONPATH": str(path.resolve())}
    command = [sys.executable, __file__, "--worker", "--rows", str(n_rows), "--seeds", str(seeds)]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    fits: list[dict[str, object]] = json.loads(found.stdout)
    return fits


def table(fits: pd.DataFrame) -> pd.DataFrame:
    """One line per package, number of rows and gate."""
    lines = []
    for (version, rows, gate), some in fits.groupby(["package", "rows", "gate"], sort=False):
        converged = some[some["converged"]]
        lines.append(
            {
                "package": version,
                "rows": rows,
                "gate": gate,
                "fits": len(some),
                "converged": len(converged),
                "with response": int(converged["response"].sum()),
                "rise above 0.1": int((converged["rise"] > 0.1).sum()),
                "largest rise": converged["rise"].max(),
                "median passes": some["passes"].median(),
                "seconds": some["seconds"].sum(),
            }
        )
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000, 5000])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--worker", action="store_true")
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(all_fits(given.rows[0], given.seeds)))
        return
    for n_rows in given.rows:
        lines = []
        if given.against is not None:
            before = pd.DataFrame(of_checkout(given.against, n_rows, given.seeds))
            lines.append(table(before.assign(package="before")))
        now = pd.DataFrame(of_checkout(Path(__file__).parents[2], n_rows, given.seeds))
        lines.append(table(now.assign(package="now")))
        if given.against is not None:
            better = (now["elbo"] - before["elbo"]).describe(percentiles=[0.5])
            ratio = now["seconds"].sum() / before["seconds"].sum()
            print(f"{n_rows} rows: time ratio {ratio:.2f}, gain of the bound\n{better.to_string()}")
        keep(pd.concat(lines), "convergence", by="rows")


if __name__ == "__main__":
    main()
