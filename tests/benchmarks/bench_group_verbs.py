"""CPU time of what needs the effects of all groups, of two components with effects of 150 groups.

`y ~ x + (1 | g)` has the effects in the lines and in the weights, which is 302 effects of each
component, those of an unseen group among them. Sums are by group; draws hold all effects. Engines
that sample run a few steps only: their time is that of so many gradients.

    python tests/benchmarks/bench_group_verbs.py [groups]

writes docs/benchmarks/group_verbs.csv: seconds of CPU time by family.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import bayesvb as bvb

OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "group_verbs.csv"

SHORT = {"seed": 1, "restarts": 1, "draws": 200}


def simulated(n_groups, seed=0):
    """Two lines, and a level of each group; four rows a group."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, n_groups, 4 * n_groups)
    x, second = rng.normal(size=len(g)), rng.random(len(g)) < 0.4
    y = np.where(second, 3.0 + x, -3.0 - 0.5 * x) + rng.normal(size=n_groups)[g]
    return pd.DataFrame({"y": y + 0.5 * rng.normal(size=len(g)), "x": x, "g": g})


def verbs(model):
    """A fit, then what is asked of it, by name."""
    fits = []
    yield "fit with intervals", lambda: fits.append(model.fit(seed=1, restarts=1))
    yield "khat", lambda: fits[0].khat
    yield "influence", lambda: fits[0].influence()
    yield "prior_sensitivity", lambda: fits[0].prior_sensitivity()
    yield "robust", lambda: fits[0].with_covariance("robust")
    yield "em", lambda: model.fit(method="em", **SHORT)
    yield "bbvi, 50 steps", lambda: model.fit(method="bbvi", steps=50, **SHORT)
    nuts = {"chains": 1, "warmup": 20, "max_tree_depth": 4}
    yield "nuts, 220 short trees", lambda: model.fit(method="nuts", **nuts, **SHORT)


def main(n_groups=150):
    warnings.simplefilter("ignore")
    records = []
    for family in ("gaussian", "student"):
        data = simulated(n_groups)
        model = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=2, family=family)
        for name, verb in verbs(model):
            start = time.process_time()
            verb()
            records.append((name, family, round(time.process_time() - start, 1)))
            print(*records[-1], flush=True)
    table = pd.DataFrame(records, columns=["verb", "family", "seconds"])
    table.pivot_table(index="verb", columns="family", values="seconds", sort=False).to_csv(OUT)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
