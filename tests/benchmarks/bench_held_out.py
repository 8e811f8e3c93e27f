"""What becomes of rows left out: the report's estimate, PSIS-LOO, and new fits without them.

    python tests/benchmarks/bench_held_out.py

Mean log probability of the observed class per row: of the fit to all rows (``fitted``), of its
leave-one-out criterion from draws (``loo``), of the ascent continued without each fifth of the rows
as reports do it (``report``), and of new fits to the other four fifths (``refitted``), which is
what the others estimate. Results: docs/benchmarks/held_out.csv.
"""

import time
import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.elpd import read_elpd
from bayesvb.engines.held_out import FOLDS
from bayesvb.reports.held_out import held_out

DATA = ("iris", "breast_cancer")
RESTARTS, EXPERTS = 2, 10


def network(frame: pd.DataFrame) -> bvb.Fit:
    model = bvb.ConditionalMixtureNetwork("label ~ .", frame, n_experts=EXPERTS)
    return model.fit(seed=1, restarts=RESTARTS, draws=200)


def row(name: str) -> dict[str, object]:
    """One data set."""
    frame = bvb.datasets.load(name)
    fit = network(frame)
    began = time.perf_counter()
    estimate = held_out(fit)
    seconds = time.perf_counter() - began
    refitted = np.empty(len(frame))
    for fold in range(FOLDS):
        out = estimate.folds == fold
        refitted[out] = network(frame[~out]).log_density(frame[out])
    observed = estimate.probabilities[np.arange(len(frame)), estimate.codes]
    return {
        "data": name,
        "rows": len(frame),
        "fitted": float(fit.log_density(frame).mean()),
        "loo": read_elpd(fit.loo()).elpd / len(frame),
        "report": float(np.log(observed).mean()),
        "refitted": float(refitted.mean()),
        "report seconds": seconds,
    }


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keep(pd.DataFrame([row(name) for name in DATA]), "held_out")
