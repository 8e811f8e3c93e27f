"""How often LOO finds the number of components: ``bvb.select`` on data simulated from two.

Beside the rule (the fewest within two standard errors of the best, or within 4 nats) stand what
either half of it alone would choose, the largest elpd, and the rule with mean-field draws: they
are too narrow, and leave-one-out too hopeful about many components.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from tables import RESULTS, keep

import bayesvb as bvb
from bayesvb.datasets import SIMULATIONS
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.comparison import MINOR, ranked

DESIGN, COMPONENTS, N_ROWS = "bimodal", 2, 1000
NUMBERS = range(1, 9)
REPLICATIONS = 20
WANTED = 18
SO_FAR = RESULTS.parents[1] / "build" / "select.csv"


def replication(seed: int) -> dict[str, float]:
    """Numbers that the rules choose on one data set, and what the chosen one loses."""
    data = SIMULATIONS[DESIGN].sample(N_ROWS, np.random.default_rng(seed))
    model = bvb.DensityRegression("y ~ .", data)
    selection = bvb.select(model, NUMBERS, seed=seed, n_jobs=1)
    table = selection.table
    plain = {k: fit.with_covariance("mean-field") for k, fit in selection.fits.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of large Pareto k
        narrow = ranked({k: read_elpd(fit.loo(), str(k)) for k, fit in plain.items()})
    behind = -table["elpd_diff"]
    return {
        "seed": seed,
        "chosen": selection.chosen,
        "one se only": int(table.index[behind <= table["dse"]].min()),
        "4 nats only": int(table.index[behind <= MINOR].min()),
        "largest elpd": int(table["elpd"].idxmax()),
        "mean-field draws": int(narrow.index[narrow["chosen"]][0]),
        "elpd_diff of 2": float(table["elpd_diff"][COMPONENTS]),
        "dse of 2": float(table["dse"][COMPONENTS]),
        "elpd_diff of 1": float(table["elpd_diff"][1]),
        "all of linear response": all(
            fit.covariance == "linear-response" for fit in selection.fits.values()
        ),
        "seconds": float(table["seconds"].sum()),
    }


def main() -> None:
    SO_FAR.parent.mkdir(exist_ok=True)
    resumed = "--resume" in sys.argv and SO_FAR.exists()
    rows = pd.read_csv(SO_FAR).to_dict("records") if resumed else []
    for seed in range(len(rows), REPLICATIONS):
        rows.append(replication(seed))
        pd.DataFrame(rows).to_csv(SO_FAR, index=False)
        print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    keep(table, "select")
    for rule in ("chosen", "one se only", "4 nats only", "largest elpd", "mean-field draws"):
        print(f"{rule}: {(table[rule] == COMPONENTS).sum()} of {len(table)}; wanted {WANTED}")


if __name__ == "__main__":
    main()
