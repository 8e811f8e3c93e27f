"""How often LOO finds the number of components: ``bvb.select`` on data simulated from two.

Beside the rule (the fewest within two standard errors of the best, or within 4 nats) stand what
either half of it alone would choose, the largest elpd, and the rule with mean-field draws: they
are too narrow, and leave-one-out too hopeful about many components.

With ``--noise``: what it says of one line with gamma noise, of three lines with Student noise, and
of three right Gaussian experts, of which it should say nothing.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from bench_choosing import three_experts
from tables import RESULTS, keep

import bayesvb as bvb
from bayesvb.datasets import SIMULATIONS
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.comparison import ranked
from bayesvb.results.limits import LIMITS

DESIGN, COMPONENTS, N_ROWS = "bimodal", 2, 1000
NUMBERS = range(1, 9)
REPLICATIONS = 20
WANTED = 18
NOISE_ROWS, NOISE_SEED, NOISE_SETS = 300, 2200, 4
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
        "4 nats only": int(table.index[behind <= LIMITS.equal_elpd].min()),
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


def gamma_noise(rng: np.random.Generator) -> pd.DataFrame:
    x = rng.normal(size=NOISE_ROWS)
    return pd.DataFrame({"x": x, "y": x + rng.gamma(2.0, 0.7, NOISE_ROWS)})


def student_noise(rng: np.random.Generator) -> pd.DataFrame:
    x, part = rng.uniform(-2.0, 2.0, NOISE_ROWS), rng.integers(0, 3, NOISE_ROWS)
    mean = np.stack([2.0 * x, -2.0 * x - 1.0, 8.0 + 0.0 * x])[part, np.arange(NOISE_ROWS)]
    return pd.DataFrame({"x": x, "y": mean + 0.4 * rng.standard_t(3, NOISE_ROWS)})


def gaussian_experts(rng: np.random.Generator) -> pd.DataFrame:
    return three_experts(NOISE_ROWS, rng)


NOISE = {"gamma noise, one line": (gamma_noise, range(1, 5)),
         "Student noise, three lines": (student_noise, range(2, 6)),
         "three Gaussian experts": (gaussian_experts, range(2, 5))}  # fmt: skip


def noise() -> None:
    """Table of what is chosen and said of each data set."""
    rows = []
    for name, (draw, numbers) in NOISE.items():
        for seed in range(NOISE_SEED, NOISE_SEED + NOISE_SETS):
            model = bvb.DensityRegression("y ~ x", draw(np.random.default_rng(seed)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found = bvb.select(model, numbers, seed=seed, restarts=3, n_jobs=1, draws=50)
            notes = " ".join(found.notes)
            rows.append({"design": name, "seed": seed, "chosen": found.chosen,
                         "Student named": "student" in notes, "shape named": "unimodal" in notes,
                         "notes": notes})  # fmt: skip
            print(rows[-1], flush=True)
    keep(pd.DataFrame(rows), "select_noise")


def main() -> None:
    if "--noise" in sys.argv:
        noise()
        return
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
