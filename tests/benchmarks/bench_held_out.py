"""What becomes of rows left out: continued ascents, PSIS-LOO, and new fits without them.

    python tests/benchmarks/bench_held_out.py

Mean log probability of the observed class per row: of the fit to all rows (``fitted``), of
likelihood ratios over draws (``psis``), of the ascent continued without each fifth of the rows
(``loo``, what ``fit.loo()`` and reports say), and of new fits to the other four fifths
(``refitted``), which is what the others estimate. Then simulated classes with a straight boundary,
one start, for which ``new`` is the density of 800 new rows. Last, how many passes it takes for rows
to be forgotten: pinwheels of 50 rows, nine starts, mean over five data sets by prior variance, with
the density of 2000 new rows under single starts and the stack. Results:
docs/benchmarks/held_out.csv, held_out_simulated.csv and held_out_passes.csv.
"""

import time
import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.engines import folds as held_out
from bayesvb.engines.folds import FOLDS, assigned
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.evaluation.information_criteria import loo
from bayesvb.results.criteria import predictive_log_lik
from bayesvb.results.stacking import combined

DATA = ("iris", "breast_cancer")
RESTARTS, EXPERTS = 2, 10
NEW_ROWS = 800
NEW_PINWHEEL, STARTS, DATA_SEEDS, PASSES = 2000, 9, 5, (20, 50, 120, 300)


def network(frame: pd.DataFrame) -> bvb.Fit:
    model = bvb.ConditionalMixtureNetwork("label ~ .", frame, n_experts=EXPERTS)
    return model.fit(seed=1, restarts=RESTARTS, draws=200)


def psis(fit: bvb.Fit) -> float:
    """Sum of the mixture of the members' densities by likelihood ratios."""
    each = [loo(predictive_log_lik(member.fit)) for member in fit.parts]
    return combined(np.array([member.weight for member in fit.parts]), each).elpd


def row(name: str) -> dict[str, object]:
    """One data set."""
    frame = bvb.datasets.load(name)
    fit = network(frame)
    began = time.perf_counter()
    left_out = read_elpd(fit.loo()).elpd
    seconds = time.perf_counter() - began
    refitted = np.empty(len(frame))
    folds = assigned(fit.model.source)
    for fold in range(FOLDS):
        out = folds == fold
        refitted[out] = network(frame[~out]).log_density(frame[out])
    return {
        "data": name,
        "rows": len(frame),
        "fitted": float(fit.log_density(frame).mean()),
        "psis": psis(fit) / len(frame),
        "loo": left_out / len(frame),
        "refitted": float(refitted.mean()),
        "loo seconds": seconds,
    }


def simulated(n_rows: int, n_columns: int, n_experts: int) -> dict[str, object]:
    """Two classes, told apart by the first column."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(n_rows + NEW_ROWS, n_columns))
    label = np.where(x[:, 0] + 0.8 * rng.normal(size=len(x)) > 0.0, "a", "b")
    frame = pd.DataFrame(x).rename(columns="x{}".format).assign(label=label)
    train, test = frame.iloc[:n_rows], frame.iloc[n_rows:]
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=n_experts)
    fit = model.fit(combine="best", restarts=1, draws=200, seed=1)
    return {
        "rows": n_rows,
        "columns": n_columns,
        "experts": n_experts,
        "fitted": float(fit.log_density(train).mean()),
        "psis": psis(fit) / n_rows,
        "loo": read_elpd(fit.loo()).elpd / n_rows,
        "new": float(fit.log_density(test).mean()),
    }


def forgotten(seed: int) -> list[dict[str, object]]:
    """One pinwheel: estimates of its starts after so many passes, and the densities of new rows."""
    law = bvb.datasets.SIMULATIONS["pinwheel"]
    train, test = (law.sample(n, np.random.default_rng([seed, n])) for n in (50, NEW_PINWHEEL))
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=EXPERTS)
    options = {"restarts": STARTS, "draws": 50, "seed": seed}
    average = model.fit(combine="average", **options)
    priors = average.restarts["prior"]
    new = {m.number: m.fit.log_density(test).mean() for m in average.members}
    records = []
    for passes in PASSES:
        held_out.PASSES = passes
        table = model.fit(combine="stack", **options)
        estimates = table.restarts["elpd_per_row"]
        records += [
            {
                "passes": passes,
                "prior": prior,
                "left out": estimates[priors == prior].mean(),
                "new": np.mean([new[number] for number in priors.index[priors == prior]]),
                "stack, new": table.log_density(test).mean(),
            }
            for prior in priors.unique()
        ]
    return records


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keep(pd.DataFrame([row(name) for name in DATA]), "held_out")
        shapes = ((200, 12, 3), (200, 30, 3), (150, 60, 10))
        keep(pd.DataFrame([simulated(*shape) for shape in shapes]), "held_out_simulated")
        records = pd.DataFrame([one for seed in range(DATA_SEEDS) for one in forgotten(seed)])
        means = records.groupby(["prior", "passes"], sort=False).mean().reset_index()
        keep(means.sort_values(["prior", "passes"]), "held_out_passes")
