"""Does `bvb.select` choose as it does when every fit has all its runs, each to its end?

Twelve simulated sets of six designs, and eight data sets, all with up to 200 rows. ``all``: eight
runs of each fit, independent of other fits. ``chain``: runs end early, and fits start from the one
with a component less. ``elpd``: largest absolute difference of an entry of the column of the table,
of numbers of components whose ELBO differs by less than 0.1; ``better`` and ``worse`` count the
other ones. Results: docs/benchmarks/select_chain.csv.
"""

import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.datasets import SIMULATIONS
from bayesvb.engines import restarts
from bayesvb.model_selection import selection

N_ROWS, NUMBERS, SEED = 200, range(1, 5), 11
SIMULATED = ("bimodal", "dpmix1", "dpmix2", "two_experts", "beta1", "beta2")
FORMULAS = {
    "faithful": "waiting ~ eruptions",
    "geyser": "waiting ~ 1",
    "mcycle": "accel ~ s(times) | gating(times)",
    "iris": "sepal_length ~ petal_length",
    "engel": "foodexp ~ income",
    "cps1985": "wage ~ education + experience",
    "concrete": "compressive_strength ~ cement + water + age",
    "sonar": "band_01 ~ band_02",
}


def problems() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Name, formula and data."""
    for name in SIMULATED:
        for seed in (SEED, SEED + 1):
            data = SIMULATIONS[name].sample(N_ROWS, np.random.default_rng(seed))
            yield f"{name} {seed}", "y ~ .", data
    for name, formula in FORMULAS.items():
        yield name, formula, bvb.datasets.load(name)[:N_ROWS]


def selected(formula: str, data: pd.DataFrame, *, chain: bool) -> tuple[selection.Selection, float]:
    """Selection and CPU seconds."""
    near, floor = selection.near_start, restarts._floor
    if not chain:
        selection.near_start = lambda fit, number: None
        restarts._floor = lambda runs: -np.inf
    began = time.process_time()
    try:
        found = bvb.select(bvb.DensityRegression(formula, data), NUMBERS, seed=SEED, n_jobs=1)
    finally:
        selection.near_start, restarts._floor = near, floor
    return found, time.process_time() - began


def compared(name: str, formula: str, data: pd.DataFrame) -> dict[str, object]:
    """Both selections of one data set."""
    (full, seconds), (chain, fewer) = (
        selected(formula, data, chain=chain) for chain in (False, True)
    )
    change = chain.table["elbo"] - full.table["elbo"]
    same = change.abs() < 0.1
    elpd = (chain.table["elpd"] - full.table["elpd"])[same].abs().max()
    return {"data": name, "rows": len(data), "chosen": full.chosen, "chosen in chain": chain.chosen,
            "elpd": round(float(elpd), 3), "same": int(same.sum()),
            "better": int((change >= 0.1).sum()), "worse": int((change <= -0.1).sum()),
            "seconds": round(seconds, 2), "seconds of chain": round(fewer, 2)}  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    rows = []
    for problem in problems():
        rows.append(compared(*problem))
        print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    keep(table, "select_chain")
    ratio = table["seconds"].sum() / table["seconds of chain"].sum()
    alike = (table["chosen"] == table["chosen in chain"]).sum()
    print(f"{alike} of {len(table)} alike, {ratio:.1f} times faster")


if __name__ == "__main__":
    main()
